//! The two informers that all controllers share, defined once, so that benchmarks use the same ones.

use std::sync::Arc;

use bowline_cloud::{NodeView, ServiceView};
use bowline_kube::informer::InformerSpec;

use super::{SlimNode, SlimService, node_view, service_view};
use crate::service::desire::concerns_us;

/// The informer of all Nodes.
#[must_use]
pub fn node_informer() -> InformerSpec<SlimNode, Arc<NodeView>> {
    InformerSpec::new("nodes", |node: SlimNode| Some(Arc::new(node_view(node))))
}

/// The informer of Services that have a load balancer, want one, or have remains of one. Other Services are not cached.
#[must_use]
pub fn service_informer() -> InformerSpec<SlimService, Arc<ServiceView>> {
    InformerSpec::new("services", |service: SlimService| {
        let view = service_view(service);
        concerns_us(&view).then(|| Arc::new(view))
    })
}
