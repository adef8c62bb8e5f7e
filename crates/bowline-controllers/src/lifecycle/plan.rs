//! Decides what to do with a Node, from its state in the cluster and in the cloud. Pure.

use bowline_cloud::{Doubt, ErrorClass, Evidence, NodeView, Power};
use serde_json::Value;

use super::taints;

/// A Node with this annotation set to `true` may be deleted when its machine is gone, regardless of the deletion budget and the breaker.
pub const RELEASE_ANNOTATION: &str = "bowline.dev/allow-node-deletion";

/// What follows from the Node alone, before the cloud is queried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Triage {
    /// There is nothing to do.
    Settled,
    /// The Node is Ready, so its machine runs: the taints of a stopped machine are removed.
    Up,
    /// The Node is not Ready: the state of its machine is needed from the cloud.
    Ask,
}

/// Classifies a Node. A Ready Node is never [`Triage::Ask`], because it is never deleted.
#[must_use]
pub fn triage(node: &NodeView) -> Triage {
    if node.deleted_at.is_some() {
        // The deletion was already requested; the finalizers decide when the Node is removed.
        return Triage::Settled;
    }
    match node.ready {
        Some(true) if taints::has(&node.taints, &taints::shutdown()) => Triage::Up,
        Some(true) => Triage::Settled,
        Some(false) | None => Triage::Ask,
    }
}

/// The state of a Node's machine according to a request for many Nodes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sight {
    /// The machine exists.
    There(Power),
    /// The machine seems gone: a direct read must prove it.
    LooksGone,
    /// The cloud did not answer for it; nothing may be concluded.
    Unclear(Doubt),
}

impl From<Evidence<Power>> for Sight {
    fn from(evidence: Evidence<Power>) -> Self {
        match evidence {
            Evidence::Present(power) => Self::There(power),
            Evidence::Absent(_) => Self::LooksGone,
            // Missing in a list: no proof, but a reason for a direct read.
            Evidence::Unknown(doubt) if doubt.class == ErrorClass::NotFound => Self::LooksGone,
            Evidence::Unknown(doubt) => Self::Unclear(doubt),
        }
    }
}

/// The state of a machine that the taints of its Node have to show.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Machine {
    /// The machine runs.
    Up,
    /// The machine is shut down.
    Down,
}

impl Machine {
    /// The state that follows from the power state of the cloud; `None` if the cloud does not report one.
    #[must_use]
    pub fn from_power(power: Power) -> Option<Self> {
        match power {
            Power::Running => Some(Self::Up),
            Power::ShutDown => Some(Self::Down),
            Power::NotReported => None,
        }
    }
}

/// The JSON patch operations that make the taints of a Node match its machine; empty if they do already.
///
/// The out-of-service taint is set only with `out_of_service`, and then removed together with the shutdown taint. One without a shutdown
/// taint stays: an administrator has set it.
#[must_use]
pub fn edits(node: &NodeView, machine: Machine, out_of_service: bool) -> Vec<Value> {
    let (have, shutdown) = (&node.taints, taints::shutdown());
    match machine {
        // The Node became Ready after the cloud was queried, so its machine runs.
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

/// Whether the removal of a Node was announced, by a taint with one of these keys or by [`RELEASE_ANNOTATION`]: it then does not count as
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
