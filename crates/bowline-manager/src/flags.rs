//! The command line: one table of flags, a parser that is compatible with Go's pflag, and the help and reference texts.
//!
//! This module does not know what a flag is used for; [`crate::options`] interprets the values.

pub mod go;
mod parse;
mod parsed;
mod rows;
mod table;
mod text;
#[cfg(test)]
mod upstream;
mod value;
mod version;

pub use go::{GoDuration, GoDurationError, parse_bool};
pub use parse::{FlagErrors, FlagProblem, parse};
pub use parsed::Parsed;
pub use table::{Flag, FlagTable, Kind, Section, TableError};
pub use text::{help, reference_markdown};
pub use value::Value;
pub use version::VersionRequest;
