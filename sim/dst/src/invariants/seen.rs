//! What there is in the cluster and the cloud, as the rules see it.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::Request;
use serde_json::Value;
use sim_openstack::State;
use sim_openstack::load_balancer::LoadBalancer;

use super::FINALIZER;
use crate::world::{Excused, UNINITIALIZED};

/// The load balancer that a call to Octavia changes.
pub(super) fn balancer_of(state: &State, request: &Request<Bytes>) -> Option<String> {
    let octavia = &state.load_balancer;
    let path = request.uri().path();
    let rest = path.split_once("/lbaas/")?.1;
    let mut parts = rest.split('/');
    let (kind, id) = (parts.next()?, parts.next());
    let of_pool = |id: &str| octavia.pools.get(id).map(|pool| pool.loadbalancer_id.clone());
    let of_listener = |id: &str| octavia.listeners.get(id).map(|listener| listener.loadbalancer_id.clone());
    let Some(id) = id else {
        let body: Value = serde_json::from_slice(request.body()).ok()?;
        let inside = body.as_object()?.values().next()?;
        let named = |key: &str| inside[key].as_str().map(str::to_owned);
        return named("loadbalancer_id")
            .or_else(|| named("listener_id").and_then(|id| of_listener(&id)))
            .or_else(|| named("pool_id").and_then(|id| of_pool(&id)));
    };
    match kind {
        "loadbalancers" => Some(id.to_owned()),
        "listeners" => of_listener(id),
        "pools" => of_pool(id),
        "healthmonitors" => octavia.monitors.get(id).and_then(|monitor| of_pool(&monitor.pool_id)),
        _ => None,
    }
}

/// S1: what there is twice.
pub(super) fn twice(state: &State, excused: &Excused) -> Option<String> {
    let mut seen: BTreeMap<String, u32> = BTreeMap::new();
    let live = |status: &str| !matches!(status, "PENDING_DELETE" | "DELETED");
    for balancer in state.load_balancer.load_balancers.iter().filter(|one| live(&one.provisioning_status)) {
        *seen.entry(format!("load balancer {}", balancer.name)).or_default() += 1;
    }
    let is_kept = |text: &str| excused.services.iter().any(|name| text.contains(&format!("/{name} from")));
    let floating = state.network.floating_ips.iter().filter(|one| one.description.contains("Kubernetes"));
    for floating in
        floating.filter(|one| !is_kept(&one.description) && !excused.floating_ips.contains(&one.id))
    {
        *seen.entry(format!("floating IP {}", floating.description)).or_default() += 1;
    }
    for group in state.network.security_groups.iter().filter(|group| group.name.starts_with("lb-sg-")) {
        *seen.entry(format!("security group {}", group.name)).or_default() += 1;
    }
    seen.into_iter().find(|(_, count)| *count > 1).map(|(what, count)| format!("{count} times {what}"))
}

/// What a Service has in the cloud, by name.
pub(super) fn owned(state: &State, namespace: &str, service: &str, excused: &Excused) -> Vec<String> {
    let name = format!("kube_service_kubernetes_{namespace}_{service}");
    let place = format!("service {namespace}/{service} from cluster kubernetes");
    // A load balancer that others still use has the name of who made it, and its floating IP too.
    let is_of_others = |one: &LoadBalancer| {
        !one.tags.contains(&name) && one.tags.iter().any(|tag| tag.starts_with("kube_service_"))
    };
    let is_left_behind = |id: &String| excused.left_behind.contains(&(name.clone(), id.clone()));
    let stays = |one: &LoadBalancer| excused.balancers.contains(&one.id) || is_left_behind(&one.id);
    let balancers = state.load_balancer.load_balancers.iter();
    let balancers = balancers.filter(|one| {
        (one.name == name || one.tags.contains(&name))
            && !is_of_others(one)
            && !stays(one)
            && one.provisioning_status != "DELETED"
    });
    let leads_to_others = |port: Option<&str>| {
        let mut all = state.load_balancer.load_balancers.iter();
        port.is_some_and(|port| all.any(|one| one.vip_port_id == port && (is_of_others(one) || stays(one))))
    };
    let floating = state.network.floating_ips.iter().filter(|one| {
        one.description.contains(&place)
            && !leads_to_others(one.port_id.as_deref())
            && !excused.services.contains(service)
            && !excused.floating_ips.contains(&one.id)
    });
    // What stays has nothing of the Service on it any more.
    let listeners = state.load_balancer.listeners.iter().filter(|one| {
        one.tags.contains(&name)
            && excused.balancers.contains(&one.loadbalancer_id)
            && !excused.listeners.contains(&one.id)
            && !is_left_behind(&one.loadbalancer_id)
            && one.provisioning_status != "DELETED"
    });
    let end = format!("-{namespace}-{service}");
    let groups = state.network.security_groups.iter();
    let groups = groups.filter(|group| group.name.starts_with("lb-sg-") && group.name.ends_with(&end));
    balancers
        .map(|one| format!("load balancer {} {}", one.name, one.provisioning_status))
        .chain(listeners.map(|one| format!("listener {}", one.name)))
        .chain(floating.map(|one| format!("floating IP {}", one.floating_ip_address)))
        .chain(groups.map(|group| format!("security group {}", group.name)))
        .collect()
}

/// The name of a Service's own load balancer, which is its tag as well.
pub(super) fn tag_of(service: &Value) -> String {
    let (namespace, name) = (&service["metadata"]["namespace"], &service["metadata"]["name"]);
    format!("kube_service_kubernetes_{}_{}", text(namespace), text(name))
}

/// S6: whether an address is the VIP or the floating IP of a load balancer of the Service that was made.
pub(super) fn leads_to(state: &State, service: &str, address: &str) -> bool {
    let name = format!("kube_service_kubernetes_default_{service}");
    let mine = |one: &&LoadBalancer| one.name == name || one.tags.contains(&name);
    let made = |one: &&LoadBalancer| one.provisioning_status != "PENDING_CREATE";
    state.load_balancer.load_balancers.iter().filter(mine).filter(made).any(|balancer| {
        let floating = state.network.floating_ips.iter();
        let mut floating =
            floating.filter(|one| one.port_id.as_deref() == Some(balancer.vip_port_id.as_str()));
        balancer.vip_address == address || floating.any(|one| one.floating_ip_address == address)
    })
}

pub(super) fn is_going(server: &sim_openstack::compute::Server) -> bool {
    matches!(server.transition, Some((sim_openstack::compute::Transition::Delete, _)))
}

pub(super) fn has_finalizer(service: &Value) -> bool {
    service["metadata"]["finalizers"].as_array().is_some_and(|all| all.iter().any(|one| one == FINALIZER))
}

pub(super) fn is_tainted(node: &Value) -> bool {
    node["spec"]["taints"].as_array().is_some_and(|all| all.iter().any(|taint| taint["key"] == UNINITIALIZED))
}

pub(super) fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
