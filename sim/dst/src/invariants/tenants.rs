//! S12: no tenant's Service changes, takes or deletes what belongs to another tenant or cluster.
//!
//! A call does not say for which Service it is made, so each is judged by what it does: whose the object is, by its name, its tags or its
//! description, and whose the load balancer is to which it is led.

use std::collections::BTreeSet;

use bytes::Bytes;
use http::{Method, Request};
use serde_json::Value;
use sim_openstack::State;
use sim_openstack::load_balancer::LoadBalancer;

use super::goal::{is_balanced, published};
use super::seen::text;
use super::{Judge, Rule};
use crate::world::{SHOP, is_added_by_hand, is_of_a_shop};

/// How names and tags of our cluster begin.
const OURS: &str = "kube_service_kubernetes_";

/// A Service that was made only now may be unknown to who acts: events of watches can be late.
const NEW: jiff::SignedDuration = jiff::SignedDuration::from_mins(2);

/// A Service as `namespace/name`.
type Place = String;

impl Judge {
    /// S12, before a call that changes the cloud.
    pub(super) fn takes_nothing(&self, request: &Request<Bytes>) {
        let path = request.uri().path();
        let Some((kind, id)) =
            path.rsplit_once('/').and_then(|(rest, id)| Some((rest.rsplit('/').next()?, id)))
        else {
            return;
        };
        let wrong = match (kind, request.method()) {
            ("floatingips", &Method::DELETE) => self.deletes_floating_ip(id),
            ("floatingips", &Method::PUT) => self.moves_floating_ip(id, request),
            ("loadbalancers", &Method::DELETE) => self.deletes_balancer(id),
            ("loadbalancers", &Method::PUT) => self.renames_balancer(id, request),
            _ => return,
        };
        self.check(wrong.is_none(), Rule::S12, || wrong.clone().unwrap_or_default());
    }

    /// S12, after a call: what is planted stands as it stood, and nobody is on a load balancer of another namespace.
    pub(super) fn tenants_are_apart(&self, step: &str) {
        if !self.world.setting.tenants {
            return;
        }
        let changed = self.world.property_changes();
        let changed = changed.or_else(|| self.world.server_is_reached_otherwise());
        let changed = changed.or_else(|| self.world.cloud.with(|cloud| intruder(cloud.state())));
        let is_about_addresses = step.ends_with("/loadbalancers") || step.contains("/floatingips");
        let changed = changed.or_else(|| self.misled_address(step).filter(|_address| is_about_addresses));
        self.check(changed.is_none(), Rule::S12, || format!("after {step}: {}", changed.unwrap_or_default()));
    }

    /// S12, before a load balancer is created. A Service that chooses no address may be given any by Neutron, so only what is asked for is
    /// judged.
    pub(super) fn takes_no_place(&self, request: &Request<Bytes>) {
        let is_creation =
            request.method() == Method::POST && request.uri().path().ends_with("/lbaas/loadbalancers");
        if !is_creation || !self.world.setting.tenants {
            return;
        }
        let wrong = self.place_of_another(request);
        self.check(wrong.is_none(), Rule::S12, || wrong.clone().unwrap_or_default());
    }

    /// Why the VIP or the port that is asked for belongs to something else: a server or a router, or a Service of another namespace that
    /// nobody edits and that shows the address.
    fn place_of_another(&self, request: &Request<Bytes>) -> Option<String> {
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let new = &body["loadbalancer"];
        let name = text(&new["name"]);
        let owner = place_in(name)?;
        let (device, asked) = self.world.cloud.with(|cloud| {
            let (ports, floating) = (&cloud.state().network.ports, &cloud.state().network.floating_ips);
            let has = |address: &str| {
                ports.iter().any(|port| port.fixed_ips.iter().any(|one| one.ip_address == address))
                    || floating.iter().any(|one| one.floating_ip_address == address)
            };
            // Octavia refuses an address that something has, and one outside the subnet.
            let asked = new["vip_address"].as_str().filter(|address| !has(address)).map(str::to_owned);
            let port = new["vip_port_id"].as_str().and_then(|id| ports.get(id));
            let at_port = port.and_then(|port| port.fixed_ips.first()).map(|one| one.ip_address.clone());
            (port.map(|port| port.device_owner.clone()).unwrap_or_default(), at_port.or(asked))
        });
        if device.starts_with("compute:") || device.starts_with("network:") {
            return Some(format!("load balancer {name} is created at a port of {device}"));
        }
        let asked = asked?;
        let services = self.world.kube.stored("", "services");
        let shows = |service: &Value| published(service).contains(&asked);
        let is_shown = |service: &&Value| {
            is_of_a_shop(service)
                && self.is_established(service)
                && shows(service)
                && namespace_of(&place_of(service)) != namespace_of(&owner)
        };
        let shop = services.iter().find(is_shown).map(place_of)?;
        let both_show = services.iter().any(|service| place_of(service) == owner && shows(service));
        (!both_show)
            .then(|| format!("load balancer {name} is created at {asked}, which Service {shop} shows"))
    }

