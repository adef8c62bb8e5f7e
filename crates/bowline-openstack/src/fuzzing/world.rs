//! A cloud as small as can be: it refuses what Octavia and Neutron refuse, and finishes its work when it is told to.

mod group;
mod parts;

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bowline_cloud::{LoadBalancerStatus, Plan, Planned};
use openstack_client::FloatingIpId;
use openstack_client::load_balancer::{Listener, LoadBalancer, Member, ProvisioningStatus};
use openstack_client::network::FloatingIp;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use self::parts::{set, update_listener};
use super::scene::VIP_PORT;
use crate::loadbalancer::found::{
    Children, Found, FoundBalancer, FoundBy, FoundFloating, FoundPool, OfOther, Tree,
};
use crate::loadbalancer::group::FoundGroup;
use crate::loadbalancer::intent::Removal;
use crate::loadbalancer::names::Names;
use crate::loadbalancer::plan::{ensure, remove};
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::wanted::{Wanted, WantedAddress};

type LoadBalancerPlan = Plan<CloudStep, LoadBalancerStatus>;

/// The cloud, as far as it has to do with one Service.
#[derive(Debug, Clone)]
pub(crate) struct World {
    pub(crate) balancer: Option<LoadBalancer>,
    pub(crate) by: FoundBy,
    pub(crate) tree: Tree,
    pub(crate) floating: Vec<FloatingIp>,
    pub(crate) recover: bool,
    /// Whether the Service's status shows an address.
    pub(crate) published: bool,
    pub(crate) gone: bool,
    pub(crate) known_address: Option<IpAddr>,
    pub(crate) has_own: bool,
    pub(crate) is_vip_unique: bool,
    pub(crate) owner_may_want_it: bool,
    pub(crate) asked_owner: Option<String>,
    /// Floating IPs that belong to other Services.
    pub(crate) of_others: BTreeSet<FloatingIpId>,
    /// Floating IPs that are not proven to have been made for the Service.
    pub(crate) unproven: BTreeSet<FloatingIpId>,
    pub(crate) group: Option<FoundGroup>,
    pub(crate) twins: Vec<FoundBalancer>,
    pub(crate) vip: &'static str,
    /// What changed the cloud, in order.
    pub(crate) done: Vec<String>,
    pub(crate) version: u64,
    pub(crate) made: BTreeMap<&'static str, usize>,
}

pub(crate) fn from<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}

impl World {
    pub(crate) fn empty() -> Self {
        Self {
            balancer: None,
            by: FoundBy::Name,
            tree: Tree::default(),
            floating: Vec::new(),
            recover: false,
            published: true,
            gone: false,
            known_address: None,
            has_own: false,
            is_vip_unique: true,
            owner_may_want_it: false,
            asked_owner: None,
            of_others: BTreeSet::new(),
            unproven: BTreeSet::new(),
            group: None,
            twins: Vec::new(),
            vip: "10.0.0.100",
            done: Vec::new(),
            version: 0,
            made: BTreeMap::new(),
        }
    }

