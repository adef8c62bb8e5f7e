//! Where ours is meant to differ from upstream, and why. Every row must occur.

/// A difference that is wanted.
#[derive(Debug)]
pub(crate) struct Known {
    /// The subject, as the report names it.
    pub(crate) subject: &'static str,
    /// Why it is so.
    pub(crate) because: &'static str,
}

/// All of them.
pub(crate) const KNOWN: &[Known] = &[];
