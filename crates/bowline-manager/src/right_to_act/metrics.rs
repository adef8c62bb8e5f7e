//! A metric for missing permissions, for alerts.

use std::collections::BTreeSet;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::report::Report;

#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, EncodeLabelSet)]
struct Missing {
    verb: &'static str,
    resource: String,
    controller: String,
}

/// One series with value 1 for each missing permission and each controller that needs it. Clones share them.
#[derive(Debug, Clone, Default)]
pub(crate) struct PermissionMetrics {
    missing: Family<Missing, Gauge>,
    shown: Arc<Mutex<BTreeSet<Missing>>>,
}

impl PermissionMetrics {
    /// Creates the metrics and adds them to `registry`.
    pub(crate) fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "bowline_missing_permissions",
            "Rights in the cluster that this process lacks, by who needs them",
            metrics.missing.clone(),
        );
        metrics
    }

    /// Sets the series to exactly those of `report`.
    pub(super) fn show(&self, report: &Report) {
        let mut now: BTreeSet<Missing> = report
            .missing()
            .iter()
            .flat_map(|question| {
                question.needed.iter().map(|(controller, _why)| Missing {
                    verb: question.verb,
                    resource: question.full_resource(),
                    controller: controller.clone(),
                })
            })
            .collect();
        if report.is_unasked() {
            let resource = "selfsubjectaccessreviews.authorization.k8s.io".to_owned();
            now.insert(Missing { verb: "create", resource, controller: "permissions".to_owned() });
        }
        let mut shown = self.shown.lock();
        for gone in shown.difference(&now) {
            self.missing.remove(gone);
        }
        for missing in &now {
            self.missing.get_or_create(missing).set(1);
        }
        *shown = now;
    }
}
