//! The cloud as a tower service: takes the body in, asks the core at the time of its clock, waits what a fault demands.
//!
//! Decides nothing itself. Time passes only by tokio's clock, so a paused runtime has virtual time here.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full, Limited};
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use crate::clock::{Clock, TokioClock};
use crate::cloud::{Cloud, Outcome};

/// The largest body that is read: far above any request of a real client.
const BODY_BYTES_MAX: usize = 4 << 20;

/// How long a reply that never comes is waited for before the connection breaks.
const LOST_REPLY_AFTER: Duration = Duration::from_secs(3600);

/// The body of every answer.
pub type SimBody = Full<Bytes>;

/// The connection broke without an answer, as an injected fault demanded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the simulated cloud closed the connection without an answer, as an injected fault demands")]
pub struct ReplyLost;

/// A cloud that answers requests. Clones share the cloud.
#[derive(Clone)]
pub struct SimService {
    cloud: Arc<Mutex<Cloud>>,
    clock: Arc<dyn Clock>,
}

impl SimService {
    /// A service with a given clock.
    #[must_use]
    pub fn new(cloud: Cloud, clock: impl Clock) -> Self {
        Self { cloud: Arc::new(Mutex::new(cloud)), clock: Arc::new(clock) }
    }

    /// A service whose time starts at the cloud's own and runs with tokio's clock.
    #[must_use]
    pub fn on_tokio_time(cloud: Cloud) -> Self {
        let clock = TokioClock::starting_at(cloud.now());
        Self::new(cloud, clock)
    }

    /// The time in the cloud.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.clock.now()
    }

    /// Looks into the cloud, or changes it behind the API's back, with everything done that is due by now.
    pub fn with<R>(&self, look: impl FnOnce(&mut Cloud) -> R) -> R {
        let now = self.clock.now();
        let mut cloud = self.lock();
        cloud.settle(now);
        look(&mut cloud)
    }

    fn lock(&self) -> MutexGuard<'_, Cloud> {
        self.cloud.lock()
    }

    /// Answers a request.
    ///
    /// # Errors
    /// When an injected fault loses the reply.
    pub async fn answer(&self, request: Request<Bytes>) -> Result<Response<Bytes>, ReplyLost> {
        let outcome = self.lock().handle(request, self.clock.now());
        match outcome {
            Outcome::Reply(response) => Ok(response),
            Outcome::Slow(wait, response) => {
                tokio::time::sleep(wait).await;
                Ok(response)
            }
            Outcome::Silence => {
                tokio::time::sleep(LOST_REPLY_AFTER).await;
                Err(ReplyLost)
            }
            Outcome::Disconnect => Err(ReplyLost),
        }
    }
}

impl<B> tower::Service<Request<B>> for SimService
where
    B: hyper::body::Body + Send + 'static,
    B::Data: Send,
    B::Error: Into<Box<dyn std::error::Error + Send + Sync>>,
{
    type Response = Response<SimBody>;
    type Error = ReplyLost;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Self::Error>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let service = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            match Limited::new(body, BODY_BYTES_MAX).collect().await {
                Ok(body) => {
                    let answer = service.answer(Request::from_parts(parts, body.to_bytes())).await;
                    answer.map(|answer| answer.map(Full::new))
                }
                Err(_) => Ok(too_large()),
            }
        })
    }
}

fn too_large() -> Response<SimBody> {
    let mut response = Response::new(Full::default());
    *response.status_mut() = StatusCode::PAYLOAD_TOO_LARGE;
    response
}
