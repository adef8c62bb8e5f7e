//! Why a write did not happen, in words that tell a person what to do, and classes that tell a controller.

use std::time::Duration;

use bowline_core::Fenced;

/// A write that did not happen, or of which we do not know.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum WriteError {
    /// This process may not write now.
    #[error(transparent)]
    Fenced(#[from] Fenced),
    /// Somebody changed the object since it was looked at. Look again and decide anew.
    #[error("{what}: the object changed since it was read ({message}); read it again")]
    Conflict {
        /// Verb and object.
        what: String,
        /// The server's words.
        message: String,
    },
    /// The object does not exist.
    #[error("{what}: it does not exist")]
    Gone {
        /// Verb and object.
        what: String,
    },
    /// Another object has the name now. Nothing that was decided about the old one holds for it.
    #[error("{what}: the object with UID {uid} was replaced by another one of the same name; left alone")]
    Replaced {
        /// Verb and object.
        what: String,
        /// The UID that was meant.
        uid: String,
    },
    /// We lack the right.
    #[error("{what}: {message}; grant verb \"{verb}\" on resource \"{resource}\" to this service account")]
    Forbidden {
        /// Verb and object.
        what: String,
        /// The verb to grant.
        verb: &'static str,
        /// The resource to grant it on, with its API group and subresource.
        resource: String,
        /// The server's words.
        message: String,
    },
    /// The server could not, or did not answer. Try later; it may have taken effect.
    #[error("{what}: {why}")]
    Transient {
        /// Verb and object.
        what: String,
        /// What happened.
        why: String,
        /// How long the server asks us to wait.
        retry_after: Option<Duration>,
    },
    /// The server will never accept this. A bug, or an admission policy of the cluster.
    #[error("{what}: rejected: {message}")]
    Invalid {
        /// Verb and object.
        what: String,
        /// The server's words.
        message: String,
    },
}

/// What to do about a [`WriteError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteClass {
    /// Stop: this process does not lead.
    Fenced,
    /// Observe again, soon.
    Conflict,
    /// Forget the object: it is gone, or another has its name.
    NotFound,
    /// Tell the operator; trying again is of little use.
    Forbidden,
    /// Try again with back-off.
    Transient,
    /// Tell the user; trying again is of no use.
    Invalid,
}

impl WriteError {
    /// What to do about it.
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

    /// How long the server asked us to wait before the next try.
    #[must_use]
    pub fn retry_after(&self) -> Option<Duration> {
        match self {
            Self::Transient { retry_after, .. } => *retry_after,
            _ => None,
        }
    }
}