    /// What was found, as the whole of a cloud.
    pub(crate) fn found_as(found: &Found) -> Self {
        let there = found
            .balancer
            .clone()
            .filter(|there| there.balancer.provisioning_status != ProvisioningStatus::Deleted);
        let mut tree = match there.as_ref().map(|there| &there.children) {
            Some(Children::Known(tree)) => tree.clone(),
            _ => Tree::default(),
        };
        // Octavia has no listener whose pool is not there.
        for listener in &mut tree.listeners {
            let is_there =
                |id: &openstack_client::PoolId| tree.pools.iter().any(|found| found.pool.id == *id);
            listener.default_pool_id = listener.default_pool_id.take().filter(is_there);
        }
        let mut floating = found.floating.attached.clone();
        for one in found.floating.asked.iter().chain(&found.floating.left) {
            if !floating.iter().any(|known| known.id == one.id) {
                floating.push(one.clone());
            }
        }
        Self {
            by: there.as_ref().map_or(FoundBy::Name, |there| there.by),
            version: there.as_ref().map_or(0, |there| there.version),
            balancer: there.map(|there| there.balancer),
            tree,
            floating,
            recover: found.recover,
            published: found.is_published,
            gone: found.named_is_gone,
            known_address: found.known_address,
            has_own: found.has_own,
            is_vip_unique: found.is_vip_unique,
            owner_may_want_it: found.owner_may_want_it,
            asked_owner: found.floating.asked_owner.clone(),
            of_others: found.floating.of_others.iter().map(|other| other.floating.id.clone()).collect(),
            unproven: {
                let unattached = found.floating.asked.iter().chain(&found.floating.left);
                let unproven = unattached.filter(|one| !found.floating.proven.contains(&one.id));
                unproven.map(|one| one.id.clone()).collect()
            },
            group: found.group.clone(),
            twins: found.twins.clone(),
            // What is made from now on does not have the ids of what is there.
            made: ["lb", "listener", "pool", "member", "monitor", "fip", "rule"]
                .into_iter()
                .map(|kind| (kind, 1_000))
                .collect(),
            ..Self::empty()
        }
    }

    /// All that a Service wants, made at once, and nothing else.
    pub(crate) fn of(wanted: &Wanted) -> Self {
        let mut world = Self::empty();
        world.create_balancer(&wanted.new_balancer().whole());
        world.finish();
        if matches!(wanted.address, WantedAddress::Floating { .. }) {
            world.float("192.0.2.1", Some(VIP_PORT), &wanted.names.floating_ip_description());
        }
        world
    }

    pub(crate) fn float(&mut self, address: &str, port: Option<&str>, description: &str) {
        let id = self.next("fip");
        self.floating.push(from(json!({
            "id": id, "floating_ip_address": address, "floating_network_id": "public", "port_id": port,
            "description": description,
        })));
    }

    fn next(&mut self, kind: &'static str) -> String {
        let count = self.made.entry(kind).or_default();
        *count += 1;
        format!("{kind}-{count}")
    }

    pub(crate) fn lb(&mut self) -> &mut LoadBalancer {
        self.balancer.as_mut().unwrap()
    }

    /// The load balancer is in provisioning status ERROR, and it and its pools in this operating status.
    pub(crate) fn fails(&mut self, operating: &str) {
        let lb = self.lb();
        (lb.provisioning_status, lb.operating_status) = (ProvisioningStatus::Error, operating.into());
        self.tree.pools.iter_mut().for_each(|found| found.pool.operating_status = operating.into());
    }

    pub(crate) fn listener(&mut self, port: u16) -> &mut Listener {
        self.tree.listeners.iter_mut().find(|listener| listener.protocol_port == port).unwrap()
    }

    pub(crate) fn pool(&mut self, at: usize) -> &mut FoundPool {
        &mut self.tree.pools[at]
    }

    /// A listener of somebody, without a pool.
    pub(crate) fn foreign_listener(&mut self, protocol: &str, port: u16, tags: &[&str]) {
        self.named_listener("", protocol, port, tags);
    }

    /// The same with a name.
    pub(crate) fn named_listener(&mut self, name: &str, protocol: &str, port: u16, tags: &[&str]) {
        let id = format!("foreign-{port}");
        let new =
            json!({ "id": id, "name": name, "protocol": protocol, "protocol_port": port, "tags": tags });
        self.tree.listeners.push(from(new));
    }

    /// A pool to which an L7 policy of the first listener leads, beside its default pool.
    pub(crate) fn l7_pool(&mut self, name: &str) {
        let mut pool = self.pool(0).clone();
        (pool.pool.id, pool.pool.name) = ("pool-9".parse().unwrap(), name.to_owned());
        pool.monitor = None;
        self.tree.pools.push(pool);
    }

