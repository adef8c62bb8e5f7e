//! Whether traffic passes through load balancers. This follows from what was done to each of them, and not from the statuses that Octavia
//! shows: Bowline goes by those, and is judged by the truth.

use std::collections::{BTreeMap, BTreeSet};

use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use super::World;

/// Which load balancers pass traffic, by id.
#[derive(Debug, Default)]
pub(super) struct Traffic {
    seen: BTreeSet<String>,
    /// Those that serve nobody, and since when: they were never ACTIVE, or a fault took their traffic.
    silent: BTreeMap<String, Timestamp>,
    /// Those that are in ERROR, and since when.
    failed: BTreeMap<String, Timestamp>,
}

impl World {
    /// Takes note of every load balancer that is new, became ACTIVE or is in ERROR now.
    pub fn note_traffic(&self) {
        let now = self.cloud.now();
        let mut traffic = self.traffic.lock();
        self.cloud.with(|cloud| {
            for one in cloud.state().load_balancer.load_balancers.iter() {
                let is_new = !traffic.seen.contains(&one.id);
                if is_new {
                    traffic.seen.insert(one.id.clone());
                }
                match one.provisioning_status.as_str() {
                    "ACTIVE" => drop(traffic.silent.remove(&one.id)),
                    _ if is_new => drop(traffic.silent.insert(one.id.clone(), now)),
                    _ => {}
                }
                match one.provisioning_status.as_str() {
                    "ERROR" => drop(traffic.failed.entry(one.id.clone()).or_insert(now)),
                    _ => drop(traffic.failed.remove(&one.id)),
                }
            }
        });
    }

    /// No traffic passes through a load balancer from now on.
    pub(super) fn loses_traffic(&self, balancer: &str) {
        let now = self.cloud.now();
        self.traffic.lock().silent.entry(balancer.to_owned()).or_insert(now);
        self.note_traffic();
    }

    /// For how long a load balancer has served nobody. None if it serves.
    #[must_use]
    pub fn silent_for(&self, balancer: &str) -> Option<SignedDuration> {
        let since = self.traffic.lock().silent.get(balancer).copied();
        since.map(|since| self.cloud.now().duration_since(since))
    }

    /// Whether more than three, and more than a tenth, of the load balancers of published Services have been in ERROR for at least this
    /// long.
    #[must_use]
    pub fn are_too_many_in_error(&self, at_least: SignedDuration) -> bool {
        let services = self.kube.stored("", "services");
        let tags: BTreeSet<String> = services.iter().filter(|one| is_published(one)).map(tag_of).collect();
        let now = self.cloud.now();
        let traffic = self.traffic.lock();
        let has_failed =
            |id: &str| traffic.failed.get(id).is_some_and(|since| now.duration_since(*since) >= at_least);
        let failed = self.cloud.with(|cloud| {
            let all = cloud.state().load_balancer.load_balancers.iter();
            let of_a_service =
                all.filter(|one| tags.contains(&one.name) || one.tags.iter().any(|tag| tags.contains(tag)));
            of_a_service.filter(|one| one.provisioning_status == "ERROR" && has_failed(&one.id)).count()
        });
        failed > 3 && failed * 10 > tags.len()
    }
}

fn is_published(service: &Value) -> bool {
    let ingress = service["status"]["loadBalancer"]["ingress"].as_array();
    service["spec"]["type"] == "LoadBalancer" && ingress.is_some_and(|all| !all.is_empty())
}

fn tag_of(service: &Value) -> String {
    let part = |key: &str| service["metadata"][key].as_str().unwrap_or_default().to_owned();
    format!("kube_service_kubernetes_{}_{}", part("namespace"), part("name"))
}
