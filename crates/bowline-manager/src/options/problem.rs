//! Problems of options, and their messages.

use bowline_kube::lease::LeaseConfigError;

/// An invalid value, or an invalid combination of values.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionProblem {
    /// The value of a flag is invalid.
    #[error("--{flag}={value}: {wanted}")]
    Value {
        /// The flag.
        flag: &'static str,
        /// The given value.
        value: String,
        /// The accepted values.
        wanted: String,
    },
    /// Flags cannot be combined.
    #[error("{0}")]
    Combination(String),
    /// The durations or names of leader election are invalid.
    #[error(transparent)]
    Lease(#[from] LeaseConfigError),
}

/// All problems of a set of options, one line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct OptionErrors(
    /// Never empty.
    pub Vec<OptionProblem>,
);
