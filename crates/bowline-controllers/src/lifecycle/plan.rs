//! What becomes of a node, from what the cluster and the cloud say of it. Pure.

use bowline_cloud::{Doubt, ErrorClass, Evidence, NodeView, Power};
use serde_json::Value;

use super::taints;

/// Nodes with this annotation set to `true` may be deleted when their machine is gone, whatever the deletion budget and
/// the breaker say.
pub const RELEASE_ANNOTATION: &str = "bowline.dev/allow-node-deletion";

/// What a look at the node alone tells, before the cloud is asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triage {
    /// Nothing is to be done.
    Settled,
    /// It is Ready, so its machine runs: the taints of a stopped machine go.
    Up,
    /// It is not Ready, and the cloud may know why.
    Ask,
}

/// Looks at a node. The cloud is never asked about a Ready one: it is not deleted, whatever the cloud says.
#[must_use]
pub fn triage(node: &NodeView) -> Triage {
    if node.deleted_at.is_some() {
        // Its deletion was asked for already; its finalizers decide when it goes.
        return Triage::Settled;
    }
    match node.ready {
        Some(true) if taints::has(&node.taints, &taints::shutdown()) => Triage::Up,
        Some(true) => Triage::Settled,
        Some(false) | None => Triage::Ask,
    }
}

/// What the cloud said of a node's machine when it was asked for many at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// It is there.
    There(Power),
    /// It seems gone: a direct read must prove it.
    LooksGone,
    /// The cloud did not say; nothing follows from that.
    Unclear(Doubt),
}

impl From<Evidence<Power>> for Sight {
    fn from(evidence: Evidence<Power>) -> Self {
        match evidence {
            Evidence::Present(power) => Self::There(power),
            Evidence::Absent(_) => Self::LooksGone,
            // Not in the snapshot: no proof, but a reason to look.
            Evidence::Unknown(doubt) if doubt.class == ErrorClass::NotFound => Self::LooksGone,
            Evidence::Unknown(doubt) => Self::Unclear(doubt),
        }
    }
}

/// What a node's taints shall say of its machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// It runs.
    Up,
    /// It is shut down.
    Down,
}

impl Machine {
    /// What follows from the cloud's word; nothing if the cloud cannot tell.
    #[must_use]
    pub fn from_power(power: Power) -> Option<Self> {
        match power {
            Power::Running => Some(Self::Up),
            Power::ShutDown => Some(Self::Down),
            Power::NotReported => None,
        }
    }
}

/// The edits that make a node's taints say what its machine is; none if they do.
///
/// The out-of-service taint is set only if `out_of_service` says so, and taken away only together with the shutdown
/// taint: one that a person has set stays.
#[must_use]
pub fn edits(node: &NodeView, machine: Machine, out_of_service: bool) -> Vec<Value> {
    let (have, shutdown) = (&node.taints, taints::shutdown());
    match machine {
        // It became Ready since the cloud was asked, so it runs.
        Machine::Down if node.ready == Some(true) => Vec::new(),
        Machine::Down if out_of_service && !taints::has(have, &taints::out_of_service()) => {
            taints::add(have, &[shutdown, taints::out_of_service()])
        }
        Machine::Down => taints::add(have, &[shutdown]),
        Machine::Up if !taints::has(have, &shutdown) => Vec::new(),
        Machine::Up => taints::remove(have, |taint| {
            taints::same(taint, &shutdown) || (out_of_service && *taint == taints::out_of_service())
        }),
    }
}

