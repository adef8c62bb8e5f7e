//! Events that a cloud emits on Nodes and Services, in addition to those of the framework.

use crate::{EventKind, NodeView, ServiceView};

/// The sink for events of a cloud. It does not block, and it aggregates and rate-limits repeated events.
pub trait EventSink: Send + Sync {
    /// Emits an event on an object.
    fn emit(&self, about: About<'_>, kind: EventKind, reason: &str, message: &str);
}

/// The object of an event.
#[derive(Debug, Clone, Copy)]
pub enum About<'a> {
    /// A Node.
    Node(&'a NodeView),
    /// A Service.
    Service(&'a ServiceView),
}

/// Drops all events; for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct NoEvents;

impl EventSink for NoEvents {
    fn emit(&self, _about: About<'_>, _kind: EventKind, _reason: &str, _message: &str) {}
}
