//! What is there, in words that do not differ between two runs: identifiers, addresses and node ports are named by what they belong to.
//!
//! Pure: what the API server and the cloud say is handed in.

use std::collections::{BTreeMap, BTreeSet};

use bowline_testkit::nodes::is_initialized;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::ResourceExt;
use serde_json::{Value, json};
use sim_openstack::State;
use sim_openstack::load_balancer::{LoadBalancer, Pool};
use sim_openstack::network::SecurityGroup;

use crate::invariants::Foreign;
use crate::observer::FINALIZER;

const FINGERPRINT: &str = "bowline.dev/fingerprint";
/// The condition in which Bowline says how a Service is.
const CONDITION: &str = "bowline.dev/LoadBalancerReady";
/// Where Bowline notes which load balancer a Service uses.
pub const BALANCER: &str = "loadbalancer.openstack.org/load-balancer-id";
/// What makes a Service internal.
pub const INTERNAL: &str = "service.beta.kubernetes.io/openstack-internal-load-balancer";

/// Everything at one moment.
pub struct Whole<'a> {
    /// The Services of the run.
    pub services: &'a [Service],
    /// All Nodes.
    pub nodes: &'a [Node],
    /// The cloud.
    pub state: &'a State,
    /// What is of others, and left out.
    pub foreign: &'a Foreign,
    /// Identifiers with what they are called: servers, Services, the cluster.
    pub names: &'a BTreeMap<String, String>,
}

/// Things by what they are, each as text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Snapshot(BTreeMap<String, String>);

impl Snapshot {
    /// What is there.
    #[must_use]
    pub fn of(whole: &Whole<'_>) -> Self {
        let words = words(whole);
        let ports = node_ports(whole.services);
        let mut things: Vec<(String, Value)> = Vec::new();
        for service in whole.services {
            things.push((format!("Service {}", service.name_any()), service_value(service)));
        }
        for node in whole.nodes {
            things.push((format!("Node {}", node.name_any()), node_value(node)));
        }
        let (octavia, neutron) = (&whole.state.load_balancer, &whole.state.network);
        for row in octavia.load_balancers.iter().filter(|row| !whole.foreign.has_balancer(&row.id)) {
            things.push((
                format!("load balancer {}", row.name),
                balancer_value(whole.state, row, &ports, &words),
            ));
        }
        for row in neutron.floating_ips.iter().filter(|row| !whole.foreign.has_floating(&row.id)) {
            let of = octavia.load_balancers.iter().find(|lb| Some(&lb.vip_port_id) == row.port_id.as_ref());
            let value = json!({"of": of.map(|lb| &lb.name), "tags": row.tags});
            things.push((format!("floating IP {:?}", row.description), value));
        }
        for row in neutron.security_groups.iter().filter(|row| !whole.foreign.has_group(&row.id)) {
            things.push((
                format!("security group {}", row.name),
                group_value(whole.state, row, &ports, &words),
            ));
        }
        for port in neutron.ports.iter().filter(|port| port.device_owner.starts_with("compute:")) {
            let groups = in_order(&port.security_groups, &words);
            things.push((format!("port of server {}", port.device_id), json!(groups)));
        }
        let mut named = BTreeMap::new();
        for (key, value) in things {
            let mut key = rename(key, &words);
            while named.contains_key(&key) {
                key.push_str(" once more");
            }
            named.insert(key, rename(value.to_string(), &words));
        }
        Self(named)
    }

    /// What is not as in another one, which is what has to be.
    #[must_use]
    pub fn differences(&self, wanted: &Self) -> Vec<String> {
        let keys: BTreeSet<&String> = self.0.keys().chain(wanted.0.keys()).collect();
        let different = keys.into_iter().filter(|key| self.0.get(*key) != wanted.0.get(*key));
        let line = |key: &String| match (self.0.get(key), wanted.0.get(key)) {
            (Some(found), Some(wanted)) => format!("{key}\n    is      {found}\n    without {wanted}"),
            (Some(found), None) => format!("{key} is there, without a fault it is not: {found}"),
            (None, _) => format!("{key} is missing"),
        };
        different.map(line).collect()
    }
}

