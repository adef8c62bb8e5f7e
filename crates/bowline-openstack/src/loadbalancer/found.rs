//! The observed state of one Service in the cloud, always complete. Values only; `observe.rs` reads them from the cloud.

use std::collections::BTreeSet;
use std::net::IpAddr;

use openstack_client::load_balancer::{HealthMonitor, Listener, LoadBalancer, Pool};
use openstack_client::network::FloatingIp;
use openstack_client::{FloatingIpId, ListenerId, LoadBalancerId, PoolId};

use super::group::FoundGroup;
use super::members::FoundMembers;

/// Everything that was observed for one Service.
#[derive(Debug, Clone, Default)]
pub struct Found {
    /// Its load balancer, or the one that it shares.
    pub balancer: Option<FoundBalancer>,
    /// The load balancers with the name of the Service, if there are several: it is ambiguous which one is meant. Empty otherwise.
    pub namesakes: Vec<LoadBalancerId>,
    /// Duplicates: load balancers besides `balancer` that were created for this Service, as their name and the tags of cluster and Service
    /// prove. They appear if the response to a creation was lost, or the process that requested it ended.
    pub twins: Vec<FoundBalancer>,
    /// Whether the annotation names a load balancer that is proven absent.
    pub named_is_gone: bool,
    /// Whether the Service had a load balancer before: its status or its annotations contain an address. Only then is a load balancer that
    /// is gone created again. Users write annotations, so this does not prove who owns a load balancer.
    pub recover: bool,
    /// The last address of the Service, from its status. Users of a namespace cannot write it.
    pub known_address: Option<IpAddr>,
    /// Whether `known_address`, if it is the VIP of the load balancer, can be in no other subnet. Only then does it identify the load
    /// balancer. Computed only where it is needed as proof of ownership; see [`Found::shows`].
    pub is_vip_unique: bool,
    /// Whether a load balancer with the Service's own name exists besides the one that its annotation names. Computed only if that one has
    /// the Service's name under another cluster name.
    pub has_own: bool,
    /// Whether the Service of this cluster for which the load balancer was created, if it is another one, may still want it. It does not if
    /// it is being deleted or has another type.
    pub owner_may_want_it: bool,
    /// The tags on the load balancer that belong to Services of this cluster that no longer want it. They are about to leave, so they
    /// cannot become its successor.
    pub leaving: BTreeSet<String>,
    /// Whether the status of the Service shows an address. Without one, no client can know the load balancer.
    pub is_published: bool,
    /// Its floating IPs.
    pub floating: FoundFloating,
    /// Why the address or the port that the Service requests for a new load balancer is not available: another object uses it, or another
    /// Service shows it in its status. `None` if it is available.
    pub place_taken: Option<String>,
    /// Its security group.
    pub group: Option<FoundGroup>,
    /// Whether the security group of a Service that is being removed was not read, because Octavia works on its load balancer.
    pub group_unread: bool,
}

/// A load balancer with its listeners and pools.
#[derive(Debug, Clone)]
pub struct FoundBalancer {
    /// The load balancer itself.
    pub balancer: LoadBalancer,
    /// How it was found.
    pub by: FoundBy,
    /// Its listeners and pools, as far as they were read.
    pub children: Children,
    /// The number of changes that this process has made to it. A step that was planned for a lower number is not performed.
    pub version: u64,
}

/// How a load balancer was found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FoundBy {
    /// By the id in the annotation of the Service.
    Id,
    /// By the name that Bowline and OCCM give for this Service.
    Name,
    /// By the name that the in-tree provider of Kubernetes gave.
    LegacyName,
}

/// The listeners and pools of a load balancer.
#[derive(Debug, Clone)]
pub enum Children {
    /// They were read, or are cached and unchanged since.
    Known(Tree),
    /// Not read: the load balancer has not changed since it was observed to be exactly as the Service still wants it.
    AsWanted,
    /// Not read: Octavia works on the load balancer, so nothing can be changed.
    Busy,
}

/// Listeners and pools.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tree {
    /// The listeners.
    pub listeners: Vec<Listener>,
    /// The pools with their members and health monitors.
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

/// The floating IPs related to a Service.
#[derive(Debug, Clone, Default)]
pub struct FoundFloating {
    /// Those attached to its load balancer.
    pub attached: Vec<FloatingIp>,
    /// The one with the requested address, attached or not.
    pub asked: Option<FloatingIp>,
    /// Why `asked` belongs to another Service that may still exist; in a message, the text follows its address and id. `None` if it does
    /// not.
    pub asked_owner: Option<String>,
    /// Those on the port of its load balancer, or on the port of a new one, that belong to other Services which may still exist. They are
    /// never detached.
    pub of_others: Vec<OfOther>,
    /// Those among `asked` and `left` that are proven to be this Service's: its status shows the address, or this process attached it.
    pub proven: BTreeSet<FloatingIpId>,
    /// Detached ones, left by a former load balancer of this Service or by the owner of the one that it shares. Their description alone
    /// does not prove ownership: an earlier Service of the same name may have kept them, or they may belong to another cluster.
    pub left: Vec<FloatingIp>,
}

/// A floating IP that belongs to another Service.
#[derive(Debug, Clone)]
pub struct OfOther {
    /// The floating IP.
    pub floating: FloatingIp,
    /// Why it belongs to the other Service; in a message, the text follows its address and id.
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
    /// Whether the status of the Service shows the address of this load balancer: an attached floating IP, or its VIP if that is unique.
    /// Users of a namespace cannot write the status, but they may have requested the address of an earlier load balancer in another
    /// network.
    #[must_use]
    pub fn shows(&self, balancer: &LoadBalancer) -> bool {
        let Some(known) = self.known_address else { return false };
        let mut floating = self.floating.attached.iter().map(|floating| floating.floating_ip_address);
        floating.any(|address| address == known)
            || (self.is_vip_unique && balancer.vip_address == Some(known))
    }

    /// Whether no cloud object of the Service was found.
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
    /// Whether it contains every listener and pool that the load balancer lists. A cached tree without one of them is wrong: Octavia
    /// accepted its deletion and did not complete it.
    #[must_use]
    pub fn has_all_of(&self, balancer: &LoadBalancer) -> bool {
        let has_listener = |id: &ListenerId| self.listeners.iter().any(|listener| listener.id == *id);
        let has_pool = |id: &PoolId| self.pools.iter().any(|found| found.pool.id == *id);
        balancer.listeners.iter().all(has_listener) && balancer.pools.iter().all(has_pool)
    }

    /// The pools of a listener: its default pool, and every other pool that lists the listener.
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
