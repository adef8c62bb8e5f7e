//! Faults from outside: what a test or a simulation may do to a request. Decides nothing itself.

use std::time::Duration;

pub(crate) mod once;

use crate::request::RequestInfo;
use crate::status::ApiError;

/// What happens to a request before it takes effect.
#[derive(Debug, Clone)]
pub enum Verdict {
    /// It is handled.
    Pass,
    /// It is answered with an error and has no effect.
    Refuse(ApiError),
    /// It is answered with this status and body and has no effect.
    Answer {
        /// HTTP status code.
        code: u16,
        /// The whole body.
        body: String,
    },
    /// It is handled after a pause.
    Delay(Duration),
    /// It is never answered and has no effect.
    Hang,
    /// The connection breaks; it has no effect.
    Break,
    /// A get or list shows what was at this version, as a cache that lags behind; other requests pass.
    AtVersion(u64),
}

/// Who watches what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WatchInfo {
    /// Counts the watches of the server.
    pub id: u64,
    /// Who asked.
    pub user: String,
    /// The client's User-Agent.
    pub user_agent: String,
    /// API group, "" for core.
    pub group: String,
    /// Plural resource name.
    pub resource: String,
    /// Namespace, or "" for all.
    pub namespace: String,
}

/// An event that a watch is about to be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EventInfo {
    /// ADDED, MODIFIED, DELETED, BOOKMARK or ERROR.
    pub kind: &'static str,
    /// Namespace of the object, or "".
    pub namespace: String,
    /// Name of the object; "" for bookmarks and errors.
    pub name: String,
    /// Its version.
    pub resource_version: u64,
}

/// What happens to an event of one watch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Delivery {
    /// It arrives.
    Deliver,
    /// It never arrives, and the next ones do.
    Drop,
    /// It and all after it wait; asked again with every change, and by
    /// [`SimKube::wake_watches`](crate::SimKube::wake_watches).
    Hold,
    /// The connection breaks before it arrives.
    Break,
}

/// What happens to an answer after the effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reply {
    /// It arrives.
    Deliver,
    /// It arrives after a pause.
    Delay(Duration),
    /// The connection breaks before it arrives.
    Lose,
    /// It never arrives.
    Hang,
}

/// Looks at every request and may disturb it.
pub trait Interceptor: Send + Sync {
    /// Called before the request takes effect.
    fn before(&self, _request: &RequestInfo) -> Verdict {
        Verdict::Pass
    }

    /// Called after the effect, with the status code of the answer.
    fn after(&self, _request: &RequestInfo, _code: u16) -> Reply {
        Reply::Deliver
    }

    /// Called for each event of each watch, before it is sent.
    fn event(&self, _watch: &WatchInfo, _event: &EventInfo) -> Delivery {
        Delivery::Deliver
    }
}

/// Disturbs nothing.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoFaults;

impl Interceptor for NoFaults {}

impl ApiError {
    /// An answer for [`Verdict::Refuse`]: any code, reason and message.
    #[must_use]
    pub fn custom(code: u16, reason: &'static str, message: impl Into<String>) -> Self {
        Self::new(code, reason, message)
    }

    /// 429 with a pause the client should make.
    #[must_use]
    pub fn too_many_requests(retry_after_seconds: u32) -> Self {
        let message = "the server has received too many requests and has asked us to try again later";
        let mut error = Self::new(429, "TooManyRequests", message);
        error.details = Some(serde_json::json!({"retryAfterSeconds": retry_after_seconds}));
        error
    }
}
