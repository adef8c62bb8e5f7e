//! One request and its whole answer, within the limits.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::{Instant, timeout, timeout_at};
use tower::{BoxError, ServiceExt};

use super::{AnswerKind, Body, Transport, chain, memory::Reservation};
use crate::service::Service;

/// An answer, read to its end.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The memory that the body may take. A refusal is small and keeps none: the caller may make other calls before it looks at it.
    #[expect(dead_code, reason = "it is held, and given back when the answer is dropped")]
    pub(crate) reservation: Option<Arc<Reservation>>,
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
    /// The answer is larger than any of its kind should be.
    #[error("the answer is larger than {} bytes, the limit for {}; it was not read", .0.limit_bytes(), .0.as_str())]
    TooLarge(AnswerKind),
    /// Other answers took all memory that there is for answers.
    #[error(
        "an answer came, but other answers took all memory for answers until the deadline of the call, {0:?}"
    )]
    NoMemory(Duration),
}

impl Transport {
    /// Sends `request` to `service` and reads its answer, which is of this kind if it is a success.
    pub(crate) async fn exchange(
        &self,
        service: Service,
        request: Request<Body>,
        kind: AnswerKind,
    ) -> Result<Answer, ExchangeError> {
        let limit = self.timeouts.total;
        let deadline = Instant::now() + limit;
        let exchanged = timeout_at(deadline, self.send_and_read(service, request, kind, deadline)).await;
        exchanged.map_err(|_late| ExchangeError::TooLate(limit))?
    }

    async fn send_and_read(
        &self,
        service: Service,
        request: Request<Body>,
        kind: AnswerKind,
        deadline: Instant,
    ) -> Result<Answer, ExchangeError> {
        let silence = self.timeouts.read;
        let silent = |_late| ExchangeError::Silent(silence);
        let sent = timeout(silence, self.service.clone().oneshot(request));
        let response = sent.await.map_err(silent)?.map_err(|error| failed(&error))?;
        let (head, mut body) = response.into_parts();
        let is_failure = head.status.is_client_error() || head.status.is_server_error();
        let kind = if is_failure { AnswerKind::Failure } else { kind };
        let limit = kind.limit_bytes();
        // Where the service does not say the length, the whole limit is reserved: a reservation that grew could wait for others that
        // wait for it.
        let told = body.size_hint().exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if told.is_some_and(|bytes| bytes > limit) {
            return Err(ExchangeError::TooLarge(kind));
        }
        let reserved = timeout_at(deadline, self.memory.reserve(service, told.unwrap_or(limit))).await;
        let reservation = reserved.map_err(|_late| ExchangeError::NoMemory(self.timeouts.total))?;
        // Memory for all of it at once: a buffer that grows by doubling takes up to three times as much on the way. Pages of it that are
        // not written to take none.
        let mut read = BytesMut::with_capacity(told.unwrap_or(limit));
        while let Some(frame) = timeout(silence, body.frame()).await.map_err(silent)? {
            let frame = frame.map_err(|error| ExchangeError::Broken(chain(error.as_ref())))?;
            let Ok(data) = frame.into_data() else { continue };
            if read.len() + data.len() > limit {
                return Err(ExchangeError::TooLarge(kind));
            }
            read.extend_from_slice(&data);
        }
        let reservation = reservation.filter(|_kept| !is_failure).map(Arc::new);
        Ok(Answer { status: head.status, headers: head.headers, body: read.freeze(), reservation })
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
