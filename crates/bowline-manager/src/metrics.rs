//! All metrics of the process in one registry, under upstream's names where upstream has them.
//!
//! Not included: `cloud_provider_webhook_*` (there are no webhooks), `go_*` except `go_goroutines` (there is no Go runtime),
//! `rest_client_transport_*` and `rest_client_exec_plugin_*` (specific to client-go's transport), `registered_metrics_total` and related
//! metrics (specific to Go's registry).

use std::sync::Arc;

use bowline_cloud::Cloud;
use bowline_controllers::metrics::ControllerMetrics;
use bowline_kube::client::RestMetrics;
use bowline_kube::events::EventMetrics;
use bowline_kube::informer::InformerMetrics;
use bowline_kube::lease::LeaseMetrics;
use bowline_kube::queue::QueueMetrics;
use prometheus_client::registry::Registry;

use crate::budget::BudgetMetrics;
use crate::cloud_identity::IdentityMetrics;
use crate::right_to_act::PermissionMetrics;
use crate::serving::{BuildInfo, ProcessMetrics, ServingMetrics};
use crate::status::metrics::StatusMetrics;

/// The metrics of all parts, passed to each part. Clones share them.
#[derive(Clone)]
pub(crate) struct Metrics {
    /// Requests to the API server.
    pub(crate) rest: RestMetrics,
    /// Work queues.
    pub(crate) queues: QueueMetrics,
    /// Informers.
    pub(crate) informers: InformerMetrics,
    /// Leader election.
    pub(crate) leases: LeaseMetrics,
    /// Events.
    pub(crate) events: EventMetrics,
    /// Controllers.
    pub(crate) controllers: ControllerMetrics,
    /// The rate limiter for calls to the cloud.
    pub(crate) budget: BudgetMetrics,
    /// The serving port.
    pub(crate) serving: ServingMetrics,
    /// The identity in the cloud.
    pub(crate) identity: IdentityMetrics,
    /// Missing permissions.
    pub(crate) permissions: PermissionMetrics,
    /// The data of the status page.
    pub(crate) status: StatusMetrics,
}

impl Metrics {
    /// Registers all metrics, including those of the cloud provider.
    #[must_use]
    pub(crate) fn register(cloud: &dyn Cloud, build: &BuildInfo) -> (Self, Arc<Registry>) {
        let mut registry = Registry::default();
        let metrics = Self {
            rest: RestMetrics::register(&mut registry),
            queues: QueueMetrics::register(&mut registry),
            informers: InformerMetrics::register(&mut registry),
            leases: LeaseMetrics::register(&mut registry),
            events: EventMetrics::register(&mut registry),
            controllers: ControllerMetrics::register(&mut registry),
            budget: BudgetMetrics::register(&mut registry),
            serving: ServingMetrics::default(),
            identity: IdentityMetrics::register(&mut registry),
            permissions: PermissionMetrics::register(&mut registry),
            status: StatusMetrics::register(&mut registry),
        };
        metrics.serving.register(&mut registry);
        ProcessMetrics::register(&mut registry, build);
        cloud.register_metrics(&mut registry);
        (metrics, Arc::new(registry))
    }
}