    /// What the Service's owner sees of it.
    pub(crate) fn found(&self, wanted: &WantedAddress, names: &Names) -> Found {
        let asked = match wanted {
            WantedAddress::Floating { asked, .. } => *asked,
            WantedAddress::Own { .. } => None,
        };
        let pick = |fits: &dyn Fn(&FloatingIp) -> bool| {
            self.floating.iter().filter(|one| fits(one)).cloned().collect()
        };
        let description = names.floating_ip_description();
        let balancer = self.balancer.clone().map(|balancer| {
            let busy = balancer.provisioning_status.is_pending();
            let children = if busy { Children::Busy } else { Children::Known(self.tree.clone()) };
            FoundBalancer { balancer, by: self.by, children, version: self.version }
        });
        Found {
            balancer,
            named_is_gone: self.gone && self.balancer.is_none(),
            recover: self.recover,
            is_published: self.published,
            known_address: self.known_address,
            has_own: self.has_own,
            is_vip_unique: self.is_vip_unique,
            owner_may_want_it: self.owner_may_want_it,
            floating: FoundFloating {
                attached: pick(&|one| one.port_id.as_ref().is_some_and(|port| port.as_str() == VIP_PORT)),
                asked_owner: self.asked_owner.clone(),
                asked: self.floating.iter().find(|one| Some(one.floating_ip_address) == asked).cloned(),
                left: pick(&|one| one.port_id.is_none() && one.description == description),
                of_others: {
                    let of_others = pick(&|one| self.of_others.contains(&one.id));
                    let of_other =
                        |floating| OfOther { floating, why: "belongs to another Service".to_owned() };
                    of_others.into_iter().map(of_other).collect()
                },
                proven: {
                    let proven = pick(&|one| !self.unproven.contains(&one.id));
                    proven.into_iter().map(|one: FloatingIp| one.id).collect()
                },
            },
            group: self.group.clone(),
            twins: self.twins.clone(),
            ..Found::default()
        }
    }

    pub(crate) fn ensure(&self, wanted: &Wanted) -> LoadBalancerPlan {
        ensure(wanted, &self.found(&wanted.address, &wanted.names))
    }

    pub(crate) fn remove(&self, removal: &Removal) -> LoadBalancerPlan {
        let address = WantedAddress::Own { keep_floating_ip: false };
        remove(removal, &self.found(&address, &removal.names))
    }

    /// Octavia ends what it is at work on.
    pub(crate) fn finish(&mut self) {
        let Some(balancer) = &mut self.balancer else { panic!("nothing is at work") };
        match balancer.provisioning_status {
            ProvisioningStatus::PendingDelete => {
                self.balancer = None;
                self.tree = Tree::default();
                for floating in self.floating.iter_mut().filter(|one| one.port_id == VIP_PORT.parse().ok()) {
                    floating.port_id = None;
                }
            }
            ProvisioningStatus::PendingCreate | ProvisioningStatus::PendingUpdate => {
                balancer.provisioning_status = ProvisioningStatus::Active;
            }
            _ => panic!("nothing is at work"),
        }
    }

    /// Performs plans until there is nothing to do, or until a person must do something.
    pub(crate) fn run(&mut self, plan: impl Fn(&Self) -> LoadBalancerPlan) -> LoadBalancerPlan {
        for _round in 0..300 {
            match plan(self) {
                Plan::Act(steps) => self.perform(&steps[0]),
                Plan::Wait(_) => self.finish(),
                end => return end,
            }
        }
        panic!("no end after {:#?}", self.done);
    }

    pub(crate) fn settle(&mut self, wanted: &Wanted) -> LoadBalancerPlan {
        self.run(|world| world.ensure(wanted))
    }

