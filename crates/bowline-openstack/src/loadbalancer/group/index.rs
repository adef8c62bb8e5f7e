//! Ports, found by what they belong to and by the groups that they have: thousands of Nodes times thousands of Services must not
//! be searched one by one.

use std::collections::BTreeMap;

use openstack_client::SecurityGroupId;
use openstack_client::network::Port;

use super::Target;

/// Ports, by what they are looked for.
pub(super) struct Index<'p> {
    ports: &'p [Port],
    by_device: BTreeMap<&'p str, Vec<&'p Port>>,
    by_group: BTreeMap<&'p str, Vec<&'p Port>>,
}

impl<'p> Index<'p> {
    pub(super) fn of(ports: &'p [Port]) -> Self {
        let mut index = Self { ports, by_device: BTreeMap::new(), by_group: BTreeMap::new() };
        for port in ports {
            index.by_device.entry(port.device_id.as_str()).or_default().push(port);
            for group in port.security_groups.iter().flatten() {
                index.by_group.entry(group.as_str()).or_default().push(port);
            }
        }
        index
    }

    /// The ports that have a group.
    pub(super) fn having(&self, group: &SecurityGroupId) -> impl Iterator<Item = &'p Port> {
        self.by_group.get(group.as_str()).into_iter().flatten().copied()
    }

    /// The ports at which a Node is reached.
    pub(super) fn owned_by<'i>(&'i self, target: &'i Target) -> impl Iterator<Item = &'p Port> + use<'i, 'p> {
        let (of_server, all) = match &target.server {
            Some(server) => (self.by_device.get(server.as_str()), None),
            None => (None, Some(self.ports.iter())),
        };
        let of_server = of_server.into_iter().flatten().copied();
        of_server.chain(all.into_iter().flatten()).filter(|port| target.owns(port))
    }
}
