//! The request budget of one client: a layer that waits for a token before it sends. A request that its caller gave up
//! before it was sent costs nothing.
//!
//! It refuses no request but one: a mutation whose fence has closed during the wait. The layer that waits asks again, so
//! that there can be no client which waits and does not ask.

use std::{
    sync::{Arc, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use bowline_cloud::{Fence, TokenBucket};
use futures::{FutureExt, future::BoxFuture};
use http::Request;
use kube::client::Body;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};
use tower::{BoxError, Layer, Service, ServiceExt};

use super::measure::RestMetrics;

/// Put into the extensions of a request that may leave only while this fence is open. If it is closed when the wait is
/// over, the request fails with [`bowline_cloud::Fenced`] and is never sent.
#[derive(Debug, Clone)]
pub(crate) struct FencedBy(pub(crate) Arc<dyn Fence>);

/// Limits how many requests a client starts. A watch counts once, when it is opened.
#[derive(Debug, Clone)]
pub struct ThrottleLayer {
    budget: Arc<Budget>,
    metrics: RestMetrics,
    host: String,
}

#[derive(Debug)]
struct Budget {
    bucket: std::sync::Mutex<TokenBucket>,
    since: Instant,
}

impl Budget {
    /// Takes a token and says how long to wait for it. Waiters are served in the order in which they asked.
    fn take(&self) -> Duration {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.take(self.since.elapsed())
    }

    fn give_back(&self) {
        let mut bucket = self.bucket.lock().unwrap_or_else(PoisonError::into_inner);
        bucket.give_back(self.since.elapsed());
    }
}

/// A token that was taken. It goes back when this is dropped before the request was sent.
struct Reservation {
    budget: Arc<Budget>,
    used: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.used {
            self.budget.give_back();
        }
    }
}

impl ThrottleLayer {
    /// `qps` requests a second with bursts of `burst`; a `qps` of zero or less is no limit.
    #[must_use]
    pub fn new(qps: f64, burst: u32, metrics: RestMetrics, host: String) -> Self {
        let bucket = std::sync::Mutex::new(TokenBucket::new(qps, burst));
        Self { budget: Arc::new(Budget { bucket, since: Instant::now() }), metrics, host }
    }
}

impl<S> Layer<S> for ThrottleLayer {
    type Service = Throttle<S>;

    fn layer(&self, inner: S) -> Throttle<S> {
        Throttle { inner: Arc::new(Mutex::new(inner)), layer: self.clone() }
    }
}

/// The service of [`ThrottleLayer`].
#[derive(Debug)]
pub struct Throttle<S> {
    /// Shared, because the request is sent after the wait, when `call` has long returned. The lock is held while the
    /// request is handed over, not while it is answered.
    inner: Arc<Mutex<S>>,
    layer: ThrottleLayer,
}

impl<S> Service<Request<Body>> for Throttle<S>
where
    S: Service<Request<Body>> + Send + 'static,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + 'static,
    S::Response: Send + 'static,
{
    type Response = S::Response;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<S::Response, BoxError>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let wait = self.layer.budget.take();
        let reservation = Reservation { budget: Arc::clone(&self.layer.budget), used: false };
        self.layer.metrics.throttled(request.method(), &self.layer.host, wait);
        let inner = Arc::clone(&self.inner);
        async move {
            // Naming it whole moves it in here; its field alone would be copied, and it would drop too early.
            let mut reservation = reservation;
            if !wait.is_zero() {
                tracing::debug!(
                    path = request.uri().path(),
                    ?wait,
                    "waiting for the client's request budget"
                );
                sleep(wait).await;
            }
            let answer = {
                let mut inner = inner.lock().await;
                let inner = inner.ready().await.map_err(Into::into)?;
                // After all waiting, with nothing between the answer and the sending.
                if let Some(FencedBy(fence)) = request.extensions().get() {
                    fence.check()?;
                }
                reservation.used = true;
                inner.call(request)
            };
            answer.await.map_err(Into::into)
        }
        .boxed()
    }
}
