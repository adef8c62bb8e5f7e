//! The metrics of the API client, with client-go's names, so that existing dashboards and alerts keep working.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use futures::{FutureExt, future::BoxFuture};
use http::{Method, Request, Response};
use http_body_util::BodyExt;
use kube::client::Body;
use prometheus_client::{
    encoding::EncodeLabelSet,
    metrics::{counter::Counter, family::Family, histogram::Histogram},
    registry::Registry,
};
use tokio::time::Instant;
use tower::{Layer, Service};

use super::is_watch;

/// The status code label of a request without a response.
const NO_ANSWER: &str = "<error>";
const SECONDS: [f64; 12] = [0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 15.0, 30.0, 60.0];

const BYTES: [f64; 11] = [
    64.0,
    256.0,
    512.0,
    1_024.0,
    4_096.0,
    16_384.0,
    65_536.0,
    262_144.0,
    1_048_576.0,
    4_194_304.0,
    16_777_216.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ResultLabels {
    code: String,
    method: String,
    host: String,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct VerbLabels {
    verb: String,
    host: String,
}

/// The labels code, verb and host.
type RetryLabels = [(&'static str, String); 3];
type Histograms = Family<VerbLabels, Histogram, fn() -> Histogram>;

/// Counts and times the requests of all clients that share it.
#[derive(Debug, Clone)]
pub struct RestMetrics {
    requests: Family<ResultLabels, Counter>,
    durations: Histograms,
    throttling: Histograms,
    request_sizes: Histograms,
    response_sizes: Histograms,
}

impl Default for RestMetrics {
    fn default() -> Self {
        let durations = || Family::new_with_constructor((|| Histogram::new(SECONDS)) as fn() -> Histogram);
        let sizes = || Family::new_with_constructor((|| Histogram::new(BYTES)) as fn() -> Histogram);
        Self {
            requests: Family::default(),
            durations: durations(),
            throttling: durations(),
            request_sizes: sizes(),
            response_sizes: sizes(),
        }
    }
}

impl RestMetrics {
    /// New metrics, registered in `registry`.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "rest_client_requests",
            "Number of HTTP requests, partitioned by status code, method, and host",
            metrics.requests.clone(),
        );
        registry.register(
            "rest_client_request_duration_seconds",
            "Request latency in seconds, by verb and host",
            metrics.durations.clone(),
        );
        registry.register(
            "rest_client_rate_limiter_duration_seconds",
            "Time spent waiting for the client's request budget, in seconds, by verb and host",
            metrics.throttling.clone(),
        );
        registry.register(
            "rest_client_request_size_bytes",
            "Size of the request's body in bytes, by verb and host",
            metrics.request_sizes.clone(),
        );
        registry.register(
            "rest_client_response_size_bytes",
            "Size of the answer's body in bytes, by verb and host; a watch has no size",
            metrics.response_sizes.clone(),
        );
        // Nothing here retries, so this family stays empty, and an empty family is omitted from a scrape, as with client-go before its
        // first retry. A retry that is added later must be counted here.
        registry.register(
            "rest_client_request_retries",
            "Number of request retries, partitioned by status code, verb, and host",
            Family::<RetryLabels, Counter>::default(),
        );
        metrics
    }

    pub(super) fn throttled(&self, method: &Method, host: &str, wait: Duration) {
        let labels = VerbLabels { verb: method.to_string(), host: host.to_owned() };
        self.throttling.get_or_create(&labels).observe(wait.as_secs_f64());
    }
}

/// A layer that counts and times requests.
#[derive(Debug, Clone)]
pub struct MeasureLayer {
    metrics: RestMetrics,
    host: String,
}

impl MeasureLayer {
    /// Records in `metrics`; `host` is the label of the API server.
    #[must_use]
    pub fn new(metrics: RestMetrics, host: String) -> Self {
        Self { metrics, host }
    }
}

impl<S> Layer<S> for MeasureLayer {
    type Service = Measure<S>;

    fn layer(&self, inner: S) -> Measure<S> {
        Measure { inner, layer: self.clone() }
    }
}

/// The service of [`MeasureLayer`].
#[derive(Debug, Clone)]
pub struct Measure<S> {
    inner: S,
    layer: MeasureLayer,
}

impl<S, B> Service<Request<Body>> for Measure<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    B: BodyExt,
{
    type Response = Response<B>;
    type Error = S::Error;
    type Future = BoxFuture<'static, Result<Response<B>, S::Error>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), S::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let pending = Pending {
            layer: self.layer.clone(),
            method: request.method().to_string(),
            timed: !is_watch(&request),
            since: Instant::now(),
            code: None,
            request_size: size(request.body()),
            response_size: None,
        };
        let answer = self.inner.call(request);
        async move {
            // Uses the whole variable, so that it moves into this block. Using only a field would copy the field, and the variable would be
            // dropped too early.
            let mut pending = pending;
            let answer = answer.await;
            if let Ok(response) = &answer {
                pending.code = Some(response.status().as_u16());
                pending.response_size = size(response.body());
            }
            answer
        }
        .boxed()
    }
}

/// A request in flight. Recorded when dropped, so that a request whose caller was cancelled is recorded too.
struct Pending {
    layer: MeasureLayer,
    method: String,
    timed: bool,
    since: Instant,
    code: Option<u16>,
    request_size: Option<f64>,
    response_size: Option<f64>,
}

impl Drop for Pending {
    fn drop(&mut self) {
        let MeasureLayer { metrics, host } = &self.layer;
        let code = self.code.map_or_else(|| NO_ANSWER.to_owned(), |code| code.to_string());
        let labels = ResultLabels { code, method: self.method.clone(), host: host.clone() };
        metrics.requests.get_or_create(&labels).inc();
        let labels = VerbLabels { verb: self.method.clone(), host: host.clone() };
        if let Some(size) = self.request_size {
            metrics.request_sizes.get_or_create(&labels).observe(size);
        }
        if let Some(size) = self.response_size.filter(|_| self.timed) {
            metrics.response_sizes.get_or_create(&labels).observe(size);
        }
        if self.timed {
            metrics.durations.get_or_create(&labels).observe(self.since.elapsed().as_secs_f64());
        }
    }
}

/// The size of a body that is completely in memory; `None` for a streamed one.
fn size<B: BodyExt>(body: &B) -> Option<f64> {
    let bytes = body.size_hint().exact()?;
    // A body of more than 4 GiB falls into the last bucket in any case.
    Some(f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)))
}
