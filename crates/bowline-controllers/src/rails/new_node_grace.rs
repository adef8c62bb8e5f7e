//! SR-14, new-node grace: a Node that just joined is not deleted for a missing machine, because clouds list new machines late. The grace
//! ends as soon as its machine was observed once: if it is missing after that, it is gone.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use bowline_cloud::NodeView;
use k8s_openapi::jiff::{SignedDuration, Timestamp};

/// Decides which Nodes are too new to be deleted.
#[derive(Debug, Clone)]
pub struct NewNodeGrace {
    grace: Duration,
    /// UIDs of Nodes for whose provider ID the cloud has returned a machine at least once.
    seen: BTreeSet<String>,
}

/// The Node is too new to be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TooNew {
    /// How long new Nodes are protected.
    pub grace: Duration,
}

impl fmt::Display for TooNew {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "it joined less than {:?} ago and its machine was never seen; it is looked for again",
            self.grace
        )
    }
}

impl NewNodeGrace {
    /// Protects Nodes younger than `grace`.
    #[must_use]
    pub fn new(grace: Duration) -> Self {
        Self { grace, seen: BTreeSet::new() }
    }

    /// Records that the cloud returned the machine of this Node.
    pub fn saw(&mut self, node: &NodeView) {
        // A lookup by name proves nothing about a provider ID that the Node does not have yet.
        if node.provider_id.is_some() {
            self.seen.insert(node.uid.to_string());
        }
    }

    /// Drops the state of Nodes that no longer exist.
    pub fn keep_only(&mut self, exists: impl Fn(&str) -> bool) {
        self.seen.retain(|uid| exists(uid));
    }

    /// Checks that a Node whose machine seems gone is old enough to be deleted.
    ///
    /// # Errors
    ///
    /// [`TooNew`] if it is not. A Node without creation timestamp is too new.
    pub fn judge(&self, node: &NodeView, now: Timestamp) -> Result<(), TooNew> {
        let seen = self.seen.contains(node.uid.as_str());
        if seen || !self.is_new(node, now) { Ok(()) } else { Err(TooNew { grace: self.grace }) }
    }

    /// Whether the grace period of a Node is still running. Always true for a Node without creation timestamp.
    #[must_use]
    pub fn is_new(&self, node: &NodeView, now: Timestamp) -> bool {
        let grace = SignedDuration::try_from(self.grace).unwrap_or(SignedDuration::MAX);
        node.created_at.is_none_or(|joined| now.duration_since(joined) < grace)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const GRACE: Duration = Duration::from_secs(300);
    const JOINED: i64 = 1_000_000;

    fn node(provider_id: Option<&str>) -> NodeView {
        NodeView {
            uid: "u-1".into(),
            provider_id: provider_id.map(Into::into),
            created_at: Some(at(0)),
            ..NodeView::default()
        }
    }

    fn at(seconds: i64) -> Timestamp {
        Timestamp::from_second(JOINED + seconds).unwrap()
    }

    #[test]
    fn a_node_that_just_joined_is_held_back() {
        let rail = NewNodeGrace::new(GRACE);
        assert!(rail.judge(&node(Some("x://1")), at(299)).is_err());
        assert!(rail.judge(&node(Some("x://1")), at(-60)).is_err(), "clocks differ");
        let unknown_age = NodeView { created_at: None, ..node(Some("x://1")) };
        assert!(rail.judge(&unknown_age, at(9_999)).is_err());
    }

    #[test]
    fn a_node_that_is_old_enough_passes_with_and_without_provider_id() {
        let rail = NewNodeGrace::new(GRACE);
        assert_eq!(rail.judge(&node(Some("x://1")), at(300)), Ok(()));
        assert_eq!(rail.judge(&node(None), at(300)), Ok(()));
    }

    #[test]
    fn a_new_node_passes_if_its_machine_was_seen_before_but_a_namesake_does_not() {
        let mut rail = NewNodeGrace::new(GRACE);
        rail.saw(&node(Some("x://1")));
        assert_eq!(rail.judge(&node(Some("x://1")), at(10)), Ok(()));
        let namesake = NodeView { uid: "u-2".into(), ..node(Some("x://1")) };
        assert!(rail.judge(&namesake, at(10)).is_err());
        rail.keep_only(|uid| uid == "u-2");
        assert!(rail.judge(&node(Some("x://1")), at(10)).is_err(), "what is gone is forgotten");
    }

    #[test]
    fn a_look_up_by_name_alone_does_not_end_the_grace() {
        let mut rail = NewNodeGrace::new(GRACE);
        rail.saw(&node(None));
        assert!(rail.judge(&node(None), at(10)).is_err());
    }
}
