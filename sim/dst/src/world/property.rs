//! What belongs to another cluster, to people or to no Service in the project of a run with tenants, and has to stay as it is.

use std::collections::{BTreeMap, BTreeSet};

use http::Method;
use serde_json::{Value, json};
use sim_openstack::State;

use super::tenants::{ATTACKER, ATTACKERS, SHOP, attack_name};
use super::{ADDED_BY_HAND, Excused, World};
use crate::case::Provider;

/// The load balancer that no Service made, its parts, and the description of its floating IP.
pub(super) const UNMANAGED: &str = "unmanaged";

/// The load balancer that no Service made and that a Service of the other cluster shares.
pub(super) const JOINED: &str = "joined";

/// The load balancer of a Service that is gone, with a listener that no Service made.
pub(super) const OWNERLESS: &str = "kube_service_kubernetes_attacker_former";

/// A floating IP of the other cluster that leads nowhere at present.
pub(super) const SPARE: &str =
    "Floating IP for Kubernetes external service attacker/spare from cluster other";

/// The floating IP that a person allocated for Service `shop/given`.
pub(super) const GIVEN: &str = "allocated by hand for the shop";

/// The port that a person created for Service `shop/pinned`.
pub(super) const PINNED: &str = "port-of-the-shop";

/// The floating IP that a person allocated for Service `shop/named`.
pub(super) const NAMED: &str = "allocated by hand for the host name of the shop";

/// The port that a person created for Service `shop/pinned-inside`.
pub(super) const PINNED_INSIDE: &str = "internal-port-of-the-shop";

/// The floating IP that a person attached to the port of a server.
pub(super) const REACHED: &str = "attached by hand to a server";

/// The Service of the hostile tenant that has the name of the one that shares [`JOINED`].
pub(super) const JOINER: usize = ATTACKERS + 1;

pub(super) const BALANCERS: &str = "/load-balancer/v2/lbaas/loadbalancers";

/// Load balancers, their parts and floating IPs, by id.
#[derive(Debug, Default)]
pub(super) struct Property {
    /// Those to which nothing may be added.
    closed: BTreeSet<String>,
    /// Those that Services may join: their parts and tags may come besides.
    joinable: BTreeSet<String>,
    /// Listeners and pools.
    parts: BTreeSet<String>,
    floating_ips: BTreeSet<String>,
    /// All of it that nobody else may change.
    was: BTreeMap<String, String>,
}

impl Property {
    /// What of this is not in a cloud as it was.
    fn lost_in(&self, state: &State) -> Option<String> {
        let now = self.texts(state);
        let lost = self.was.iter().find(|(id, was)| now.get(*id) != Some(was));
        lost.map(|(id, was)| format!("{id} is {:?}, it was {was:?}", now.get(id)))
    }

    fn texts(&self, state: &State) -> BTreeMap<String, String> {
        let octavia = &state.load_balancer;
        let mut texts = BTreeMap::new();
        let is_of_owner =
            |balancer: &str, part: &str| self.closed.contains(balancer) || self.parts.contains(part);
        for id in self.closed.iter().chain(&self.joinable) {
            let Some(balancer) = octavia.load_balancers.get(id) else { continue };
            let was = self.was.get(id);
            let is_planted = |tag: &&String| was.is_none_or(|was| was.contains(&format!("{tag:?}")));
            let mut tags: Vec<&String> = balancer.tags.iter().collect();
            if self.joinable.contains(id) {
                tags.retain(is_planted);
            }
            texts.insert(id.clone(), format!("{} {} {tags:?}", balancer.name, balancer.description));
            for one in octavia.listeners.iter().filter(|one| one.loadbalancer_id == *id) {
                if is_of_owner(id, &one.id) || was.is_none() {
                    let text =
                        format!("listener {} {:?} {:?}", one.protocol_port, one.default_pool_id, one.tags);
                    texts.insert(one.id.clone(), text);
                }
            }
            for one in octavia.pools.iter().filter(|one| one.loadbalancer_id == *id) {
                if is_of_owner(id, &one.id) || was.is_none() {
                    let members = octavia.members.iter().filter(|member| member.pool_id == one.id);
                    let mut members: Vec<_> = members
                        .map(|member| format!("{}:{}", member.address, member.protocol_port))
                        .collect();
                    members.sort();
                    texts.insert(one.id.clone(), format!("pool {} {:?} {members:?}", one.name, one.tags));
                }
            }
        }
        for one in self.floating_ips.iter().filter_map(|id| state.network.floating_ips.get(id)) {
            texts.insert(one.id.clone(), format!("{} {:?}", one.description, one.port_id));
        }
        texts
    }

