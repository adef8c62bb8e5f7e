//! Errors of calls, in the few classes that decide how they are retried.
//!
//! Every text is safe to log: it contains the method and the path of the request, never the query, the body, a token or a password.
//! Messages of services are cleaned and truncated.

pub(crate) mod classify;
pub(crate) mod fault;
#[cfg(test)]
mod tests;

use std::{fmt, time::Duration};

use http::Method;

use crate::Service;

/// The class of an error. Only the class decides about retries, never the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The service failed, did not answer or sent an invalid answer, or a proxy answered in its place.
    Transient,
    /// The service rate-limited the call.
    Throttled,
    /// Another client changed the object, or the request conflicts with the existing state; observe again.
    Conflict,
    /// The service itself is changing the object (immutable, `PENDING_*`); the same call may succeed soon.
    Busy,
    /// The service itself reports that the object does not exist.
    NotFound,
    /// The request cannot succeed as it is; a user or administrator has to change something.
    Invalid,
    /// This cloud or its driver does not support the path, the version or the option.
    Unsupported,
    /// The cloud rejected the credentials or the token.
    Unauthenticated,
    /// The credentials lack a permission.
    Forbidden,
    /// A quota is exhausted, or no addresses are left.
    Quota,
    /// The write fence is closed.
    Fenced,
    /// The catalog has an endpoint without TLS although Keystone has TLS. The token is not sent there.
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

/// What is known about the effect of a failed call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The request was not sent: nothing has changed.
    NotSent,
    /// The service answered that it did not execute the request.
    Refused,
    /// The request may have been executed: there was no answer, or the answer does not tell.
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

/// The request line for error messages and logs, without anything that could be secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestLine {
    pub(crate) service: Service,
    pub(crate) method: Method,
    pub(crate) path: String,
}

impl Error {
    /// An error of `class`. `message` is shown to users.
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

    /// An error for a request that was not sent because it cannot be valid.
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

    /// The same error with another class and an additional explanation in front of its message.
    pub(crate) fn reclassified(mut self, class: ErrorClass, why: &str) -> Self {
        self.0.class = class;
        self.0.message = format!("{why}: {}", self.0.message);
        self
    }

    /// The same error with another outcome, for example that of the call during which it occurred.
    pub(crate) fn with_outcome(mut self, outcome: Outcome) -> Self {
        self.0.outcome = outcome;
        self
    }

    /// For an error that occurred before the actual call, such as during endpoint discovery: its 404 is no statement about the object of
    /// the call, so it becomes transient.
    pub(crate) fn on_the_way(self) -> Self {
        if !self.is_not_found() {
            return self;
        }
        self.reclassified(ErrorClass::Transient, "no way to the service")
    }

    /// For an error of a token request. Keystone answers "Could not find …" if the application credential or its user was deleted; this is
    /// an authentication error, because retries do not help.
    pub(crate) fn of_a_login(self) -> Self {
        if self.is_not_found() && self.0.message.starts_with("Could not find ") {
            return self.reclassified(ErrorClass::Unauthenticated, "what the credentials name is not there");
        }
        self.on_the_way()
    }

    /// The class, which decides about retries.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        self.0.class
    }

    /// Whether the service itself reports that the object does not exist.
    #[must_use]
    pub fn is_not_found(&self) -> bool {
        self.0.class == ErrorClass::NotFound
    }

    /// What is known about the effect of the call.
    #[must_use]
    pub fn outcome(&self) -> Outcome {
        self.0.outcome
    }

    /// The HTTP status; `None` if there was no answer.
    #[must_use]
    pub fn status(&self) -> Option<u16> {
        self.0.status
    }

    /// The error type of the service, such as `SecurityGroupRuleExists` or `itemNotFound`; `None` if the answer has none.
    #[must_use]
    pub fn fault(&self) -> Option<&str> {
        self.0.fault.as_deref()
    }

    /// The message of the service, or a description of the failure; without the request and its id.
    #[must_use]
    pub fn message(&self) -> &str {
        &self.0.message
    }

    /// The request id of the cloud, under which its operators find the request in their logs.
    #[must_use]
    pub fn request_id(&self) -> Option<&str> {
        self.0.request_id.as_deref()
    }

    /// The pause that the service requested in `Retry-After`; at most one day.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        self.0.retry_after
    }

    /// The service that was called; `None` if the error is not about a request.
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
