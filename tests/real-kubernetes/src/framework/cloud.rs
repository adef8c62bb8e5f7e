//! The cloud itself: what there is, and a record of what was done to it. Pure; it refuses nothing that a real cloud would
//! do, and takes down what a right manager never asks for.

pub mod record;

use std::collections::{BTreeMap, BTreeSet};
use std::net::Ipv4Addr;

use crate::framework::protocol::{Balancer, Call, Listener, Machine, Reply, Request, Route};
pub use record::Record;

/// All that there is.
#[derive(Debug, Default)]
pub struct Cloud {
    /// The machines, by id. Tests change them.
    pub machines: BTreeMap<String, Machine>,
    /// The load balancers, by id.
    pub balancers: BTreeMap<u64, Balancer>,
    /// The routes, by id.
    pub routes: BTreeMap<u64, Route>,
    /// What was asked, and what should not have been.
    pub record: Record,
    last_id: u64,
}

impl Cloud {
    /// Does what it is asked to.
    pub fn answer(&mut self, request: Request) -> Reply {
        self.record.count(&request);
        match request.call {
            Call::Machines => Reply::Machines(self.machines.values().cloned().collect()),
            Call::Machine { id } => Reply::Machine(self.machines.get(&id).cloned()),
            Call::Balancers { owners } => Reply::Balancers(self.balancers_of(&owners)),
            Call::Routes => Reply::Routes(self.routes.values().cloned().collect()),
            Call::CreateRoute { node, destination } => {
                if self.routes.values().any(|route| route.destination == destination) {
                    self.record.wrong(format!("a second route to {destination}"));
                }
                let id = self.next_id();
                self.routes.insert(id, Route { id, node, destination });
                Reply::Done
            }
            Call::DeleteRoute { route } => {
                let gone = self.routes.remove(&route).is_some();
                self.done_if(gone, "delete of a route that is not there")
            }
            call => self.change_balancer(call),
        }
    }

    fn balancers_of(&self, owners: &[String]) -> Vec<Balancer> {
        let owners: BTreeSet<_> = owners.iter().collect();
        self.balancers.values().filter(|balancer| owners.contains(&balancer.owner)).cloned().collect()
    }

    fn next_id(&mut self) -> u64 {
        self.last_id += 1;
        self.last_id
    }

    fn done_if(&mut self, done: bool, else_wrong: &str) -> Reply {
        if done {
            return Reply::Done;
        }
        self.record.wrong(else_wrong.to_owned());
        Reply::Missing
    }

    fn create_balancer(
        &mut self,
        owner: String,
        name: String,
        settings: crate::framework::protocol::Settings,
    ) -> Reply {
        if self.balancers.values().any(|balancer| balancer.owner == owner) {
            self.record.wrong(format!("a second load balancer for Service {owner}"));
        }
        self.record.served.insert(owner.clone());
        let id = self.next_id();
        let address = Ipv4Addr::from(0xC612_0000 + u32::try_from(id).unwrap_or(u32::MAX) % 0xFFFF);
        let (hosts, listeners) = Default::default();
        self.balancers.insert(id, Balancer { id, owner, name, address, settings, hosts, listeners });
        Reply::Done
    }

    /// A change of a load balancer, by the Service that it was made for.
    fn change_balancer(&mut self, call: Call) -> Reply {
        match call {
            Call::CreateBalancer { owner, name, settings } => self.create_balancer(owner, name, settings),
            Call::DeleteBalancer { balancer, owner } => {
                let there = self.owned(balancer, &owner).is_some();
                self.balancers.remove(&balancer);
                self.done_if(there, "delete of a load balancer that is not there")
            }
            Call::SetSettings { balancer, owner, settings } => self.replace(balancer, &owner, |balancer| {
                std::mem::replace(&mut balancer.settings, settings.clone()) != settings
            }),
            Call::SetHosts { balancer, owner, hosts } => self.replace(balancer, &owner, |balancer| {
                std::mem::replace(&mut balancer.hosts, hosts.clone()) != hosts
            }),
            Call::CreateListener { balancer, owner, port } => self.create_listener(balancer, &owner, port),
            Call::SetListener { balancer, listener, owner, port } => {
                self.replace(balancer, &owner, |balancer| {
                    let found = balancer.listeners.iter_mut().find(|there| there.id == listener);
                    found.is_some_and(|there| std::mem::replace(&mut there.port, port.clone()) != port)
                })
            }
            Call::DeleteListener { balancer, listener, owner } => {
                self.replace(balancer, &owner, |balancer| {
                    let before = balancer.listeners.len();
                    balancer.listeners.retain(|there| there.id != listener);
                    balancer.listeners.len() < before
                })
            }
            _read_or_route => Reply::Missing,
        }
    }

    fn create_listener(
        &mut self,
        balancer: u64,
        owner: &str,
        port: crate::framework::protocol::Port,
    ) -> Reply {
        let id = self.next_id();
        let Some(there) = self.owned(balancer, owner) else { return Reply::Missing };
        let same = |listener: &Listener| {
            (&listener.port.protocol, listener.port.port) == (&port.protocol, port.port)
        };
        let double = there.listeners.iter().any(same);
        let words = format!("a second listener for {} {} of Service {owner}", port.protocol, port.port);
        there.listeners.push(Listener { id, port });
        if double {
            self.record.wrong(words);
        }
        Reply::Done
    }

    /// Changes a load balancer; a change that changes nothing is taken down.
    fn replace(&mut self, balancer: u64, owner: &str, change: impl FnOnce(&mut Balancer) -> bool) -> Reply {
        let Some(there) = self.owned(balancer, owner) else { return Reply::Missing };
        if !change(there) {
            self.record.wrong(format!("a change that changes nothing, for Service {owner}"));
        }
        Reply::Done
    }

    fn owned(&mut self, balancer: u64, owner: &str) -> Option<&mut Balancer> {
        match self.balancers.get_mut(&balancer) {
            Some(there) => {
                if there.owner != owner {
                    let words = format!("Service {owner} changes the load balancer of {}", there.owner);
                    self.record.wrong(words);
                }
                Some(there)
            }
            None => {
                self.record
                    .wrong(format!("Service {owner} changes load balancer {balancer}, which is not there"));
                None
            }
        }
    }
}

#[cfg(test)]
mod tests;