    /// What of this looks like the property of a Service of this cluster, and is not.
    pub(super) fn excuse(&self, excused: &mut Excused) {
        excused.balancers.extend(self.closed.iter().chain(&self.joinable).cloned());
        excused.floating_ips.extend(self.floating_ips.iter().cloned());
        excused.listeners.extend(self.parts.iter().cloned());
    }

    /// Tags on the load balancers that Services may join and that were not there at first. The tag of the cluster stays while any other
    /// Service is on a load balancer.
    fn new_tags(&self, state: &State, left_behind: &BTreeSet<(String, String)>) -> Vec<String> {
        let added = |id: &String| {
            let balancer = state.load_balancer.load_balancers.get(id)?;
            let was = self.was.get(id).filter(|_was| left_behind.iter().all(|(_, other)| other != id))?;
            let may_stay = |tag: &str| balancer.name == JOINED && tag.starts_with("bowline-cluster:");
            let mut new = balancer.tags.iter().filter(|tag| !was.contains(&format!("{tag:?}")));
            let new = new.find(|tag| !may_stay(tag))?;
            Some(format!("load balancer {} has tag {new}", balancer.name))
        };
        self.joinable.iter().filter_map(added).collect()
    }
}

/// A load balancer before it is planted.
struct Plant<'a> {
    name: &'a str,
    description: String,
    tags: Vec<String>,
    /// Name and tags of its listener and of its pool.
    listener: (String, Vec<String>),
    pool: (String, Vec<String>),
}

impl Plant<'_> {
    /// One that a person made.
    fn by_hand(name: &str) -> Plant<'_> {
        let part = (name.to_owned(), Vec::new());
        Plant { name, description: String::new(), tags: Vec::new(), listener: part.clone(), pool: part }
    }
}

