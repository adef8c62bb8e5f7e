//! The differences between the simulator and the real server that we know and keep, each with its reason.
//!
//! The test fails on a difference that is not here, and on an entry here that no longer occurs.

/// A known difference.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Listed {
    /// The script.
    pub(crate) script: &'static str,
    /// The title of the request, or `*`.
    pub(crate) request: &'static str,
    /// `code`, `headers`, or the beginning of a pointer into the body.
    pub(crate) place: &'static str,
    /// Why it is kept.
    pub(crate) reason: &'static str,
}

pub(crate) const LISTED: &[Listed] = &[];
