//! What can be wrong with options, and how it is said.

use bowline_kube::lease::LeaseConfigError;

/// One value, or combination of values, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OptionProblem {
    /// One flag.
    #[error("--{flag}={value}: {wanted}")]
    Value {
        /// The flag.
        flag: &'static str,
        /// What was given.
        value: String,
        /// What is accepted.
        wanted: String,
    },
    /// Flags that do not go together.
    #[error("{0}")]
    Combination(String),
    /// Times or names of the election.
    #[error(transparent)]
    Lease(#[from] LeaseConfigError),
}

/// Everything that is wrong with a set of options, one line each.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct OptionErrors(
    /// Never empty.
    pub Vec<OptionProblem>,
);
