//! The twelve rules that hold always (I1–I12), as checks of a decision before anybody executes it.

/// A rule that a decision would break.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// `I1` … `I12`.
    pub rule: &'static str,
    /// What would happen.
    pub message: String,
}
