//! Serves the cloud on loopback, and sets traps: a change that is never answered, before or after it took effect, and
//! replies that get lost. What the cloud does is not decided here.

use std::convert::Infallible;
use std::future::pending;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bowline_testkit::http::{Bound, Server};
use bytes::Bytes;
use http::{Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use tokio::sync::oneshot;
use tokio::time::sleep;

use crate::framework::cloud::Cloud;
use crate::framework::protocol::{Reply, Request};

/// A cloud that is being served.
#[derive(Debug, Clone)]
pub struct Served {
    state: Arc<Mutex<State>>,
    /// Where.
    pub url: String,
    _server: Arc<Server>,
}

#[derive(Debug, Default)]
struct State {
    cloud: Cloud,
    trap: Option<Trap>,
    /// Of so many changes, the reply to one is lost or late.
    mischief_every: Option<u32>,
    changes: u32,
}

#[derive(Debug)]
struct Trap {
    changes_left: u32,
    when: When,
    sprung: oneshot::Sender<()>,
}

/// When a trap springs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum When {
    /// The change has not happened, and never will.
    BeforeTheEffect,
    /// The change has happened, and the caller is never told.
    AfterTheEffect,
}

/// What becomes of a reply.
enum Delivery {
    Now,
    /// The reply is a failure, although the change was made.
    Lost,
    Late,
    Never,
}

impl Served {
    /// Serves an empty cloud on a free port, until the last clone is dropped.
    ///
    /// # Errors
    /// When no port is to be had.
    pub async fn start() -> std::io::Result<Self> {
        let (bound, state) = (Bound::new()?, Arc::<Mutex<State>>::default());
        let (url, answering) = (format!("{}/", bound.url), Arc::clone(&state));
        let server = bound.serve(move |request| serve(Arc::clone(&answering), request))?;
        Ok(Self { state, url, _server: Arc::new(server) })
    }

    /// Looks at the cloud, or changes it as only its operators can.
    pub fn with<T>(&self, look: impl FnOnce(&mut Cloud) -> T) -> T {
        look(&mut self.state().cloud)
    }

    /// From now on every so many changes the reply is lost or late; 0 for never.
    pub fn lose_replies(&self, every: u32) {
        self.state().mischief_every = Some(every).filter(|every| *every > 0);
    }

    /// The trap springs at the `nth` change from now; the receiver tells when. The caller gets no answer.
    pub fn trap(&self, nth: u32, when: When) -> oneshot::Receiver<()> {
        let (sprung, told) = oneshot::channel();
        self.state().trap = Some(Trap { changes_left: nth.max(1), when, sprung });
        told
    }

    /// Takes a trap away that has not sprung.
    pub fn disarm(&self) {
        self.state().trap = None;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        lock(&self.state)
    }
}

fn lock(state: &Mutex<State>) -> MutexGuard<'_, State> {
    state.lock().unwrap_or_else(PoisonError::into_inner)
}

async fn serve(
    state: Arc<Mutex<State>>,
    request: http::Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let Ok(body) = request.into_body().collect().await else {
        return Ok(answer(StatusCode::BAD_REQUEST, Bytes::new()));
    };
    let Ok(request) = serde_json::from_slice(&body.to_bytes()) else {
        return Ok(answer(StatusCode::BAD_REQUEST, Bytes::from_static(b"not a call of this cloud")));
    };
    let (reply, delivery) = lock(&state).take(request);
    match delivery {
        Delivery::Now => {}
        Delivery::Lost => return Ok(answer(StatusCode::BAD_GATEWAY, Bytes::new())),
        Delivery::Late => sleep(Duration::from_millis(300)).await,
        // The connection ends with the caller.
        Delivery::Never => pending().await,
    }
    Ok(match serde_json::to_vec(&reply) {
        Ok(body) => answer(StatusCode::OK, body.into()),
        Err(error) => answer(StatusCode::INTERNAL_SERVER_ERROR, error.to_string().into()),
    })
}

impl State {
    fn take(&mut self, request: Request) -> (Reply, Delivery) {
        if request.call.change().is_none() {
            return (self.cloud.answer(request), Delivery::Now);
        }
        let springs = self.trap.take_if(|trap| {
            trap.changes_left -= 1;
            trap.changes_left == 0
        });
        if let Some(Trap { when, sprung, .. }) = springs {
            if when == When::AfterTheEffect {
                self.cloud.answer(request);
            }
            // Nobody may be waiting any more; the caller gets no answer all the same.
            sprung.send(()).ok();
            return (Reply::Missing, Delivery::Never);
        }
        self.changes += 1;
        let delivery = match self.mischief_every {
            Some(every) if self.changes.is_multiple_of(2 * every) => Delivery::Lost,
            Some(every) if self.changes.is_multiple_of(every) => Delivery::Late,
            _ => Delivery::Now,
        };
        (self.cloud.answer(request), delivery)
    }
}

fn answer(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response
}
