//! Whether an event is good news.

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
