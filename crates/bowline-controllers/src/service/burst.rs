//! A burst of changes of Nodes: whom it concerns, and when it is over. Pure but for the clock.
//!
//! Every round of changes costs each load balancer as much as the first. So it is worth some seconds to have all Nodes in one.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::NodeView;
use bowline_kube::informer::{Change, ObjectKey};
use tokio::time::Instant;

use super::ServiceOptions;
use super::nodes::{Audience, is_eligible, is_worth_a_look, leaves};

/// The longest quiet time that a costly round is worth.
const LONGEST_QUIET: Duration = Duration::from_secs(5);

/// How much of the time that a round takes is waited for more: a node that comes later costs as much again.
const SHARE_OF_A_ROUND: f64 = 0.05;

/// How long more is waited for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Pace {
    /// After a node that comes alone.
    quiet: Duration,
    /// After one of several.
    crowd_quiet: Duration,
    /// In all…
    most: Duration,
    /// …and if a node leaves.
    most_if_one_leaves: Duration,
}

impl Pace {
    /// By what a round over so many load balancers costs: a call each.
    pub(super) fn of(options: &ServiceOptions, balancers: usize) -> Self {
        let calls = u32::try_from(balancers).unwrap_or(u32::MAX);
        let round = f64::from(calls) / options.calls_per_second;
        let share = Duration::try_from_secs_f64(round * SHARE_OF_A_ROUND).unwrap_or_default();
        let quiet = share.clamp(options.node_quiet, LONGEST_QUIET.max(options.node_quiet));
        Self {
            quiet,
            crowd_quiet: options.node_crowd_quiet.max(quiet),
            most: options.node_burst + (quiet - options.node_quiet) * 5 / 2,
            most_if_one_leaves: options.node_burst,
        }
    }
}

/// Whom a change of a Node may concern: all, or only those that drain nodes whose removal is announced.
pub(super) fn concerns(change: &Change<Arc<NodeView>>) -> Audience {
    match change {
        Change::Added { .. } | Change::Deleted { .. } => Audience::All,
        Change::Updated { old, new } if is_worth_a_look(old, new) => Audience::All,
        Change::Updated { old, new } if is_eligible(old) != is_eligible(new) => Audience::Draining,
        Change::Updated { .. } => Audience::Nobody,
    }
}

/// The labels of a Node that came, went or changed. With a Node that comes or goes the set changes, and all are told.
pub(super) fn changed_labels(change: &Change<Arc<NodeView>>) -> BTreeSet<String> {
    let Change::Updated { old, new } = change else { return BTreeSet::new() };
    if old.labels == new.labels {
        return BTreeSet::new();
    }
    let keys = old.labels.keys().chain(new.labels.keys());
    keys.filter(|key| old.labels.get(key) != new.labels.get(key)).map(ToOwned::to_owned).collect()
}

/// Whether a node leaves: its traffic is lost until load balancers let go of it.
fn takes_away(change: &Change<Arc<NodeView>>) -> bool {
    match change {
        Change::Added { .. } => false,
        Change::Deleted { .. } => true,
        Change::Updated { old, new } => leaves(old, new),
    }
}

/// What changed since the Services were told last.
#[derive(Debug)]
pub(super) struct Burst {
    pub(super) audience: Audience,
    pub(super) labels: BTreeSet<String>,
    nodes: BTreeSet<ObjectKey>,
    pace: Pace,
    began: Instant,
    due: Instant,
    latest: Instant,
}

impl Burst {
    /// Begins with a change that concerns somebody.
    pub(super) fn begun_by(change: &Change<Arc<NodeView>>, pace: impl FnOnce() -> Pace) -> Option<Self> {
        if concerns(change) == Audience::Nobody && changed_labels(change).is_empty() {
            return None;
        }
        let (now, pace) = (Instant::now(), pace());
        let (began, due, latest) = (now, now, now + pace.most);
        let (audience, labels, nodes) = (Audience::Nobody, BTreeSet::new(), BTreeSet::new());
        let mut burst = Self { audience, labels, nodes, pace, began, due, latest };
        burst.goes_on_with(change);
        Some(burst)
    }

    /// Takes another change, if it concerns anybody.
    pub(super) fn goes_on_with(&mut self, change: &Change<Arc<NodeView>>) {
        let (concerned, labels) = (concerns(change), changed_labels(change));
        if concerned == Audience::Nobody && labels.is_empty() {
            return;
        }
        self.audience = self.audience.max(concerned);
        self.labels.extend(labels);
        self.nodes.insert(change.key().clone());
        self.due = Instant::now() + self.quiet();
        if takes_away(change) {
            self.latest = self.latest.min(self.began + self.pace.most_if_one_leaves);
        }
    }

    /// When it is over unless something happens before.
    pub(super) fn due(&self) -> Instant {
        self.due.min(self.latest)
    }

    /// Whether it was not quiet before its limit.
    pub(super) fn is_at_its_limit(&self) -> bool {
        Instant::now() >= self.latest
    }

    /// Goes on if one of its Nodes `is_coming`: what follows soon needs no round of its own. Not beyond the limit.
    pub(super) fn waits_for(&mut self, is_coming: impl Fn(&ObjectKey) -> bool) -> bool {
        let now = Instant::now();
        let goes_on = now < self.latest && self.nodes.iter().any(is_coming);
        if goes_on {
            self.due = now + self.quiet();
        }
        goes_on
    }

    /// Who does not come alone is followed by others, with larger gaps.
    fn quiet(&self) -> Duration {
        if self.nodes.len() > 1 { self.pace.crowd_quiet } else { self.pace.quiet }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_round_costs_is_worth_some_seconds_and_a_small_cluster_waits_as_ever() {
        let pace = |balancers, calls_per_second| {
            let options = ServiceOptions { calls_per_second, ..ServiceOptions::default() };
            let pace = Pace::of(&options, balancers);
            assert_eq!(pace.most_if_one_leaves.as_secs_f64(), 15.0);
            [pace.quiet, pace.crowd_quiet, pace.most].map(|time| time.as_secs_f64())
        };
        let usual = [1.0, 3.0, 15.0];
        assert_eq!(pace(0, 10.0), usual);
        assert_eq!(pace(200, 10.0), usual);
        assert_eq!(pace(400, 10.0), [2.0, 3.0, 17.5]);
        assert_eq!(pace(1000, 10.0), [5.0, 5.0, 25.0]);
        assert_eq!(pace(100_000, 10.0), [5.0, 5.0, 25.0], "not more");
        assert_eq!(pace(1000, 50.0), usual);
        assert_eq!(pace(100_000, 0.0), usual, "no limit");
    }
}
