//! Why a write failed: messages that tell people what to do, and classes for controllers.

use std::time::Duration;

use bowline_core::Fenced;

/// A write that failed, or whose result is unknown.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// The fence is closed: this process may not write now.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// Another client changed the object since it was read. Read it again and decide anew.
    #[error("{what}: the object changed since it was read ({message}); read it again")]
    Conflict {
        /// Verb and object.
        what: String,
        /// The message of the API server.
        message: String,
    },
    /// The object does not exist.
    #[error("{what}: it does not exist")]
    Gone {
        /// Verb and object.
        what: String,
    },
    /// Another object has that name now. Decisions about the old object do not apply to it.
    #[error("{what}: the object with UID {uid} was replaced by another one of the same name; left alone")]
    Replaced {
        /// Verb and object.
        what: String,
        /// The UID of the object that was to be changed.
        uid: String,
    },
    /// RBAC does not permit the write.
    #[error("{what}: {message}; grant verb \"{verb}\" on resource \"{resource}\" to this service account")]
    Forbidden {
        /// Verb and object.
        what: String,
        /// The verb to grant.
        verb: &'static str,
        /// The resource to grant it on, with its API group and subresource.
        resource: String,
        /// The message of the API server.
        message: String,
    },
    /// The API server failed or did not answer. Retry later; the write may have taken effect.
    #[error("{what}: {why}")]
    Transient {
        /// Verb and object.
        what: String,
        /// What failed.
        why: String,
        /// The `Retry-After` of the API server, if it sent one.
        retry_after: Option<Duration>,
    },
    /// The API server will never accept this write: a bug, or an admission policy of the cluster.
    #[error("{what}: rejected: {message}")]
    Invalid {
        /// Verb and object.
        what: String,
        /// The message of the API server.
        message: String,
    },
}

/// What a controller does about a [`WriteError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteClass {
    /// Stop: this process may not write now.
    Fenced,
    /// Observe again, soon.
    Conflict,
    /// Drop the object: it is gone, or another one has its name.
    NotFound,
    /// Report it to the administrator; a retry rarely helps.
    Forbidden,
    /// Retry with back-off.
    Transient,
    /// Report it to the user; a retry does not help.
    Invalid,
}

impl WriteError {
    /// The class of the error.
    #[must_use]
    pub fn class(&self) -> WriteClass {
        match self {
            Self::Fenced(_) => WriteClass::Fenced,
            Self::Conflict { .. } => WriteClass::Conflict,
            Self::Gone { .. } | Self::Replaced { .. } => WriteClass::NotFound,
            Self::Forbidden { .. } => WriteClass::Forbidden,
            Self::Transient { .. } => WriteClass::Transient,
            Self::Invalid { .. } => WriteClass::Invalid,
        }
    }

    /// How long the API server asked to wait before the next attempt.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
