//! The HTTP layer: the filters that every request passes, the endpoints, and the lifetime of a connection.

pub(super) mod connection;
pub mod endpoints;
pub(super) mod filters;
mod statusz;

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};

/// A response with a status, a content type and a body.
fn reply(status: StatusCode, content_type: &'static str, body: impl Into<Body>) -> Response {
    let mut response = Response::new(body.into());
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    response
}

fn plain(status: StatusCode, body: impl Into<String>) -> Response {
    reply(status, "text/plain; charset=utf-8", body.into())
}

fn json(status: StatusCode, body: &serde_json::Value) -> Response {
    reply(status, "application/json", body.to_string())
}