/// Identifiers with what stands in their place.
type Words = [(String, String)];

/// Texts in the order of what they are called here, which does not differ between two runs.
fn in_order(texts: &[String], words: &Words) -> Vec<String> {
    let mut named: Vec<String> = texts.iter().map(|text| rename(text.clone(), words)).collect();
    named.sort();
    named
}

/// What stands in place of identifiers, longest first, so that none is part of one that comes later.
fn words(whole: &Whole<'_>) -> Vec<(String, String)> {
    let mut words: Vec<(String, String)> =
        whole.names.iter().map(|(id, name)| (id.clone(), format!("<{name}>"))).collect();
    for row in whole.state.load_balancer.load_balancers.iter() {
        words.push((row.id.clone(), format!("<load balancer {}>", row.name)));
        words.push((format!("\"{}\"", row.vip_address), format!("\"<address of {}>\"", row.name)));
    }
    for row in whole.state.network.security_groups.iter() {
        words.push((row.id.clone(), format!("<group {}>", row.name)));
    }
    for row in whole.state.network.floating_ips.iter() {
        let quoted = format!("\"{}\"", row.floating_ip_address);
        words.push((quoted, format!("\"<{}>\"", row.description)));
    }
    for row in whole.state.network.ports.iter().filter(|row| row.device_owner.starts_with("compute:")) {
        for fixed in &row.fixed_ips {
            let name = format!("<address of {}>", row.device_id);
            words.push((format!("\"{}\"", fixed.ip_address), format!("\"{name}\"")));
            words.push((format!("\"{}/32\"", fixed.ip_address), format!("\"{name}/32\"")));
        }
    }
    words.retain(|(id, _)| !id.is_empty());
    words.sort_by_key(|(id, _)| std::cmp::Reverse(id.len()));
    words
}

/// Twice: a name may itself have identifiers in it.
fn rename(text: String, words: &Words) -> String {
    let once = |text: String| words.iter().fold(text, |text, (id, name)| text.replace(id, name));
    once(once(text))
}

fn node_ports(services: &[Service]) -> BTreeMap<i64, String> {
    let mut ports = BTreeMap::new();
    for service in services {
        let spec = service.spec.as_ref().and_then(|spec| spec.ports.as_ref());
        for port in spec.into_iter().flatten() {
            if let Some(number) = port.node_port {
                ports.insert(i64::from(number), format!("{}:{}", service.name_any(), port.port));
            }
        }
    }
    ports
}

fn port_value(ports: &BTreeMap<i64, String>, number: i64) -> Value {
    ports.get(&number).map_or_else(|| json!(number), |name| json!(name))
}

fn service_value(service: &Service) -> Value {
    let mut whole = json!(service);
    if whole["metadata"]["annotations"][FINGERPRINT].is_string() {
        whole["metadata"]["annotations"][FINGERPRINT] = json!("given"); // of identifiers
    }
    let (meta, spec, status) = (&whole["metadata"], &whole["spec"], &whole["status"]);
    let ports: Vec<Value> =
        spec["ports"].as_array().into_iter().flatten().map(|port| port["port"].clone()).collect();
    let conditions: Vec<Value> = status["conditions"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| json!([one["type"], one["status"], one["reason"]]))
        .collect();
    json!({
        "type": spec["type"], "ports": ports, "finalizers": meta["finalizers"], "annotations": meta["annotations"],
        "status": status["loadBalancer"], "conditions": conditions, "deleted": meta["deletionTimestamp"].is_string(),
        "uid": meta["uid"],
    })
}

fn node_value(node: &Node) -> Value {
    let whole = json!(node);
    let (meta, spec, status) = (&whole["metadata"], &whole["spec"], &whole["status"]);
    let taints: Vec<Value> = spec["taints"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|taint| json!([taint["key"], taint["effect"]]))
        .collect();
    json!({
        "labels": meta["labels"], "annotations": meta["annotations"], "providerID": spec["providerID"], "taints": taints,
        "addresses": status["addresses"],
    })
}

