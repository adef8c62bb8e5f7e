//! What can go wrong in a cloud call, in the few classes that decide what happens next.
//!
//! A provider maps its API's answers onto these classes once, at its edge. Nobody above it looks at status codes.

use std::error::Error;
use std::fmt;
use std::time::Duration;

/// The class of a failure: it decides the retry, never the text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The service failed or did not answer; the same call may work later.
    Transient,
    /// The service asked us to slow down.
    Throttled,
    /// Somebody else changed the object, or it is busy; observe again.
    Conflict,
    /// The object of the call is not there. Not by itself proof that an instance is gone: see [`crate::Evidence`].
    NotFound,
    /// The request can never work as it is; a person must change something.
    Invalid,
    /// The identity is not accepted (safety rail SR-3 freezes writes).
    Unauthenticated,
    /// The identity lacks a right or a quota.
    Forbidden,
    /// The provider cannot go on at all.
    Fatal,
    /// This process may not change anything right now. Either another leads and this one is about to end, or the fence
    /// opens again with the next renewal; nobody needs to be told.
    Fenced,
}

/// What to do after a failure of some class.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Retry {
    /// Try again with a growing pause.
    BackOff,
    /// Observe again at once: the world has moved.
    ObserveAgain,
    /// Only a change of configuration, rights or intent can help: try rarely, tell loudly.
    AfterChange,
}

impl ErrorClass {
    /// What to do after a failure of this class.
    #[must_use]
    pub const fn retry(self) -> Retry {
        match self {
            Self::Transient | Self::Throttled | Self::Fenced => Retry::BackOff,
            Self::Conflict | Self::NotFound => Retry::ObserveAgain,
            Self::Invalid | Self::Unauthenticated | Self::Forbidden | Self::Fatal => Retry::AfterChange,
        }
    }

    /// The name used in metrics and logs.
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

/// A failed cloud call. Its text is shown to people, so it must hold no secret.
#[derive(Debug)]
pub struct CloudError {
    class: ErrorClass,
    message: String,
    retry_after: Option<Duration>,
    request_id: Option<String>,
    source: Option<Box<dyn Error + Send + Sync>>,
}

impl CloudError {
    /// A failure of `class`; `message` says what was wanted, what was found, and what to do.
    #[must_use]
    pub fn new(class: ErrorClass, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), retry_after: None, request_id: None, source: None }
    }

    /// The same call may work later.
    #[must_use]
    pub fn transient(message: impl Into<String>) -> Self {
        Self::new(ErrorClass::Transient, message)
    }

    /// A person must change something first.
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