    fn service(&self, place: &str) -> Option<Value> {
        let services = self.world.kube.stored("", "services");
        services.into_iter().find(|service| place_of(service) == place)
    }

    /// The Service of a shop that shows an address.
    fn shop_that_shows(&self, address: &String) -> Option<Place> {
        let services = self.world.kube.stored("", "services");
        let shows = |service: &&Value| {
            let is_shop = is_of_a_shop(service) && is_balanced(service) && self.is_known(service);
            is_shop && published(service).contains(address)
        };
        services.iter().find(shows).map(place_of)
    }

    /// Whether the leader can know at which address a shop is reached. For a host name in its status only a process does that saw the address
    /// lead there, which is a known gap.
    fn is_known(&self, shop: &Value) -> bool {
        let shown = &shop["status"]["loadBalancer"]["ingress"][0]["hostname"];
        let witness = || self.memory().witnesses.get(text(&shop["metadata"]["name"])).cloned();
        shown.is_null() || self.world.leader() == witness()
    }

    /// A process wrote the Service of a shop.
    pub(super) fn note_witness(&self, process: &str, name: &str) {
        let place = format!("{SHOP}/{name}");
        let shown = self.service(&place).map(|service| published(&service)).unwrap_or_default();
        let leads_to_it = self.world.cloud.with(|cloud| {
            let floating = cloud.state().network.floating_ips.iter();
            let mut ports = floating
                .filter(|one| shown.contains(&one.floating_ip_address))
                .filter_map(|one| one.port_id.as_deref());
            ports.any(|port| users_at(cloud.state(), port).is_some_and(|users| users.contains(&place)))
        });
        if leads_to_it {
            self.memory().witnesses.insert(name.to_owned(), process.to_owned());
        }
    }

    /// Whether a Service has had the right to a load balancer long enough for everybody to know it.
    fn is_established(&self, service: &Value) -> bool {
        let created = text(&service["metadata"]["creationTimestamp"]).parse::<jiff::Timestamp>();
        let age = created.map(|created| self.world.cloud.now().duration_since(created));
        is_balanced(service) && age.is_ok_and(|age| age > NEW)
    }

    /// Only for the Service that it was made for, while that is there, and not off somebody else's load balancer.
    fn deletes_floating_ip(&self, id: &str) -> Option<String> {
        let (address, description, users) = self.world.cloud.with(|cloud| {
            let floating = cloud.state().network.floating_ips.get(id)?;
            let users = floating.port_id.as_deref().and_then(|port| users_at(cloud.state(), port));
            Some((floating.floating_ip_address.clone(), floating.description.clone(), users))
        })?;
        let says = |what: &str| Some(format!("floating IP {address} ({description}) is deleted, {what}"));
        let Some(owner) = owner_in(&description) else {
            return says("which no Service of this cluster made");
        };
        let Some(service) = self.service(&owner) else {
            return says("although the Service that it was made for is gone and left it");
        };
        if users.is_some_and(|users| !users.contains(&owner)) {
            return says("although its Service is not on the load balancer to which it leads");
        }
        let is_shown =
            is_of_a_shop(&service) && is_balanced(&service) && published(&service).contains(&address);
        if is_shown { says("and its Service, which nobody edited, shows it") } else { None }
    }

