//! What is known of load balancers and addresses that we give up, so that it is not asked for, or asked of the cloud, twice.

use std::collections::{HashMap, HashSet};
use std::net::IpAddr;
use std::time::Duration;

use bowline_cloud::Text;
use openstack_client::load_balancer::{LoadBalancer, ProvisioningStatus};
use openstack_client::{FloatingIpId, LoadBalancerId};
use tokio::time::Instant;

use super::{FRESH, Memory};

/// How long Octavia may show a load balancer as it was before it took the order to delete it. A second order meanwhile is no
/// help, and does harm: a real one with OVN came back in ERROR from it.
const SHOWN_AS_BEFORE: Duration = Duration::from_secs(60);

/// How long it is known that a load balancer of a name was the Service's own, and was deleted.
const KNOWN_AS_DELETED: Duration = Duration::from_secs(600);

/// What goes.
#[derive(Debug, Default)]
pub(super) struct Parting {
    /// Load balancers that Octavia was told to delete, when it took the order, and what they are called.
    deleted: HashMap<LoadBalancerId, (Instant, String)>,
    /// Addresses by which a Service was reached that are no floating IPs left behind: its load balancer's own, and floating IPs
    /// that were given back.
    accounted: HashMap<Text, HashSet<IpAddr>>,
    /// Names of load balancers that a whole list of all, begun after the order to delete them, did not show.
    unseen: HashMap<String, Instant>,
}

impl Parting {
    pub(super) fn deletes(&mut self, id: &LoadBalancerId, name: &str, now: Instant) {
        self.deleted.retain(|_id, (since, _name)| now.duration_since(*since) < KNOWN_AS_DELETED);
        self.deleted.insert(id.clone(), (now, name.to_owned()));
    }

    /// Whether Octavia was told to delete it, not long ago.
    pub(super) fn has_deleted(&self, id: &LoadBalancerId) -> bool {
        self.deleted.contains_key(id)
    }

    /// Those of a name.
    pub(super) fn ids_of(&self, name: &str) -> Vec<LoadBalancerId> {
        let of_name = self.deleted.iter().filter(|(_id, (_since, of))| of == name);
        of_name.map(|(id, _deleted)| id.clone()).collect()
    }

    pub(super) fn forget(&mut self, service: &Text) {
        self.accounted.remove(service);
    }
}

impl Memory {
    /// The name of a load balancer that Octavia has just taken the order to delete.
    pub(in crate::loadbalancer) fn deleted(&self, id: &LoadBalancerId, now: Instant) -> Option<String> {
        let inner = self.lock();
        let (since, name) = inner.parting.deleted.get(id)?;
        (now.duration_since(*since) < SHOWN_AS_BEFORE).then(|| name.clone())
    }

    /// The load balancers of a name that we have deleted not long ago.
    pub(in crate::loadbalancer) fn deleted_as(&self, name: &str, now: Instant) -> HashSet<LoadBalancerId> {
        let inner = self.lock();
        let of_name = inner
            .parting
            .deleted
            .iter()
            .filter(|(_id, (since, of))| of == name && now.duration_since(*since) < KNOWN_AS_DELETED);
        of_name.map(|(id, _deleted)| id.clone()).collect()
    }

    /// A load balancer as it is: one that is to be deleted and looks as before is on its way. If Octavia gave it up meanwhile, or
    /// is done, that is believed.
    pub(in crate::loadbalancer) fn as_it_is(&self, mut shown: LoadBalancer, now: Instant) -> LoadBalancer {
        let ended =
            matches!(shown.provisioning_status, ProvisioningStatus::Error | ProvisioningStatus::Deleted);
        if !ended && self.deleted(&shown.id, now).is_some() {
            shown.provisioning_status = ProvisioningStatus::PendingDelete;
        }
        shown
    }

