//! What was found in the cloud for one Service: whole, or it is no finding. Values only; who reads them is [`super::observe`].

use std::collections::BTreeSet;
use std::net::IpAddr;

use openstack_client::LoadBalancerId;
use openstack_client::load_balancer::{HealthMonitor, Listener, LoadBalancer, Pool};
use openstack_client::network::FloatingIp;

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
    /// a load balancer that is gone made anew, and only then is one with the name of another cluster taken for its own.
    pub recover: bool,
    /// The address by which the Service was reached last, from its status or its annotations.
    pub known_address: Option<IpAddr>,
    /// Its floating IPs.
    pub floating: FoundFloating,
    /// Its security group.
    pub group: Option<FoundGroup>,
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
    /// Those that lead nowhere, left by a load balancer of this Service that is gone, or by the owner of the one that it shares. Their description alone does not make them
    /// its own: they may be kept by a namesake from before, or be those of another cluster.
    pub left: Vec<FloatingIp>,
}

impl Found {
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
