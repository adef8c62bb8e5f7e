//! A deadline on every plain request, from sending it to the last byte of its answer. A watch is left alone: it is
//! meant to stay open, and the watcher above has its own idle timeout.

use std::{
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use futures::{FutureExt, future::BoxFuture};
use http::{Request, Response};
use http_body_util::{BodyExt, Either, Full};
use kube::client::Body;
use tokio::time::timeout;
use tower::{BoxError, Layer, Service};

use super::is_watch;

/// A request was given up because its answer did not come in time. It may still have taken effect.
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

/// Whether `error` says that the deadline of the request passed.
#[must_use]
pub fn is_deadline(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Service(inner) if inner.is::<DeadlineExceeded>())
}

/// Gives every plain request a deadline.
#[derive(Debug, Clone, Copy)]
pub struct DeadlineLayer {
    after: Duration,
}

impl DeadlineLayer {
    /// Plain requests fail `after` this long.
    #[must_use]
    pub fn new(after: Duration) -> Self {
        Self { after }
    }
}

impl<S> Layer<S> for DeadlineLayer {
    type Service = Deadline<S>;

    fn layer(&self, inner: S) -> Deadline<S> {
        Deadline { inner, after: self.after }
    }
}

/// The service of [`DeadlineLayer`].
#[derive(Debug, Clone)]
pub struct Deadline<S> {
    inner: S,
    after: Duration,
}

impl<S, B> Service<Request<Body>> for Deadline<S>
where
    S: Service<Request<Body>, Response = Response<B>>,
    S::Future: Send + 'static,
    S::Error: Into<BoxError> + 'static,
    B: BodyExt<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    /// A plain answer is read to its end here (kube would do so next); that of a watch passes through.
    type Response = Response<Either<Full<Bytes>, B>>;
    type Error = BoxError;
    type Future = BoxFuture<'static, Result<Self::Response, BoxError>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        self.inner.poll_ready(cx).map_err(Into::into)
    }

    fn call(&mut self, request: Request<Body>) -> Self::Future {
        let late = DeadlineExceeded {
            method: request.method().to_string(),
            path: request.uri().path().to_owned(),
            after: self.after,
        };
        let watch = is_watch(&request);
        let answer = self.inner.call(request);
        async move {
            if watch {
                return Ok(answer.await.map_err(Into::into)?.map(Either::Right));
            }
            timeout(late.after, read(answer)).await.map_err(|_elapsed| late)?
        }
        .boxed()
    }
}

async fn read<E, B>(
    answer: impl Future<Output = Result<Response<B>, E>>,
) -> Result<Response<Either<Full<Bytes>, B>>, BoxError>
where
    E: Into<BoxError>,
    B: BodyExt<Data = Bytes>,
    B::Error: Into<BoxError>,
{
    let (head, body) = answer.await.map_err(Into::into)?.into_parts();
    let bytes = body.collect().await.map_err(Into::into)?.to_bytes();
    Ok(Response::from_parts(head, Either::Left(Full::new(bytes))))
}