impl World {
    /// The name of the other cluster.
    pub(super) fn other_cluster(&self) -> &'static str {
        if self.setting.same_cluster_name { "kubernetes" } else { "other" }
    }

    /// What belongs to another cluster, to people and to no Service, with the namespaces of the tenants.
    pub(super) fn plant_property(&self) -> Property {
        for namespace in [SHOP, ATTACKER] {
            let body = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            let (code, answer) = self.kube.request(Method::POST, "/api/v1/namespaces", &body);
            assert_eq!(code, 201, "{answer}");
        }
        let mut property = Property::default();
        // Under the same name only one, so that the other attackers have no load balancer that is refused to them beforehand.
        let first = if self.setting.same_cluster_name { ATTACKERS } else { 1 };
        for number in first..=ATTACKERS {
            self.plant_of_other_cluster(number, &mut property);
        }
        property.joinable.insert(self.plant_balancer(&Plant::by_hand(UNMANAGED)));
        self.plant_joined(&mut property);
        let part = (ADDED_BY_HAND.to_owned(), Vec::new());
        let ownerless = Plant { listener: part.clone(), pool: part, ..Plant::by_hand(OWNERLESS) };
        property.joinable.insert(self.plant_balancer(&ownerless));
        for name in [UNMANAGED, JOINED, OWNERLESS] {
            property.floating_ips.insert(self.plant_floating_ip(name, Some(name)));
        }
        if !self.setting.same_cluster_name {
            property.floating_ips.insert(self.plant_floating_ip(SPARE, None));
        }
        // A Service of the shop uses it, so it is attached and detached in a run.
        self.plant_floating_ip(GIVEN, None);
        self.plant_port(PINNED);
        self.settle();
        self.cloud.with(|cloud| {
            property.was = property.texts(cloud.state());
            let octavia = &cloud.state().load_balancer;
            let ids =
                octavia.listeners.iter().map(|one| &one.id).chain(octavia.pools.iter().map(|one| &one.id));
            property.parts = ids.filter(|id| property.was.contains_key(*id)).cloned().collect();
        });
        property
    }

    /// The load balancer of a Service of the other cluster, with its floating IP.
    fn plant_of_other_cluster(&self, number: usize, property: &mut Property) {
        let (cluster, service) = (self.other_cluster(), format!("{ATTACKER}/{}", attack_name(number)));
        let name = format!("kube_service_{cluster}_{ATTACKER}_{}", attack_name(number));
        let part = |kind: &str| (format!("{kind}_0_{name}"), vec![name.clone()]);
        let plant = Plant {
            name: &name,
            description: format!("Kubernetes external service {service} from cluster {cluster}"),
            tags: self.tags_of_other_cluster(number),
            listener: part("listener"),
            pool: part("pool"),
        };
        property.closed.insert(self.plant_balancer(&plant));
        let description =
            format!("Floating IP for Kubernetes external service {service} from cluster {cluster}");
        property.floating_ips.insert(self.plant_floating_ip(&description, Some(&name)));
    }

    /// Under another name the other cluster is OCCM's, whose tags do not name the cluster. Under the same name only Bowline's tags tell
    /// the two clusters apart, so both are Bowline's.
    fn tags_of_other_cluster(&self, number: usize) -> Vec<String> {
        let own = format!("kube_service_{}_{ATTACKER}_{}", self.other_cluster(), attack_name(number));
        let mut tags = vec![own];
        if self.setting.same_cluster_name {
            tags.push("bowline-cluster:0b7e9a52-other".to_owned());
            tags.push(format!("bowline-service:5c1d44f0-other-{number}"));
        }
        tags
    }

    /// A person's load balancer that a Service of the other cluster shares.
    fn plant_joined(&self, property: &mut Property) {
        let tags = self.tags_of_other_cluster(JOINER);
        let part = |kind: &str| (format!("{kind}_0_{}", tags[0]), vec![tags[0].clone()]);
        let (listener, pool) = (part("listener"), part("pool"));
        let plant = Plant { tags: tags.clone(), listener, pool, ..Plant::by_hand(JOINED) };
        property.joinable.insert(self.plant_balancer(&plant));
    }

    fn plant_balancer(&self, plant: &Plant<'_>) -> String {
        let (provider, method) = match self.setting.provider {
            Provider::Amphora => ("amphora", "ROUND_ROBIN"),
            Provider::Ovn => ("ovn", "SOURCE_IP_PORT"),
        };
        let Plant { name, description, tags, listener, pool } = plant;
        let member = |host: u8| json!({"address": format!("10.10.99.{host}"), "protocol_port": 1});
        let pool = json!({"name": pool.0, "tags": pool.1, "protocol": "TCP", "lb_algorithm": method,
            "members": [member(8), member(9)]});
        let listener = json!({"name": listener.0, "tags": listener.1, "protocol": "TCP", "protocol_port": 8443,
            "default_pool": pool});
        let whole = json!({"name": name, "description": description, "tags": tags, "provider": provider,
            "vip_subnet_id": self.estate.subnet, "project_id": self.estate.project, "listeners": [listener]});
        let (code, answer) = self.operator(Method::POST, BALANCERS, &json!({"loadbalancer": whole}));
        assert_eq!(code, 201, "{answer}");
        id_in(&answer["loadbalancer"])
    }

    /// The port that a person creates.
    pub(super) fn plant_port(&self, name: &str) {
        let port = json!({"port": {"name": name, "network_id": self.estate.network,
            "project_id": self.estate.project, "fixed_ips": [{"subnet_id": self.estate.subnet}]}});
        let (code, answer) = self.operator(Method::POST, "/network/v2.0/ports", &port);
        assert_eq!(code, 201, "{answer}");
    }

    fn plant_floating_ip(&self, description: &str, at: Option<&str>) -> String {
        let port = self.cloud.with(|cloud| {
            let mut all = cloud.state().load_balancer.load_balancers.iter();
            let at = at.and_then(|name| all.find(|one| one.name == name));
            at.map(|one| one.vip_port_id.clone())
        });
        self.plant_floating_ip_at(description, port.as_deref())
    }

    /// The floating IP that a person allocates, attached to a port or to none.
    pub(super) fn plant_floating_ip_at(&self, description: &str, port: Option<&str>) -> String {
        let body = json!({"floatingip": {"floating_network_id": self.estate.external_network,
            "project_id": self.estate.project, "description": description, "port_id": port}});
        let (code, answer) = self.operator(Method::POST, "/network/v2.0/floatingips", &body);
        assert_eq!(code, 201, "{answer}");
        id_in(&answer["floatingip"])
    }

    /// What of another cluster or of no Service has changed since the start.
    #[must_use]
    pub fn property_changes(&self) -> Option<String> {
        self.cloud.with(|cloud| self.property.lost_in(cloud.state()))
    }

    /// Whether a load balancer belongs to others from the start.
    #[must_use]
    pub fn is_planted(&self, balancer: &str) -> bool {
        self.property.closed.contains(balancer) || self.property.joinable.contains(balancer)
    }

    /// Tags that Services which are gone left on load balancers that they had joined.
    pub(crate) fn left_tags(&self, state: &State) -> Vec<String> {
        self.property.new_tags(state, &self.left_behind.lock())
    }
}

fn id_in(row: &Value) -> String {
    row["id"].as_str().expect("an id").to_owned()
}
