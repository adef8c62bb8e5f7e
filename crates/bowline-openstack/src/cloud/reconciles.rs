//! How the work for Services ends and how long it takes, under the names that OpenStack's own controller manager has, so that
//! dashboards keep working. They outlive a change of the configuration.

use bowline_cloud::{Reconcile, Reconciled};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

const BUCKETS: [f64; 21] = [
    0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 7.5, 10.0, 12.5, 15.0, 17.5, 20.0, 22.5, 25.0, 27.5, 30.0, 50.0,
    75.0, 100.0, 1000.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct OperationLabel {
    operation: &'static str,
}

/// Counts and times what is done for Services.
#[derive(Debug)]
pub(super) struct ReconcileMetrics {
    durations: Family<OperationLabel, Histogram, fn() -> Histogram>,
    total: Family<OperationLabel, Counter>,
    errors: Family<OperationLabel, Counter>,
}

impl Default for ReconcileMetrics {
    fn default() -> Self {
        Self {
            durations: Family::new_with_constructor(|| Histogram::new(BUCKETS)),
            total: Family::default(),
            errors: Family::default(),
        }
    }
}

impl ReconcileMetrics {
    pub(super) fn show_in(&self, registry: &mut Registry) {
        registry.register(
            "cloudprovider_openstack_reconcile_duration_seconds",
            "Time taken by the work for a Service, from its first look to its end",
            self.durations.clone(),
        );
        registry.register(
            "cloudprovider_openstack_reconcile",
            "Number of times that the work for a Service came to an end",
            self.total.clone(),
        );
        registry.register(
            "cloudprovider_openstack_reconcile_errors",
            "Number of times that it failed",
            self.errors.clone(),
        );
    }

    pub(super) fn observe(&self, reconciled: Reconciled) {
        let operation = match reconciled.what {
            Reconcile::Ensure => "loadbalancer_ensure",
            Reconcile::Update => "loadbalancer_update",
            Reconcile::Delete => "loadbalancer_delete",
        };
        let label = OperationLabel { operation };
        self.durations.get_or_create(&label).observe(reconciled.took.as_secs_f64());
        self.total.get_or_create(&label).inc();
        if reconciled.failed {
            self.errors.get_or_create(&label).inc();
        }
    }
}
