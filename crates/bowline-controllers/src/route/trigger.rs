//! What starts a reconcile: changes of Nodes, coalesced and rate-limited, or the period. Pure: the caller passes the time.

use std::time::Duration;

use bowline_cloud::NodeView;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// Why a reconcile ran, as the label of its metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    /// The period passed, or a retry was due.
    Periodic,
    /// A Node was added, deleted or changed.
    NodeChange,
}

impl Trigger {
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Periodic => "periodic",
            Self::NodeChange => "node_change",
        }
    }
}

/// Whether the change of a Node may require other routes.
pub(super) fn matters(old: &NodeView, new: &NodeView) -> bool {
    old.pod_cidrs != new.pod_cidrs || old.addresses != new.addresses
}

/// Whether Nodes have changed since the last reconcile began, and when a reconcile last began because of that.
#[derive(Debug, Default)]
pub(super) struct Pending(Mutex<(bool, Option<Instant>)>);

impl Pending {
    /// Records a change of the Nodes. Returns how long to wait for more changes: `coalesce` merges a burst into one reconcile, `apart`
    /// limits how often routes are listed while Nodes keep changing.
    pub(super) fn node_changed(&self, coalesce: Duration, apart: Duration, now: Instant) -> Duration {
        let mut state = self.lock();
        state.0 = true;
        let until_apart = state.1.map(|began| (began + apart).saturating_duration_since(now));
        until_apart.unwrap_or_default().max(coalesce)
    }

    /// A reconcile begins. Returns its trigger.
    pub(super) fn begin(&self, now: Instant) -> Trigger {
        let mut state = self.lock();
        if !std::mem::take(&mut state.0) {
            return Trigger::Periodic;
        }
        state.1 = Some(now);
        Trigger::NodeChange
    }

    fn lock(&self) -> MutexGuard<'_, (bool, Option<Instant>)> {
        self.0.lock()
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{AddressKind, NodeAddress};

    use super::*;

    #[test]
    fn handle_node_update() {
        let old = NodeView { name: "n".into(), ..NodeView::default() };
        let address = NodeAddress::new(AddressKind::InternalIP, "10.0.0.1");
        let cases = [
            ("address change", NodeView { addresses: vec![address], ..old.clone() }, true),
            (
                "CIDR change",
                NodeView { pod_cidrs: vec!["10.1.0.0/24".parse().unwrap()], ..old.clone() },
                true,
            ),
            ("same object", old.clone(), false),
            ("unrelated change", NodeView { unschedulable: true, ready: Some(true), ..old.clone() }, false),
        ];
        for (name, new, expected) in cases {
            assert_eq!(matters(&old, &new), expected, "{name}");
        }
    }

    #[test]
    fn a_burst_waits_shortly_and_a_stream_is_kept_apart() {
        let (second, start) = (Duration::from_secs(1), Instant::now());
        let pending = Pending::default();
        assert_eq!(pending.node_changed(second, 5 * second, start), second);
        assert_eq!(pending.begin(start + second), Trigger::NodeChange);
        assert_eq!(pending.node_changed(second, 5 * second, start + 2 * second), 4 * second);
        assert_eq!(pending.begin(start + 6 * second), Trigger::NodeChange);
        assert_eq!(pending.begin(start + 16 * second), Trigger::Periodic);
        assert_eq!(pending.node_changed(second, 5 * second, start + 17 * second), second, "a lone change");
    }
}
