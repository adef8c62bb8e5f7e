//! What was found in the cloud for one Service: whole, or it is no finding. Values only; who reads them is [`super::observe`].

use std::collections::BTreeSet;
use std::net::IpAddr;

use openstack_client::load_balancer::{HealthMonitor, Listener, LoadBalancer, Pool};
use openstack_client::network::FloatingIp;
use openstack_client::{FloatingIpId, ListenerId, LoadBalancerId, PoolId};

use super::group::FoundGroup;
use super::members::FoundMembers;

/// All that was found for one Service.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Its load balancer, or the one that it shares.
    pub balancer: Option<FoundBalancer>,
    /// Load balancers that bear its name, if there is more than one: nobody can say which is meant.
    pub namesakes: Vec<LoadBalancerId>,
    /// Load balancers that were made for this very Service besides that one, by their name and by the tags of cluster and Service: the
    /// answer to a creation was lost, or who asked for it.
    pub twins: Vec<FoundBalancer>,
    /// Whether the Service names a load balancer that is proven not to be there.
    pub named_is_gone: bool,
    /// Whether the Service was reached by a load balancer before: its status or its annotations tell an address. Only then is
    /// a load balancer that is gone made anew. Users write annotations, so this proves nothing about whose a load balancer is.
    pub recover: bool,
    /// The address by which the Service was reached last, from its status. Users of a namespace cannot write it.
    pub known_address: Option<IpAddr>,
    /// Whether that address, if it is the VIP of the load balancer, is an address of no other subnet. Only then does it tell load balancers
    /// apart. Looked for only where it has to prove whose the load balancer is; see [`Found::shows`].
    pub is_vip_unique: bool,
    /// Whether a load balancer with the Service's own name exists besides the one that its annotation names. Looked for only if that
    /// one has the Service's name under another cluster name.
    pub has_own: bool,
    /// Whether the Service for which the load balancer was made may still want it, if that is another one of this cluster. It does not
    /// if it is being deleted or is of another type.
    pub owner_may_want_it: bool,
    /// The tags on the load balancer of Services of this cluster that do not want it any more: they are about to leave it, and inherit
    /// nothing.
    pub leaving: BTreeSet<String>,
    /// Whether the status of the Service shows how it is reached: only then can clients know its load balancer.
    pub is_published: bool,
    /// Its floating IPs.
    pub floating: FoundFloating,
    /// Why the address or the port that the Service chooses for a new load balancer cannot be had: something else has it, or another Service
    /// that shows it.
    pub place_taken: Option<String>,
    /// Its security group.
    pub group: Option<FoundGroup>,
    /// Whether the security group of a Service that goes was not read, because Octavia is at work on its load balancer.
    pub group_unread: bool,
}

/// A load balancer and what hangs on it.
#[derive(Debug, Clone)]
pub struct FoundBalancer {
    /// The load balancer itself.
    pub balancer: LoadBalancer,
    /// How it was found.
    pub by: FoundBy,
    /// What hangs on it.
    pub children: Children,
    /// Counts what this process has done to it: a step that was planned for an older count is not performed.
    pub version: u64,
}

/// How a load balancer was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// The Service names it.
    Id,
    /// By the name that it has for this Service.
    Name,
    /// By the name that Kubernetes' own provider gave.
    LegacyName,
}

/// What hangs on a load balancer.
#[derive(Debug, Clone)]
pub enum Children {
    /// It was read, or we know it because nobody has changed it since.
    Known(Tree),
    /// It was not read: the load balancer has not changed since it was seen to be exactly as the Service still wants it.
    AsWanted,
    /// It was not read because nothing can be changed while Octavia is at work.
    Busy,
}

/// Listeners and pools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The listeners.
    pub listeners: Vec<Listener>,
    /// The pools, with all that is in them.
    pub pools: Vec<FoundPool>,
}

/// A pool with its members and its monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FoundPool {
    /// The pool itself.
    pub pool: Pool,
    /// Its members.
    pub members: FoundMembers,
    /// Its monitor.
    pub monitor: Option<HealthMonitor>,
}

/// The floating IPs that have to do with a Service.
#[derive(Debug, Clone, Default)]
pub struct FoundFloating {
    /// Those that lead to its load balancer.
    pub attached: Vec<FloatingIp>,
    /// The one with the address that the Service asks for, wherever it leads.
    pub asked: Option<FloatingIp>,
    /// Why that one belongs to another Service that may still exist; the words follow its address and id. None if it does not.
    pub asked_owner: Option<String>,
    /// Those on the port of its load balancer, or on the port that a new one shall have, that belong to other Services which may
    /// still exist. They are never detached.
    pub of_others: Vec<OfOther>,
    /// Those among `asked` and `left` that are proven to be this Service's: its status shows the address, or this process led it there.
    pub proven: BTreeSet<FloatingIpId>,
    /// Those that lead nowhere, left by a load balancer of this Service that is gone, or by the owner of the one that it shares. Their description alone does not make them
    /// its own: they may be kept by a namesake from before, or be those of another cluster.
    pub left: Vec<FloatingIp>,
}

/// A floating IP that belongs to another Service.
#[derive(Debug, Clone)]
pub struct OfOther {
    /// The floating IP.
    pub floating: FloatingIp,
    /// Why it belongs to the other Service; the words follow its address and id.
    pub why: String,
}

impl FoundFloating {
    /// Whether a floating IP belongs to another Service that may still exist.
    #[must_use]
    pub fn is_of_other(&self, id: &FloatingIpId) -> bool {
        self.of_others.iter().any(|other| other.floating.id == *id)
    }
}

impl Found {
    /// Whether the status of the Service shows the address of this load balancer: a floating IP that leads to it, or its VIP. Users of a
    /// namespace cannot write the status, but they may have chosen the address of an earlier load balancer in another network.
    #[must_use]
    pub fn shows(&self, balancer: &LoadBalancer) -> bool {
        let Some(known) = self.known_address else { return false };
        let mut floating = self.floating.attached.iter().map(|floating| floating.floating_ip_address);
        floating.any(|address| address == known)
            || (self.is_vip_unique && balancer.vip_address == Some(known))
    }

    /// Whether nothing at all is there.
    #[must_use]
    pub fn is_nothing(&self) -> bool {
        self.balancer.is_none()
            && self.namesakes.is_empty()
            && self.floating.attached.is_empty()
            && self.floating.left.is_empty()
            && self.group.is_none()
    }
}

impl Tree {
    /// Whether it has every listener and every pool that a load balancer names. A remembered tree without one of them is wrong: Octavia
    /// accepted its deletion, and did not complete it.
    #[must_use]
    pub fn has_all_of(&self, balancer: &LoadBalancer) -> bool {
        let has_listener = |id: &ListenerId| self.listeners.iter().any(|listener| listener.id == *id);
        let has_pool = |id: &PoolId| self.pools.iter().any(|found| found.pool.id == *id);
        balancer.listeners.iter().all(has_listener) && balancer.pools.iter().all(has_pool)
    }

    /// The pools of a listener: its default pool, and every other that says it belongs to it.
    pub fn pools_of<'a>(&'a self, listener: &'a Listener) -> impl Iterator<Item = &'a FoundPool> {
        self.pools.iter().filter(|found| {
            listener.default_pool_id.as_ref() == Some(&found.pool.id)
                || found.pool.listeners.contains(&listener.id)
        })
    }
}

impl FoundBalancer {
    /// Its tags, as a set.
    #[must_use]
    pub fn tags(&self) -> BTreeSet<&str> {
        self.balancer.tags.iter().map(String::as_str).collect()
    }
}
