//! The loop: who leads, what is watched, what one pass over a resource does, and what is said of it.
//!
//! A pass observes, decides, executes the steps of the decision, applies what is rendered, and writes the status once, if it is
//! another one. A crash between any two of these loses nothing: every step is idempotent.

mod marks;
mod metrics;
mod naming;
mod options;
mod pass;
mod problem;
mod process;
mod remove;
mod report;
mod rivals;
mod status;
mod steps;
mod watches;

#[cfg(test)]
mod tests;

pub(crate) use self::marks::VERSION;
pub use self::metrics::OperatorMetrics;
pub use self::options::{Election, Options};
pub use self::pass::{Key, Operator};
pub use self::problem::Problem;
pub use self::process::{StartError, run};
pub use self::rivals::rival;
pub use self::status::{Found, Workload, status};
pub(crate) use self::watches::{Base, content_of, contents, follow_owned_on_openshift};