fn balancer_value(state: &State, row: &LoadBalancer, ports: &BTreeMap<i64, String>, words: &Words) -> Value {
    let octavia = &state.load_balancer;
    let tags = in_order(&row.tags, words);
    let mut listeners: Vec<Value> = octavia
        .listeners
        .iter()
        .filter(|listener| listener.loadbalancer_id == row.id)
        .map(|listener| {
            let pool = listener.default_pool_id.as_ref().and_then(|id| octavia.pools.get(id));
            let pool = pool.map(|pool| pool_value(state, pool, ports));
            json!({
                "port": listener.protocol_port, "protocol": listener.protocol, "name": nameless(&listener.name), "tags": listener.tags,
                "allowed": listener.allowed_cidrs, "pool": pool,
            })
        })
        .collect();
    listeners.sort_by_key(Value::to_string);
    let pools = octavia.pools.iter().filter(|pool| pool.loadbalancer_id == row.id).count();
    json!({
        "description": row.description, "status": row.provisioning_status, "tags": tags, "listeners": listeners, "pools": pools,
    })
}

fn pool_value(state: &State, pool: &Pool, ports: &BTreeMap<i64, String>) -> Value {
    let octavia = &state.load_balancer;
    let members = octavia.members.iter().filter(|member| member.pool_id == pool.id);
    let mut members: Vec<Value> = members
        .map(|member| {
            json!([
                member.name,
                member.address,
                port_value(ports, i64::from(member.protocol_port)),
                member.weight
            ])
        })
        .collect();
    members.sort_by_key(Value::to_string);
    let monitors = octavia.monitors.iter().filter(|monitor| monitor.pool_id == pool.id);
    let monitors: Vec<Value> =
        monitors.map(|one| json!([nameless(&one.name), one.kind, one.delay, one.timeout])).collect();
    json!({"name": nameless(&pool.name), "protocol": pool.protocol, "method": pool.lb_algorithm, "members": members, "monitors": monitors})
}

fn group_value(state: &State, group: &SecurityGroup, ports: &BTreeMap<i64, String>, words: &Words) -> Value {
    let rules = state.network.rules.iter().filter(|rule| rule.security_group_id == group.id);
    let mut rules: Vec<Value> = rules
        .map(|rule| {
            let port = rule.port_range_min.map(|port| port_value(ports, port));
            json!([rule.direction, rule.ethertype, rule.protocol, port, rule.remote_ip_prefix])
        })
        .collect();
    rules.sort_by_key(Value::to_string);
    let tags = in_order(&group.tags, words);
    json!({"description": group.description, "tags": tags, "rules": rules})
}

/// What the manager has visibly not done yet: why a picture is not one of rest.
#[must_use]
pub fn unsettled(whole: &Whole<'_>) -> Vec<String> {
    let mut found = Vec::new();
    for service in whole.services {
        if let Some(why) = unsettled_service(service) {
            found.push(format!("Service {} {why}", service.name_any()));
        }
    }
    let mut members = BTreeSet::new();
    for node in whole.nodes {
        let spec = node.spec.clone().unwrap_or_default();
        let id =
            spec.provider_id.as_deref().and_then(|id| id.rsplit('/').next()).unwrap_or_default().to_owned();
        if !is_initialized(node) {
            found.push(format!("Node {} is not initialised", node.name_any()));
        } else if !whole.state.compute.servers.contains(&id) {
            found.push(format!("Node {} has no server {id:?}", node.name_any()));
        }
        members.insert(node.name_any());
    }
    for row in
        whole.state.load_balancer.load_balancers.iter().filter(|row| !whole.foreign.has_balancer(&row.id))
    {
        let open = unsettled_balancer(whole, row, &members);
        found.extend(open.map(|why| format!("load balancer {} {why}", row.name)));
    }
    found
}

fn unsettled_service(service: &Service) -> Option<&'static str> {
    let whole = json!(service);
    let (meta, status) = (&whole["metadata"], &whole["status"]);
    if meta["deletionTimestamp"].is_string() {
        return Some("is not gone");
    }
    let has_finalizer = meta["finalizers"].as_array().into_iter().flatten().any(|one| one == FINALIZER);
    let has_address = status["loadBalancer"]["ingress"][0].is_object();
    if whole["spec"]["type"] != "LoadBalancer" {
        return (has_finalizer || has_address).then_some("still has a load balancer");
    }
    let mut conditions = status["conditions"].as_array().into_iter().flatten();
    let ready = conditions.any(|one| one["type"] == CONDITION && one["status"] == "True");
    (!ready || !has_address || !has_finalizer).then_some("is not ready")
}

