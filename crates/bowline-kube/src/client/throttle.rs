//! The request budget of one client: a layer that waits for a token before it sends. A request that its caller gave up
//! before it was sent costs nothing.
//!
//! It refuses no request but one: a mutation whose fence has closed during the wait. The layer that waits asks again, so
//! that there can be no client which waits and does not ask.

use std::{
    sync::Arc,
    task::{Context, Poll},
    time::Duration,
};

use bowline_core::{FairSemaphore, Fence, TokenBucket};
use futures::{FutureExt, future::BoxFuture};
use http::Request;
use kube::client::Body;
use tokio::{
    sync::Mutex,
    time::{Instant, sleep},
};
use tower::{BoxError, Layer, Service, ServiceExt};

use super::measure::RestMetrics;

/// The clock may be a little late, or a little early.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// Put into the extensions of a request that may leave only while this fence is open. If it is closed when the wait is
/// over, the request fails with [`bowline_core::Fenced`] and is never sent.
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
    bucket: parking_lot::Mutex<TokenBucket>,
    since: Instant,
    /// Only the first waiter looks at the bucket.
    line: Arc<FairSemaphore>,
}

impl Budget {
    /// Waits for a token. The namespaces of requests take turns; within a namespace the order is that of arrival.
    async fn take(self: &Arc<Self>, namespace: &str) -> Reservation {
        let _first = self.line.acquire(namespace.into()).await;
        loop {
            let wait = {
                let mut bucket = self.bucket();
                if bucket.try_take(self.since.elapsed()) {
                    return Reservation { budget: Arc::clone(self), used: false };
                }
                bucket.ready_in(self.since.elapsed())
            };
            sleep(wait.max(SHORTEST_WAIT)).await;
        }
    }

    fn bucket(&self) -> parking_lot::MutexGuard<'_, TokenBucket> {
        self.bucket.lock()
    }
}

/// The namespace that a request is about; empty if it is about none.
fn namespace_of(path: &str) -> &str {
    let mut parts = path.split('/').skip_while(|part| *part != "namespaces").skip(1);
    parts.next().unwrap_or_default()
}

/// A token that was taken. It goes back when this is dropped before the request was sent.
struct Reservation {
    budget: Arc<Budget>,
    used: bool,
}

impl Drop for Reservation {
    fn drop(&mut self) {
        if !self.used {
            self.budget.bucket().give_back(self.budget.since.elapsed());
        }
    }
}

impl ThrottleLayer {
    /// `qps` requests a second with bursts of `burst`; a `qps` of zero or less is no limit.
    #[must_use]
    pub fn new(qps: f64, burst: u32, metrics: RestMetrics, host: String) -> Self {
        let bucket = parking_lot::Mutex::new(TokenBucket::new(qps, burst));
        let budget = Budget { bucket, since: Instant::now(), line: FairSemaphore::new(1) };
        Self { budget: Arc::new(budget), metrics, host }
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
        let (layer, inner) = (self.layer.clone(), Arc::clone(&self.inner));
        async move {
            let asked = Instant::now();
            let mut reservation = layer.budget.take(namespace_of(request.uri().path())).await;
            let wait = asked.elapsed();
            layer.metrics.throttled(request.method(), &layer.host, wait);
            if !wait.is_zero() {
                tracing::debug!(path = request.uri().path(), ?wait, "waited for the client's request budget");
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
