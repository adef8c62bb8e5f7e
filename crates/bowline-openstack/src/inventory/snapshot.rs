//! What was read of a project, put together. Pure.

use std::collections::BTreeMap;

use openstack_client::compute::Server;
use openstack_client::network::Port;
use openstack_client::{NetworkId, PortId, ServerId};
use tokio::time::Instant;

use super::PAGE_SIZE;
use crate::instances::addresses::AddressRules;
use crate::instances::metadata::{self, FlavorNames};

/// A server with what belongs to it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The server.
    pub server: Server,
    /// Its ports, in Neutron's order.
    pub ports: Vec<Port>,
    /// The sub-ports that trunks on its ports carry, each with the name of its network.
    pub carried: Vec<(String, Port)>,
    /// Its instance type; none if its flavor cannot be read.
    pub instance_type: Option<String>,
}

impl Machine {
    /// Its addresses by these rules.
    #[must_use]
    pub fn addresses(&self, rules: &AddressRules) -> Vec<bowline_cloud::NodeAddress> {
        let ports: Vec<&Port> = self.ports.iter().collect();
        let carried: Vec<(&str, &Port)> =
            self.carried.iter().map(|(network, port)| (network.as_str(), port)).collect();
        rules.addresses(&self.server, &ports, &carried)
    }
}

/// The machines of a project.
#[derive(Debug, Clone)]
pub struct Snapshot {
    begun: Instant,
    calls: usize,
    machines: BTreeMap<ServerId, Machine>,
    /// By name in small letters: names of Nodes have no others.
    names: BTreeMap<String, Vec<ServerId>>,
}

impl Snapshot {
    pub(super) fn new(
        begun: Instant,
        servers: Vec<Server>,
        ports: Vec<Port>,
        networks: &BTreeMap<NetworkId, String>,
        flavors: &FlavorNames,
    ) -> Self {
        let carried = carried_ports(&ports);
        let calls = [servers.len(), ports.len()].map(|count| (count / PAGE_SIZE as usize) + 1).iter().sum();
        let mut by_device: BTreeMap<String, Vec<Port>> = BTreeMap::new();
        for port in ports.into_iter().filter(|port| !port.device_id.is_empty()) {
            by_device.entry(port.device_id.clone()).or_default().push(port);
        }
        let mut snapshot = Self { begun, calls, machines: BTreeMap::new(), names: BTreeMap::new() };
        for server in servers {
            let ports = by_device.remove(server.id.as_str()).unwrap_or_default();
            let carried = carried_by(&ports, &carried, networks);
            let instance_type = metadata::instance_type(&server.flavor, flavors);
            snapshot.insert(Machine { server, ports, carried, instance_type });
        }
        snapshot
    }

    /// When its reading began: what happened since is not in it, or may not be.
    #[must_use]
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// About how many calls the like of it costs: one for each page.
    #[must_use]
    pub fn calls(&self) -> usize {
        self.calls
    }

    /// Pages may show a server twice when the list changes between them.
    fn insert(&mut self, machine: Machine) {
        let id = machine.server.id.clone();
        let named = self.names.entry(machine.server.name.to_ascii_lowercase()).or_default();
        if !named.contains(&id) {
            named.push(id.clone());
        }
        self.machines.insert(id, machine);
    }

    /// The machine with this id.
    #[must_use]
    pub fn by_id(&self, id: &ServerId) -> Option<&Machine> {
        self.machines.get(id)
    }

    /// The machines of a Node's name: those of exactly this name, or else those whose name differs in capital letters only,
    /// which hosts write small.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Vec<&Machine> {
        let ids = self.names.get(&name.to_ascii_lowercase()).into_iter().flatten();
        let alike: Vec<&Machine> = ids.filter_map(|id| self.machines.get(id)).collect();
        let exact: Vec<&Machine> =
            alike.iter().copied().filter(|machine| machine.server.name == name).collect();
        if exact.is_empty() { alike } else { exact }
    }

    /// Takes a machine out.
    pub(super) fn take(&mut self, id: &ServerId) -> Option<Machine> {
        self.machines.remove(id)
    }
}

/// The ports that are carried by others.
fn carried_ports(ports: &[Port]) -> BTreeMap<PortId, Port> {
    let wanted: std::collections::BTreeSet<&PortId> = ports
        .iter()
        .flat_map(|port| &port.trunk_details.sub_ports)
        .map(|sub_port| &sub_port.port_id)
        .collect();
    let carried = ports.iter().filter(|port| wanted.contains(&port.id));
    carried.map(|port| (port.id.clone(), port.clone())).collect()
}

/// The sub-ports of `ports`, in order. One that could not be read, or whose network could not, is left out.
fn carried_by(
    ports: &[Port],
    carried: &BTreeMap<PortId, Port>,
    networks: &BTreeMap<NetworkId, String>,
) -> Vec<(String, Port)> {
    let sub_ports = ports.iter().flat_map(|port| &port.trunk_details.sub_ports);
    let known = sub_ports.filter_map(|sub_port| {
        let port = carried.get(&sub_port.port_id)?;
        Some((networks.get(&port.network_id)?.clone(), port.clone()))
    });
    known.collect()
}
