//! A deadline for every plain request, from sending it to the last byte of its response, and a memory limit for the response. Watches are
//! exempt: they stay open by design, and the watcher has its own idle timeout. The lists of informers are streamed.

use std::{
    pin::pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::{Bytes, BytesMut};
use futures::{FutureExt, future::BoxFuture};
use http::{Method, Request, Response, response};
use http_body_util::{BodyExt, Either};
use kube::client::Body;
use tokio::time::{Instant, timeout_at};
use tower::{BoxError, Layer, Service};

use super::body::{PassingBody, WholeBody};
use super::is_watch;
use super::memory::{AnswerBudget, AnswerTooLarge, limit_bytes};
use super::readable::Whole;

/// A request extension: the response is streamed to an informer. If it is successful, it is not read here and has no memory limit.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TakenApart;

/// The request was aborted because its response was late. It may still have taken effect.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{method} {path}: no complete answer from the API server within {after:?}")]
pub struct DeadlineExceeded {
    /// The HTTP method.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The deadline.
    pub after: Duration,
}

/// Whether `error` means that the deadline of the request has passed.
#[must_use]
pub fn is_deadline(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Service(inner) if inner.is::<DeadlineExceeded>())
}

/// Gives every plain request a deadline, and its response a memory limit.
#[derive(Debug, Clone)]
pub struct DeadlineLayer {
    after: Duration,
    memory: AnswerBudget,
}

impl DeadlineLayer {
    /// Plain requests time out `after` this long; their responses share the budget `memory`.
    #[must_use]
    pub fn new(after: Duration, memory: AnswerBudget) -> Self {
        Self { after, memory }
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Deadline<S> {
        Deadline { inner, layer: self.clone() }
    }
}

/// The service of [`DeadlineLayer`].
#[derive(Debug, Clone)]
pub struct Deadline<S> {
    inner: S,
    layer: DeadlineLayer,
}

impl<S, B> Service<Request<Body>> for Deadline<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + 'static,
    B: BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// A plain response is read completely here (kube would do this next); others are streamed.
    type Response = Response<Either<WholeBody, PassingBody<B>>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let DeadlineLayer { after, memory } = self.layer.clone();
        let asked = Asked {
            method: request.method().clone(),
            path: request.uri().path().to_owned(),
            limit_bytes: limit_bytes(&request),
            memory,
        };
        let watch = is_watch(&request);
        let taken_apart = request.extensions().get::<TakenApart>().is_some();
        let answer = self.inner.call(request);
        async move {
            if watch {
                let response = answer.await.map_err(Into::into)?;
                return Ok(response.map(|body| Either::Right(PassingBody::new(body, None))));
            }
            let at = Instant::now() + after;
            let late =
                || DeadlineExceeded { method: asked.method.to_string(), path: asked.path.clone(), after };
            let response = timeout_at(at, answer).await.map_err(|_elapsed| late())?.map_err(Into::into)?;
            if taken_apart && response.status().is_success() {
                return Ok(response.map(|body| Either::Right(PassingBody::new(body, Some((at, late()))))));
            }
            let (head, body) = response.into_parts();
            let read = timeout_at(at, asked.read(&head, body)).await.map_err(|_elapsed| late())??;
            Ok(Response::from_parts(head, Either::Left(read)))
        }
        .boxed()
    }
}

/// The data of a request that is needed to read its response.
struct Asked {
    method: Method,
    path: String,
    limit_bytes: usize,
    memory: AnswerBudget,
}

impl Asked {
    async fn read<B>(&self, head: &response::Parts, body: B) -> Result<WholeBody, BoxError>
    where
        B: BodyExt<Data = Bytes>,
        B::Error: Into<BoxError>,
    {
        let limit = self.limit_bytes;
        let told = body.size_hint().exact().map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX));
        if told.is_some_and(|bytes| bytes > limit) {
            return Err(self.too_large().into());
        }
        // If the API server does not send the length, the whole limit is reserved: growing reservations could wait for each other.
        let memory = self.memory.reserve(told.unwrap_or(limit)).await;
        let mut body = pin!(body);
        let mut read = BytesMut::with_capacity(told.unwrap_or_default());
        while let Some(frame) = body.frame().await {
            let Ok(data) = frame.map_err(Into::into)?.into_data() else { continue };
            if read.len() + data.len() > limit {
                return Err(self.too_large().into());
            }
            read.extend_from_slice(&data);
        }
        let whole = Whole { method: &self.method, path: &self.path, head };
        Ok(WholeBody::new(whole.presentable(read.freeze())?, memory))
    }

    fn too_large(&self) -> AnswerTooLarge {
        AnswerTooLarge {
            method: self.method.to_string(),
            path: self.path.clone(),
            limit_bytes: self.limit_bytes,
        }
    }
}
