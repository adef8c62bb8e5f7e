//! L1: what the cluster and the cloud have to look like when nothing goes wrong any more, told from what people wrote.
//!
//! An own, plain reading of the contract: it shares no code with the provider.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;
use sim_openstack::State;
use sim_openstack::load_balancer::{LoadBalancer, Pool};
use sim_openstack::network::FloatingIp;

use super::Judge;
use super::seen::{has_finalizer, is_tainted, owned, tag_of, text};
use crate::case::{Provider, Setting};
use crate::world::{
    ATTACKER, EXCLUDED, Excused, METAL, NAMESPACE, SERVICES, annotation, is_added_by_hand, is_of_a_shop,
    service_name, tenant_names,
};

impl Judge {
    /// What is not yet as it is wanted, and may yet be; nothing if all is.
    #[must_use]
    pub fn missing(&self) -> Vec<String> {
        let nodes = self.world.kube.stored("", "nodes");
        let held = self.world.cloud.with(|cloud| wrong_nodes(cloud.state(), &nodes).1);
        self.wrong().into_iter().chain(held).collect()
    }

    /// What is not as it is wanted, but for what a rail holds back until a person says so.
    #[must_use]
    pub fn wrong(&self) -> Vec<String> {
        let (nodes, services) = (self.world.kube.stored("", "nodes"), self.world.kube.stored("", "services"));
        let (others, services): (Vec<Value>, Vec<Value>) =
            services.into_iter().partition(|one| one["metadata"]["namespace"] != NAMESPACE);
        let services: Vec<Value> =
            services.into_iter().filter(|one| text(&one["metadata"]["name"]).starts_with("web-")).collect();
        let setting = &self.world.setting;
        let routes = setting.routes;
        let router = self.world.estate.router.clone();
        self.world.note_strays();
        let (excused, guests) = (self.world.excused(), self.world.guests());
        self.world.cloud.with(|cloud| {
            let state = cloud.state();
            let mut missing = wrong_nodes(state, &nodes).0;
            let addresses = addresses(&nodes);
            let waits = |one: &&Value| {
                guests.contains(text(&one["metadata"]["name"])) && is_balanced(one) && is_refused(state, one)
            };
            for service in services.iter().filter(|one| !waits(one)) {
                missing.extend(wrong_service(state, service, &services, &excused, &addresses));
                missing.extend(wrong_details(state, service, setting));
            }
            missing.extend(leftovers(state, &services, &excused));
            for service in &others {
                missing.extend(wrong_tenant(state, service, &excused, &addresses));
            }
            if setting.tenants {
                missing.extend(tenant_leftovers(state, &others, &excused));
                if !others.iter().any(|service| service["metadata"]["namespace"] == ATTACKER) {
                    missing.extend(self.world.left_tags(state));
                }
            }
            if routes {
                missing.extend(wrong_routes(state, &router, &nodes));
            }
            missing
        })
    }

    /// L3: Services that wait and do not say for what.
    #[must_use]
    pub fn silent_waits(&self) -> Vec<String> {
        let services = self.world.kube.stored("", "services");
        let silent = |service: &&Value| {
            is_balanced(service) && published(service).is_empty() && conditions(service).is_empty()
        };
        let events = self.world.kube.stored("", "events");
        let told = |service: &Value| {
            events.iter().any(|event| event["involvedObject"]["name"] == service["metadata"]["name"])
        };
        services
            .iter()
            .filter(silent)
            .filter(|service| !told(service))
            .map(|service| text(&service["metadata"]["name"]).to_owned())
            .collect()
    }
}

fn conditions(service: &Value) -> &[Value] {
    service["status"]["conditions"].as_array().map_or(&[], Vec::as_slice)
}

/// The addresses at which a Service says it is reached. For a host name in its status this is the address that the manager noted in the
/// annotation: no Service of a run whose status shows a host name is edited.
pub(super) fn published(service: &Value) -> Vec<String> {
    let ingress = service["status"]["loadBalancer"]["ingress"].as_array();
    let noted =
        |one: &Value| one["hostname"].as_str().and_then(|_name| note(service, "load-balancer-address"));
    let address = |one: &'_ Value| one["ip"].as_str().or_else(|| noted(one)).map(str::to_owned);
    ingress.into_iter().flatten().filter_map(address).collect()
}

