//! Nodes: every kubelet becomes external, and nodes that nobody has named are initialised. Until the last kubelet is external, the
//! controller that writes addresses does not run (I5); the one that deletes nodes runs later still.

use std::time::Duration;

use super::super::admin::{is_claimed, not_external, to_external_kubelets};
use super::super::decision::Step;
use super::super::observed::NodeFacts;
use super::super::{approval, fence, reason::Reason};
use super::{Draft, Outcome, View};
use crate::api::Phase;
use crate::migration::ManagerMode;

pub(super) fn nodes(view: &View<'_>) -> Draft {
    let open = not_external(view.case);
    if !open.is_empty() {
        let message = format!(
            "{} kubelets are not known to be external: see status.migration.steps, or `bowline migrate status`",
            open.len()
        );
        let admin = to_external_kubelets(view.case);
        // Once the controller of nodes runs, a kubelet that joins wrongly is told of, and stops nothing (I12).
        let mode = if view.current() >= ManagerMode::WithoutLifecycle {
            ManagerMode::WithoutLifecycle
        } else {
            ManagerMode::WithoutNodes
        };
        return Draft { admin, ..Draft::new(Outcome::Stay(message), mode) };
    }
    let steps = taints(view);
    let outcome = outcome(view, &steps);
    Draft { steps, ..Draft::new(outcome, ManagerMode::WithoutLifecycle) }
}

fn claimed<'a>(view: &'a View<'_>) -> impl Iterator<Item = &'a NodeFacts> {
    view.case.observed.nodes.iter().filter(|node| is_claimed(view.case, node))
}

/// How long ago the operator tainted a node.
fn age(view: &View<'_>, node: &NodeFacts) -> Option<Duration> {
    Some(view.case.now.duration_since(node.tainted_at?).unsigned_abs())
}

/// A node that stayed uninitialised after it was tainted.
fn is_stuck(view: &View<'_>, node: &NodeFacts) -> bool {
    node.uninitialized && age(view, node).is_some_and(|age| age > view.case.timings.node)
}

/// A node whose taint was removed again. It is tried once more after a while.
fn is_given_up(view: &View<'_>, node: &NodeFacts) -> bool {
    let is_recent = age(view, node).is_some_and(|age| age <= view.case.timings.node * 6);
    node.provider_id.is_none() && !node.uninitialized && is_recent
}

/// Whether the controller of nodes runs, and leads.
fn is_served(view: &View<'_>) -> bool {
    view.runs_only(ManagerMode::WithoutLifecycle) && fence::is_ours(view.case)
}

fn taints(view: &View<'_>) -> Vec<Step> {
    let untaint = |node: &NodeFacts| Step::UntaintNode { name: node.name.clone(), uid: node.uid.clone() };
    let mut steps: Vec<Step> = claimed(view).filter(|node| is_stuck(view, node)).map(untaint).collect();
    if !is_served(view) {
        return steps;
    }
    let under_way = claimed(view).filter(|node| node.uninitialized && node.tainted_at.is_some()).count();
    let most = (view.case.observed.nodes.len() / 10).max(1);
    let waiting = claimed(view)
        .filter(|node| node.provider_id.is_none() && !node.uninitialized && !is_given_up(view, node));
    let taint = |node: &NodeFacts| Step::TaintNode { name: node.name.clone(), uid: node.uid.clone() };
    steps.extend(waiting.take(most.saturating_sub(under_way)).map(taint));
    steps
}

fn names<'a>(nodes: impl Iterator<Item = &'a NodeFacts>) -> Vec<&'a str> {
    nodes.take(10).map(|node| node.name.as_str()).collect()
}

fn outcome(view: &View<'_>, steps: &[Step]) -> Outcome {
    let given_up = names(claimed(view).filter(|node| is_given_up(view, node) || is_stuck(view, node)));
    if !given_up.is_empty() {
        let message = format!(
            "the nodes {} were not initialised in time, and the taints were removed again; does the cloud have machines of these names? See the manager's log",
            given_up.join(", ")
        );
        return Outcome::Block(Reason::NodesUninitialized, message);
    }
    let open = names(claimed(view).filter(|node| node.provider_id.is_none() || node.uninitialized));
    if !open.is_empty() {
        return Outcome::Stay(format!(
            "nodes to be initialised: {} ({} steps now)",
            open.join(", "),
            steps.len()
        ));
    }
    if !is_served(view) {
        let message = "our manager does not lead yet with the controller of nodes".to_owned();
        return view.wait(Reason::ManagerNotReady, message);
    }
    let period = view.case.timings.address_refresh * 2;
    let moving = names(claimed(view).filter(|node| node.addresses_unchanged_for < period));
    if !moving.is_empty() {
        return Outcome::Stay(format!(
            "addresses must stay the same for {} s: {}",
            period.as_secs(),
            moving.join(", ")
        ));
    }
    match approval::missing(view.case, view.kind, Phase::Full) {
        Some(message) => Outcome::Stay(message),
        None => Outcome::Go(Phase::Full, "all nodes are external and initialised".to_owned()),
    }
}
