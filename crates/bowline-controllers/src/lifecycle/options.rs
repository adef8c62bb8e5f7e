//! The options of the lifecycle controller. Every default is safe.

use std::time::Duration;

use crate::rails::deletion_budget::DeletionLimits;

/// The options of the lifecycle controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LifecycleOptions {
    /// `--node-monitor-period`: the pause after each pass over all Nodes.
    pub node_monitor_period: Duration,
    /// `--concurrent-node-lifecycle-syncs`: how many Nodes are tainted concurrently.
    pub workers: usize,
    /// Whether a Node whose machine is shut down also gets the out-of-service taint, which lets Kubernetes detach its volumes.
    pub out_of_service_taint: bool,
    /// `--skip-node-deletion`: no Node is deleted, even if its machine is proven gone.
    pub skip_deletion: bool,
    /// SR-2: how many Nodes may be deleted.
    pub deletion: DeletionLimits,
    /// SR-14: the minimum age of a Node that is deleted although its machine was never observed.
    pub new_node_grace: Duration,
    /// `--node-removal-taints`: the keys of taints that announce the removal of a Node. Such Nodes do not count against the budget.
    pub announcing_taints: Vec<String>,
}

impl Default for LifecycleOptions {
    fn default() -> Self {
        Self {
            node_monitor_period: Duration::from_secs(5),
            workers: 4,
            out_of_service_taint: false,
            skip_deletion: false,
            deletion: DeletionLimits::default(),
            new_node_grace: Duration::from_secs(300),
            announcing_taints: vec!["ToBeDeletedByClusterAutoscaler".to_owned()],
        }
    }
}

/// An option that is out of range.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{option} is {found}, but must be {wanted}")]
pub struct InvalidOptions {
    option: &'static str,
    found: String,
    wanted: &'static str,
}

impl LifecycleOptions {
    pub(super) fn check(&self) -> Result<(), InvalidOptions> {
        let invalid = |option, found, wanted| Err(InvalidOptions { option, found, wanted });
        if self.workers == 0 {
            return invalid("the number of workers", "0".to_owned(), "at least 1");
        }
        if self.node_monitor_period.is_zero() {
            return invalid("the node monitor period", "0".to_owned(), "longer than nothing");
        }
        for (option, percent) in [
            ("the share of nodes that may be deleted", self.deletion.share_percent),
            ("the share of nodes that opens the breaker", self.deletion.breaker_percent),
        ] {
            if percent > 100 {
                return invalid(option, format!("{percent} %"), "at most 100 %");
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn five_workers_are_accepted_and_none_is_not() {
        let with = |workers| LifecycleOptions { workers, ..LifecycleOptions::default() }.check();
        assert_eq!(with(5), Ok(()));
        assert_eq!(with(0).unwrap_err().to_string(), "the number of workers is 0, but must be at least 1");
    }

    #[test]
    fn the_defaults_can_be_worked_with_and_nonsense_cannot() {
        assert_eq!(LifecycleOptions::default().check(), Ok(()));
        let deletion = DeletionLimits { breaker_percent: 101, ..DeletionLimits::default() };
        assert!(LifecycleOptions { deletion, ..LifecycleOptions::default() }.check().is_err());
        let node_monitor_period = Duration::ZERO;
        assert!(LifecycleOptions { node_monitor_period, ..LifecycleOptions::default() }.check().is_err());
    }
}
