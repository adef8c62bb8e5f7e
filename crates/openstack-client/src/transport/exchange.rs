//! One request and its whole answer, within the limits.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::timeout;
use tower::{BoxError, ServiceExt};

use super::{Body, Transport, chain};

/// The largest answer that is read: a page of a thousand servers is near 3 MiB, all ports of a large project in one
/// answer near 100 MiB. More is a fault, and would be held in memory.
const LARGEST_BODY: usize = 256 * 1024 * 1024;

/// An answer, read to its end.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

/// No answer came, or not a whole one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// The request was not sent.
    #[error("no connection: {0}")]
    NoConnection(String),
    /// No whole answer within the limit on the call.
    #[error("no complete answer within {0:?}")]
    TooLate(Duration),
    /// Nothing was heard for too long.
    #[error("nothing was heard for {0:?}")]
    Silent(Duration),
    /// The connection broke.
    #[error("the exchange broke off: {0}")]
    Broken(String),
    /// The answer is larger than anything that makes sense.
    #[error("the answer is larger than {LARGEST_BODY} bytes")]
    TooLarge,
}

impl Transport {
    /// Sends `request` and reads its answer.
    pub(crate) async fn exchange(&self, request: Request<Body>) -> Result<Answer, ExchangeError> {
        let limit = self.timeouts.total;
        timeout(limit, self.send_and_read(request)).await.map_err(|_late| ExchangeError::TooLate(limit))?
    }

    async fn send_and_read(&self, request: Request<Body>) -> Result<Answer, ExchangeError> {
        let silence = self.timeouts.read;
        let silent = |_late| ExchangeError::Silent(silence);
        let sent = timeout(silence, self.service.clone().oneshot(request));
        let response = sent.await.map_err(silent)?.map_err(|error| failed(&error))?;
        let (head, mut body) = response.into_parts();
        // Room for all of it at once, where its length is told: what grows by doubling takes up to three times of it on the way.
        let told = usize::try_from(body.size_hint().lower()).unwrap_or(LARGEST_BODY);
        let mut read = BytesMut::with_capacity(told.min(LARGEST_BODY));
        while let Some(frame) = timeout(silence, body.frame()).await.map_err(silent)? {
            let frame = frame.map_err(|error| ExchangeError::Broken(chain(error.as_ref())))?;
            let Ok(data) = frame.into_data() else { continue };
            if read.len() + data.len() > LARGEST_BODY {
                return Err(ExchangeError::TooLarge);
            }
            read.extend_from_slice(&data);
        }
        Ok(Answer { status: head.status, headers: head.headers, body: read.freeze() })
    }
}

/// Whether a request left is known only of the real client, and only when no connection was made.
fn failed(error: &BoxError) -> ExchangeError {
    let error: &(dyn std::error::Error + 'static) = error.as_ref();
    let text = chain(error);
    match error.downcast_ref::<hyper_util::client::legacy::Error>() {
        Some(error) if error.is_connect() => ExchangeError::NoConnection(text),
        _ => ExchangeError::Broken(text),
    }
}
