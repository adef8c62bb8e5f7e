//! Checks of Nodes. Pure.

use std::sync::Arc;

use bowline_cloud::{Evidence, NodeView};
use bowline_controllers::lifecycle::taints;
use bowline_controllers::node::plan::UNINITIALIZED_TAINT;
use bowline_controllers::shadow::preview::Machine;

use super::facts::Facts;
use super::{Finding, Severity, some};

/// A Node that waits longer than this has a problem.
const LONG_SECONDS: i64 = 10 * 60;

/// The schemes of provider IDs that k3s and RKE2 give by themselves.
const BUILT_IN: [&str; 2] = ["k3s", "rke2"];

fn names<'a>(nodes: impl Iterator<Item = &'a Arc<NodeView>>) -> Vec<String> {
    nodes.map(|node| node.name.to_string()).collect()
}

fn is_uninitialized(node: &NodeView) -> bool {
    node.taints.iter().any(|taint| taint.key == UNINITIALIZED_TAINT)
}

fn scheme(node: &NodeView) -> Option<&str> {
    node.provider_id.as_deref()?.split_once("://").map(|(scheme, _rest)| scheme)
}

fn finding(
    id: &'static str,
    severity: Severity,
    found: String,
    why: &'static str,
    remedy: String,
) -> Vec<Finding> {
    vec![Finding { id, severity, found, why, remedy }]
}

/// Nodes that have neither a provider ID nor the taint: their kubelets do not wait for a manager.
#[must_use]
pub fn kubelet_flag_missing(facts: &Facts) -> Vec<Finding> {
    let bare = facts.nodes.iter().filter(|node| node.provider_id.is_none() && !is_uninitialized(node));
    let bare = names(bare);
    if bare.is_empty() {
        return Vec::new();
    }
    finding(
        "kubelet-flag-missing",
        Severity::Error,
        format!("{} have neither a provider ID nor the taint {UNINITIALIZED_TAINT}", some(&bare)),
        "their kubelets run without --cloud-provider=external, so the manager does not initialize these Nodes: no addresses, labels or zone from the cloud, and load balancers may not reach them",
        format!(
            "set cloudProvider: external (kubelet flag --cloud-provider=external) on them, then let each register again: kubectl delete node {}",
            bare.first().map(String::as_str).unwrap_or_default()
        ),
    )
}

/// Nodes that the built-in manager of k3s or RKE2 initialized.
#[must_use]
pub fn built_in_manager(facts: &Facts) -> Vec<Finding> {
    let theirs =
        facts.nodes.iter().filter(|node| scheme(node).is_some_and(|scheme| BUILT_IN.contains(&scheme)));
    let theirs = names(theirs);
    if theirs.is_empty() {
        return Vec::new();
    }
    finding(
        "built-in-manager",
        Severity::Error,
        format!("{} have provider IDs of the built-in cloud controller of k3s or RKE2", some(&theirs)),
        "a provider ID never changes again, so these Nodes are none of this cloud's for as long as they live",
        "start k3s with --disable-cloud-controller (RKE2: disable-cloud-controller: true) and kubelets with cloud-provider=external, then delete these Nodes one by one and let them register again".to_owned(),
    )
}

/// Nodes of other clouds.
#[must_use]
pub fn foreign_provider_id(facts: &Facts) -> Vec<Finding> {
    let foreign: Vec<String> = facts
        .machines
        .iter()
        .flatten()
        .filter(|(node, machine)| {
            matches!(machine, Machine::Foreign(_))
                && !scheme(node).is_some_and(|scheme| BUILT_IN.contains(&scheme))
        })
        .map(|(node, _machine)| {
            format!("{} ({})", node.name, node.provider_id.as_deref().unwrap_or("no provider ID"))
        })
        .collect();
    if foreign.is_empty() {
        return Vec::new();
    }
    finding(
        "foreign-provider-id",
        Severity::Hint,
        format!("{} belong to another cloud or region", some(&foreign)),
        "the manager leaves them alone: it neither initializes nor deletes them",
        "nothing, if they are meant to be elsewhere; else delete the Node and let its kubelet register it again without --provider-id".to_owned(),
    )
}

