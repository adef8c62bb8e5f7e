//! The machines that the cloud returned to any controller, by the UID of their Node. Two rails use them: SR-4 (a Node without provider ID
//! is ours only if its machine was observed) and SR-14 (an observed machine ends the grace of a new Node).
//!
//! The node controller observes the machine of every Node; the lifecycle controller observes only Nodes that are not Ready. Entries are
//! kept only for new Nodes and for Nodes without provider ID; the latter also in the ledger, for the next leader.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bowline_cloud::{NodeView, Text};
use bowline_kube::ledger::{Ledger, Subject};
use parking_lot::{Mutex, MutexGuard};

/// The provider ID of each machine, by the UID of its Node. Clones share the state.
#[derive(Debug, Clone, Default)]
pub struct SeenMachines {
    seen: Arc<Mutex<BTreeMap<Text, Text>>>,
    ledger: Ledger,
}

impl SeenMachines {
    /// A cache that stores machines of Nodes without provider ID in `ledger`, where the next leader finds them. Starts with those of the
    /// previous leader.
    #[must_use]
    pub fn kept_in(ledger: Ledger) -> Self {
        Self { seen: Arc::default(), ledger }
    }

    /// Records that the cloud returned the machine with this provider ID for this Node.
    pub fn saw(&self, node: &NodeView, provider_id: &str) {
        match node.provider_id.as_deref() {
            _any if provider_id.is_empty() => return,
            // The provider ID of a Node is immutable: a machine with another ID is not its own.
            Some(id) if id != provider_id => return,
            Some(_) => {}
            // The Node is ours although nothing on it says so; the ledger passes this on to the next leader.
            None => self.ledger.note(Subject::Node, &node.uid, provider_id.into()),
        }
        self.lock().insert(node.uid.clone(), provider_id.into());
    }

    /// Whether the machine with the Node's current provider ID was observed.
    #[must_use]
    pub fn knows(&self, node: &NodeView) -> bool {
        let seen = self.lock();
        let id = seen.get(&node.uid);
        id.is_some() && id == node.provider_id.as_ref()
    }

    /// The provider ID of the machine that was last observed for a Node without provider ID, by this leader or a previous one.
    #[must_use]
    pub fn seen_for(&self, node: &NodeView) -> Option<Text> {
        let here = self.lock().get(&node.uid).cloned();
        here.or_else(|| self.ledger.about(Subject::Node, &node.uid))
    }

    /// The Node was deleted.
    pub fn forget(&self, node: &NodeView) {
        self.lock().remove(&node.uid);
        self.ledger.forget(Subject::Node, &node.uid);
    }

    /// The Node has a provider ID now, which makes the entry in the ledger unnecessary.
    pub fn has_id_now(&self, node: &NodeView) {
        self.ledger.forget(Subject::Node, &node.uid);
    }

    /// Drops all Nodes except new ones and those without provider ID.
    pub fn keep_only(&self, new: &BTreeSet<Text>, without_id: &BTreeSet<Text>) {
        self.lock().retain(|uid, _id| new.contains(uid) || without_id.contains(uid));
        self.ledger.keeps_only(Subject::Node, without_id);
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Text, Text>> {
        self.seen.lock()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(provider_id: Option<&str>) -> NodeView {
        NodeView { uid: "u-1".into(), provider_id: provider_id.map(Into::into), ..NodeView::default() }
    }

    #[test]
    fn a_machine_that_another_controller_saw_counts_under_the_provider_id_that_the_node_has_now() {
        let machines = SeenMachines::default();
        let waits = node(None);
        assert!(!machines.knows(&node(Some("x://1"))));
        machines.saw(&waits, "x://1");
        assert!(machines.knows(&node(Some("x://1"))), "its ID was written after the look");
        assert!(!machines.knows(&waits), "and is not there yet");
        assert!(!machines.knows(&node(Some("x://2"))), "the machine of another ID was never seen");
        let namesake = NodeView { uid: "u-2".into(), ..node(Some("x://1")) };
        assert!(!machines.knows(&namesake));
        machines.forget(&waits);
        assert!(!machines.knows(&node(Some("x://1"))));
        machines.saw(&node(Some("x://1")), "x://2");
        assert!(!machines.knows(&node(Some("x://2"))), "an ID never changes");
    }

    #[test]
    fn the_next_leader_knows_the_machine_of_a_node_without_provider_id_until_the_node_has_one() {
        let ledger = Ledger::default();
        let (before, next) = (SeenMachines::kept_in(ledger.clone()), SeenMachines::kept_in(ledger));
        before.saw(&node(None), "x://1");
        assert_eq!(next.seen_for(&node(None)).as_deref(), Some("x://1"));
        let namesake = NodeView { uid: "u-2".into(), ..node(None) };
        assert_eq!(next.seen_for(&namesake), None, "another Node of the same name");
        next.has_id_now(&node(Some("x://1")));
        assert_eq!(next.seen_for(&node(None)), None);
    }

    #[test]
    fn nodes_that_are_neither_new_nor_without_provider_id_are_forgotten() {
        let machines = SeenMachines::default();
        let of = |uid: &str| NodeView { uid: uid.into(), ..NodeView::default() };
        for uid in ["new", "without-id", "gone"] {
            machines.saw(&of(uid), "x://1");
        }
        machines.keep_only(&BTreeSet::from(["new".into()]), &BTreeSet::from(["without-id".into()]));
        let kept = ["new", "without-id", "gone"].map(|uid| machines.seen_for(&of(uid)).is_some());
        assert_eq!(kept, [true, true, false]);
    }

    #[test]
    fn a_machine_that_was_made_anew_under_the_name_of_a_node_takes_the_place_of_the_old_one() {
        let machines = SeenMachines::default();
        machines.saw(&node(None), "x://1");
        machines.saw(&node(None), "x://2");
        assert_eq!(machines.seen_for(&node(None)).as_deref(), Some("x://2"));
    }
}
