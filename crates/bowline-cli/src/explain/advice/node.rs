//! What a person can do about a Node, from what is known of it. Pure.

use bowline_cloud::NodeView;
use bowline_controllers::lifecycle::plan::RELEASE_ANNOTATION;
use bowline_controllers::node::plan::UNINITIALIZED_TAINT;

use crate::explain::node::{ServerSight, ServerState};
use crate::status::leader::Leader;

/// What is known of a Node.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The Node.
    pub node: &'a NodeView,
    /// What the cloud says of its server.
    pub server: &'a ServerSight,
    /// Why a safety rail keeps it, as was told last.
    pub held: Option<&'a str>,
    /// Who works on it.
    pub leader: &'a Leader,
}

/// From what is known to words; none where the advice does not apply.
pub type Rule = fn(&Known<'_>) -> Option<String>;

/// All advice that there is for Nodes.
pub const RULES: &[(&str, Rule)] = &[
    ("no-manager-works", no_manager_works),
    ("identity-lost", identity_lost),
    ("cluster-paused", cluster_paused),
    ("not-initialized", not_initialized),
    ("kubelet-flag", kubelet_flag),
    ("gone-and-ready", gone_and_ready),
    ("gone-and-held", gone_and_held),
    ("gone", gone),
    ("foreign-and-waiting", foreign_and_waiting),
    ("cloud-silent", cloud_silent),
    ("shut-down", shut_down),
];

/// What to do, the most important first. Nothing, if all is well.
#[must_use]
pub fn advice(known: &Known<'_>) -> Vec<String> {
    RULES.iter().filter_map(|(_kind, rule)| rule(known)).collect()
}

fn is_uninitialized(node: &NodeView) -> bool {
    node.taints.iter().any(|taint| taint.key == UNINITIALIZED_TAINT)
}

fn no_manager_works(known: &Known<'_>) -> Option<String> {
    super::no_manager_works(known.leader)
}

fn identity_lost(known: &Known<'_>) -> Option<String> {
    super::identity_lost(known.leader)
}

fn cluster_paused(known: &Known<'_>) -> Option<String> {
    super::cluster_paused(known.leader)
}

fn not_initialized(known: &Known<'_>) -> Option<String> {
    let words = "its server is there and it is not initialized yet: look for warnings above and in the log of the manager";
    let is = known.server.state == ServerState::Present && is_uninitialized(known.node);
    (is && known.leader.problem.is_none()).then(|| words.to_owned())
}

fn kubelet_flag(known: &Known<'_>) -> Option<String> {
    let words = "its kubelet runs without --cloud-provider=external, so the manager leaves it alone: set it and let the Node register again";
    let is = known.server.state == ServerState::Present
        && known.node.provider_id.is_none()
        && !is_uninitialized(known.node);
    is.then(|| words.to_owned())
}

fn is_gone(known: &Known<'_>) -> bool {
    known.server.state == ServerState::Gone
}

fn is_ready(known: &Known<'_>) -> bool {
    known.node.ready == Some(true)
}

fn gone_and_ready(known: &Known<'_>) -> Option<String> {
    let words = "it is Ready although the cloud has no such server: it is not deleted. Check that these are the credentials of its project";
    (is_gone(known) && is_ready(known)).then(|| words.to_owned())
}

fn gone_and_held(known: &Known<'_>) -> Option<String> {
    let why = known.held.filter(|_| is_gone(known) && !is_ready(known))?;
    let name = &known.node.name;
    Some(format!(
        "a safety rail keeps it: {why}. If it is gone indeed: kubectl annotate node {name} {RELEASE_ANNOTATION}=true"
    ))
}

fn gone(known: &Known<'_>) -> Option<String> {
    let words = "the manager deletes it after it has proven again that its server is gone";
    (is_gone(known) && !is_ready(known) && known.held.is_none()).then(|| words.to_owned())
}

fn foreign_and_waiting(known: &Known<'_>) -> Option<String> {
    let words = "it is another cloud's and waits for that cloud's manager to initialize it";
    let is = known.server.state == ServerState::Foreign && is_uninitialized(known.node);
    is.then(|| words.to_owned())
}

fn cloud_silent(known: &Known<'_>) -> Option<String> {
    let words = "the cloud did not say: check it and the credentials, see kubectl bowline doctor";
    (known.server.state == ServerState::Unknown).then(|| words.to_owned())
}

fn shut_down(known: &Known<'_>) -> Option<String> {
    let words = "its server is shut down: start it, or delete the Node";
    (known.server.power == Some("shut down")).then(|| words.to_owned())
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{Doubt, Evidence, Instance, Power, Proof, Taint};
    use bowline_controllers::shadow::preview::Machine;

    use super::*;

    fn present() -> ServerSight {
        ServerSight::of(&Machine::Ours(Evidence::Present(Instance {
            provider_id: "openstack:///1".into(),
            power: Power::Running,
            ..Instance::default()
        })))
    }

    fn gone() -> ServerSight {
        ServerSight::of(&Machine::Ours(Evidence::Absent(Proof::new("Nova answered 404 (request id req-9)"))))
    }

    fn said(node: &NodeView, server: &ServerSight, held: Option<&str>) -> String {
        advice(&Known { node, server, held, leader: &Leader::default() }).join("\n")
    }

    #[test]
    fn each_state_of_a_node_has_its_advice_and_a_good_one_has_none() {
        let good = NodeView {
            name: "n1".into(),
            provider_id: Some("openstack:///1".into()),
            ready: Some(true),
            ..NodeView::default()
        };
        assert_eq!(said(&good, &present(), None), "");
        let tainted = Taint { key: UNINITIALIZED_TAINT.into(), value: None, effect: "NoSchedule".into() };
        let waiting = NodeView { taints: vec![tainted], provider_id: None, ..good.clone() };
        assert!(said(&waiting, &present(), None).contains("not initialized yet"));
        let unmanaged = NodeView { provider_id: None, ..good.clone() };
        assert!(said(&unmanaged, &present(), None).contains("--cloud-provider=external"));
        assert!(said(&good, &gone(), None).contains("credentials of its project"));
        let dead = NodeView { ready: Some(false), ..good.clone() };
        assert!(said(&dead, &gone(), None).contains("deletes it"));
        let held = said(&dead, &gone(), Some("4 of 5 nodes seem gone"));
        assert!(held.contains("kubectl annotate node n1 bowline.dev/allow-node-deletion=true"), "{held}");
        let unknown = ServerSight::of(&Machine::Ours(Evidence::Unknown(Doubt::new("502"))));
        assert!(said(&dead, &unknown, None).contains("doctor"));
        let off = ServerSight { power: Some("shut down"), ..present() };
        assert!(said(&dead, &off, None).contains("shut down"));
        let server = present();
        let nobody = Leader { problem: Some("no Lease".to_owned()), ..Leader::default() };
        let stuck = Known { node: &good, server: &server, held: None, leader: &nobody };
        assert!(advice(&stuck).join("").contains("no Lease"));
        let foreign = ServerSight::of(&Machine::Foreign("metal".into()));
        assert!(said(&waiting, &foreign, None).contains("another cloud's"));
        assert_eq!(said(&good, &foreign, None), "");
    }
}