/// Nodes that wait to be initialized, for long.
#[must_use]
pub fn uninitialized_for_long(facts: &Facts) -> Vec<Finding> {
    let is_old = |node: &&Arc<NodeView>| {
        node.created_at.is_some_and(|at| facts.now.duration_since(at).as_secs() > LONG_SECONDS)
    };
    let waiting = facts.nodes.iter().filter(|node| is_uninitialized(node) && node.provider_id.is_none());
    let waiting = names(waiting.filter(is_old));
    let Some(first) = waiting.first() else { return Vec::new() };
    finding(
        "uninitialized-for-long",
        Severity::Error,
        format!("{} wait to be initialized for more than ten minutes", some(&waiting)),
        "no pod that does not tolerate it is put on them",
        format!("kubectl bowline explain node/{first}"),
    )
}

/// Nodes that are initialized and still have the taint.
#[must_use]
pub fn taint_left_over(facts: &Facts) -> Vec<Finding> {
    let left = names(facts.nodes.iter().filter(|node| is_uninitialized(node) && node.provider_id.is_some()));
    let Some(first) = left.first() else { return Vec::new() };
    finding(
        "taint-left-over",
        Severity::Warning,
        format!("{} have a provider ID and still the taint {UNINITIALIZED_TAINT}", some(&left)),
        "no pod that does not tolerate it is put on them; a manager that works takes it off within seconds",
        format!(
            "kubectl bowline explain node/{first}; if no manager is wanted any more: kubectl taint node {first} {UNINITIALIZED_TAINT}-"
        ),
    )
}

/// Nodes that are ready and still have the taint of a machine that is shut down.
#[must_use]
pub fn shutdown_taint_left_over(facts: &Facts) -> Vec<Finding> {
    let is_tainted = |node: &NodeView| node.taints.iter().any(|taint| taint.key == taints::SHUTDOWN);
    let left = names(facts.nodes.iter().filter(|node| node.ready == Some(true) && is_tainted(node)));
    let Some(first) = left.first() else { return Vec::new() };
    finding(
        "shutdown-taint-left-over",
        Severity::Warning,
        format!("{} are Ready and have the taint {}", some(&left), taints::SHUTDOWN),
        "no pod is put on them",
        format!("a manager that works takes it off; else: kubectl taint node {first} {}-", taints::SHUTDOWN),
    )
}

fn of_machines(facts: &Facts, chosen: impl Fn(&Machine) -> Option<String>) -> Vec<(String, String)> {
    let machines = facts.machines.iter().flatten();
    machines.filter_map(|(node, machine)| Some((node.name.to_string(), chosen(machine)?))).collect()
}

/// Nodes whose server is gone. Where all are, [`super::cloud::another_project`] tells it.
#[must_use]
pub fn server_gone(facts: &Facts) -> Vec<Finding> {
    let gone = of_machines(facts, |machine| match machine {
        Machine::Ours(Evidence::Absent(proof)) => Some(proof.to_string()),
        _ => None,
    });
    let names: Vec<&String> = gone.iter().map(|(name, _proof)| name).collect();
    let Some((first, proof)) = gone.first() else { return Vec::new() };
    if super::cloud::all_servers_are_gone(facts) {
        return Vec::new();
    }
    finding(
        "server-gone",
        Severity::Warning,
        format!("the servers of {} are gone: {proof}", some(&names)),
        "the manager deletes such Nodes once they are not Ready, unless a safety rail holds it",
        format!("kubectl bowline explain node/{first}"),
    )
}

