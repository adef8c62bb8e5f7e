//! A request as the core sees it: no sockets, no streams. Parsing of paths, queries and selectors is below.

use bytes::Bytes;
use http::{HeaderMap, Method};

use crate::config::User;

pub(crate) mod options;
pub(crate) mod path;
pub(crate) mod selector;

pub(crate) use options::Options;
pub(crate) use path::{ResourcePath, Route};

/// A whole request.
#[derive(Debug, Clone)]
pub(crate) struct ApiRequest {
    pub(crate) method: Method,
    pub(crate) path: String,
    pub(crate) query: String,
    pub(crate) content_type: String,
    pub(crate) accept: String,
    pub(crate) user_agent: String,
    pub(crate) user: User,
    pub(crate) body: Bytes,
    /// What a read shows, if not the present.
    pub(crate) at_version: Option<u64>,
}

impl ApiRequest {
    /// The request of the head and the collected body; `user` was found out before.
    pub(crate) fn new(method: Method, uri: &http::Uri, headers: &HeaderMap, user: User, body: Bytes) -> Self {
        let header = |name: http::HeaderName| {
            headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default().to_owned()
        };
        Self {
            method,
            path: uri.path().to_owned(),
            query: uri.query().unwrap_or_default().to_owned(),
            content_type: header(http::header::CONTENT_TYPE),
            accept: header(http::header::ACCEPT),
            user_agent: header(http::header::USER_AGENT),
            user,
            body,
            at_version: None,
        }
    }

    /// A request of the test itself.
    pub(crate) fn internal(method: Method, path: String, body: Bytes) -> Self {
        Self {
            method,
            path,
            query: String::new(),
            content_type: "application/json".into(),
            accept: "application/json".into(),
            user_agent: "sim-kube-direct".into(),
            user: User::admin(),
            body,
            at_version: None,
        }
    }

    /// The content type without parameters.
    pub(crate) fn media_type(&self) -> &str {
        self.content_type.split(';').next().unwrap_or_default().trim()
    }
}

/// What is known of a request before it is handled: what interceptors and the log see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestInfo {
    /// API verb: get, list, watch, create, update, patch, delete, deletecollection; for other paths the
    /// lower-case method.
    pub verb: &'static str,
    /// HTTP method.
    pub method: String,
    /// Path without query.
    pub path: String,
    /// Query without `?`.
    pub query: String,
    /// API group, "" for core and for other paths.
    pub group: String,
    /// Plural resource name, "" for other paths.
    pub resource: String,
    /// Subresource, or "".
    pub subresource: String,
    /// Namespace, or "".
    pub namespace: String,
    /// Object name, or "".
    pub name: String,
    /// Who asks.
    pub user: String,
    /// The client's User-Agent.
    pub user_agent: String,
    /// Length of the request's body.
    pub bytes: usize,
    /// The request's body; empty in a log that keeps no bodies.
    pub body: Bytes,
}

impl RequestInfo {
    pub(crate) fn of(request: &ApiRequest) -> Self {
        let target = match path::route(&request.path) {
            Route::Resource(target) => target,
            _ => ResourcePath::default(),
        };
        Self {
            verb: verb(request, &target),
            method: request.method.to_string(),
            path: request.path.clone(),
            query: request.query.clone(),
            group: target.group,
            resource: target.plural,
            subresource: target.subresource,
            namespace: target.namespace,
            name: target.name,
            user: request.user.name.clone(),
            user_agent: request.user_agent.clone(),
            bytes: request.body.len(),
            body: request.body.clone(),
        }
    }

    /// The body as JSON; `Null` where there is none, or where it is something else.
    #[must_use]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_slice(&self.body).unwrap_or_default()
    }

    /// Whether the request may change something.
    #[must_use]
    pub fn is_write(&self) -> bool {
        matches!(self.verb, "create" | "update" | "patch" | "delete" | "deletecollection")
    }
}

fn verb(request: &ApiRequest, target: &ResourcePath) -> &'static str {
    let one = !target.name.is_empty();
    match request.method {
        Method::GET if target.plural.is_empty() => "get",
        Method::GET if one => "get",
        Method::GET if Options::parse(&request.query).is_ok_and(|options| options.watch) => "watch",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE if one => "delete",
        Method::DELETE => "deletecollection",
        _ => "options",
    }
}