    /// It leads to a load balancer of its own Service, or is nobody's.
    fn moves_floating_ip(&self, id: &str, request: &Request<Bytes>) -> Option<String> {
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let port = body["floatingip"]["port_id"].as_str();
        let (address, description, from, to) = self.world.cloud.with(|cloud| {
            let state = cloud.state();
            let floating = state.network.floating_ips.get(id)?;
            let from = floating.port_id.as_deref().filter(|from| Some(*from) != port);
            let from = from.and_then(|from| users_at(state, from));
            let to = port.and_then(|port| users_at(state, port));
            Some((floating.floating_ip_address.clone(), floating.description.clone(), from, to))
        })?;
        let says =
            |what: &str| Some(format!("floating IP {address} ({description}) is moved to {to:?}, {what}"));
        let is_for = |place: &Place| to.as_ref().is_none_or(|to| to.contains(place));
        let owner = match owner_in(&description).or_else(|| user_in(&description)) {
            Some(owner) => owner,
            None if description.contains(" from cluster ") => {
                return says("which belongs to another cluster");
            }
            None => {
                let shop = self.shop_that_shows(&address)?;
                return if is_for(&shop) { None } else { says(&format!("and Service {shop} shows it")) };
            }
        };
        let service = self.service(&owner);
        if !is_for(&owner) && service.as_ref().is_some_and(|service| self.is_established(service)) {
            return says("although the Service that it was made for is there");
        }
        if from.is_some_and(|from| from.contains(&owner)) && !is_for(&owner) {
            return says("off the load balancer of its Service");
        }
        let is_lost = |service: &Value| {
            is_of_a_shop(service) && is_balanced(service) && published(service).contains(&address)
        };
        let is_lost = port.is_none() && service.as_ref().is_some_and(is_lost);
        if is_lost { says("and its Service, which nobody edited, shows it") } else { None }
    }

    /// Only one that was made for a Service of this cluster, without parts of unknown origin; that of a Service which nobody edits only
    /// when it is broken, twice there, or the Service goes.
    fn deletes_balancer(&self, id: &str) -> Option<String> {
        // What people added during the run may be unknown to the process at first; what was planted never is.
        let is_old = self.world.is_planted(id) || self.world.is_added_to_by_hand(id);
        let (balancer, stranger, namesakes) = self.world.cloud.with(|cloud| {
            let octavia = &cloud.state().load_balancer;
            let balancer = octavia.load_balancers.get(id)?.clone();
            let is_known = |name: &str, tags: &[String]| {
                name.contains("kube_service_") || tags.iter().any(|tag| tag.starts_with("kube_service_"))
            };
            let listeners = octavia.listeners.iter().filter(|one| one.loadbalancer_id == id);
            let pools = octavia.pools.iter().filter(|one| one.loadbalancer_id == id);
            let stranger = listeners
                .map(|one| (&one.name, &one.tags))
                .chain(pools.map(|one| (&one.name, &one.tags)))
                .find(|(name, tags)| !is_known(name, tags) && (!is_added_by_hand(name) || is_old))
                .map(|(name, _)| name.clone());
            let namesakes = octavia.load_balancers.iter().filter(|one| one.name == balancer.name).count();
            Some((balancer, stranger, namesakes))
        })?;
        let name = &balancer.name;
        let Some(owner) = place_in(name) else {
            return Some(format!("load balancer {name} is deleted, which no Service of this cluster made"));
        };
        if let Some(stranger) = stranger {
            return Some(format!("load balancer {name} is deleted with {stranger:?}, which no Service made"));
        }
        let service = self.service(&owner).filter(|service| is_of_a_shop(service) && is_balanced(service))?;
        let is_broken = balancer.provisioning_status == "ERROR";
        let is_wrong = !is_broken && namesakes == 1 && self.is_established(&service);
        is_wrong.then(|| format!("load balancer {name} is deleted, and nobody edited its Service"))
    }