pub(super) fn is_balanced(service: &Value) -> bool {
    service["spec"]["type"] == "LoadBalancer" && service["metadata"]["deletionTimestamp"].is_null()
}

/// What is wrong, and what is held back.
fn wrong_nodes(state: &State, nodes: &[Value]) -> (Vec<String>, Vec<String>) {
    let (mut wrong, mut stale, mut held, mut gone) = (Vec::new(), Vec::new(), Vec::new(), 0_usize);
    let servers: BTreeMap<&str, &str> =
        state.compute.servers.iter().map(|server| (server.id.as_str(), server.name.as_str())).collect();
    let known = nodes.iter().filter(|node| !text(&node["spec"]["providerID"]).is_empty()).count();
    for node in nodes.iter().filter(|node| node["metadata"]["name"] != METAL) {
        let name = text(&node["metadata"]["name"]);
        let id = text(&node["spec"]["providerID"]).rsplit('/').next().unwrap_or_default();
        let has_server = servers.values().any(|server| *server == name);
        if is_tainted(node) || id.is_empty() {
            if has_server {
                wrong.push(format!("{name} is not initialised"));
            } else {
                gone += 1;
                // It goes when SR-2 permits it if this process once found its server, and else stays (SR-4).
                held.push(format!("{name} has no provider ID, and its server is gone"));
            }
            continue;
        }
        if !servers.contains_key(id) {
            gone += 1;
            // Only Nodes that are not Ready are looked at, as upstream does: a kubelet that goes on with the Node of a former
            // machine of its name is left alone.
            if !(is_ready(node) && has_server) {
                stale.push(format!("{name} is there, but its server is gone"));
            }
        } else if let Some(what) = wrong_address(state, node, id) {
            wrong.push(format!("{name} {what}"));
        }
    }
    // SR-2: when more than a third look gone nobody is deleted until a person says so. Nodes that no cloud ever found a machine
    // for are not counted (SR-4).
    let few_are_gone = gone * 100 <= known * 33;
    if few_are_gone { &mut wrong } else { &mut held }.append(&mut stale);
    (wrong, held)
}

/// A Node says where its server is reached now.
fn wrong_address(state: &State, node: &Value, server: &str) -> Option<String> {
    let Some(said) = internal_ip(node) else { return Some("has no address".to_owned()) };
    let ports = || state.network.ports.iter().filter(|port| port.device_id == server);
    let there: Vec<&str> =
        ports().flat_map(|port| &port.fixed_ips).map(|fixed| fixed.ip_address.as_str()).collect();
    if !there.contains(&said) {
        return Some(format!("says {said}, and its server has {there:?}"));
    }
    let leads_there =
        |floating: &&FloatingIp| ports().any(|port| floating.port_id.as_ref() == Some(&port.id));
    let outside = state.network.floating_ips.iter().filter(leads_there);
    let mut untold =
        outside.map(|floating| &floating.floating_ip_address).filter(|address| !says_outside(node, address));
    untold.next().map(|address| format!("does not say {address}, which leads to its server"))
}

fn says_outside(node: &Value, address: &str) -> bool {
    let addresses = node["status"]["addresses"].as_array();
    addresses.into_iter().flatten().any(|one| one["type"] == "ExternalIP" && one["address"] == address)
}

fn is_ready(node: &Value) -> bool {
    let conditions = node["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|one| one["type"] == "Ready" && one["status"] == "True")
}

fn internal_ip(node: &Value) -> Option<&str> {
    let addresses = node["status"]["addresses"].as_array()?;
    addresses.iter().find(|one| one["type"] == "InternalIP").and_then(|one| one["address"].as_str())
}

/// The addresses of the Nodes that get traffic.
fn addresses(nodes: &[Value]) -> BTreeSet<String> {
    let eligible = |node: &&Value| node["metadata"]["labels"][EXCLUDED].is_null();
    nodes.iter().filter(eligible).filter_map(internal_ip).map(str::to_owned).collect()
}

fn note<'s>(service: &'s Value, key: &str) -> Option<&'s str> {
    service["metadata"]["annotations"][annotation(key)].as_str()
}

