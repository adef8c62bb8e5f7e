//! What is said of a change. Pure: from what was and what is.

use k8s_openapi::api::core::v1::{Event, Node, Service};

use crate::cluster::{address, is_ready, is_tainted};
use crate::terminal::Tone;

/// The taint of a Node whose machine is shut down.
const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";

/// Events that are told although nothing is wrong.
const TOLD: [&str; 10] = [
    "CloudIdentityFound",
    "CloudNodeInitializationPaused",
    "DeletedLoadBalancer",
    "DeletingNode",
    "LeaderElection",
    "LoadBalancerPaused",
    "Paused",
    "Resumed",
    "UpdatedLoadBalancer",
    "WaitingForLoadBalancer",
];

/// A line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Words {
    /// How it sounds.
    pub(super) tone: Tone,
    /// What it says.
    pub(super) text: String,
}

fn words(tone: Tone, text: String) -> Option<Words> {
    Some(Words { tone, text })
}

/// What matters of a Node.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct NodeSight {
    /// No manager has seen it yet.
    pub(super) is_tainted: bool,
    /// Its kubelet is heard.
    pub(super) is_ready: bool,
    is_shut_down: bool,
    place: String,
}

impl NodeSight {
    /// Of a Node.
    pub(super) fn of(node: &Node) -> Self {
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
        Self {
            is_tainted: is_tainted(node),
            is_ready: is_ready(node),
            is_shut_down: taints.is_some_and(|taints| taints.iter().any(|taint| taint.key == SHUTDOWN)),
            place: place(node),
        }
    }
}

