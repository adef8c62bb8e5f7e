//! Which nodes get the traffic of load balancers: one snapshot for all Services, numbered by an epoch.
//!
//! The set is the same for every Service, whatever its traffic policy: readiness is left to the health checks of the load
//! balancers. Comparing two sets costs one number, however many Services and nodes there are.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{NodeSet, NodeView, Text};
use bowline_kube::informer::Informer;
use k8s_openapi::jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};

use super::leaving::{LeavingNodes, draining, leaving};

/// A node with this label, unless it says `false`, gets no traffic from load balancers.
pub const EXCLUDE_LABEL: &str = "node.kubernetes.io/exclude-from-external-load-balancers";

/// The cluster autoscaler is about to remove a node with this taint.
pub const AUTOSCALER_TAINT: &str = "ToBeDeletedByClusterAutoscaler";

/// Whether a node gets traffic from load balancers.
#[must_use]
pub fn is_eligible(node: &NodeView) -> bool {
    node.deleted_at.is_none()
        && !is_excluded(node)
        && !node.taints.iter().any(|taint| taint.key == AUTOSCALER_TAINT)
}

/// Whether a person excluded it. A value that is no boolean counts as yes, as the label alone did before 1.34.
fn is_excluded(node: &NodeView) -> bool {
    let said_no = |value: &str| matches!(value, "0" | "f" | "F" | "false" | "False" | "FALSE");
    node.labels.get(EXCLUDE_LABEL).is_some_and(|value| !said_no(value))
}

/// Whether an update of a node is worth a look at all load balancers. Narrower than [`is_eligible`] on purpose: a node
/// that is about to go is dropped with the next change, so that its connections are not cut while it drains; only load
/// balancers that drain it themselves are told. Wider than
/// upstream's in one thing: members of load balancers are made from addresses, and a node may get its own after it joined.
#[must_use]
pub fn is_worth_a_look(old: &NodeView, new: &NodeView) -> bool {
    is_excluded(old) != is_excluded(new)
        || old.provider_id != new.provider_id
        || old.addresses != new.addresses
}

/// The eligible ones, by name.
pub fn select<'a>(nodes: impl IntoIterator<Item = &'a Arc<NodeView>>) -> BTreeMap<Text, Arc<NodeView>> {
    let eligible = nodes.into_iter().filter(|node| is_eligible(node));
    eligible.map(|node| (node.name.clone(), node.clone())).collect()
}

/// The set that follows `current`: its epoch grows only if a name, a provider ID or an address comes, goes or changes.
#[must_use]
pub fn next_set(current: &NodeSet, selected: BTreeMap<Text, Arc<NodeView>>) -> NodeSet {
    let same = current.nodes.len() == selected.len()
        && current
            .nodes
            .iter()
            .zip(&selected)
            .all(|((_name, node), (_other_name, other))| serves_as(node, other));
    let epoch = if same { current.epoch } else { current.epoch.saturating_add(1) };
    NodeSet { epoch, nodes: Arc::new(selected), leaving: BTreeMap::new() }
}

/// Whether it is the same to a load balancer. Of thousands, nearly all are the very same that they were.
fn serves_as(node: &Arc<NodeView>, other: &Arc<NodeView>) -> bool {
    Arc::ptr_eq(node, other)
        || (node.name == other.name
            && node.provider_id == other.provider_id
            && node.addresses == other.addresses)
}

/// Whether load balancers have to let go of `old` when it becomes `new`: it gets no traffic any more, is another machine, or has
/// lost an address. A node that gets what it did not have is not one of them.
pub(super) fn leaves(old: &NodeView, new: &NodeView) -> bool {
    let is_another = old.provider_id.is_some() && old.provider_id != new.provider_id;
    is_eligible(old)
        && (!is_eligible(new) || is_another || !old.addresses.iter().all(|one| new.addresses.contains(one)))
}

/// Whether somebody of the one set is not in the other, or is another there.
fn loses(before: &NodeSet, after: &NodeSet) -> bool {
    let stays = |name, node| after.nodes.get(name).is_some_and(|other| !leaves(node, other));
    before.epoch != after.epoch && !before.nodes.iter().all(|(name, node)| stays(name, node))
}

/// Whom a change of nodes concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Audience {
    /// Nobody.
    Nobody,
    /// The Services whose load balancers drain nodes.
    Draining,
    /// All.
    All,
}

/// The present set, and which of the past ones all Services were last told of.
#[derive(Debug)]
pub(crate) struct SharedNodes {
    nodes: Informer<Arc<NodeView>>,
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    set: NodeSet,
    leaving: LeavingNodes,
    /// The informer's epoch that these were made from.
    made_from: Option<u64>,
    announced: u64,
    /// The epoch of the last set from which somebody went.
    lost: u64,
    /// What those that drain were told of last: the set, and who leaves.
    announced_to_draining: (u64, Vec<Text>),
}

impl SharedNodes {
    pub(crate) fn new(nodes: Informer<Arc<NodeView>>) -> Self {
        Self { nodes, state: Mutex::default() }
    }

    /// The set as of now for a load balancer that drains nodes for so long, and when the next of these drains ends.
    pub(crate) fn current(&self, drain: Option<Duration>, now: Timestamp) -> (NodeSet, Option<Timestamp>) {
        let mut state = self.lock();
        self.refresh(&mut state, now);
        let (leaving, ends) = drain.map(|period| draining(&state.leaving, period, now)).unwrap_or_default();
        (NodeSet { leaving, ..state.set.clone() }, ends)
    }

    /// Made anew only if some node changed since the last call.
    fn refresh(&self, state: &mut State, now: Timestamp) {
        let snapshot = self.nodes.snapshot();
        if state.made_from != Some(snapshot.epoch()) {
            let nodes = || snapshot.objects().iter().map(|object| &object.view);
            state.leaving = leaving(&state.leaving, &state.set, nodes(), now);
            let next = next_set(&state.set, select(nodes()));
            if loses(&state.set, &next) {
                state.lost = next.epoch;
            }
            state.set = next;
            state.made_from = Some(snapshot.epoch());
        }
    }

    /// Who has not been told of the present set. If it is not `for_all`, those that do not drain are told with a later change.
    pub(super) fn announce(&self, for_all: bool, now: Timestamp) -> Audience {
        let mut state = self.lock();
        self.refresh(&mut state, now);
        let present = (state.set.epoch, state.leaving.keys().cloned().collect());
        let is_new = state.announced_to_draining != present;
        state.announced_to_draining = present;
        if for_all && state.announced != state.set.epoch {
            state.announced = state.set.epoch;
            return Audience::All;
        }
        if is_new { Audience::Draining } else { Audience::Nobody }
    }

    /// The epoch of the set that all were told of last.
    pub(super) fn announced(&self) -> u64 {
        self.lock().announced
    }

    /// The epoch of the last set from which somebody went.
    pub(super) fn lost(&self) -> u64 {
        self.lock().lost
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

#[cfg(test)]
mod tests;
