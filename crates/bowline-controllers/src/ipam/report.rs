//! Events about Nodes, with upstream's reasons and messages, and the metrics of each cluster CIDR. Decides nothing.

use std::collections::BTreeMap;

use bowline_cloud::{EventKind, NodeView};
use bowline_kube::events::EventRecorder;
use ipnet::IpNet;
use tracing::warn;

use super::cidr_set::CidrSet;
use super::problem::Problem;
use crate::metrics::{CidrLabel, IpamMetrics};
use crate::view::node_reference;

/// The event reason for a Node for which no range is free, as in upstream.
pub const NOT_AVAILABLE: &str = "CIDRNotAvailable";

/// The event reason for a Node whose range could not be written, as in upstream.
pub const ASSIGNMENT_FAILED: &str = "CIDRAssignmentFailed";

/// Emits an event about the state of a Node, with upstream's message. Its type is `Normal`, as in upstream, although it reports a failure.
pub(super) fn status(events: &EventRecorder, node: &NodeView, reason: &str) {
    let message = format!("Node {} status is now: {reason}", node.name);
    events.event(&node_reference(node), EventKind::Normal, reason, &message);
}

/// Emits an event for each problem of a quarantined Node.
pub(super) fn quarantined(events: &EventRecorder, node: &NodeView, problems: &[Problem]) {
    for problem in problems {
        warn!(node = %node.name, %problem, "a node's pod ranges are not as they should be; it is left alone");
        let message = format!("Node {}: {problem}", node.name);
        events.event(&node_reference(node), EventKind::Warning, problem.reason(), &message);
    }
}

/// Exports the sets as metrics.
#[derive(Debug)]
pub(super) struct Meter {
    metrics: IpamMetrics,
    /// The totals that the counters already include.
    counted: BTreeMap<IpNet, (u64, u64)>,
}

impl Meter {
    pub(super) fn new(metrics: IpamMetrics) -> Self {
        Self { metrics, counted: BTreeMap::new() }
    }

    /// Updates the metrics from the current sets.
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

    /// Records how many taken ranges each search skipped.
    pub(super) fn searched(&self, passed: &[(IpNet, usize)]) {
        for (cluster, passed) in passed {
            let label = CidrLabel(cluster.to_string());
            self.metrics.tries.get_or_create(&label).observe(*passed as f64);
        }
    }
}

#[cfg(test)]
mod tests {
    use prometheus_client::encoding::text::encode;
    use prometheus_client::registry::Registry;

    use super::*;
    use crate::metrics::ControllerMetrics;

    struct Shown {
        registry: Registry,
        meter: Meter,
    }

    impl Shown {
        fn new() -> Self {
            let mut registry = Registry::default();
            let metrics = ControllerMetrics::register(&mut registry);
            Self { registry, meter: Meter::new(metrics.ipam) }
        }

        /// Usage, allocations, releases, tries and ranges of a cluster CIDR, as a scrape has them.
        fn of(&mut self, set: &CidrSet) -> [f64; 5] {
            self.meter.show(std::slice::from_ref(set));
            let mut scrape = String::new();
            encode(&mut scrape, &self.registry).unwrap();
            [
                "cidrset_usage_cidrs",
                "cidrset_cidrs_allocations_total",
                "cidrset_cidrs_releases_total",
                "cidrset_allocation_tries_per_request_sum",
                "cirdset_max_cidrs",
            ]
            .map(|name| {
                let line = format!("node_ipam_controller_{name}{{clusterCIDR=\"{}\"}} ", set.cluster());
                scrape.lines().find_map(|l| l.strip_prefix(&line)).map_or(0.0, |value| value.parse().unwrap())
            })
        }

        fn allocate(&self, set: &mut CidrSet) {
            let candidate = set.candidate().unwrap();
            set.take(&candidate);
            self.meter.searched(&[(set.cluster(), candidate.passed)]);
        }
    }

    fn set(cluster: &str, mask: u8) -> CidrSet {
        CidrSet::new(cluster.parse().unwrap(), mask).unwrap()
    }

    #[test]
    fn cidr_set_metrics() {
        let (mut shown, mut set) = (Shown::new(), set("10.0.0.0/16", 24));
        assert_eq!(shown.of(&set), [0.0, 0.0, 0.0, 0.0, 256.0]);
        for n in 1..=256 {
            shown.allocate(&mut set);
            assert_eq!(shown.of(&set), [f64::from(n) / 256.0, f64::from(n), 0.0, 0.0, 256.0]);
        }
        set.release(&(0..256), &[]);
        assert_eq!(shown.of(&set), [0.0, 256.0, 256.0, 0.0, 256.0]);
        set.occupy(&(0..256));
        assert_eq!(shown.of(&set), [1.0, 512.0, 256.0, 0.0, 256.0]);
    }

    #[test]
    fn cidr_set_metrics_histogram() {
        let (mut shown, mut set) = (Shown::new(), set("10.0.0.0/16", 24));
        set.occupy(&(0..128));
        assert_eq!(shown.of(&set), [0.5, 128.0, 0.0, 0.0, 256.0]);
        shown.allocate(&mut set);
        assert_eq!(shown.of(&set), [129.0 / 256.0, 129.0, 0.0, 128.0, 256.0]);
    }

    #[test]
    fn cidr_set_metrics_dual() {
        let (mut shown, mut v4, mut v6) = (Shown::new(), set("10.0.0.0/16", 24), set("2001:db8::/48", 64));
        assert_eq!(shown.of(&v4), [0.0, 0.0, 0.0, 0.0, 256.0]);
        assert_eq!(shown.of(&v6), [0.0, 0.0, 0.0, 0.0, 65_536.0]);
        v4.occupy(&(0..256));
        v6.occupy(&(0..65_536));
        assert_eq!(shown.of(&v4), [1.0, 256.0, 0.0, 0.0, 256.0]);
        assert_eq!(shown.of(&v6), [1.0, 65_536.0, 0.0, 0.0, 65_536.0]);
        v4.release(&(0..256), &[]);
        v6.release(&(0..65_536), &[]);
        assert_eq!(shown.of(&v4), [0.0, 256.0, 256.0, 0.0, 256.0]);
        assert_eq!(shown.of(&v6), [0.0, 65_536.0, 65_536.0, 0.0, 65_536.0]);
    }
}
