//! The condition NetworkUnavailable: when it is written, and its content. Pure: the caller passes the time.
//!
//! A network plugin may write the condition too. A condition of another component is overwritten only if it contradicts our state, and not
//! a second time: two controllers must not overwrite each other forever.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use bowline_cloud::ConditionView;
use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use tokio::time::Instant;

/// How long a write may take to come back through the watch; until then it is not repeated.
const ECHO: Duration = Duration::from_secs(30);

/// The state of a Node's network according to its routes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Network {
    /// All routes of the Node exist.
    Available,
    /// A route that the Node needs is missing.
    Unavailable,
}

impl Network {
    const fn status(self) -> &'static str {
        match self {
            Self::Available => "False",
            Self::Unavailable => "True",
        }
    }

    const fn reason(self) -> &'static str {
        match self {
            Self::Available => "RouteCreated",
            Self::Unavailable => "NoRouteCreated",
        }
    }

    const fn message(self) -> &'static str {
        match self {
            Self::Available => "RouteController created a route",
            Self::Unavailable => "RouteController failed to create a route",
        }
    }

    /// The strategic merge patch of the Node's status for this state. It is written only on a change, so `now` is also the transition time.
    #[must_use]
    pub fn patch(self, now: Timestamp) -> Value {
        // Kubernetes stores whole seconds.
        let now = Timestamp::from_second(now.as_second()).unwrap_or(now).to_string();
        json!({"status": {"conditions": [{
            "type": "NetworkUnavailable", "status": self.status(), "reason": self.reason(),
            "message": self.message(), "lastHeartbeatTime": now, "lastTransitionTime": now,
        }]}})
    }
}

/// Whether the condition already has this state, written by us or by another component.
#[must_use]
pub fn says(existing: Option<&ConditionView>, network: Network) -> bool {
    existing.is_some_and(|condition| {
        condition.status == network.status()
            && (condition.reason == network.reason() || !is_ours(&condition.reason))
    })
}

fn is_ours(reason: &str) -> bool {
    [Network::Available.reason(), Network::Unavailable.reason()].contains(&reason)
}

/// The state that we last wrote to each Node, by its UID.
#[derive(Debug, Default)]
pub struct Said(BTreeMap<String, (Network, Instant)>);

impl Said {
    /// Whether this state has to be written now. After a Node's network is available again, its next failure is written again.
    #[must_use]
    pub fn must_say(
        &mut self,
        uid: &str,
        existing: Option<&ConditionView>,
        network: Network,
        now: Instant,
    ) -> bool {
        if says(existing, network) {
            if network == Network::Available {
                self.0.remove(uid);
            }
            return false;
        }
        let Some(&(said, at)) = self.0.get(uid).filter(|(said, _)| *said == network) else { return true };
        let contradicted =
            says(existing, Network::Available) && existing.is_some_and(|c| !is_ours(&c.reason));
        now.saturating_duration_since(at) >= ECHO && !(said == Network::Unavailable && contradicted)
    }

    /// Records a write.
    pub fn note(&mut self, uid: &str, network: Network, now: Instant) {
        self.0.insert(uid.to_owned(), (network, now));
    }

    /// Drops all Nodes except these.
    pub fn keep_only(&mut self, uids: &BTreeSet<&str>) {
        self.0.retain(|uid, _| uids.contains(uid.as_str()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn condition(status: &str, reason: &str) -> Option<ConditionView> {
        Some(ConditionView { status: status.into(), reason: reason.into() })
    }

    #[test]
    fn update_networking_condition() {
        use Network::{Available, Unavailable};
        let cases = [
            // The eight of upstream: existing, wanted, written.
            (condition("False", "RouteCreated"), Available, false),
            (condition("True", "NoRouteCreated"), Available, true),
            (condition("True", "NoRouteCreated"), Unavailable, false),
            (condition("False", "RouteCreated"), Unavailable, true),
            (None, Available, true),
            (None, Unavailable, true),
            (condition("True", "AnotherReason"), Available, true),
            (condition("False", "AnotherReason"), Unavailable, true),
            // Upstream takes these over since 1.36; ours leaves another's word alone when it says the same.
            (condition("False", "CalicoIsUp"), Available, false),
            (condition("True", "CalicoIsDown"), Unavailable, false),
            (condition("True", "CalicoIsDown"), Available, true),
            // Ours, but at odds with itself.
            (condition("False", "NoRouteCreated"), Available, true),
            (condition("True", "RouteCreated"), Unavailable, true),
            (condition("Unknown", "NodeStatusUnknown"), Available, true),
        ];
        for (existing, network, expected) in cases {
            let must = Said::default().must_say("u", existing.as_ref(), network, Instant::now());
            assert_eq!(must, expected, "{network:?} over {existing:?}");
        }
    }

    #[test]
    fn a_network_plugin_that_contradicts_is_not_fought() {
        let (mut said, start) = (Said::default(), Instant::now());
        let up = condition("False", "CiliumIsUp");
        assert!(said.must_say("u", up.as_ref(), Network::Unavailable, start));
        said.note("u", Network::Unavailable, start);
        let later = start + 10 * ECHO;
        assert!(!said.must_say("u", up.as_ref(), Network::Unavailable, later), "it has been said once");
        let ours = condition("True", "NoRouteCreated");
        assert!(said.must_say("u", ours.as_ref(), Network::Available, later));
        assert!(!said.must_say("u", up.as_ref(), Network::Available, later), "and it is well again");
        assert!(said.must_say("u", up.as_ref(), Network::Unavailable, later), "a new loss is told again");
    }

    #[test]
    fn a_write_is_not_repeated_before_it_can_have_come_back() {
        let (mut said, start) = (Said::default(), Instant::now());
        said.note("u", Network::Available, start);
        assert!(!said.must_say("u", None, Network::Available, start + ECHO / 2));
        assert!(said.must_say("u", None, Network::Available, start + ECHO));
        assert!(said.must_say("a-namesake", None, Network::Available, start + ECHO / 2));
        said.keep_only(&BTreeSet::new());
        assert!(said.must_say("u", None, Network::Available, start));
    }

    #[test]
    fn the_patch_is_one_whole_condition() {
        let now: Timestamp = "2026-11-02T08:00:00.123Z".parse().unwrap();
        let condition = &Network::Unavailable.patch(now)["status"]["conditions"][0];
        assert_eq!(
            *condition,
            json!({"type": "NetworkUnavailable", "status": "True", "reason": "NoRouteCreated",
                   "message": "RouteController failed to create a route",
                   "lastHeartbeatTime": "2026-11-02T08:00:00Z", "lastTransitionTime": "2026-11-02T08:00:00Z"})
        );
    }
}
