//! What can go wrong in a call, sorted into the few classes that decide what happens next.
//!
//! Every text here is safe to show: it holds the method and the path of the request, never its query, its body, a token or
//! a password, and what a service said is cleaned and cut before it is kept.

pub(crate) mod classify;
pub(crate) mod fault;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use http::Method;

use crate::Service;

/// The class of a failure: it decides the retry, never the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The service failed, did not answer, answered what cannot be understood, or something in between answered for it.
    Transient,
    /// The service asked us to slow down.
    Throttled,
    /// Somebody else changed the object, or what was asked clashes with what is there; observe again.
    Conflict,
    /// The object is being changed by the service itself (immutable, `PENDING_*`); the same call may work soon.
    Busy,
    /// The service itself says that the object is not there.
    NotFound,
    /// The request can never work as it is; a person must change something.
    Invalid,
    /// This cloud or its driver cannot do that: the path, the version or the option is not known to it.
    Unsupported,
    /// The identity is not accepted.
    Unauthenticated,
    /// The identity lacks a right.
    Forbidden,
    /// A quota is used up, or a pool of addresses is empty.
    Quota,
    /// The write fence is closed.
    Fenced,
    /// The catalog names an address without TLS although Keystone has it: the token is not sent there.
    Insecure,
}

impl ErrorClass {
    /// The name used in metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::Conflict => "conflict",
            Self::Busy => "busy",
            Self::NotFound => "not_found",
            Self::Invalid => "invalid",
            Self::Unsupported => "unsupported",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::Quota => "quota",
            Self::Fenced => "fenced",
            Self::Insecure => "insecure",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What is known of the effect of a call that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The request never left: nothing has happened.
    NotSent,
    /// The service answered that it did not do it.
    Refused,
    /// The request may have taken effect: no answer came, or one that says nothing about it.
    Unknown,
}

/// A failed call.
#[derive(Debug, Clone)]
pub struct Error(Box<Details>);

#[derive(Debug, Clone)]
struct Details {
    class: ErrorClass,
    outcome: Outcome,
    message: String,
    request: Option<RequestLine>,
    status: Option<u16>,
    fault: Option<String>,
    request_id: Option<String>,
    retry_after: Option<Duration>,
}

/// What was asked, without anything that could be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestLine {
    pub(crate) service: Service,
    pub(crate) method: Method,
    pub(crate) path: String,
}

impl Error {
    /// A failure of `class`; `message` is shown to people.
    pub(crate) fn new(class: ErrorClass, outcome: Outcome, message: impl Into<String>) -> Self {
        Self(Box::new(Details {
            class,
            outcome,
            message: message.into(),
            request: None,
            status: None,
            fault: None,
            request_id: None,
            retry_after: None,
        }))
    }

    /// A request that was not made because it cannot be right.
    pub(crate) fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Invalid, Outcome::NotSent, message)
    }

    pub(crate) fn at(mut self, request: RequestLine) -> Self {
        self.0.request.get_or_insert(request);
        self
    }

    pub(crate) fn with_status(mut self, status: u16) -> Self {
        self.0.status = Some(status);
        self
    }

    pub(crate) fn with_fault(mut self, fault: Option<String>) -> Self {
        self.0.fault = fault;
        self
    }

    pub(crate) fn with_request_id(mut self, id: Option<String>) -> Self {
        self.0.request_id = id;
        self
    }

    pub(crate) fn with_retry_after(mut self, after: Option<Duration>) -> Self {
        self.0.retry_after = after;
        self
    }

    /// The same failure in another class, with another explanation in front.
    pub(crate) fn reclassified(mut self, class: ErrorClass, why: &str) -> Self {
        self.0.class = class;
        self.0.message = format!("{why}: {}", self.0.message);
        self
    }

    /// The same failure, of which it is known what it means for the call that it befell.
    pub(crate) fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    /// A failure on the way to an object: whatever was not found there, it was not the object.
    pub(crate) fn on_the_way(self) -> Self {
        if !self.is_not_found() {
            return self;
        }
        self.reclassified(ErrorClass::Transient, "no way to the service")
    }

    /// A failure to get a token. Keystone says "not found" of an application credential that was deleted, and of its user: then it
    /// does not know us, and that does not pass by itself.
    pub(crate) fn of_a_login(self) -> Self {
        if self.is_not_found() && self.0.message.starts_with("Could not find ") {
            return self.reclassified(ErrorClass::Unauthenticated, "what the credentials name is not there");
        }
        self.on_the_way()
    }

    /// The class, which decides the retry.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// Whether the service itself says that the object is not there.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0.class == ErrorClass::NotFound
    }

    /// What is known of the effect of the call.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The status of the answer, if one came.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The service's own word for the fault, such as `SecurityGroupRuleExists` or `itemNotFound`.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.0.fault.as_deref()
    }

    /// What the service said, or what was found instead; without the request and its id.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The cloud's own id of the request, for its operators.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// How long the service asked us to wait, if it did.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The service that was called.
    #[must_use]
    pub fn service(&self) -> Option<Service> {
        self.0.request.as_ref().map(|request| request.service)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(request) = &self.0.request {
            write!(f, "{} {} of {}: ", request.method, request.path, request.service)?;
        }
        if let Some(status) = self.0.status {
            write!(f, "{status} ")?;
        }
        match &self.0.fault {
            Some(fault) if self.0.message.is_empty() => f.write_str(fault)?,
            Some(fault) if !fault.is_empty() => write!(f, "{fault}: {}", self.0.message)?,
            _ => f.write_str(&self.0.message)?,
        }
        match &self.0.request_id {
            Some(id) => write!(f, " (request id {id})"),
            None => Ok(()),
        }
    }
}

impl std::error::Error for Error {}
