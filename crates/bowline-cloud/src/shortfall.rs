//! What a Service asks for and does not get although its load balancer is reconciled. Values only: the framework reports them in the
//! condition of the Service and, before a hand-over of the cluster, in the shadow report; the provider emits the events.

/// A part of what a Service asks for that its load balancer does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// The kind.
    pub kind: ShortfallKind,
    /// What the Service asks for, what it gets instead, and what to do. The text stays the same as long as nothing changes.
    pub message: String,
}

/// The kinds of shortfalls, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShortfallKind {
    /// A value on the Service is invalid. The Service keeps its load balancer, with another value in place of this one.
    InvalidValue,
    /// The Service asks for something that only takes effect when a load balancer is created, and its load balancer was created with
    /// something else.
    RecreationNeeded,
}

impl ShortfallKind {
    /// Whether a user or administrator has to correct or accept it before the cluster is handed over to another cloud controller manager.
    #[must_use]
    pub const fn blocks_hand_over(self) -> bool {
        matches!(self, Self::InvalidValue)
    }
}