/// Whether a guest may wait for ever, as long as it says why (L3): the load balancer that it names is gone, because its host took leave
/// before the guest was on it or because somebody deleted it; or nobody may share it, because it is internal.
fn is_refused(state: &State, guest: &Value) -> bool {
    let named = note(guest, "load-balancer-id").and_then(|id| state.load_balancer.load_balancers.get(id));
    let tag = tag_of(guest);
    let has_floating_ip =
        |port: &str| state.network.floating_ips.iter().any(|one| one.port_id.as_deref() == Some(port));
    named.is_none_or(|one| !one.tags.contains(&tag) && !has_floating_ip(&one.vip_port_id))
}

/// Whether those who share a load balancer want different things of its address.
fn is_disputed(services: &[Value], balancer: &LoadBalancer) -> bool {
    let uses = |one: &&Value| is_balanced(one) && balancer.tags.contains(&tag_of(one));
    let wishes: BTreeSet<bool> = services.iter().filter(uses).map(is_internal).collect();
    wishes.len() > 1
}

fn is_internal(service: &Value) -> bool {
    note(service, "service.beta.kubernetes.io/openstack-internal-load-balancer") == Some("true")
}

fn wrong_service(
    state: &State,
    service: &Value,
    services: &[Value],
    excused: &Excused,
    addresses: &BTreeSet<String>,
) -> Vec<String> {
    let (namespace, name) = (text(&service["metadata"]["namespace"]), text(&service["metadata"]["name"]));
    let tag = tag_of(service);
    if !is_balanced(service) {
        let left = owned(state, namespace, name, excused);
        let mut wrong = Vec::new();
        if !left.is_empty() {
            wrong.push(format!("{name} is not balanced, but has {left:?}"));
        }
        if has_finalizer(service) || !service["metadata"]["deletionTimestamp"].is_null() {
            wrong.push(format!("{name} still has to be let go of"));
        }
        return wrong;
    }
    let mine: Vec<&LoadBalancer> = state
        .load_balancer
        .load_balancers
        .iter()
        .filter(|one| one.name == tag || one.tags.contains(&tag))
        .collect();
    let [balancer] = mine.as_slice() else {
        return vec![format!("{name} has {} load balancers", mine.len())];
    };
    let floating: Vec<&str> = state
        .network
        .floating_ips
        .iter()
        .filter(|one| one.port_id.as_deref() == Some(balancer.vip_port_id.as_str()))
        .map(|one| one.floating_ip_address.as_str())
        .collect();
    let (internal, disputed) = (is_internal(service), is_disputed(services, balancer));
    // What was told of a trouble that is over is not over before it is told: somebody reads it. The trouble of a guest whose owner
    // became internal is not over: only the owner changes the address.
    let is_in_trouble = disputed && !internal && floating.is_empty();
    let told = conditions(service).iter().filter(|told| told["status"] != "True" && !is_in_trouble);
    let mut wrong: Vec<String> = told
        .map(|told| format!("{name} says {}: {}", text(&told["reason"]), text(&told["message"])))
        .collect();
    if balancer.provisioning_status != "ACTIVE" {
        wrong.push(format!("{name}: its load balancer is {}", balancer.provisioning_status));
    }
    wrong
        .extend(wrong_ports(state, service, balancer, &tag, addresses).map(|what| format!("{name}: {what}")));
    if disputed {
        return wrong;
    }
    let wanted: Vec<&str> = if internal { vec![&balancer.vip_address] } else { floating.clone() };
    if internal && !floating.is_empty() {
        wrong.push(format!("{name} is internal, but {floating:?} leads to it"));
    }
    let shown = published(service);
    if shown.iter().map(String::as_str).collect::<Vec<_>>() != wanted || wanted.is_empty() {
        wrong.push(format!("{name} shows {shown:?}, and is reached at {wanted:?}"));
    }
    wrong
}

