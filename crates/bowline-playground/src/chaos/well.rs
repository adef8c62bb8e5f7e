//! Whether all is as people want it: from the cluster and the cloud themselves, not from what the manager says.

use std::collections::BTreeSet;

use k8s_openapi::api::core::v1::{Node, Service};

use crate::cluster::{address, is_ready, is_tainted};
use crate::stage::Stage;

/// What is not as wanted, if anything.
pub(crate) fn trouble(stage: &Stage) -> Option<String> {
    let nodes = stage.cluster.nodes().list().unwrap_or_default();
    let services = stage.cluster.services().list().unwrap_or_default();
    let services: Vec<&Service> = services.iter().filter(|service| is_balanced(service)).collect();
    of_nodes(stage, &nodes).or_else(|| of_services(stage, &nodes, &services))
}

fn of_nodes(stage: &Stage, nodes: &[Node]) -> Option<String> {
    let machines: BTreeSet<String> =
        stage.cloud.machines("").into_iter().map(|machine| machine.name).collect();
    let names: BTreeSet<String> = nodes.iter().filter_map(|node| node.metadata.name.clone()).collect();
    if machines != names {
        return Some(format!("there are the servers {machines:?} and the Nodes {names:?}"));
    }
    let lost = nodes.iter().find(|node| is_tainted(node) || !is_ready(node))?;
    Some(format!("node {} is not initialised or not ready", lost.metadata.name.clone().unwrap_or_default()))
}

fn of_services(stage: &Stage, nodes: &[Node], services: &[&Service]) -> Option<String> {
    let wanted: BTreeSet<String> = nodes.iter().filter_map(internal_ip).collect();
    let balancers = stage.cloud.balancers();
    if balancers.len() != services.len() {
        return Some(format!("there are {} Services and {} load balancers", services.len(), balancers.len()));
    }
    let floating: BTreeSet<String> = stage.cloud.floating_ips().into_iter().collect();
    if floating.len() != services.len() {
        return Some(format!("there are {} Services and {} floating IPs", services.len(), floating.len()));
    }
    for service in services {
        let name = service.metadata.name.clone().unwrap_or_default();
        if service.metadata.deletion_timestamp.is_some() {
            return Some(format!("Service {name} is still there"));
        }
        let Some(address) = address(service) else { return Some(format!("Service {name} has no address")) };
        if !floating.contains(&address) {
            return Some(format!("the address {address} of Service {name} is not in the cloud"));
        }
        let full = format!("kube_service_kubernetes_default_{name}");
        let Some(balancer) = balancers.iter().find(|balancer| balancer.name == full) else {
            return Some(format!("Service {name} has no load balancer"));
        };
        if balancer.provisioning_status != "ACTIVE" {
            return Some(format!("the load balancer of Service {name} is {}", balancer.provisioning_status));
        }
        let members: BTreeSet<String> = stage.cloud.members(&balancer.id).into_iter().collect();
        if stage.cloud.listeners(&balancer.id) != 1 || members != wanted {
            return Some(format!(
                "the load balancer of Service {name} has the members {members:?}, not {wanted:?}"
            ));
        }
    }
    None
}

fn is_balanced(service: &Service) -> bool {
    service.spec.as_ref().is_some_and(|spec| spec.type_.as_deref() == Some("LoadBalancer"))
}

fn internal_ip(node: &Node) -> Option<String> {
    let addresses = node.status.as_ref()?.addresses.as_ref()?;
    Some(addresses.iter().find(|address| address.type_ == "InternalIP")?.address.clone())
}
