//! How a command ends: the exit codes, which are the same for all, and why one could not look.

use std::fmt;

/// All is well.
pub const FINE: u8 = 0;
/// Something was found: it differs, it waits, it is wrong.
pub const FOUND: u8 = 1;
/// It could not be looked at, or the command line says too little. Nothing follows from it.
pub const NOT_LOOKED: u8 = 2;

/// What every command says of its exit codes.
pub const EXIT_CODES: &str = "Exit codes:\n  0  all is well\n  1  something was found: it differs, waits, is refused or wrong\n  2  it could not be looked at, or the command line is wrong";

/// Why a command could not do its work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ending {
    /// The exit code.
    pub code: u8,
    /// Why, and what to do.
    pub why: String,
}

impl Ending {
    /// It could not be looked at.
    pub fn not_looked(why: impl fmt::Display) -> Self {
        Self { code: NOT_LOOKED, why: why.to_string() }
    }

    /// It was looked at, and is not done.
    pub fn refused(why: impl fmt::Display) -> Self {
        Self { code: FOUND, why: why.to_string() }
    }
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}
