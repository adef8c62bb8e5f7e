//! What people and dashboards are told: events about nodes, under upstream's reasons and words, and the metrics of each
//! cluster CIDR. It decides nothing.

use std::collections::BTreeMap;

use bowline_cloud::{EventKind, NodeView};
use bowline_kube::events::EventRecorder;
use ipnet::IpNet;
use tracing::warn;

use super::cidr_set::CidrSet;
use super::problem::Problem;
use crate::metrics::{CidrLabel, IpamMetrics};
use crate::view::node_reference;

/// The reason of the event about a node for which no range is free: upstream's.
pub const NOT_AVAILABLE: &str = "CIDRNotAvailable";

/// The reason of the event about a node to which its range could not be written: upstream's.
pub const ASSIGNMENT_FAILED: &str = "CIDRAssignmentFailed";

/// Tells of a state of a node, in upstream's words (and with its kind: `Normal`, although it is not).
pub(super) fn status(events: &EventRecorder, node: &NodeView, reason: &str) {
    let message = format!("Node {} status is now: {reason}", node.name);
    events.event(&node_reference(node), EventKind::Normal, reason, &message);
}

/// Tells why a node is quarantined.
pub(super) fn quarantined(events: &EventRecorder, node: &NodeView, problems: &[Problem]) {
    for problem in problems {
        warn!(node = node.name, %problem, "a node's pod ranges are not as they should be; it is left alone");
        let message = format!("Node {}: {problem}", node.name);
        events.event(&node_reference(node), EventKind::Warning, problem.reason(), &message);
    }
}

/// Shows the sets in the metrics.
#[derive(Debug)]
pub(super) struct Meter {
    metrics: IpamMetrics,
    /// The totals that are counted already.
    counted: BTreeMap<IpNet, (u64, u64)>,
}

impl Meter {
    pub(super) fn new(metrics: IpamMetrics) -> Self {
        Self { metrics, counted: BTreeMap::new() }
    }

    /// Shows the sets as they are now.
    pub(super) fn show(&mut self, sets: &[CidrSet]) {
        for set in sets {
            let label = CidrLabel(set.cluster().to_string());
            let (taken, released) = set.totals();
            let counted = self.counted.entry(set.cluster()).or_default();
            self.metrics.allocations.get_or_create(&label).inc_by(taken - counted.0);
            self.metrics.releases.get_or_create(&label).inc_by(released - counted.1);
            *counted = (taken, released);
            self.metrics.max_cidrs.get_or_create(&label).set(i64::try_from(set.slots()).unwrap_or(i64::MAX));
            self.metrics.usage.get_or_create(&label).set(set.used() as f64 / set.slots() as f64);
        }
    }

    /// Notes how many taken ranges each search had to pass.
    pub(super) fn searched(&self, passed: &[(IpNet, usize)]) {
        for (cluster, passed) in passed {
            let label = CidrLabel(cluster.to_string());
            self.metrics.tries.get_or_create(&label).observe(*passed as f64);
        }
    }
}
