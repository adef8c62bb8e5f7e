//! Errors of cloud calls, in the few classes that decide how they are retried.
//!
//! A provider maps the answers of its API to these classes in one place. Code above the provider does not read status codes.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The class of an error. Only the class decides about retries, never the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The service failed or did not answer; the same call may succeed later.
    Transient,
    /// The service rate-limited the call.
    Throttled,
    /// Another client changed the object, or it is busy; observe again.
    Conflict,
    /// The object of the call does not exist. This alone is no proof that an instance is gone: see [`crate::Evidence`].
    NotFound,
    /// The request cannot succeed as it is; a user or administrator has to change something.
    Invalid,
    /// The cloud rejected the credentials (safety rail SR-3 stops all changes).
    Unauthenticated,
    /// The credentials lack a permission or a quota.
    Forbidden,
    /// The provider cannot continue.
    Fatal,
    /// The fence is closed: another replica leads and this process is about to exit, or the next renewal of the lease opens the fence again.
    /// Not reported.
    Fenced,
}

/// How an error of some class is retried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Retry with exponential backoff.
    BackOff,
    /// Observe again immediately: the observed state is outdated.
    ObserveAgain,
    /// Only a change of configuration, permissions or the object can help: retry rarely and report it.
    AfterChange,
}

impl ErrorClass {
    /// How an error of this class is retried.
    #[must_use]
    pub const fn retry(self) -> Retry {
        match self {
            Self::Transient | Self::Throttled | Self::Fenced => Retry::BackOff,
            Self::Conflict | Self::NotFound => Retry::ObserveAgain,
            Self::Invalid | Self::Unauthenticated | Self::Forbidden | Self::Fatal => Retry::AfterChange,
        }
    }

    /// The name in metrics and logs.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Transient => "transient",
            Self::Throttled => "throttled",
            Self::Conflict => "conflict",
            Self::NotFound => "not_found",
            Self::Invalid => "invalid",
            Self::Unauthenticated => "unauthenticated",
            Self::Forbidden => "forbidden",
            Self::Fatal => "fatal",
            Self::Fenced => "fenced",
        }
    }
}

impl fmt::Display for ErrorClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A failed cloud call. Its text appears in events and logs, so it must not contain secrets.
#[derive(Debug)]
pub struct CloudError {
    class: ErrorClass,
    message: String,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl CloudError {
    /// An error of `class`. `message` says what was requested, what the cloud answered, and what to do.
    #[must_use]
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: None, request_id: None, source: None }
    }

    /// An error after which the same call may succeed later.
    #[must_use]
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Transient, message)
    }

    /// An error that a user or administrator has to resolve.
    #[must_use]
    pub fn invalid(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Invalid, message)
    }

    /// The cloud asked to be asked again after exactly this long.
    #[must_use]
    pub fn retry_after(mut self, after: Duration) -> Self {
        self.retry_after = Some(after);
        self
    }

    /// The cloud's own id of the failed request, for its operators.
    #[must_use]
    pub fn request_id(mut self, id: impl Into<String>) -> Self {
        self.request_id = Some(id.into());
        self
    }

    /// The error beneath.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The class, which decides the retry.
    #[must_use]
    pub const fn class(&self) -> ErrorClass {
        self.class
    }

    /// How long the cloud asked us to wait, if it did.
    #[must_use]
    pub const fn asked_to_wait(&self) -> Option<Duration> {
        self.retry_after
    }
}

impl fmt::Display for CloudError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.request_id {
            Some(id) => write!(f, " (request id {id})"),
            None => Ok(()),
        }
    }
}

impl Error for CloudError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|source| source as &(dyn Error + 'static))
    }
}

impl From<crate::Fenced> for CloudError {
    fn from(fenced: crate::Fenced) -> Self {
        Self::new(ErrorClass::Fenced, fenced.to_string()).caused_by(fenced)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_shows_its_message_and_the_request_id_to_ask_the_cloud_about() {
        let error = CloudError::transient("Nova did not answer").request_id("req-1");
        assert_eq!(error.to_string(), "Nova did not answer (request id req-1)");
        assert_eq!(error.class().retry(), Retry::BackOff);
    }

    #[test]
    fn what_only_a_person_can_mend_is_not_hammered() {
        for class in [ErrorClass::Invalid, ErrorClass::Forbidden, ErrorClass::Unauthenticated] {
            assert_eq!(class.retry(), Retry::AfterChange);
        }
    }
}
