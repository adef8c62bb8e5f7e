//! Events that a cloud emits about Nodes and Services, beside those of the framework.

use crate::{EventKind, NodeView, ServiceView};

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

/// Drops events: for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _about: About<'_>, _kind: EventKind, _reason: &str, _message: &str) {}
}
