//! What is asked before a call: the budget that all callers share, and the fence that stops writes. And who is told after it.

use std::{fmt, time::Duration};

use async_trait::async_trait;

use crate::Service;

/// How urgent a call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub enum Priority {
    /// Somebody waits for it.
    #[default]
    User,
    /// A sweep, a poll, drift repair.
    Background,
}

/// The limiter that all callers of a cloud share.
#[async_trait]
pub trait Budget: Send + Sync + fmt::Debug {
    /// Waits until a call to `service` may be made.
    async fn acquire(&self, service: Service, priority: Priority);

    /// The service said "too many requests": nobody should call it until `pause` has passed.
    fn throttled(&self, service: Service, pause: Duration);
}

/// No limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

#[async_trait]
impl Budget for Unlimited {
    async fn acquire(&self, _service: Service, _priority: Priority) {}
    fn throttled(&self, _service: Service, _pause: Duration) {}
}

/// Writing is not allowed at this moment; the text says why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Closed(pub String);

/// Says whether a change may be made at this very moment. Asked directly before each mutating call, and again before it
/// is repeated with a new token.
pub trait WriteFence: Send + Sync {
    /// Checks that a change may be made now.
    ///
    /// # Errors
    ///
    /// [`Closed`] when it may not.
    fn check(&self) -> Result<(), Closed>;
}

impl<F: Fn() -> Result<(), Closed> + Send + Sync> WriteFence for F {
    fn check(&self) -> Result<(), Closed> {
        self()
    }
}

/// A request that was sent, as far as it may be shown: neither query nor headers nor body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sent<'a> {
    /// To whom.
    pub service: Service,
    /// `GET`, `POST`, …
    pub method: &'a str,
    /// The path, with the ids in it.
    pub path: &'a str,
    /// The status of the answer; none if there was no answer.
    pub status: Option<u16>,
    /// From sending it to the end of the answer.
    pub took: Duration,
    /// The id by which the service's own log knows it.
    pub request_id: Option<String>,
}

/// Is told of every request, also of those for tokens. Must not block.
pub trait Witness: Send + Sync {
    /// A request was answered, or was not.
    fn sent(&self, sent: Sent<'_>);
}

/// Does not care.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Witness for Nobody {
    fn sent(&self, _sent: Sent<'_>) {}
}