    pub(crate) fn perform(&mut self, planned: &Planned<CloudStep>) {
        self.done.push(line(planned));
        if let Some(at) = self
            .twins
            .iter()
            .position(|twin| planned.step.on.as_ref().is_some_and(|on| on.id == twin.balancer.id))
        {
            assert!(matches!(planned.step.action, Action::DeleteBalancer { cascade: true, .. }));
            self.twins.remove(at);
            return;
        }
        if let Some(seen) = &planned.step.on {
            let balancer = self.balancer.as_ref().unwrap();
            assert_eq!((&seen.id, seen.version), (&balancer.id, self.version), "planned for something else");
            let deletes = matches!(planned.step.action, Action::DeleteBalancer { .. });
            let may = match balancer.provisioning_status {
                ProvisioningStatus::Active => true,
                ProvisioningStatus::Error => deletes,
                _ => false,
            };
            assert!(may, "{} refuses {}", balancer.provisioning_status, planned.step);
            self.version += 1;
            let next =
                if deletes { ProvisioningStatus::PendingDelete } else { ProvisioningStatus::PendingUpdate };
            self.lb().provisioning_status = next;
        }
        self.change(&planned.step.action);
    }

    fn change(&mut self, action: &Action) {
        match action.clone() {
            Action::CreateBalancer(new) => self.create_balancer(&new.whole()),
            Action::UpdateBalancer(change) => {
                let balancer = self.lb();
                balancer.name = change.name.unwrap_or_else(|| balancer.name.clone());
                balancer.tags = change.tags.unwrap_or_else(|| balancer.tags.clone());
            }
            Action::DeleteBalancer { cascade, .. } => {
                assert!(cascade || self.tree == Tree::default(), "there is something on it");
            }
            Action::CreateListener(new) => self.create_listener(&new),
            Action::UpdateListener(id, change) => {
                let listener = self.tree.listeners.iter_mut().find(|listener| listener.id == id).unwrap();
                update_listener(listener, *change);
            }
            Action::DeleteListener(id) => {
                let before = self.tree.listeners.len();
                self.tree.listeners.retain(|listener| listener.id != id);
                assert_eq!(self.tree.listeners.len() + 1, before, "no listener {id}");
                self.tree.pools.iter_mut().for_each(|found| found.pool.listeners.retain(|user| *user != id));
            }
            Action::CreatePool(new) => self.create_pool(&new),
            Action::UpdatePool(id, change) => {
                let pool = &mut self.tree.pools.iter_mut().find(|found| found.pool.id == id).unwrap().pool;
                pool.name = change.name.unwrap_or_else(|| pool.name.clone());
                pool.tags = change.tags.unwrap_or_else(|| pool.tags.clone());
                pool.lb_algorithm = change.lb_algorithm.unwrap_or_else(|| pool.lb_algorithm.clone());
                set(&mut pool.session_persistence, change.session_persistence);
            }
            Action::DeletePool(id) => {
                let before = self.tree.pools.len();
                self.tree.pools.retain(|found| found.pool.id != id);
                assert_eq!(self.tree.pools.len() + 1, before, "no pool {id}");
                for listener in &mut self.tree.listeners {
                    listener.default_pool_id = listener.default_pool_id.take().filter(|pool| *pool != id);
                }
            }
            Action::SetMembers { pool, members, .. } => {
                self.set_members(&pool.to_string(), &members.to_vec());
            }
            Action::CreateMember(pool, member) => {
                let new = self.member(&member);
                let found = self.pool_of(pool.as_str());
                let taken =
                    |old: &Member| (old.address, old.protocol_port) == (new.address, new.protocol_port);
                assert!(!found.members.to_vec().iter().any(taken), "the member is there already");
                found.members.change(|all| all.push(new));
            }
            Action::DeleteMember { pool, member, .. } => {
                let found = self.pool_of(pool.as_str());
                assert!(found.members.to_vec().iter().any(|old| old.id == member), "no member {member}");
                found.members.change(|all| all.retain(|old| old.id != member));
            }
            Action::CreateMonitor(new) => {
                let monitor = self.monitor(&new);
                let pool = self.pool_of(new.pool_id.as_ref().unwrap().as_str());
                assert!(pool.monitor.is_none(), "the pool has a monitor");
                pool.monitor = Some(monitor);
            }
            Action::UpdateMonitor(id, change) => {
                let mut monitors = self.tree.pools.iter_mut().filter_map(|found| found.monitor.as_mut());
                let monitor = monitors.find(|monitor| monitor.id == id).unwrap();
                monitor.name = change.name.unwrap_or_else(|| monitor.name.clone());
                monitor.delay = change.delay.unwrap_or(monitor.delay);
                monitor.timeout = change.timeout.unwrap_or(monitor.timeout);
                monitor.max_retries = change.max_retries.unwrap_or(monitor.max_retries);
                monitor.max_retries_down = change.max_retries_down.unwrap_or(monitor.max_retries_down);
                monitor.url_path = change.url_path.or(monitor.url_path.take());
                monitor.http_method = change.http_method.or(monitor.http_method.take());
                monitor.expected_codes = change.expected_codes.or(monitor.expected_codes.take());
            }
            Action::DeleteMonitor(id) => {
                for found in &mut self.tree.pools {
                    found.monitor = found.monitor.take().filter(|monitor| monitor.id != id);
                }
            }
            Action::CreateFloatingIp { new, .. } => {
                let address =
                    new.floating_ip_address.map_or_else(|| "192.0.2.9".to_owned(), |asked| asked.to_string());
                if new.port_id.is_some() {
                    self.free_port();
                }
                self.float(
                    &address,
                    new.port_id.as_ref().map(openstack_client::PortId::as_str),
                    &new.description,
                );
            }
            Action::UpdateFloatingIp(id, change, _) => {
                let at = self.floating.iter().position(|one| one.id == id).unwrap();
                if change.port_id.is_some() && self.floating[at].port_id != change.port_id {
                    self.free_port();
                }
                let one = &mut self.floating[at];
                one.port_id = change.port_id;
                one.description = change.description.unwrap_or_else(|| one.description.clone());
            }
            Action::DeleteFloatingIp(id) => self.floating.retain(|one| one.id != id),
            other => self.change_group(other),
        }
    }

