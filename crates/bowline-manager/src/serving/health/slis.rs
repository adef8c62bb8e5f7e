//! `kubernetes_healthcheck` and its counter. They have their own registry, because they are served on `/metrics/slis` only.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use super::{CheckOutcome, Endpoint};

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CheckLabels {
    name: String,
    r#type: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    name: String,
    r#type: &'static str,
    status: &'static str,
}

pub(super) struct Slis {
    registry: Registry,
    last: Family<CheckLabels, Gauge>,
    runs: Family<RunLabels, Counter>,
}

impl Default for Slis {
    fn default() -> Self {
        let (last, runs) = (Family::default(), Family::default());
        let mut registry = Registry::default();
        registry.register(
            "kubernetes_healthcheck",
            "Whether the last run of a check passed",
            Family::clone(&last),
        );
        registry.register("kubernetes_healthchecks", "Runs of a check by result", Family::clone(&runs));
        Self { registry, last, runs }
    }
}

impl Slis {
    pub(super) fn record(&self, endpoint: Endpoint, name: &str, outcome: &CheckOutcome) {
        let passed = !matches!(outcome, CheckOutcome::Failed(_));
        let (name, r#type) = (name.to_owned(), endpoint.name());
        let status = if passed { "success" } else { "error" };
        self.runs.get_or_create(&RunLabels { name: name.clone(), r#type, status }).inc();
        self.last.get_or_create(&CheckLabels { name, r#type }).set(i64::from(passed));
    }

    pub(super) fn page(&self) -> Result<String, std::fmt::Error> {
        let mut page = String::new();
        encode(&mut page, &self.registry)?;
        Ok(page)
    }
}
