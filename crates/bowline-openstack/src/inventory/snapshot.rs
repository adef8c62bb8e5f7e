//! What was read of a project, put together. Pure.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use jiff::Timestamp;
use openstack_client::network::PortAddresses;
use openstack_client::{NetworkId, PortId, ServerId};
use tokio::time::Instant;

use super::seen::{SeenPort, SeenServer};
use crate::instances::addresses::AddressRules;
use crate::instances::metadata::{self, FlavorNames};

/// A server with what belongs to it.
#[derive(Debug, Clone)]
pub struct Machine {
    /// The server.
    pub server: SeenServer,
    /// Its ports, in Neutron's order.
    pub ports: Box<[SeenPort]>,
    /// The sub-ports that trunks on its ports carry, each with the name of its network.
    pub carried: Box<[(String, SeenPort)]>,
    /// Its instance type; none if its flavor cannot be read.
    pub instance_type: Option<Box<str>>,
}

impl Machine {
    /// Its addresses by these rules.
    #[must_use]
    pub fn addresses(&self, rules: &AddressRules) -> Vec<bowline_cloud::NodeAddress> {
        let ports: Vec<&SeenPort> = self.ports.iter().collect();
        let carried: Vec<(&str, &SeenPort)> =
            self.carried.iter().map(|(network, port)| (network.as_str(), port)).collect();
        rules.addresses(&self.server, &ports, &carried)
    }
}

/// How many calls something takes: one for each page.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Calls {
    /// The list of servers.
    pub servers: usize,
    /// The list of ports.
    pub ports: usize,
}

impl Calls {
    /// Both.
    #[must_use]
    pub fn all(self) -> usize {
        self.servers + self.ports
    }
}

/// The machines of a project, or some of them: as they were listed, and as they are by what changed since.
#[derive(Debug, Clone)]
pub struct Snapshot {
    begun: Instant,
    calls: Calls,
    listed: Arc<Machines>,
    changes: Option<Changes>,
    /// Whether it is of a whole project, and changes can be asked for.
    can_change: bool,
}

/// What was told of servers that changed since all were listed. It is always told from then on, so that the last telling says it all.
#[derive(Debug, Clone)]
pub(super) struct Changes {
    /// When it was asked for.
    pub(super) begun: Instant,
    /// From which time of the cloud on.
    pub(super) from: Timestamp,
    /// How many calls it took to list the servers.
    pub(super) calls: usize,
    /// Those that are there.
    pub(super) machines: Machines,
    /// Those that are not there any more.
    pub(super) gone: BTreeSet<ServerId>,
}

/// Machines in order.
#[derive(Debug, Clone)]
pub(super) struct Machines {
    /// In the order of their ids: one piece of memory, without the room that a tree keeps free.
    machines: Box<[Machine]>,
    /// Their places in the order of their names in small letters: names of Nodes have no others.
    by_name: Box<[usize]>,
}

impl Machines {
    pub(super) fn new(mut machines: Vec<Machine>) -> Self {
        machines.sort_by(|one, other| one.server.id.cmp(&other.server.id));
        let machines = machines.into_boxed_slice();
        let name = |place: &usize| machines.get(*place).map_or("", |machine| &machine.server.name);
        let mut by_name: Box<[usize]> = (0..machines.len()).collect();
        by_name.sort_by(|one, other| small_letters(name(one)).cmp(small_letters(name(other))));
        Self { machines, by_name }
    }

    fn by_id(&self, id: &ServerId) -> Option<&Machine> {
        let place = self.machines.binary_search_by(|machine| machine.server.id.cmp(id)).ok()?;
        self.machines.get(place)
    }

    /// Those whose names differ from this one in capital letters at most.
    fn alike<'a>(&'a self, name: &str) -> impl Iterator<Item = &'a Machine> {
        let machine = |place: &usize| self.machines.get(*place);
        let is_before = |place: &usize| {
            machine(place).is_some_and(|machine| small_letters(&machine.server.name).lt(small_letters(name)))
        };
        let named = self.by_name.iter().skip(self.by_name.partition_point(is_before)).filter_map(machine);
        named.take_while(|machine| machine.server.name.eq_ignore_ascii_case(name))
    }
}

impl Changes {
    fn tells_of(&self, id: &ServerId) -> bool {
        self.gone.contains(id) || self.machines.by_id(id).is_some()
    }
}

impl Snapshot {
    /// Some machines. What has changed of a few is not asked for.
    pub(super) fn new(begun: Instant, machines: Vec<Machine>) -> Self {
        let listed = Arc::new(Machines::new(machines));
        Self { begun, calls: Calls::default(), listed, changes: None, can_change: false }
    }

    /// When the list of its servers began: what happened since is not in it, or may not be, but for what [`seen_at`](Self::seen_at)
    /// tells.
    #[must_use]
    pub fn begun(&self) -> Instant {
        self.begun
    }

    /// From when what it shows of a server is: from when all were listed, or from when it was told that this one had changed.
    #[must_use]
    pub fn seen_at(&self, id: &ServerId) -> Instant {
        let changed = self.changes.as_ref().filter(|changes| changes.machines.by_id(id).is_some());
        changed.map_or(self.begun, |changes| changes.begun)
    }

    /// When it was last asked what there is: for all or for what has changed.
    pub(super) fn asked_at(&self) -> Instant {
        self.changes.as_ref().map_or(self.begun, |changes| changes.begun)
    }

    /// How many calls it took, and the next one will take.
    #[must_use]
    pub fn calls(&self) -> Calls {
        self.calls
    }

