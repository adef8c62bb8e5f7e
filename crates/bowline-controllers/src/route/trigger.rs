//! What starts a reconcile: changed Nodes, coalesced and kept apart, or the period. Pure: the time is handed in.

use std::time::Duration;

use bowline_cloud::NodeView;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// Why a reconcile ran, as its metric says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Trigger {
    /// The period passed, or something is tried again.
    Periodic,
    /// A Node came, went or changed.
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

/// Whether a changed Node may need another route.
pub(super) fn matters(old: &NodeView, new: &NodeView) -> bool {
    old.pod_cidrs != new.pod_cidrs || old.addresses != new.addresses
}

/// Whether Nodes have changed since the last reconcile began, and when one last began because of that.
#[derive(Debug, Default)]
pub(super) struct Pending(Mutex<(bool, Option<Instant>)>);

impl Pending {
    /// Notes a change of the Nodes; the answer is how long to wait for more of them. `coalesce` lets a burst become one
    /// reconcile, `apart` keeps a steady stream from listing routes without a pause.
    pub(super) fn node_changed(&self, coalesce: Duration, apart: Duration, now: Instant) -> Duration {
        let mut state = self.lock();
        state.0 = true;
        let until_apart = state.1.map(|began| (began + apart).saturating_duration_since(now));
        until_apart.unwrap_or_default().max(coalesce)
    }

    /// A reconcile begins: what started it.
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