/// Whether the removal of a node was announced, by a taint with one of these keys or by a person: it does not count as
/// lost.
#[must_use]
pub fn announced(node: &NodeView, announcing_taints: &[String]) -> bool {
    node.taints.iter().any(|taint| announcing_taints.iter().any(|key| taint.key == *key))
        || node.annotations.get(RELEASE_ANNOTATION).is_some_and(|value| value == "true")
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{Proof, Taint};
    use k8s_openapi::jiff::Timestamp;

    use super::*;

    fn node(ready: Option<bool>, taints: &[Taint]) -> NodeView {
        NodeView { ready, taints: taints.to_vec(), ..NodeView::default() }
    }

    #[test]
    fn a_ready_node_is_never_a_question_for_the_cloud() {
        assert_eq!(triage(&node(Some(true), &[])), Triage::Settled);
        assert_eq!(triage(&node(Some(true), &[taints::shutdown()])), Triage::Up);
        assert_eq!(triage(&node(Some(false), &[])), Triage::Ask);
        assert_eq!(triage(&node(None, &[])), Triage::Ask);
    }

    #[test]
    fn a_node_that_is_being_deleted_is_left_alone() {
        let going = NodeView { deleted_at: Some(Timestamp::UNIX_EPOCH), ..node(Some(false), &[]) };
        assert_eq!(triage(&going), Triage::Settled);
    }

    #[test]
    fn only_a_missing_machine_looks_gone_and_every_other_doubt_is_unclear() {
        let doubt = |class| Sight::from(Evidence::Unknown(Doubt { class, ..Doubt::new("?") }));
        assert_eq!(Sight::from(Evidence::Absent(Proof::new("404"))), Sight::LooksGone);
        assert_eq!(doubt(ErrorClass::NotFound), Sight::LooksGone);
        for class in [
            ErrorClass::Transient,
            ErrorClass::Unauthenticated,
            ErrorClass::Forbidden,
            ErrorClass::Throttled,
            ErrorClass::Invalid,
            ErrorClass::Conflict,
            ErrorClass::Fatal,
            ErrorClass::Fenced,
        ] {
            assert!(matches!(doubt(class), Sight::Unclear(_)), "{class}");
        }
    }

    #[test]
    fn a_machine_whose_power_is_not_reported_changes_no_taint() {
        assert_eq!(Machine::from_power(Power::NotReported), None);
    }

    #[test]
    fn a_node_that_says_what_its_machine_is_needs_no_edit() {
        let tainted = node(Some(false), &[taints::shutdown()]);
        assert!(edits(&tainted, Machine::Down, false).is_empty());
        assert!(edits(&node(Some(false), &[]), Machine::Up, true).is_empty());
        let both = node(Some(false), &[taints::shutdown(), taints::out_of_service()]);
        assert!(edits(&both, Machine::Down, true).is_empty());
    }

    #[test]
    fn a_node_that_became_ready_meanwhile_is_not_tainted() {
        assert!(edits(&node(Some(true), &[]), Machine::Down, true).is_empty());
    }

    #[test]
    fn the_out_of_service_taint_comes_only_if_wanted_and_goes_only_with_the_shutdown_taint() {
        let bare = node(Some(false), &[]);
        assert!(!format!("{:?}", edits(&bare, Machine::Down, false)).contains(taints::OUT_OF_SERVICE));
        assert!(format!("{:?}", edits(&bare, Machine::Down, true)).contains(taints::OUT_OF_SERVICE));
        let set_by_hand = node(Some(true), &[taints::out_of_service()]);
        assert!(edits(&set_by_hand, Machine::Up, true).is_empty());
        let both = node(Some(true), &[taints::shutdown(), taints::out_of_service()]);
        assert_eq!(edits(&both, Machine::Up, false).len(), 1, "not ours to take: the option is off");
        assert_eq!(
            edits(&both, Machine::Up, true),
            [serde_json::json!({"op": "remove", "path": "/spec/taints"})]
        );
    }

    #[test]
    fn a_removal_is_announced_by_the_autoscaler_or_by_a_person() {
        let keys = ["ToBeDeletedByClusterAutoscaler".to_owned()];
        let scaled_down = Taint {
            key: "ToBeDeletedByClusterAutoscaler".into(),
            value: Some("1700000000".into()),
            effect: "NoSchedule".into(),
        };
        assert!(announced(&node(None, &[scaled_down]), &keys));
        assert!(!announced(&node(None, &[taints::shutdown()]), &keys));
        let with = |value: &str| {
            let annotations = [(RELEASE_ANNOTATION.to_owned(), value.to_owned())].into();
            NodeView { annotations, ..NodeView::default() }
        };
        assert!(announced(&with("true"), &keys));
        assert!(!announced(&with("false"), &keys));
    }
}