    /// A load balancer as a poll has just seen it: good for the look that follows from it, if no change of ours came in between.
    /// `began` is how many changes there were when the poll began.
    pub(in crate::loadbalancer) fn polled(&self, balancer: &LoadBalancer, began: u64, now: Instant) {
        let mut inner = self.lock();
        let Some(entry) = inner.entries.get_mut(&balancer.id) else { return };
        if entry.version <= began {
            entry.seen = Some((Box::new(balancer.clone()), now));
            (entry.answered, entry.polled) = (true, true);
        }
    }

    /// A poll that began after so many changes did not see it: what was seen before is no answer any more.
    pub(in crate::loadbalancer) fn not_polled(&self, id: &LoadBalancerId, began: u64) {
        let mut inner = self.lock();
        if let Some(entry) = inner.entries.get_mut(id).filter(|entry| entry.version <= began) {
            entry.answered = false;
        }
    }

    /// A poll that began after so many changes saw none of this name, of which the load balancer `id` was deleted by us: good for the
    /// look that follows from it.
    pub(in crate::loadbalancer) fn sees_none(
        &self,
        name: &str,
        id: &LoadBalancerId,
        began: u64,
        now: Instant,
    ) {
        let mut inner = self.lock();
        let inner = &mut *inner;
        let Some(entry) = inner.entries.get_mut(id).filter(|entry| entry.version <= began) else { return };
        if inner.parting.deleted.contains_key(id) {
            entry.answered = false;
            inner.parting.unseen.insert(name.to_owned(), now);
        }
    }

    /// Whether a poll has just seen that none of this name is left.
    pub(in crate::loadbalancer) fn is_unseen(&self, name: &str, now: Instant) -> bool {
        let mut inner = self.lock();
        inner.parting.unseen.retain(|_name, at| now.duration_since(*at) < FRESH);
        inner.parting.unseen.contains_key(name)
    }

    /// The load balancers that were seen, or that Services name, and that we have not deleted. A list without one of them may be cut.
    pub(in crate::loadbalancer) fn witnesses<'n>(
        &self,
        named: impl Iterator<Item = &'n LoadBalancerId>,
    ) -> Vec<LoadBalancerId> {
        let inner = self.lock();
        let all = inner.entries.keys().cloned().chain(named.cloned());
        all.filter(|id| !inner.parting.deleted.contains_key(id)).collect()
    }

    /// How many load balancers are known.
    pub(in crate::loadbalancer) fn known(&self) -> usize {
        self.lock().entries.len()
    }

    /// An address by which a Service is reached is no floating IP that could be left behind.
    pub(in crate::loadbalancer) fn accounts_for(&self, service: &Text, address: IpAddr) {
        self.lock().parting.accounted.entry(service.clone()).or_default().insert(address);
    }

    /// A floating IP that led to the load balancer of a Service was given back.
    pub(in crate::loadbalancer) fn gave_back(&self, id: &FloatingIpId) {
        let mut inner = self.lock();
        inner.made_floating.remove(id);
        let address = inner.addresses_of(id);
        if let (Some(service), Some(address)) = (inner.led.remove(id), address) {
            inner.parting.accounted.entry(service).or_default().insert(address);
        }
    }

    /// Whether a floating IP may be left of a Service that was reached by `known` last.
    pub(in crate::loadbalancer) fn may_be_left(&self, service: &Text, known: Option<IpAddr>) -> bool {
        let inner = self.lock();
        let accounted = inner.parting.accounted.get(service);
        let known = known.filter(|known| !accounted.is_some_and(|accounted| accounted.contains(known)));
        known.is_some() || inner.led.values().any(|of| of == service)
    }
}

impl super::Inner {
    fn addresses_of(&self, id: &FloatingIpId) -> Option<IpAddr> {
        let of_port = self.ports.values().flat_map(|floating| match floating {
            super::Floating::None(_since) | super::Floating::Bare(_since) => &[][..],
            super::Floating::Just(all, _at) | super::Floating::Read(all, _at) => all,
        });
        of_port.into_iter().find(|one| one.id == *id).map(|one| one.floating_ip_address)
    }
}
