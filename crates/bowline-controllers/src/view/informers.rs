//! The two informers that all controllers share, in one place, so that what is measured is what runs.

use std::sync::Arc;

use bowline_cloud::{NodeView, ServiceView};
use bowline_kube::informer::InformerSpec;

use super::{SlimNode, SlimService, node_view, service_view};
use crate::service::desire::concerns_us;

/// All Nodes.
#[must_use]
pub fn node_informer() -> InformerSpec<SlimNode, Arc<NodeView>> {
    InformerSpec::new("nodes", |node: SlimNode| Some(Arc::new(node_view(node))))
}

/// The Services that have a load balancer, want one, or have remains of one. Others are not kept.
#[must_use]
pub fn service_informer() -> InformerSpec<SlimService, Arc<ServiceView>> {
    InformerSpec::new("services", |service: SlimService| {
        let view = service_view(service);
        concerns_us(&view).then(|| Arc::new(view))
    })
}