/// What is wrong for a Service of another namespace. One of the hostile tenant gets nothing for certain, but is let go of.
fn wrong_tenant(
    state: &State,
    service: &Value,
    excused: &Excused,
    addresses: &BTreeSet<String>,
) -> Vec<String> {
    if is_of_a_shop(service) || has_finalizer(service) && !is_balanced(service) {
        return wrong_service(state, service, &[], excused, addresses);
    }
    Vec::new()
}

/// Listeners and members, by protocol and port.
fn wrong_ports(
    state: &State,
    service: &Value,
    balancer: &LoadBalancer,
    tag: &str,
    addresses: &BTreeSet<String>,
) -> Option<String> {
    let octavia = &state.load_balancer;
    let mut wanted = BTreeMap::new();
    for port in service["spec"]["ports"].as_array().into_iter().flatten() {
        let inserts = note(service, "x-forwarded-for") == Some("true") && port["protocol"] == "TCP";
        let protocol = if inserts { "HTTP" } else { text(&port["protocol"]) };
        let key = (protocol.to_owned(), port["port"].as_u64().unwrap_or_default());
        let members: BTreeSet<(String, u64)> = addresses
            .iter()
            .map(|address| (address.clone(), port["nodePort"].as_u64().unwrap_or_default()))
            .collect();
        wanted.insert(key, members);
    }
    let is_shared = balancer.tags.iter().filter(|tag| tag.starts_with("kube_service_")).count() > 1;
    let listeners = octavia.listeners.iter().filter(|one| one.loadbalancer_id == balancer.id);
    let listeners = listeners.filter(|one| !is_added_by_hand(&one.name));
    let mut found = BTreeMap::new();
    for listener in listeners.filter(|one| !is_shared || one.tags.iter().any(|one| one == tag)) {
        let pool = listener.default_pool_id.as_deref();
        let members: BTreeSet<(String, u64)> = octavia
            .members
            .iter()
            .filter(|member| Some(member.pool_id.as_str()) == pool)
            .map(|member| (member.address.clone(), u64::from(member.protocol_port)))
            .collect();
        found.insert((listener.protocol.clone(), u64::from(listener.protocol_port)), members);
    }
    (found != wanted).then(|| format!("its load balancer has {found:?}, wanted is {wanted:?}"))
}

/// What of a Service's load balancer stands in no listener and no member: affinity, the ports at which members are asked for
/// their health, and what the security group lets through.
fn wrong_details(state: &State, service: &Value, setting: &Setting) -> Vec<String> {
    let name = text(&service["metadata"]["name"]);
    if !is_balanced(service) {
        return Vec::new();
    }
    let mut wrong = Vec::new();
    if setting.provider == Provider::Amphora {
        wrong.extend(wrong_affinity(state, service, name));
        wrong.extend(wrong_monitor_ports(state, service, name));
    }
    if setting.security_groups {
        wrong.extend(wrong_rules(state, service, name));
    }
    wrong.into_iter().map(|what| format!("{name}: {what}")).collect()
}

fn own_pools<'s>(state: &'s State, name: &str) -> Vec<&'s Pool> {
    let octavia = &state.load_balancer;
    let tag = format!("kube_service_kubernetes_default_{name}");
    let balancer = octavia.load_balancers.iter().find(|one| one.name == tag);
    let of = |pool: &&Pool| {
        balancer.is_some_and(|balancer| balancer.id == pool.loadbalancer_id) && !is_added_by_hand(&pool.name)
    };
    // Of one that others share, not all pools are the Service's.
    let is_shared = balancer
        .is_some_and(|one| one.tags.iter().filter(|tag| tag.starts_with("kube_service_")).count() > 1);
    octavia.pools.iter().filter(of).filter(|_pool| !is_shared).collect()
}

fn wrong_affinity(state: &State, service: &Value, name: &str) -> Option<String> {
    let wanted = service["spec"]["sessionAffinity"] == "ClientIP";
    let pools = own_pools(state, name);
    let wrong =
        pools.iter().find(|pool| pool.protocol == "TCP" && pool.session_persistence.is_some() != wanted)?;
    Some(format!("pool {} has {:?}, affinity is wanted: {wanted}", wrong.id, wrong.session_persistence))
}

