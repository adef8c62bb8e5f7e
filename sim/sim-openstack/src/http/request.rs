//! A request as the services see it: path below the service's root, query, body, and who asks.

use http::{HeaderMap, Method};
use serde_json::Value;

use super::Query;

/// A request, read.
#[derive(Clone, Debug)]
pub struct ApiRequest {
    /// Its method.
    pub method: Method,
    /// Its path below the service's root, as written.
    pub path: String,
    /// The non-empty parts of the path, decoded.
    pub segments: Vec<String>,
    /// Its query.
    pub query: Query,
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body; null if there is none.
    pub body: Value,
    /// Whether the body was something that is no JSON.
    pub body_is_garbage: bool,
}

impl ApiRequest {
    /// The parts of the path as string slices, to match on.
    #[must_use]
    pub fn parts(&self) -> Vec<&str> {
        self.segments.iter().map(String::as_str).collect()
    }

    /// A header that is text.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).and_then(|value| value.to_str().ok())
    }
}

/// Who asks, from the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Caller {
    /// The user.
    pub user_id: String,
    /// The project of the token; empty if it has none.
    pub project_id: String,
    /// The names of the roles.
    pub roles: Vec<String>,
}

impl Caller {
    /// Whether it may do everything everywhere.
    #[must_use]
    pub fn is_admin(&self) -> bool {
        self.has_role("admin")
    }

    /// Whether it has a role.
    #[must_use]
    pub fn has_role(&self, role: &str) -> bool {
        self.roles.iter().any(|own| own == role)
    }

    /// Whether it may change things of its project.
    #[must_use]
    pub fn may_write(&self) -> bool {
        self.is_admin() || self.has_role("member")
    }

    /// Whether it may see what a project owns.
    #[must_use]
    pub fn may_see(&self, project_id: &str) -> bool {
        self.is_admin() || self.project_id == project_id
    }
}

/// A request with who asks.
#[derive(Clone, Debug)]
pub struct Call<'a> {
    /// What is asked.
    pub request: &'a ApiRequest,
    /// Who asks.
    pub caller: &'a Caller,
}
