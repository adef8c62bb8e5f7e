//! Security groups: what is wanted and planned in memory, and all of it on the simulator.

mod plan;
mod simulated;
mod wanted;

use std::sync::Arc;

use bowline_cloud::{
    AddressKind, IpFamily, NodeAddress, NodeSet, NodeView, Protocol, ServicePort, ServiceType, ServiceView,
};
use openstack_client::network::Port;
use serde_json::json;

use crate::config::CloudConf;
use crate::loadbalancer::features::{ApiVersion, Features};
use crate::loadbalancer::intent::{Intent, Surroundings};

const UID: &str = "11111111-2222-3333-4444-555555555555";
const NAME: &str = "lb-sg-11111111-2222-3333-4444-555555555555-default-web";

/// A Service with one TCP port.
fn service() -> ServiceView {
    ServiceView {
        namespace: "default".into(),
        name: "web".into(),
        uid: UID.into(),
        kind: ServiceType::LoadBalancer,
        ports: vec![service_port(Protocol::Tcp, 80, 30080)],
        ip_families: vec![IpFamily::V4],
        ..ServiceView::default()
    }
}

fn service_port(protocol: Protocol, port: u16, node_port: u16) -> ServicePort {
    ServicePort { protocol, port, node_port: Some(node_port), ..ServicePort::default() }
}

fn intent(service: &ServiceView) -> Intent {
    let conf = CloudConf::default();
    let features = Features::of("amphora", ApiVersion(2, 27));
    let around =
        Surroundings { cluster: "held", config: &conf.load_balancer, classes: &conf.classes, features };
    Intent::of(service, &around).unwrap()
}

fn node(name: &str, server: Option<&str>, addresses: &[&str]) -> NodeView {
    let internal = |address: &&str| NodeAddress::new(AddressKind::InternalIP, *address);
    NodeView {
        name: name.into(),
        provider_id: server.map(|server| format!("openstack:///{server}").into()),
        addresses: addresses.iter().map(internal).collect(),
        ..NodeView::default()
    }
}

fn nodes(nodes: impl IntoIterator<Item = NodeView>) -> NodeSet {
    let nodes = nodes.into_iter().map(|node| (node.name.clone(), Arc::new(node)));
    NodeSet { epoch: 1, nodes: Arc::new(nodes.collect()), ..NodeSet::default() }
}

/// A port of a server, with one address in a subnet and these groups.
fn port(id: &str, server: &str, (subnet, address): (&str, &str), groups: &[&str]) -> Port {
    serde_json::from_value(json!({
        "id": id, "network_id": "net", "device_id": server, "device_owner": "compute:nova",
        "fixed_ips": [{"subnet_id": subnet, "ip_address": address}],
        "security_groups": groups, "port_security_enabled": true, "revision_number": 7,
    }))
    .unwrap()
}
