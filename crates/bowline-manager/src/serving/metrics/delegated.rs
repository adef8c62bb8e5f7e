//! Metrics of token and access review requests to the API server, by HTTP status. It sends no requests itself.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use tokio::time::Instant;

use super::Histograms;
use crate::serving::reviews::{ANSWERED, ReviewError};

/// Upstream's buckets.
const SECONDS: [f64; 8] = [0.25, 0.5, 0.7, 1.0, 1.5, 3.0, 5.0, 10.0];

/// The label value of requests without an HTTP response.
const NO_ANSWER: &str = "<error>";

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CodeLabel {
    code: String,
}

/// The number and duration of one kind of review request.
#[derive(Debug, Clone)]
pub(in crate::serving) struct DelegatedRequests {
    total: Family<CodeLabel, Counter>,
    seconds: Histograms<CodeLabel>,
}

impl Default for DelegatedRequests {
    fn default() -> Self {
        let seconds = Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        Self { total: Family::default(), seconds }
    }
}

impl DelegatedRequests {
    pub(super) fn register(&self, registry: &mut Registry, name: &str, what: &str) {
        registry.register(
            name,
            format!("{what} asked of the API server, by HTTP status or {NO_ANSWER}"),
            self.total.clone(),
        );
        registry.register(
            format!("{name}_duration_seconds"),
            format!("Time until the API server answered; {what} by HTTP status or {NO_ANSWER}"),
            self.seconds.clone(),
        );
    }

    /// Measures `question` until it ends, also if it is cancelled without a response.
    pub(in crate::serving) async fn measured<T>(
        &self,
        question: impl Future<Output = Result<T, ReviewError>>,
    ) -> Result<T, ReviewError> {
        let mut asking = Asking { requests: self, since: Instant::now(), status: None };
        let answer = question.await;
        asking.status = match &answer {
            Ok(_) => Some(ANSWERED),
            Err(error) => error.status,
        };
        answer
    }
}

struct Asking<'a> {
    requests: &'a DelegatedRequests,
    since: Instant,
    status: Option<u16>,
}

impl Drop for Asking<'_> {
    fn drop(&mut self) {
        let status = self.status.filter(|status| (100..600).contains(status));
        let label = CodeLabel { code: status.map_or_else(|| NO_ANSWER.to_owned(), |code| code.to_string()) };
        self.requests.total.get_or_create(&label).inc();
        self.requests.seconds.get_or_create(&label).observe(self.since.elapsed().as_secs_f64());
    }
}