/// Where its machine is, and which.
fn place(node: &Node) -> String {
    let label = |key: &str| node.metadata.labels.as_ref().and_then(|labels| labels.get(key)).cloned();
    let addresses = node.status.as_ref().and_then(|status| status.addresses.as_ref());
    let ip = addresses.and_then(|all| all.iter().find(|address| address.type_ == "InternalIP"));
    let parts = [
        ip.map(|ip| ip.address.clone()),
        label("node.kubernetes.io/instance-type"),
        label("topology.kubernetes.io/zone").map(|zone| format!("zone {zone}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// What is said of a Node.
pub(super) fn of_node(name: &str, old: Option<&NodeSight>, new: Option<&NodeSight>) -> Option<Words> {
    let Some(new) = new else { return words(Tone::Bad, format!("{name} is deleted")) };
    let was = old.cloned().unwrap_or_default();
    match old {
        None if new.is_tainted => {
            words(Tone::Plain, format!("{name} joins, tainted: nothing runs on it until the cloud knows it"))
        }
        Some(_) if was.is_tainted && !new.is_tainted => {
            words(Tone::Good, format!("{name} is initialised: {}", new.place))
        }
        Some(_) if was.is_ready && !new.is_ready => {
            words(Tone::Bad, format!("{name} is not ready: its kubelet is not heard"))
        }
        Some(_) if !was.is_ready && new.is_ready => words(Tone::Good, format!("{name} is ready")),
        Some(_) if !was.is_shut_down && new.is_shut_down => {
            words(Tone::Plain, format!("{name} gets the taint of a machine that is shut down"))
        }
        Some(_) if was.is_shut_down && !new.is_shut_down => {
            words(Tone::Plain, format!("{name} loses the taint of a machine that is shut down"))
        }
        _ => None,
    }
}

/// What matters of a Service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct ServiceSight {
    /// It wants a load balancer.
    pub(super) is_balanced: bool,
    /// Its address.
    pub(super) address: Option<String>,
    is_leaving: bool,
    /// What its condition says, if that is not that all is well.
    trouble: Option<String>,
}

impl ServiceSight {
    /// Of a Service.
    pub(super) fn of(service: &Service) -> Self {
        let conditions = service.status.as_ref().and_then(|status| status.conditions.as_ref());
        let trouble = conditions.and_then(|all| all.iter().find(|one| one.status != "True"));
        Self {
            is_balanced: service
                .spec
                .as_ref()
                .is_some_and(|spec| spec.type_.as_deref() == Some("LoadBalancer")),
            address: address(service),
            is_leaving: service.metadata.deletion_timestamp.is_some(),
            trouble: trouble.map(|one| format!("{}: {}", one.reason, one.message)),
        }
    }
}

/// What is said of a Service.
pub(super) fn of_service(
    name: &str,
    old: Option<&ServiceSight>,
    new: Option<&ServiceSight>,
) -> Option<Words> {
    let was = old.cloned().unwrap_or_default();
    let Some(new) = new else {
        return was.is_balanced.then(|| Words { tone: Tone::Plain, text: format!("{name} is gone") });
    };
    match (&was.address, &new.address) {
        (None, Some(address)) => return words(Tone::Good, format!("{name} has the address {address}")),
        (Some(before), Some(address)) if before != address => {
            return words(Tone::Bad, format!("{name} has the address {address}; it was {before}"));
        }
        (Some(before), None) => {
            return words(Tone::Plain, format!("{name} has no address any more; it was {before}"));
        }
        _ => {}
    }
    if !was.is_leaving && new.is_leaving && new.is_balanced {
        return words(Tone::Plain, format!("{name} is being deleted; its load balancer goes first"));
    }
    if new.trouble.is_some() && new.trouble != was.trouble {
        let trouble = new.trouble.clone().unwrap_or_default();
        return words(Tone::Bad, format!("{name} waits: {trouble}"));
    }
    if was.trouble.is_some() && new.trouble.is_none() {
        return words(Tone::Good, format!("{name} is as it asks to be"));
    }
    let is_new = !was.is_balanced && new.is_balanced;
    is_new.then(|| Words { tone: Tone::Plain, text: format!("{name} asks for a load balancer") })
}

/// What is said of an Event, if it matters.
pub(super) fn of_event(event: &Event) -> Option<Words> {
    let reason = event.reason.clone().unwrap_or_default();
    let is_warning = event.type_.as_deref() == Some("Warning");
    if !is_warning && !TOLD.contains(&reason.as_str()) {
        return None;
    }
    let about = event.involved_object.name.clone().unwrap_or_default();
    let message = event.message.clone().unwrap_or_default();
    words(if is_warning { Tone::Bad } else { Tone::Plain }, format!("{reason} ({about}): {message}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(words: Option<Words>) -> String {
        words.map(|words| words.text).unwrap_or_default()
    }

    #[test]
    fn a_node_joins_is_initialised_is_lost_and_goes() {
        let joined = NodeSight { is_tainted: true, is_ready: true, ..NodeSight::default() };
        let known = NodeSight { is_tainted: false, place: "10.10.0.4".into(), ..joined.clone() };
        let lost = NodeSight { is_ready: false, ..known.clone() };
        assert!(said(of_node("n", None, Some(&joined))).contains("joins"));
        assert_eq!(said(of_node("n", Some(&joined), Some(&known))), "n is initialised: 10.10.0.4");
        assert!(said(of_node("n", Some(&known), Some(&lost))).contains("not ready"));
        assert_eq!(said(of_node("n", Some(&lost), None)), "n is deleted");
        assert_eq!(of_node("n", Some(&known), Some(&known)), None, "nothing changed");
    }

    #[test]
    fn a_service_asks_waits_and_gets_its_address_once() {
        let asks = ServiceSight { is_balanced: true, ..ServiceSight::default() };
        let waits = ServiceSight { trouble: Some("WaitingForCloud: boots".into()), ..asks.clone() };
        let has = ServiceSight { address: Some("192.0.2.1".into()), ..asks.clone() };
        assert!(said(of_service("a/b", None, Some(&asks))).contains("asks"));
        assert!(said(of_service("a/b", Some(&asks), Some(&waits))).contains("waits: WaitingForCloud"));
        assert!(said(of_service("a/b", Some(&waits), Some(&has))).contains("address 192.0.2.1"));
        assert_eq!(of_service("a/b", Some(&has), Some(&has)), None);
    }

    #[test]
    fn services_without_a_load_balancer_are_no_news() {
        let plain = ServiceSight::default();
        assert_eq!(of_service("a/b", None, Some(&plain)), None);
        assert_eq!(of_service("a/b", Some(&plain), None), None);
    }

    #[test]
    fn warnings_are_told_and_everyday_events_are_not() {
        let event = |kind: &str, reason: &str| Event {
            type_: Some(kind.into()),
            reason: Some(reason.into()),
            ..Event::default()
        };
        assert!(of_event(&event("Warning", "Anything")).is_some());
        assert!(of_event(&event("Normal", "DeletingNode")).is_some());
        assert_eq!(of_event(&event("Normal", "Synced")), None);
    }
}
