//! How the cluster was before anything was changed, and what is different now. Bounded: an object has its limits.

use std::collections::BTreeMap;

use super::decision::Case;
use super::observed::{NodeFacts, ServiceFacts};
use super::writers::provider_inside;
use crate::api::Snapshot;
use crate::hash::sha256;

/// As many as fit into an object beside everything else.
const MOST: usize = 1000;

/// How the cluster is now. What was seen of kube-controller-manager before is kept.
pub(super) fn take(case: &Case<'_>, before: Option<&Snapshot>) -> Snapshot {
    let mut services: Vec<&ServiceFacts> =
        case.observed.services.iter().filter(|service| is_kept(service)).collect();
    services.sort_by_key(|service| service.key());
    let mut nodes: Vec<&NodeFacts> = case.observed.nodes.iter().collect();
    nodes.sort_by(|a, b| a.name.cmp(&b.name));
    let first = || services.iter().take(MOST);
    Snapshot {
        taken_at: Some(case.now),
        late: super::phase::current(case).acts(),
        services: first().map(|service| (service.key(), service.ingress.clone())).collect(),
        service_uids: first().map(|service| (service.key(), service.uid.clone())).collect(),
        load_balancers: first()
            .filter_map(|service| Some((service.key(), service.load_balancer_id.clone()?)))
            .collect(),
        service_count: services.len(),
        nodes: nodes.iter().take(MOST).map(|node| (node.name.clone(), addresses(node))).collect(),
        node_addresses: Some(sha256(&nodes.iter().map(|node| addresses(node)).collect::<String>())),
        in_tree: in_tree(case, before),
        previous_replicas: replicas(case, before),
    }
}

/// A Service that had an address and is not about to go.
fn is_kept(service: &ServiceFacts) -> bool {
    !service.ingress.is_empty() && !service.deleting
}

/// External addresses come with the first manager; the internal ones are those that must not change.
fn addresses(node: &NodeFacts) -> String {
    let internal = node.addresses.iter().filter(|address| address.starts_with("InternalIP="));
    let text: String = internal.map(|address| format!("{address}\n")).collect();
    sha256(&text).chars().take(12).collect()
}

fn in_tree(case: &Case<'_>, before: Option<&Snapshot>) -> BTreeMap<String, jiff::Timestamp> {
    let mut seen = before.map(|before| before.in_tree.clone()).unwrap_or_default();
    for pod in case.observed.control_plane.iter().filter(|pod| provider_inside(pod).is_some()) {
        if let Some(started) = pod.started_at {
            seen.insert(pod.node.clone(), started);
        }
    }
    seen
}

fn replicas(case: &Case<'_>, before: Option<&Snapshot>) -> BTreeMap<String, i32> {
    let mut known = before.map(|before| before.previous_replicas.clone()).unwrap_or_default();
    for manager in case.observed.managers.iter().filter(|manager| manager.desired > 0) {
        known.insert(manager.workload.key(), manager.desired);
    }
    known
}

/// What is not as it was, for people. Services that a person accepts may be otherwise; what was made or removed since, too.
pub(super) fn differences(case: &Case<'_>, before: &Snapshot) -> Vec<String> {
    let mut found: Vec<String> = moved(case, before).into_iter().map(|(_, text)| text).collect();
    for node in &case.observed.nodes {
        let then = before.nodes.get(&node.name);
        if then.is_some_and(|then| *then != addresses(node)) {
            found.push(format!(
                "node {} has other internal addresses than before: {}",
                node.name,
                node.addresses.join(", ")
            ));
        }
    }
    found
}

/// Services whose load balancer or address is not the one they had.
pub(super) fn moved(case: &Case<'_>, before: &Snapshot) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for service in &case.observed.services {
        let key = service.key();
        let is_same = before.service_uids.get(&key) == Some(&service.uid);
        if !is_same || service.deleting || case.spec.migration.accept.contains(&key) {
            continue;
        }
        let id = before.load_balancers.get(&key);
        if let (Some(then), Some(now)) = (id, &service.load_balancer_id)
            && then != now
        {
            found.push((key.clone(), format!("Service {key} had load balancer {then} and has {now}")));
        } else if let Some(then) = before.services.get(&key).filter(|then| **then != service.ingress) {
            let (then, now) = (then.join(", "), service.ingress.join(", "));
            found.push((key.clone(), format!("Service {key} had address {then} and has {now:?}")));
        }
    }
    found
}
