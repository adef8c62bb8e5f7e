//! An answer, before it becomes bytes.

use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderValue, StatusCode};
use serde_json::Value;

/// What an answer carries.
#[derive(Clone, Debug, PartialEq)]
pub enum Body {
    /// Nothing.
    Empty,
    /// A JSON value.
    Json(Value),
    /// Text of some content type.
    Text(String, &'static str),
}

/// An answer.
#[derive(Clone, Debug, PartialEq)]
pub struct ApiResponse {
    /// Its status.
    pub status: StatusCode,
    /// Its headers, without what follows from the body.
    pub headers: Vec<(HeaderName, HeaderValue)>,
    /// Its body.
    pub body: Body,
}

/// An answer that says no.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusal(Box<ApiResponse>);

/// What a handler gives.
pub type Reply = Result<ApiResponse, Refusal>;

impl ApiResponse {
    /// An answer with a JSON body.
    #[must_use]
    pub fn json(status: StatusCode, body: Value) -> Self {
        Self { status, headers: Vec::new(), body: Body::Json(body) }
    }

    /// An answer with a JSON body and status 200.
    #[must_use]
    pub fn ok(body: Value) -> Self {
        Self::json(StatusCode::OK, body)
    }

    /// An answer without a body.
    #[must_use]
    pub fn empty(status: StatusCode) -> Self {
        Self { status, headers: Vec::new(), body: Body::Empty }
    }

    /// The same with one more header; a value that no header can carry is left out.
    #[must_use]
    pub fn with(mut self, name: &'static str, value: &str) -> Self {
        if let Ok(value) = HeaderValue::from_str(value) {
            self.headers.push((HeaderName::from_static(name), value));
        }
        self
    }

    /// The JSON body, if it has one.
    #[must_use]
    pub fn body_json(&self) -> Option<&Value> {
        match &self.body {
            Body::Json(value) => Some(value),
            _ => None,
        }
    }

    /// As bytes on the wire.
    #[must_use]
    pub fn into_http(self) -> http::Response<bytes::Bytes> {
        let (bytes, kind) = match &self.body {
            Body::Empty => (bytes::Bytes::new(), None),
            Body::Json(value) => (value.to_string().into(), Some("application/json")),
            Body::Text(text, kind) => (text.clone().into(), Some(*kind)),
        };
        let mut response = http::Response::new(bytes);
        *response.status_mut() = self.status;
        let headers = response.headers_mut();
        if let Some(kind) = kind {
            headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        }
        for (name, value) in self.headers {
            headers.insert(name, value);
        }
        response
    }
}

impl Refusal {
    /// A refusal with a JSON body.
    #[must_use]
    pub fn json(status: StatusCode, body: Value) -> Self {
        Self(Box::new(ApiResponse::json(status, body)))
    }

    /// The answer to send.
    #[must_use]
    pub fn into_response(self) -> ApiResponse {
        *self.0
    }

    /// The same with one more header.
    #[must_use]
    pub fn with(self, name: &'static str, value: &str) -> Self {
        Self(Box::new(self.0.with(name, value)))
    }
}

impl From<ApiResponse> for Refusal {
    fn from(response: ApiResponse) -> Self {
        Self(Box::new(response))
    }
}
