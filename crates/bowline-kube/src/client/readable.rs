//! Decides what kube and its errors may see of a response. Pure.
//!
//! kube logs a response that it cannot decode and turns an error response that is no `Status` into an error message, and serde quotes the
//! value that does not fit. A response may contain a Secret or a token, so none of this may happen. A response that is not of the expected
//! form is replaced by an error that contains only its origin, its length and the position of the error.

use std::error::Error;

use bytes::Bytes;
use http::{Method, header, response};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenReview};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::core::Status;
use serde::Deserialize;
use serde::de::{DeserializeOwned, IgnoredAny};

use super::paths::Path;

/// The longest message of a `Status` that is passed on, in bytes. Validation errors quote the rejected values.
const LONGEST_MESSAGE_BYTES: usize = 4 << 10;
/// The reason that kube sets for an error response that is no `Status`.
const NO_STATUS: &str = "Failed to parse error data";

/// A response that is not of the expected form. The message quotes nothing of the response.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{method} {path}: the API server, or what is in front of it, sent {bytes} bytes that are not {what}{at}; they are not shown"
)]
pub struct UnreadableAnswer {
    method: String,
    path: String,
    bytes: usize,
    what: &'static str,
    at: String,
}

/// The `kind` field of a response.
#[derive(Deserialize)]
struct Kind {
    #[serde(default)]
    kind: String,
}

/// The request and the headers of a response that was read completely.
pub(super) struct Whole<'a> {
    pub(super) method: &'a Method,
    pub(super) path: &'a str,
    pub(super) head: &'a response::Parts,
}

impl Whole<'_> {
    /// The body as it is passed to kube.
    pub(super) fn presentable(&self, body: Bytes) -> Result<Bytes, UnreadableAnswer> {
        let Some(path) = Path::of(self.path) else { return Ok(body) };
        if self.head.status.is_client_error() || self.head.status.is_server_error() {
            return Ok(self.refusal(body));
        }
        if path.subresource == Some("log") {
            return Ok(body);
        }
        if std::str::from_utf8(&body).is_err() {
            return Err(self.unreadable(&body, "text", None));
        }
        match (path.group, path.resource, path.subresource) {
            ("", "secrets", None) => self.check::<Secret>("a Secret or a list of them", path.name, body),
            ("", "configmaps", None) => {
                self.check::<ConfigMap>("a ConfigMap or a list of them", path.name, body)
            }
            ("authentication.k8s.io", "tokenreviews", None) => {
                self.check::<TokenReview>("a TokenReview", Some(""), body)
            }
            ("", "serviceaccounts", Some("token")) => {
                self.check::<TokenRequest>("a TokenRequest", Some(""), body)
            }
            _ => Ok(body),
        }
    }

    /// Converts any error response to a `Status`.
    fn refusal(&self, body: Bytes) -> Bytes {
        let code = self.head.status.as_u16();
        // Every field of a `Status` has a default, so any JSON object could be parsed as one.
        let is_status = |kind: Option<Kind>| kind.is_some_and(|found| found.kind == "Status");
        let read = serde_json::from_slice::<Status>(&body).ok();
        let status = match read.filter(|_status| is_status(serde_json::from_slice(&body).ok())) {
            Some(status) if status.message.len() <= LONGEST_MESSAGE_BYTES => return body,
            Some(mut status) => {
                let end = status.message.floor_char_boundary(LONGEST_MESSAGE_BYTES);
                status.message.truncate(end);
                status.message.push('…');
                status
            }
            None => {
                let kind = self.head.headers.get(header::CONTENT_TYPE).and_then(|kind| kind.to_str().ok());
                let kind = kind.filter(|kind| kind.len() <= 64).unwrap_or("an unknown type");
                let message = format!("an answer that is no Status: {} bytes of {kind}", body.len());
                Status::failure(&message, NO_STATUS).with_code(code)
            }
        };
        serde_json::to_vec(&status).map_or_else(|_impossible| Bytes::new(), Bytes::from)
    }

    /// Returns the body if it is a `K`, a list of `K`, or a permitted substitute (`Status`, partial metadata).
    fn check<K: DeserializeOwned>(
        &self,
        what: &'static str,
        name: Option<&str>,
        body: Bytes,
    ) -> Result<Bytes, UnreadableAnswer> {
        #[derive(Deserialize)]
        struct ListOf<K> {
            #[serde(rename = "items")]
            _items: Vec<K>,
        }
        let kind = serde_json::from_slice::<Kind>(&body).map(|found| found.kind).unwrap_or_default();
        let is_list = name.is_none() && kind.ends_with("List");
        let read = match kind.as_str() {
            "Status" => serde_json::from_slice::<Status>(&body).map(drop),
            // The request asked for metadata only. Metadata is not secret, and is not parsed here.
            "PartialObjectMetadata" | "PartialObjectMetadataList" => {
                serde_json::from_slice::<IgnoredAny>(&body).map(drop)
            }
            _ if is_list => serde_json::from_slice::<ListOf<K>>(&body).map(drop),
            _ => serde_json::from_slice::<K>(&body).map(drop),
        };
        match read {
            Ok(()) => Ok(body),
            Err(error) => Err(self.unreadable(&body, what, Some(&error))),
        }
    }

    fn unreadable(
        &self,
        body: &[u8],
        what: &'static str,
        error: Option<&serde_json::Error>,
    ) -> UnreadableAnswer {
        UnreadableAnswer {
            method: self.method.to_string(),
            path: self.path.to_owned(),
            bytes: body.len(),
            what,
            at: error.map(position).unwrap_or_default(),
        }
    }
}

fn position(error: &serde_json::Error) -> String {
    format!(" (line {}, column {})", error.line(), error.column())
}

/// An error with all its causes, for logs and messages. For a response that could not be decoded it contains only the position, because
/// serde quotes the value that does not fit.
#[must_use]
pub fn describe(error: &(dyn Error + 'static)) -> String {
    let causes = || {
        let mut next = Some(error);
        std::iter::from_fn(move || {
            let this: &(dyn Error + 'static) = next?;
            next = this.source();
            Some(this)
        })
    };
    if let Some(undecodable) = causes().find_map(|cause| cause.downcast_ref::<serde_json::Error>()) {
        return format!("the answer of the API server is not what was asked for{}", position(undecodable));
    }
    let mut text = String::new();
    for cause in causes().map(ToString::to_string) {
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}
