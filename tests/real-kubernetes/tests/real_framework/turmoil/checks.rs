//! What must be so in the end, by the API server's word and the cloud's own. Each check lists what is not so yet.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::ensure;
use bowline_controllers::service::desire::FINALIZER;
use bowline_testkit::nodes::{UNINITIALIZED, addresses, provider_id};
use k8s_openapi::api::core::v1::{Node, Service};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use real_kubernetes_tests::framework::cloud::Cloud;
use real_kubernetes_tests::framework::protocol::{Balancer, Hosts, Port, SCHEME, Settings, host};

use super::nodes::{EXCLUDE, Expected};
use super::services::{APP, Lived, NAMESPACE};
use crate::kubelet::{SHUTDOWN, has_taint, label};
use crate::world::World;

pub(super) type Problems = Vec<String>;

pub(super) async fn all(world: &World, expected: &[Expected]) -> anyhow::Result<Problems> {
    let mut problems = nodes(world, expected).await?;
    problems.extend(services(world).await?);
    Ok(problems)
}

async fn list_nodes(world: &World) -> anyhow::Result<BTreeMap<String, Node>> {
    let nodes = Api::<Node>::all(world.client.clone()).list(&ListParams::default()).await?;
    Ok(nodes.into_iter().map(|node| (node.name_any(), node)).collect())
}

async fn list_services(world: &World) -> anyhow::Result<Vec<Service>> {
    let api = Api::<Service>::namespaced(world.client.clone(), NAMESPACE);
    Ok(api.list(&ListParams::default().labels(&format!("app={APP}"))).await?.items)
}

/// Every node is what it must be, the right ones are gone, and the routes are those of the nodes that are there.
pub(super) async fn nodes(world: &World, expected: &[Expected]) -> anyhow::Result<Problems> {
    let there = list_nodes(world).await?;
    let mut problems = Problems::new();
    for expected in expected {
        match (&expected.machine, there.get(&expected.name)) {
            (None, None) => {}
            (None, Some(_)) => problems.push(format!("{} is still there", expected.name)),
            (Some(_), None) => problems.push(format!("{} is not there", expected.name)),
            (Some(_), Some(node)) => problems.extend(node_problems(expected, node)),
        }
    }
    problems.extend(route_problems(world, &there));
    Ok(problems)
}

fn node_problems(expected: &Expected, node: &Node) -> Option<String> {
    let name = &expected.name;
    let machine = expected.machine.as_ref()?;
    if expected.foreign {
        let untouched = provider_id(node) == format!("metal://{name}") && !has_taint(node, SHUTDOWN);
        return (!untouched).then(|| format!("{name} is not ours and was touched: {:?}", node.spec));
    }
    let wanted_addresses: Vec<_> =
        machine.addresses.iter().map(|at| (at.kind.to_string(), at.address.to_string())).collect();
    let zone = expected.zone.as_str();
    let labels = [
        ("node.kubernetes.io/instance-type", machine.kind.as_str()),
        ("beta.kubernetes.io/instance-type", machine.kind.as_str()),
        ("topology.kubernetes.io/zone", zone),
        ("failure-domain.beta.kubernetes.io/zone", zone),
        ("topology.kubernetes.io/region", "scripted"),
        ("failure-domain.beta.kubernetes.io/region", "scripted"),
        ("scripted.bowline.dev/id", machine.id.as_str()),
    ];
    let wrong_label = labels.iter().find(|(key, value)| label(node, key) != Some(value));
    if provider_id(node) != machine.provider_id() {
        Some(format!("{name} has the provider ID {:?}", provider_id(node)))
    } else if has_taint(node, UNINITIALIZED) {
        Some(format!("{name} is not initialised"))
    } else if has_taint(node, SHUTDOWN) != expected.down {
        Some(format!("{name} is down: {}, and its taints are {:?}", expected.down, node.spec))
    } else if let Some((key, value)) = wrong_label {
        Some(format!("{name} has {key}={:?}, not {value}", label(node, key)))
    } else if addresses(node) != wanted_addresses {
        Some(format!("{name} has the addresses {:?}, not {wanted_addresses:?}", addresses(node)))
    } else {
        None
    }
}

