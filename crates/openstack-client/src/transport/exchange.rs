//! Sends one request and reads its complete answer, within the limits for time and memory.

use std::{sync::Arc, time::Duration};

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Body as _;
use tokio::time::{Instant, timeout, timeout_at};
use tower::{BoxError, ServiceExt};

use super::{AnswerKind, Body, Transport, chain, memory::Reservation};
use crate::service::Service;

/// A completely received answer.
#[derive(Clone)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
    /// The reserved memory of the body. `None` for error answers, which are small: the caller may make other calls before it drops the
    /// answer.
    #[expect(dead_code, reason = "it is held, and given back when the answer is dropped")]
    pub(crate) reservation: Option<Arc<Reservation>>,
}

/// There was no answer, or no complete one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ExchangeError {
    /// No connection was made, so the request was not sent.
    #[error("no connection: {0}")]
    NoConnection(String),
    /// The call exceeded its total timeout.
    #[error("no complete answer within {0:?}")]
    TooLate(Duration),
    /// The connection delivered no data within the read timeout.
    #[error("nothing was heard for {0:?}")]
    Silent(Duration),
    /// The connection was closed or failed.
    #[error("the exchange broke off: {0}")]
    Broken(String),
    /// The answer exceeds the limit for its kind.
    #[error("the answer is larger than {} bytes, the limit for {}; it was not read", .0.limit_bytes(), .0.as_str())]
    TooLarge(AnswerKind),
    /// Other answers used the whole memory budget until the deadline of the call.
    #[error(
        "an answer came, but other answers took all memory for answers until the deadline of the call, {0:?}"
    )]
    NoMemory(Duration),
}

impl Transport {
    /// Sends `request` to `service` and reads the answer. `kind` determines the size limit of a successful answer.
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
        // Without a `Content-Length` the whole limit is reserved: if reservations could grow, they could deadlock waiting for each other.
        let told = body.size_hint().exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if told.is_some_and(|bytes| bytes > limit) {
            return Err(ExchangeError::TooLarge(kind));
        }
        let reserved = timeout_at(deadline, self.memory.reserve(service, told.unwrap_or(limit))).await;
        let reservation = reserved.map_err(|_late| ExchangeError::NoMemory(self.timeouts.total))?;
        // Allocated at once: a buffer that grows by doubling takes up to three times the memory temporarily. Pages that are never written
        // take no physical memory.
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

/// Only hyper's client reports whether a connection was made; errors of other services never prove that the request was not sent.
fn failed(error: &BoxError) -> ExchangeError {
    let error: &(dyn std::error::Error + 'static) = error.as_ref();
    let text = chain(error);
    match error.downcast_ref::<hyper_util::client::legacy::Error>() {
        Some(error) if error.is_connect() => ExchangeError::NoConnection(text),
        _ => ExchangeError::Broken(text),
    }
}
