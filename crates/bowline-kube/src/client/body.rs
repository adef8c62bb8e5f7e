//! The bodies of responses on their way to kube: one that was read completely and holds its memory reservation, and one that is streamed.

use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use http_body_util::Full;
use hyper::body::{Body, Frame, SizeHint};
use tokio::sync::OwnedSemaphorePermit;
use tokio::time::{Instant, Sleep, sleep_until};
use tower::BoxError;

use super::deadline::DeadlineExceeded;

/// The body of a response that was read completely.
#[derive(Debug)]
pub struct WholeBody {
    bytes: Full<Bytes>,
    /// The memory reservation of the response, released when kube has taken the bytes.
    _memory: Option<Arc<OwnedSemaphorePermit>>,
}

impl WholeBody {
    pub(super) fn new(bytes: Bytes, memory: Option<Arc<OwnedSemaphorePermit>>) -> Self {
        Self { bytes: Full::new(bytes), _memory: memory }
    }
}

impl Body for WholeBody {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        Pin::new(&mut self.bytes).poll_frame(cx).map_err(|never| match never {})
    }

    fn is_end_stream(&self) -> bool {
        self.bytes.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.bytes.size_hint()
    }
}

/// The body of a response that is streamed to its reader. If it has a deadline, it ends with an error when the deadline has passed.
pub struct PassingBody<B> {
    body: Pin<Box<B>>,
    deadline: Option<(Pin<Box<Sleep>>, DeadlineExceeded)>,
}

impl<B> PassingBody<B> {
    pub(super) fn new(body: B, deadline: Option<(Instant, DeadlineExceeded)>) -> Self {
        let deadline = deadline.map(|(at, late)| (Box::pin(sleep_until(at)), late));
        Self { body: Box::pin(body), deadline }
    }
}

impl<B> Body for PassingBody<B>
where
    B: Body<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if let Poll::Ready(frame) = self.body.as_mut().poll_frame(cx) {
            return Poll::Ready(frame.map(|frame| frame.map_err(Into::into)));
        }
        let Some((sleep, late)) = &mut self.deadline else { return Poll::Pending };
        ready!(sleep.as_mut().poll(cx));
        Poll::Ready(Some(Err(late.clone().into())))
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