/// Each node has a range of its own, and a route leads there; no other route is left.
fn route_problems(world: &World, nodes: &BTreeMap<String, Node>) -> Problems {
    let range = |node: &Node| node.spec.as_ref().and_then(|spec| spec.pod_cidr.clone());
    let ranged: BTreeSet<_> =
        nodes.iter().filter_map(|(name, node)| Some((range(node)?, name.clone()))).collect();
    let mut problems = Problems::new();
    let ranges: BTreeSet<_> = ranged.iter().map(|(range, _)| range).collect();
    if ranges.len() != nodes.len() {
        problems.push(format!("{} nodes have {} ranges", nodes.len(), ranges.len()));
    }
    // Other people's nodes are left alone.
    let is_ours = |name: &str| nodes.get(name).is_some_and(|node| provider_id(node).starts_with(SCHEME));
    let wanted: BTreeSet<_> = ranged.iter().filter(|(_, name)| is_ours(name)).cloned().collect();
    let found: Vec<_> = world.cloud.with(|cloud| {
        cloud.routes.values().map(|route| (route.destination.to_string(), route.node.clone())).collect()
    });
    let routes: BTreeSet<_> = found.iter().cloned().collect();
    if routes.len() != found.len() {
        problems.push("a route is there twice".to_owned());
    }
    problems.extend(wanted.difference(&routes).map(|route| format!("no route {route:?}")));
    problems.extend(routes.difference(&wanted).map(|route| format!("route {route:?} is left over")));
    problems
}

/// Every Service has exactly the load balancer that it asks for, or none.
async fn services(world: &World) -> anyhow::Result<Problems> {
    let hosts = hosts(&list_nodes(world).await?);
    let services = list_services(world).await?;
    let balancers: Vec<Balancer> = world.cloud.with(|cloud| cloud.balancers.values().cloned().collect());
    let uids: BTreeSet<_> = services.iter().filter_map(ResourceExt::uid).collect();
    let mut problems: Problems = balancers
        .iter()
        .filter(|balancer| !uids.contains(&balancer.owner))
        .map(|balancer| format!("load balancer {} is left over", balancer.id))
        .collect();
    for service in &services {
        let own: Vec<_> = balancers
            .iter()
            .filter(|balancer| Some(&balancer.owner) == service.metadata.uid.as_ref())
            .collect();
        problems.extend(service_problems(service, &own, &hosts));
    }
    Ok(problems)
}

fn service_problems(service: &Service, own: &[&Balancer], hosts: &Hosts) -> Option<String> {
    let name = service.name_any();
    let spec = service.spec.clone().unwrap_or_default();
    let is_balancer = spec.type_.as_deref() == Some("LoadBalancer");
    let finalized = service.finalizers().iter().any(|finalizer| finalizer == FINALIZER);
    if service.metadata.deletion_timestamp.is_some() {
        return Some(format!("{name} is still going"));
    }
    if is_balancer && spec.load_balancer_class.is_some() && finalized {
        // It got the class while no manager ran. As upstream, what it had stays until the Service goes.
        return (own.len() > 1).then(|| format!("{name} has {} load balancers", own.len()));
    }
    if !is_balancer || spec.load_balancer_class.is_some() {
        let clean = own.is_empty() && !finalized && ingress(service).is_empty();
        return (!clean).then(|| format!("{name} wants none and has {own:?}, finalizer {finalized}"));
    }
    let [balancer] = own else { return Some(format!("{name} has {} load balancers", own.len())) };
    let mut listeners: Vec<_> = balancer.listeners.iter().map(|listener| listener.port.clone()).collect();
    listeners.sort();
    if !finalized {
        Some(format!("{name} has no finalizer"))
    } else if listeners != ports(service) {
        Some(format!("{name} has {listeners:?}, not {:?}", ports(service)))
    } else if balancer.settings != settings(service) {
        Some(format!("{name} has {:?}, not {:?}", balancer.settings, settings(service)))
    } else if balancer.hosts != *hosts {
        let wrong: Vec<_> =
            hosts.iter().filter(|(node, host)| balancer.hosts.get(*node) != Some(host)).collect();
        Some(format!(
            "{name} has {} hosts, not {}; missing or other: {wrong:?}",
            balancer.hosts.len(),
            hosts.len()
        ))
    } else if ingress(service) != [balancer.address.to_string()] {
        Some(format!("{name} shows {:?}, not {}", ingress(service), balancer.address))
    } else {
        None
    }
}

