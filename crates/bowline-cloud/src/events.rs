//! Events that a cloud emits about Nodes and Services, beside those of the framework.

use crate::{NodeView, ServiceView};

/// Where a cloud's events go. Never blocks; repeats are aggregated and limited behind it.
pub trait EventSink: Send + Sync {
    /// Tells something about an object.
    fn emit(&self, about: About<'_>, kind: EventKind, reason: &str, message: &str);
}

/// What an event is about.
#[derive(Debug, Clone, Copy)]
pub enum About<'a> {
    /// A Node.
    Node(&'a NodeView),
    /// A Service.
    Service(&'a ServiceView),
}

/// Whether a person should worry.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum EventKind {
    /// All is well.
    Normal,
    /// Something needs attention.
    Warning,
}

impl EventKind {
    /// The word that the API uses.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Normal => "Normal",
            Self::Warning => "Warning",
        }
    }
}

/// Drops events: for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _about: About<'_>, _kind: EventKind, _reason: &str, _message: &str) {}
}
