//! How long is waited for what. Numbers with their reasons; nobody else may know such numbers.

use std::time::Duration;

/// How long is waited for what.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timings {
    /// For what the operator can do itself: to stop a manager, to get the Lease, to have all Services looked at once.
    pub phase: Duration,
    /// How long a node may stay uninitialised after the operator tainted it, before the taint goes again.
    pub node: Duration,
    /// The period in which addresses of nodes are refreshed. They are stable when they stayed the same for two of them.
    pub address_refresh: Duration,
    /// How old a report may be. Two of its periods and a little more: a manager that died is not believed.
    pub report_age: Duration,
    /// The period of looks while something is waited for.
    pub look: Duration,
    /// The period of looks when nothing is.
    pub rest: Duration,
}

impl Default for Timings {
    fn default() -> Self {
        Self {
            phase: Duration::from_secs(600),
            node: Duration::from_secs(600),
            address_refresh: Duration::from_secs(300),
            report_age: Duration::from_secs(180),
            look: Duration::from_secs(5),
            rest: Duration::from_secs(60),
        }
    }
}