    fn free_port(&self) {
        let vip = self.vip.parse().ok();
        let here = |one: &FloatingIp| {
            one.port_id == VIP_PORT.parse().ok()
                && (one.fixed_ip_address.is_none() || one.fixed_ip_address == vip)
        };
        assert!(!self.floating.iter().any(here), "a floating IP leads there already");
    }
}

/// A step as text, with what it sends.
pub(crate) fn line(planned: &Planned<CloudStep>) -> String {
    let sent = match &planned.step.action {
        Action::CreateBalancer(new) => {
            json!({ "tags": new.frame.tags, "listeners": new.frame.listeners.len() })
        }
        Action::DeleteBalancer { cascade, .. } => json!({ "cascade": cascade }),
        Action::UpdateBalancer(change) => json!(change),
        Action::UpdateListener(_, change) => json!(change),
        Action::UpdatePool(_, change) => json!(change),
        Action::UpdateMonitor(_, change) => json!(change),
        Action::CreateMonitor(new) => json!(new),
        Action::SetMembers { members, change, .. } => {
            let subnets = members.each().map(|member| member.subnet_id.as_ref().map(ToString::to_string));
            json!({ "subnets": subnets.collect::<Vec<_>>(), "before": change.before, "removed": change.removed })
        }
        Action::DeleteMember { change, .. } => json!({ "before": change.before, "removed": change.removed }),
        Action::CreateFloatingIp { new, subnets } => {
            json!({ "new": new, "subnets": subnets.iter().map(ToString::to_string).collect::<Vec<_>>() })
        }
        _ => json!(null),
    };
    let sent = if sent.is_null() { String::new() } else { format!(" {sent}") };
    format!("{}{sent}\n    because {}", planned.step, planned.reason)
}