    /// A floating IP that leads to a load balancer of another namespace than that of the Service which it was made for, or which shows
    /// it although a person allocated it.
    fn misled_address(&self, step: &str) -> Option<String> {
        let services = self.world.kube.stored("", "services");
        let established: Vec<&Value> = services.iter().filter(|one| self.is_established(one)).collect();
        self.world.cloud.with(|cloud| {
            let state = cloud.state();
            state.network.floating_ips.iter().find_map(|floating| {
                let users = floating.port_id.as_deref().and_then(|port| users_at(state, port))?;
                let (address, owner) = (&floating.floating_ip_address, owner_in(&floating.description));
                let is_owner = |service: &&&Value| match &owner {
                    Some(owner) => place_of(service) == *owner,
                    None => {
                        is_of_a_shop(service)
                            && self.is_known(service)
                            && published(service).contains(address)
                    }
                };
                let owner = established.iter().find(is_owner).map(|service| place_of(service))?;
                let is_other = |users: &BTreeSet<Place>| {
                    let mut others = users.iter().map(|user| namespace_of(user) != namespace_of(&owner));
                    !users.is_empty() && others.all(|other| other)
                };
                // A new load balancer at the port of a shop takes its address, although that of the shop may be there too.
                let is_at_port = |one: &&LoadBalancer| Some(&one.vip_port_id) == floating.port_id.as_ref();
                let mut at_port =
                    state.load_balancer.load_balancers.iter().filter(is_at_port).map(self::users);
                let is_of_shop = owner.starts_with(SHOP) && step.ends_with("/loadbalancers");
                let is_taken = is_other(&users) || is_of_shop && at_port.any(|users| is_other(&users));
                is_taken.then(|| {
                    format!(
                        "floating IP {address} of Service {owner} leads to the load balancer of {users:?}"
                    )
                })
            })
        })
    }

    fn renames_balancer(&self, id: &str, request: &Request<Bytes>) -> Option<String> {
        let body: Value = serde_json::from_slice(request.body()).unwrap_or_default();
        let new = body["loadbalancer"]["name"].as_str()?;
        let old = self.world.cloud.with(|cloud| {
            cloud.state().load_balancer.load_balancers.get(id).map(|balancer| balancer.name.clone())
        })?;
        (new != old).then(|| format!("load balancer {old} is renamed to {new}"))
    }
}

fn place_of(service: &Value) -> Place {
    format!("{}/{}", text(&service["metadata"]["namespace"]), text(&service["metadata"]["name"]))
}

fn namespace_of(place: &Place) -> &str {
    place.split_once('/').map_or("", |(namespace, _)| namespace)
}

/// The Service of this cluster in the name of a load balancer or in a tag: neither has an underscore in a run.
fn place_in(name: &str) -> Option<Place> {
    let (namespace, name) = name.strip_prefix(OURS)?.split_once('_')?;
    Some(format!("{namespace}/{name}"))
}

/// The Service of this cluster that a floating IP was made for.
fn owner_in(description: &str) -> Option<Place> {
    let rest = description.strip_prefix("Floating IP for Kubernetes external service ")?;
    rest.strip_suffix(" from cluster kubernetes").map(str::to_owned)
}

/// The Service of this cluster that uses a floating IP which is not proven to have been made for it. It is never deleted.
fn user_in(description: &str) -> Option<Place> {
    let rest = description.strip_prefix("Floating IP used by Kubernetes external service ")?;
    rest.strip_suffix(" from cluster kubernetes").map(str::to_owned)
}

/// The Services of this cluster that own or share a load balancer.
fn users(balancer: &LoadBalancer) -> BTreeSet<Place> {
    let names = std::iter::once(&balancer.name).chain(&balancer.tags);
    names.filter_map(|name| place_in(name)).collect()
}

/// The Services on the load balancers at a port; none if there is no load balancer. Several load balancers can have one port of a person.
fn users_at(state: &State, port: &str) -> Option<BTreeSet<Place>> {
    let mut at = state.load_balancer.load_balancers.iter().filter(|one| one.vip_port_id == port).peekable();
    at.peek()?;
    Some(at.flat_map(users).collect())
}

/// A Service on the load balancer of a Service of another namespace.
fn intruder(state: &State) -> Option<String> {
    let octavia = &state.load_balancer;
    octavia.load_balancers.iter().find_map(|balancer| {
        let owner = place_in(&balancer.name)?;
        let listeners = octavia.listeners.iter().filter(|one| one.loadbalancer_id == balancer.id);
        let pools = octavia.pools.iter().filter(|one| one.loadbalancer_id == balancer.id);
        let on_parts = listeners.flat_map(|one| &one.tags).chain(pools.flat_map(|one| &one.tags));
        let mut all = users(balancer).into_iter().chain(on_parts.filter_map(|tag| place_in(tag)));
        let other = all.find(|place| namespace_of(place) != namespace_of(&owner))?;
        Some(format!("Service {other} is on load balancer {}", balancer.name))
    })
}