/// All nodes but those that a person took out.
fn hosts(nodes: &BTreeMap<String, Node>) -> Hosts {
    let included = nodes.iter().filter(|(_, node)| label(node, EXCLUDE).is_none());
    let known = |node| host(provider_id(node), addresses(node));
    included.map(|(name, node)| (name.clone(), known(node))).collect()
}

fn ingress(service: &Service) -> Vec<String> {
    let status = service.status.clone().and_then(|status| status.load_balancer).unwrap_or_default();
    status.ingress.unwrap_or_default().into_iter().filter_map(|ingress| ingress.ip).collect()
}

fn ports(service: &Service) -> Vec<Port> {
    let number = |port: i32| u16::try_from(port).unwrap_or_default();
    let ports = service.spec.as_ref().and_then(|spec| spec.ports.clone()).unwrap_or_default();
    let port = |port: k8s_openapi::api::core::v1::ServicePort| Port {
        protocol: port.protocol.unwrap_or_default(),
        port: number(port.port),
        name: port.name,
        node_port: port.node_port.map(number).filter(|port| *port != 0),
        target_port: port.target_port.map(|target| match target {
            IntOrString::Int(number) => number.to_string(),
            IntOrString::String(name) => name,
        }),
        app_protocol: port.app_protocol,
    };
    let mut ports: Vec<_> = ports.into_iter().map(port).collect();
    ports.sort();
    ports
}

fn settings(service: &Service) -> Settings {
    let spec = service.spec.clone().unwrap_or_default();
    let timeout = spec.session_affinity_config.and_then(|config| config.client_ip?.timeout_seconds);
    let fields = [
        ("sourceRanges", spec.load_balancer_source_ranges.unwrap_or_default().join(",")),
        ("sessionAffinity", spec.session_affinity.unwrap_or_default()),
        ("sessionAffinityTimeout", timeout.map(|seconds| seconds.to_string()).unwrap_or_default()),
        ("loadBalancerIP", spec.load_balancer_ip.unwrap_or_default()),
        ("externalIPs", spec.external_ips.unwrap_or_default().join(",")),
        ("externalTrafficPolicy", spec.external_traffic_policy.unwrap_or_default()),
        (
            "healthCheckNodePort",
            spec.health_check_node_port
                .filter(|port| *port != 0)
                .map(|port| port.to_string())
                .unwrap_or_default(),
        ),
        ("ipFamilies", spec.ip_families.unwrap_or_default().join(",")),
    ];
    let mut settings: Settings = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    let annotations = service.metadata.annotations.clone().unwrap_or_default();
    settings.extend(annotations.into_iter().map(|(key, value)| (format!("annotation {key}"), value)));
    settings
}

/// No Service, no load balancer.
pub(super) async fn nothing_left(world: &World) -> anyhow::Result<Problems> {
    let services = list_services(world).await?;
    let mut problems: Problems =
        services.iter().map(|service| format!("{} is still there", service.name_any())).collect();
    world.cloud.with(|cloud| {
        problems.extend(
            cloud.balancers.values().map(|balancer| format!("load balancer {} is left", balancer.id)),
        );
    });
    Ok(problems)
}

/// For each Service that was ever served: made once, one listener, one set of hosts, listener and itself removed once; and
/// each route made once, and removed if it is not there any more.
pub(super) fn least_changes(cloud: &Cloud) -> usize {
    let made = |what| cloud.record.changes.get(what).copied().unwrap_or_default();
    5 * cloud.record.served.len() + made("create route") + made("delete route")
}

/// No load balancer and no route more than was asked for, and as many removed as made.
pub(super) fn calls(world: &World, services: &Lived) -> anyhow::Result<()> {
    world.cloud.with(|cloud| {
        let made = |what| cloud.record.changes.get(what).copied().unwrap_or_default();
        let (created, deleted) = (made("create balancer"), made("delete balancer"));
        ensure!(created == deleted, "{created} load balancers were made, {deleted} removed");
        ensure!(
            created <= services.wanted,
            "{created} load balancers were made, but only {} were wanted",
            services.wanted
        );
        let (created, deleted, left) = (made("create route"), made("delete route"), cloud.routes.len());
        ensure!(
            created == deleted + left,
            "{created} routes were made, {deleted} removed and {left} are left"
        );
        Ok(())
    })
}