    /// The same as a whole project, knowing what it took.
    pub(super) fn of_all(self, calls: Calls) -> Self {
        Self { calls, can_change: true, ..self }
    }

    /// How many calls it will take, as far as is known, to list what has changed from a time of the cloud on; none where it must
    /// not be asked.
    pub(super) fn calls_for_changes(&self, from: Timestamp) -> Option<usize> {
        let as_much = self.changes.as_ref().filter(|changes| changes.from >= from);
        self.can_change.then(|| as_much.map_or(1, |changes| changes.calls))
    }

    /// The same with what has changed. What was told before is told again, if it still holds.
    pub(super) fn with(&self, changes: Changes) -> Self {
        let (begun, calls, listed) = (self.begun, self.calls, Arc::clone(&self.listed));
        Self { begun, calls, listed, changes: Some(changes), can_change: self.can_change }
    }

    /// The same, of which no changes can be had.
    pub(super) fn unchanging(&self) -> Self {
        Self { can_change: false, ..self.clone() }
    }

    /// Servers alone: nothing is known of their ports and their types.
    pub(crate) fn of_servers(begun: Instant, servers: Vec<SeenServer>) -> Self {
        Self::new(begun, machines(servers, &[], &BTreeMap::new(), &FlavorNames::new()))
    }

    /// The machine with this id.
    #[must_use]
    pub fn by_id(&self, id: &ServerId) -> Option<&Machine> {
        match self.changes.as_ref().filter(|changes| changes.tells_of(id)) {
            Some(changes) => changes.machines.by_id(id),
            None => self.listed.by_id(id),
        }
    }

    /// The machines of a Node's name: those of exactly this name, or else those whose name differs in capital letters only,
    /// which hosts write small.
    #[must_use]
    pub fn by_name(&self, name: &str) -> Vec<&Machine> {
        let is_told = |id: &ServerId| self.changes.as_ref().is_some_and(|changes| changes.tells_of(id));
        let changed = self.changes.iter().flat_map(|changes| changes.machines.alike(name));
        let listed = self.listed.alike(name).filter(|machine| !is_told(&machine.server.id));
        let alike: Vec<&Machine> = changed.chain(listed).collect();
        let exact: Vec<&Machine> =
            alike.iter().copied().filter(|machine| *machine.server.name == *name).collect();
        if exact.is_empty() { alike } else { exact }
    }

    /// The machine of a server that changed, with the ports that it had when all were listed. None if it was not there then, if it tells
    /// that it has others now, or if they were not in use yet.
    pub(super) fn with_listed_ports(&self, server: &SeenServer) -> Option<Machine> {
        let old = self.listed.by_id(&server.id)?;
        let same = old.server.addresses == server.addresses && old.server.flavor == server.flavor;
        let in_use = !old.ports.is_empty() && old.ports.iter().all(|port| port.is_active);
        (same && in_use).then(|| Machine { server: server.clone(), ..old.clone() })
    }
}

/// Servers with what belongs to them, in the order of their ids.
pub(super) fn machines(
    servers: Vec<SeenServer>,
    ports: &[PortAddresses],
    networks: &BTreeMap<NetworkId, String>,
    flavors: &FlavorNames,
) -> Vec<Machine> {
    let carried = carried_ports(ports);
    let mut by_device: BTreeMap<&str, Vec<&PortAddresses>> = BTreeMap::new();
    for port in ports.iter().filter(|port| !port.device_id.is_empty()) {
        by_device.entry(port.device_id.as_str()).or_default().push(port);
    }
    let machine = |server: SeenServer| {
        let ports = by_device.get(server.id.as_str()).map(Vec::as_slice).unwrap_or_default();
        Machine {
            ports: ports.iter().map(|port| SeenPort::from(*port)).collect(),
            carried: carried_by(ports, &carried, networks),
            instance_type: metadata::instance_type(&server.flavor, flavors).map(String::into_boxed_str),
            server,
        }
    };
    in_order(servers).into_iter().map(machine).collect()
}

fn small_letters(name: &str) -> impl Iterator<Item = u8> {
    name.bytes().map(|byte| byte.to_ascii_lowercase())
}

/// The servers in the order of their ids. Pages may show one twice when the list changes between them; the last time counts.
pub(super) fn in_order(mut servers: Vec<SeenServer>) -> Vec<SeenServer> {
    servers.reverse();
    servers.sort_by(|one, other| one.id.cmp(&other.id));
    servers.dedup_by(|later, first| later.id == first.id);
    servers
}

/// The ports that are carried by others.
fn carried_ports(ports: &[PortAddresses]) -> BTreeMap<&PortId, &PortAddresses> {
    let wanted: BTreeSet<&PortId> = ports
        .iter()
        .flat_map(|port| &port.trunk_details.sub_ports)
        .map(|sub_port| &sub_port.port_id)
        .collect();
    let carried = ports.iter().filter(|port| wanted.contains(&port.id));
    carried.map(|port| (&port.id, port)).collect()
}

/// The sub-ports of `ports`, in order. One that could not be read, or whose network could not, is left out.
fn carried_by(
    ports: &[&PortAddresses],
    carried: &BTreeMap<&PortId, &PortAddresses>,
    networks: &BTreeMap<NetworkId, String>,
) -> Box<[(String, SeenPort)]> {
    let sub_ports = ports.iter().flat_map(|port| &port.trunk_details.sub_ports);
    let known = sub_ports.filter_map(|sub_port| {
        let port = *carried.get(&sub_port.port_id)?;
        Some((networks.get(&port.network_id)?.clone(), SeenPort::from(port)))
    });
    known.collect()
}