/// Its listeners are those of the Services that use it, and behind each is every Node.
fn unsettled_balancer(whole: &Whole<'_>, row: &LoadBalancer, members: &BTreeSet<String>) -> Option<String> {
    let octavia = &whole.state.load_balancer;
    if row.provisioning_status != "ACTIVE" {
        return Some(format!("is {}", row.provisioning_status));
    }
    let users = whole.services.iter().filter(|service| service.annotations().get(BALANCER) == Some(&row.id));
    let ports = users.filter_map(|service| service.spec.as_ref()?.ports.as_ref()).flatten();
    let wanted: BTreeSet<i32> = ports.map(|port| port.port).collect();
    let listeners = octavia.listeners.iter().filter(|listener| listener.loadbalancer_id == row.id);
    let there: BTreeSet<i32> = listeners.map(|listener| i32::from(listener.protocol_port)).collect();
    let pools: Vec<&Pool> = octavia.pools.iter().filter(|pool| pool.loadbalancer_id == row.id).collect();
    if there != wanted || pools.len() != wanted.len() {
        return Some(format!(
            "has the listeners {there:?}, {wanted:?} are wanted, and {} pools",
            pools.len()
        ));
    }
    if let Some(why) = whole.services.iter().find_map(|service| unsettled_edge(whole, row, service)) {
        return Some(why);
    }
    pools.into_iter().find_map(|pool| {
        let rows = octavia.members.iter().filter(|member| member.pool_id == pool.id);
        let there: BTreeSet<String> = rows.map(|member| member.name.clone()).collect();
        let monitors = octavia.monitors.iter().filter(|monitor| monitor.pool_id == pool.id).count();
        (there != *members || monitors != 1)
            .then(|| format!("has the members {there:?} and {monitors} monitors behind {}", pool.name))
    })
}

/// The name of a listener, pool or monitor without the place of its port, which is that of the time when it was made.
fn nameless(name: &str) -> String {
    let mut words = name.splitn(3, '_');
    match (words.next(), words.next(), words.next()) {
        (Some(kind), Some(place), Some(rest)) if place.parse::<u32>().is_ok() => format!("{kind}_{rest}"),
        _ => name.to_owned(),
    }
}

/// Its listeners let in whom their Service lets in, and a floating IP leads to it unless it is internal.
fn unsettled_edge(whole: &Whole<'_>, row: &LoadBalancer, service: &Service) -> Option<String> {
    if service.annotations().get(BALANCER) != Some(&row.id) {
        return None;
    }
    let spec = service.spec.as_ref()?;
    let everybody = || vec!["0.0.0.0/0".to_owned()];
    let mut wanted = spec
        .load_balancer_source_ranges
        .clone()
        .filter(|ranges| !ranges.is_empty())
        .unwrap_or_else(everybody);
    wanted.sort();
    let listeners =
        whole.state.load_balancer.listeners.iter().filter(|listener| listener.loadbalancer_id == row.id);
    for listener in listeners {
        let is_its = spec.ports.iter().flatten().any(|port| port.port == i32::from(listener.protocol_port));
        let mut allowed = listener.allowed_cidrs.clone().unwrap_or_default();
        allowed.sort();
        if is_its && allowed != wanted {
            return Some(format!("lets in {allowed:?} at {}, {wanted:?} are wanted", listener.protocol_port));
        }
    }
    let is_internal = service.annotations().get(INTERNAL).is_some_and(|value| value == "true");
    let leads = whole
        .state
        .network
        .floating_ips
        .iter()
        .any(|floating| floating.port_id.as_ref() == Some(&row.vip_port_id));
    (leads == is_internal).then(|| format!("has a floating IP: {leads}, and is internal: {is_internal}"))
}