fn wrong_monitor_ports(state: &State, service: &Value, name: &str) -> Option<String> {
    let local = service["spec"]["externalTrafficPolicy"] == "Local";
    if !local || note(service, "enable-health-monitor") != Some("true") {
        return None;
    }
    let wanted = service["spec"]["healthCheckNodePort"].as_u64();
    let pools: BTreeSet<&str> = own_pools(state, name).iter().map(|pool| pool.id.as_str()).collect();
    let mut members =
        state.load_balancer.members.iter().filter(|member| pools.contains(member.pool_id.as_str()));
    let wrong = members.find(|member| member.monitor_port.map(u64::from) != wanted)?;
    Some(format!("member {} is asked at {:?}, wanted is {wanted:?}", wrong.name, wrong.monitor_port))
}

fn wrong_rules(state: &State, service: &Value, name: &str) -> Option<String> {
    let end = format!("-default-{name}");
    let group = state.network.security_groups.iter();
    let mut group = group.filter(|group| group.name.starts_with("lb-sg-") && group.name.ends_with(&end));
    let id = group.next().map(|group| group.id.clone()).unwrap_or_default();
    let ports = service["spec"]["ports"].as_array().into_iter().flatten();
    let wanted: BTreeSet<i64> = ports.filter_map(|port| port["nodePort"].as_i64()).collect();
    let rules =
        state.network.rules.iter().filter(|rule| rule.security_group_id == id && rule.direction == "ingress");
    let health = service["spec"]["healthCheckNodePort"].as_i64();
    let found: BTreeSet<i64> =
        rules.filter_map(|rule| rule.port_range_min).filter(|port| Some(*port) != health).collect();
    (found != wanted).then(|| format!("its security group lets {found:?} through, wanted is {wanted:?}"))
}

/// What is in the cloud for Services that are not there.
fn leftovers(state: &State, services: &[Value], excused: &Excused) -> Vec<String> {
    let names: BTreeSet<&str> = services.iter().map(|service| text(&service["metadata"]["name"])).collect();
    let gone = (1..=SERVICES).map(service_name).filter(|name| !names.contains(name.as_str()));
    gone.flat_map(|name| {
        owned(state, NAMESPACE, &name, excused)
            .into_iter()
            .map(move |what| format!("{name} is gone, but {what}"))
    })
    .collect()
}

/// What is in the cloud for Services of tenants that are not there.
fn tenant_leftovers(state: &State, services: &[Value], excused: &Excused) -> Vec<String> {
    let is_there = |namespace: &str, name: &str| {
        services
            .iter()
            .any(|one| one["metadata"]["namespace"] == namespace && text(&one["metadata"]["name"]) == name)
    };
    let gone = tenant_names().filter(|(namespace, name)| !is_there(namespace, name));
    gone.flat_map(|(namespace, name)| {
        let left = owned(state, namespace, &name, excused).into_iter();
        left.map(move |what| format!("{namespace}/{name} is gone, but {what}"))
    })
    .collect()
}

fn wrong_routes(state: &State, router: &str, nodes: &[Value]) -> Option<String> {
    let routes: BTreeSet<(String, String)> = state
        .network
        .routers
        .get(router)
        .into_iter()
        .flat_map(|router| {
            router.routes.iter().map(|route| (route.destination.clone(), route.nexthop.clone()))
        })
        .collect();
    let lives = |node: &&Value| {
        let id = text(&node["spec"]["providerID"]).rsplit('/').next().unwrap_or_default();
        !is_tainted(node) && state.compute.servers.iter().any(|server| server.id == id)
    };
    let cidr = |node: &Value| node["spec"]["podCIDR"].as_str().map(str::to_owned);
    let way = |node: &Value| Some((cidr(node)?, internal_ip(node)?.to_owned()));
    let wanted: BTreeSet<(String, String)> = nodes.iter().filter(lives).filter_map(way).collect();
    // What leads to a Node whose server is gone, and which stays because too many look gone, may stay too.
    let others: BTreeSet<String> = nodes.iter().filter(|node| !lives(node)).filter_map(cidr).collect();
    let routes: BTreeSet<(String, String)> =
        routes.into_iter().filter(|(destination, _)| !others.contains(destination)).collect();
    (routes != wanted).then(|| format!("routes are {routes:?}, wanted {wanted:?}"))
}
