//! Where ours is meant to differ from upstream, and why. Every row must occur.

/// A difference that is wanted.
#[derive(Debug)]
pub(crate) struct Known {
    /// In which stages; empty for any.
    pub(crate) stages: &'static [&'static str],
    /// What differs, as the report names it.
    pub(crate) subjects: &'static [&'static str],
    /// Why it is so.
    pub(crate) because: &'static str,
}

impl Known {
    /// Whether it speaks of this subject in this stage.
    pub(crate) fn covers(&self, stage: &str, subject: &str) -> bool {
        self.subjects.contains(&subject) && (self.stages.is_empty() || self.stages.contains(&stage))
    }
}

/// Why something differs, if it is meant to.
pub(crate) fn reason(stage: &str, subject: &str) -> Option<&'static str> {
    KNOWN.iter().find(|known| known.covers(stage, subject)).map(|known| known.because)
}

/// All of them.
pub(crate) const KNOWN: &[Known] = &[];
