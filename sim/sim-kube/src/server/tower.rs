//! The server as a `tower::Service`: collects the body, asks the interceptor, calls the core, shapes the answer.

use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, header};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper::body::Body;
use tower::{BoxError, Service};

use super::{SimKube, stream};
use crate::config::User;
use crate::core::Outcome;
use crate::fault::{Reply, Verdict};
use crate::log::LogEntry;
use crate::request::{ApiRequest, RequestInfo};
use crate::status::ApiError;

/// Body of an answer.
pub type SimBody = UnsyncBoxBody<Bytes, BoxError>;

/// The longest body that is read, as on the real server: 3 MiB.
const BODY_LIMIT: usize = 3 * 1_024 * 1_024;

/// The connection broke before the answer arrived: whether the request took effect is unknown to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error(
    "the connection to the API server was lost before its answer arrived; read the object again to learn what became of the request"
)]
pub struct ConnectionLost;

impl<B> Service<Request<B>> for SimKube
where
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<BoxError>,
{
    type Response = Response<SimBody>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let (head, body) = request.into_parts();
            let user = match server.user_of(&head.headers) {
                Ok(user) => user,
                Err(error) => return Ok(server.response(Outcome::error(&error))),
            };
            let body = match Limited::new(body, BODY_LIMIT).collect().await {
                Ok(body) => body.to_bytes(),
                Err(error) if error.is::<LengthLimitError>() => {
                    return Ok(server.response(Outcome::error(&ApiError::too_large(BODY_LIMIT))));
                }
                Err(error) => return Err(error),
            };
            let request = ApiRequest::new(head.method, &head.uri, &head.headers, user, body);
            server.serve(&request).await
        })
    }
}

impl SimKube {
    /// Whose request it is: a token's owner, or the admin when nobody says who asks, or whom they impersonate.
    fn user_of(&self, headers: &HeaderMap) -> Result<User, ApiError> {
        let user = match headers.get(header::AUTHORIZATION) {
            None => User::admin(),
            Some(value) => value
                .to_str()
                .ok()
                .and_then(|value| value.strip_prefix("Bearer "))
                .and_then(|token| self.core().token_owner(token.trim()).cloned())
                .ok_or_else(ApiError::unauthorized)?,
        };
        let Some(name) = headers.get("impersonate-user").and_then(|value| value.to_str().ok()) else {
            return Ok(user);
        };
        let groups = headers.get_all("impersonate-group");
        let groups = groups.iter().filter_map(|group| group.to_str().ok()).map(str::to_owned).collect();
        Ok(User { name: name.to_owned(), groups })
    }

    async fn serve(&self, request: &ApiRequest) -> Result<Response<SimBody>, BoxError> {
        let info = RequestInfo::of(request);
        let outcome = match self.verdict(&info) {
            Verdict::Pass => self.handle(request),
            Verdict::Delay(pause) => {
                tokio::time::sleep(pause).await;
                self.handle(request)
            }
            Verdict::AtVersion(version) => {
                self.handle(&ApiRequest { at_version: Some(version), ..request.clone() })
            }
            Verdict::Refuse(error) => Outcome::error(&error),
            Verdict::Answer { code, body } => Outcome::Text { code, body },
            Verdict::Hang => {
                self.log_request(LogEntry { request: info, code: 0 });
                return std::future::pending().await;
            }
            Verdict::Break => {
                self.log_request(LogEntry { request: info, code: 0 });
                return Err(ConnectionLost.into());
            }
        };
        let code = outcome.code();
        self.log_request(LogEntry { request: info.clone(), code });
        match self.reply(&info, code) {
            Reply::Deliver => {}
            Reply::Delay(pause) => tokio::time::sleep(pause).await,
            Reply::Lose => return Err(ConnectionLost.into()),
            Reply::Hang => return std::future::pending().await,
        }
        Ok(self.response(outcome))
    }

    fn response(&self, outcome: Outcome) -> Response<SimBody> {
        match outcome {
            Outcome::Json { code, body, content_type, warnings } => {
                let mut response = whole(code, content_type, body.to_string());
                for warning in warnings {
                    let text = format!("299 - \"{}\"", warning.replace('"', "\\\""));
                    if let Ok(value) = HeaderValue::from_str(&text) {
                        response.headers_mut().append(header::WARNING, value);
                    }
                }
                if let Some(seconds) =
                    body.pointer("/details/retryAfterSeconds").and_then(serde_json::Value::as_u64)
                    && code >= 400
                {
                    response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
                }
                response
            }
            Outcome::List(listing) => whole(200, "application/json", listing.text()),
            Outcome::Text { code, body } => {
                let json = body.starts_with('{');
                whole(code, if json { "application/json" } else { "text/plain; charset=utf-8" }, body)
            }
            Outcome::Empty { code, content_type } => whole(code, content_type, String::new()),
            // The question was asked before; nobody answered it.
            Outcome::Review(review) => self.response(review.answered(false)),
            Outcome::Watch(spec) => {
                let mut response = Response::new(stream::body(self.clone(), *spec));
                let json = HeaderValue::from_static("application/json");
                response.headers_mut().insert(header::CONTENT_TYPE, json);
                response
            }
        }
    }
}

fn whole(code: u16, content_type: &'static str, body: String) -> Response<SimBody> {
    let body = Full::new(Bytes::from(body)).map_err(|never| match never {}).boxed_unsync();
    let mut response = Response::new(body);
    *response.status_mut() =
        http::StatusCode::from_u16(code).unwrap_or(http::StatusCode::INTERNAL_SERVER_ERROR);
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}
