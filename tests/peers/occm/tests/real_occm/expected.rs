//! What a run there and back may change: nothing, but for the differences that ADR 0005 documents.

use anyhow::ensure;
use serde_json::Value;

use crate::normal;
use crate::shapes::Shape;

/// One run there and back.
pub(crate) struct Run {
    /// The lines of `[LoadBalancer]`.
    pub(crate) conf: &'static str,
    /// How many Services OCCM works on at a time.
    pub(crate) workers: u8,
    /// Which shapes it is about.
    pub(crate) fits: fn(&Shape) -> bool,
    /// What may change.
    pub(crate) expected: Expected,
}

/// What may change.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Expected {
    /// Nothing.
    Nothing,
    /// OCCM writes members again when it comes back. With OVN it compares the port of the health check where there is none, and so
    /// writes the members of Services with local traffic at every look, those of its own load balancers as well.
    MembersOnTheWayBack,
    /// With serial calls OCCM gives members neither a subnet nor a monitor port. Bowline gives both to new members, and replaces those
    /// that lack a monitor port they need: of the pool of shape `local`, which has a monitor.
    SerialMembers,
}

/// The only pool whose members are replaced at the take-over.
const REPLACED: &str = "pool_0_kube_service_held_theirs_local";

impl Expected {
    /// Whether a take-over made no other change. `contents` are those before and after it.
    pub(crate) fn take_over(
        self,
        changes: &[String],
        contents: [&Value; 2],
        words: &[(String, String)],
    ) -> anyhow::Result<()> {
        let [before, after] = contents;
        if self != Self::SerialMembers {
            ensure!(changes.is_empty() && before == after, "the take-over changed the cloud: {changes:#?}");
            return Ok(());
        }
        let pools = before["pools"].as_array().into_iter().flatten();
        let replaced = pools.filter(|pool| pool["name"] == REPLACED).filter_map(|pool| pool["id"].as_str());
        let paths: Vec<String> = replaced.map(|id| format!("/pools/{id}/members")).collect();
        let other: Vec<_> = changes
            .iter()
            .filter(|change| !paths.iter().any(|path| change.contains(path.as_str())))
            .collect();
        ensure!(
            paths.len() == 1 && other.is_empty(),
            "the take-over changed more than {paths:?}: {other:#?}"
        );
        ensure!(!changes.is_empty(), "the members that lack a monitor port were not replaced");
        let of = |contents| normal::of_namespace(contents, "theirs", words);
        let mut different = normal::differences(&of(before), &of(after));
        different.retain(|difference| !self.is_made_so(difference));
        ensure!(different.is_empty(), "the take-over changed more than members: {different:#?}");
        Ok(())
    }

    /// Whether a difference between what OCCM made and what Bowline made is a documented one.
    pub(crate) fn is_made_so(self, difference: &str) -> bool {
        let Some((place, _values)) = difference.split_once(": ") else { return false };
        let is_of_local = place.contains("_local[") && place.ends_with(".monitor_port");
        let is_of_member = place.starts_with("members ") && (place.ends_with(".subnet_id") || is_of_local);
        self == Self::SerialMembers && is_of_member
    }

    /// Whether OCCM made no other change when it came back.
    pub(crate) fn way_back(self, changes: &[String]) -> bool {
        let may = |change: &String| self == Self::MembersOnTheWayBack && change.contains("/members");
        changes.iter().all(may)
    }
}
