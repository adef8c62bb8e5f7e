//! The request budget of one client: a layer that waits for a token before it sends. A request whose caller is cancelled before it was sent
//! returns its token.
//!
//! The layer refuses only a mutation whose fence closed during the wait. It checks the fence itself, so that no client can wait without a
//! check afterwards.

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

/// The shortest sleep, because timers may fire a little early or late.
const SHORTEST_WAIT: Duration = Duration::from_millis(1);

/// A request extension: the request may be sent only while this fence is open. If the fence is closed after the wait, the request fails
/// with [`bowline_core::Fenced`] and is never sent.
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
    /// One permit: only the first waiter checks the bucket.
    line: Arc<FairSemaphore>,
}

impl Budget {
    /// Waits for a token. Waiting namespaces get tokens in turn; within a namespace in order of arrival.
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

/// The namespace in the path of a request; empty if there is none.
fn namespace_of(path: &str) -> &str {
    let mut parts = path.split('/').skip_while(|part| *part != "namespaces").skip(1);
    parts.next().unwrap_or_default()
}

/// A token that was taken. It is returned if this is dropped before the request was sent.
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
    /// `qps` requests per second with bursts of `burst`; a `qps` of zero or less disables the limit.
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
    /// Shared, because the request is sent after the wait, when `call` has already returned. The lock is held while the request is handed
    /// over, not until its response.
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
                // After all waiting, with no await between this check and the send.
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
