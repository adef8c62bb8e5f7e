//! What a Service asks for and does not get although its load balancer is reconciled. Values only: the framework shows them as the
//! condition of the Service and reports them before a hand-over; the provider emits the events.

/// A part of what a Service asks for that its load balancer does not have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Shortfall {
    /// What kind it is.
    pub kind: ShortfallKind,
    /// What was asked for, what counts in its place, and what to do. The same text for as long as nothing changes.
    pub message: String,
}

/// The kinds of shortfalls, the most urgent first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ShortfallKind {
    /// The Service has a value that cannot be read. It keeps its load balancer, with another value in place of this one.
    InvalidValue,
    /// The Service asks for something that counts only when a load balancer is created, and its load balancer was created with
    /// something else.
    RecreationNeeded,
}

impl ShortfallKind {
    /// Whether a person has to correct or accept it before another manager takes the cluster over.
    #[must_use]
    pub const fn blocks_hand_over(self) -> bool {
        matches!(self, Self::InvalidValue)
    }
}
