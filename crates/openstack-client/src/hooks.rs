//! Hooks around calls: the rate limiter that all callers share, the fence that stops mutations, and the observer of requests.

use std::{fmt, time::Duration};

use async_trait::async_trait;

use crate::Service;

/// How urgent a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Priority {
    /// A user waits for it.
    #[default]
    User,
    /// Periodic resync, polls, drift repair.
    Background,
}

/// The rate limiter that all callers of one cloud share.
#[async_trait]
pub trait Budget: Send + Sync + fmt::Debug {
    /// Waits until a call to `service` may be made.
    async fn acquire(&self, service: Service, priority: Priority);

    /// The service rate-limited a call: no caller should call it until `pause` has passed.
    fn throttled(&self, service: Service, pause: Duration);
}

/// A budget without a limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

#[async_trait]
impl Budget for Unlimited {
    async fn acquire(&self, _service: Service, _priority: Priority) {}
    fn throttled(&self, _service: Service, _pause: Duration) {}
}

/// Mutations are not allowed at this time; the text says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed(pub String);

/// Says whether a mutation is allowed now. Checked immediately before each mutating request, again before the request is repeated with a
/// new token, and while the call waits for the budget.
pub trait WriteFence: Send + Sync {
    /// Checks whether a mutation is allowed now.
    ///
    /// # Errors
    ///
    /// [`Closed`] if it is not.
    fn check(&self) -> Result<(), Closed>;
}

impl<F: Fn() -> Result<(), Closed> + Send + Sync> WriteFence for F {
    fn check(&self) -> Result<(), Closed> {
        self()
    }
}

/// A request that was sent. Query, headers and body are omitted because they may contain secrets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent<'a> {
    /// The service that was called.
    pub service: Service,
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// The path, including object ids.
    pub path: &'a str,
    /// The HTTP status; `None` if there was no answer or the caller was cancelled.
    pub status: Option<u16>,
    /// The time from sending the request to the end of the answer.
    pub took: Duration,
    /// The request id of the service, if it returned one.
    pub request_id: Option<String>,
}

/// Observes every request, including token requests. Must not block.
pub trait Witness: Send + Sync {
    /// A request ended, with or without an answer.
    fn sent(&self, sent: Sent<'_>);
}

/// A witness that ignores all requests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Witness for Nobody {
    fn sent(&self, _sent: Sent<'_>) {}
}