/// Nodes of whose server nobody can say anything.
#[must_use]
pub fn server_not_known(facts: &Facts) -> Vec<Finding> {
    let unknown = of_machines(facts, |machine| match machine {
        Machine::Ours(Evidence::Unknown(doubt)) => Some(doubt.to_string()),
        _ => None,
    });
    let names: Vec<&String> = unknown.iter().map(|(name, _why)| name).collect();
    let Some((first, why)) = unknown.first() else { return Vec::new() };
    finding(
        "server-not-known",
        Severity::Warning,
        format!("the cloud does not say whether the servers of {} are there: {why}", some(&names)),
        "what is not known is neither initialized nor deleted",
        format!(
            "check that the server exists under the name of the Node in this project, then kubectl bowline explain node/{first}"
        ),
    )
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{Doubt, Instance, Proof, Taint};

    use super::*;
    use crate::doctor::fixture::{node, well};

    fn ids(findings: &[Finding]) -> Vec<&str> {
        findings.iter().map(|finding| finding.id).collect()
    }

    fn with(check: super::super::Check, change: impl FnOnce(&mut NodeView)) -> Vec<Finding> {
        let mut facts = well();
        let mut bad = node("bad");
        change(&mut bad);
        facts.nodes.push(Arc::new(bad));
        check(&facts)
    }

    fn taint(key: &str) -> Taint {
        Taint { key: key.into(), value: None, effect: "NoSchedule".into() }
    }

    #[test]
    fn a_node_without_provider_id_and_taint_has_a_kubelet_without_the_flag() {
        let found = with(kubelet_flag_missing, |node| node.provider_id = None);
        assert_eq!(ids(&found), ["kubelet-flag-missing"]);
        assert!(found[0].found.contains("bad") && found[0].remedy.contains("--cloud-provider=external"));
        let waits = |node: &mut NodeView| {
            node.provider_id = None;
            node.taints.push(taint(UNINITIALIZED_TAINT));
        };
        assert!(with(kubelet_flag_missing, waits).is_empty(), "it waits, as it should");
    }

    #[test]
    fn the_built_in_managers_of_k3s_and_rke2_are_known_by_the_ids_that_they_gave() {
        for id in ["k3s://bad", "rke2://bad"] {
            assert_eq!(
                ids(&with(built_in_manager, |node| node.provider_id = Some(id.into()))),
                ["built-in-manager"]
            );
        }
        assert!(with(built_in_manager, |_| {}).is_empty());
    }

    #[test]
    fn a_node_of_another_cloud_is_a_hint_and_not_said_twice() {
        let told = |id: &str| {
            let mut facts = well();
            let other = NodeView { provider_id: Some(id.into()), ..node("metal") };
            facts.machines.as_mut().unwrap().push((Arc::new(other), Machine::Foreign("other".into())));
            ids(&foreign_provider_id(&facts)).len()
        };
        assert_eq!((told("aws:///1"), told("k3s://metal")), (1, 0));
    }

    #[test]
    fn a_node_that_waits_for_long_is_an_error_and_a_new_one_is_none() {
        let waits = |seconds: i64| {
            let mut facts = well();
            let created_at = facts.now.checked_sub(jiff::SignedDuration::from_secs(seconds)).ok();
            let new = NodeView {
                provider_id: None,
                taints: vec![taint(UNINITIALIZED_TAINT)],
                created_at,
                ..node("new")
            };
            facts.nodes.push(Arc::new(new));
            ids(&uninitialized_for_long(&facts)).len()
        };
        assert_eq!((waits(60), waits(1000)), (0, 1));
    }

    #[test]
    fn taints_that_were_left_over_are_found() {
        assert_eq!(
            ids(&with(taint_left_over, |node| node.taints.push(taint(UNINITIALIZED_TAINT)))),
            ["taint-left-over"]
        );
        assert_eq!(
            ids(&with(shutdown_taint_left_over, |node| node.taints.push(taint(taints::SHUTDOWN)))),
            ["shutdown-taint-left-over"]
        );
        let down = |node: &mut NodeView| {
            node.ready = Some(false);
            node.taints.push(taint(taints::SHUTDOWN));
        };
        assert!(with(shutdown_taint_left_over, down).is_empty(), "it is shut down indeed");
    }

    #[test]
    fn servers_that_are_gone_or_not_known_are_told_with_what_the_cloud_said() {
        let facts = |evidence: Evidence<Instance>| {
            let mut facts = well();
            facts.machines.as_mut().unwrap().push((Arc::new(node("bad")), Machine::Ours(evidence)));
            facts
        };
        let gone = facts(Evidence::Absent(Proof::new("Nova answered 404")));
        assert_eq!(ids(&server_gone(&gone)), ["server-gone"]);
        assert!(server_gone(&gone)[0].found.contains("Nova answered 404"));
        let unknown = facts(Evidence::Unknown(Doubt::new("502")));
        assert_eq!(ids(&server_not_known(&unknown)), ["server-not-known"]);
        assert!(server_gone(&unknown).is_empty());
    }
}
