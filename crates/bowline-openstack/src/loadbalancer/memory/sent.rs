//! What is remembered of a request that made a load balancer: a number by which it is compared, and the members of each pool. Pure.

use openstack_client::load_balancer::LoadBalancerCreate;

use crate::loadbalancer::members::{Members, Rosters};
use crate::loadbalancer::wanted::{Wanted, request_digest};

/// A request.
#[derive(Debug)]
pub(super) struct Sent {
    digest: u128,
    /// The names of pools, with their members.
    pub(super) pools: Vec<(String, Members)>,
}

impl Sent {
    /// By this request; none if nothing hangs on what it makes.
    pub(super) fn by(new: &LoadBalancerCreate, rosters: &Rosters) -> Option<Self> {
        if new.listeners.is_empty() {
            return None;
        }
        let mut frame = new.clone();
        let mut pools = Vec::with_capacity(frame.listeners.len());
        for listener in &mut frame.listeners {
            let pool = listener.default_pool.as_mut()?;
            let members = Members::from(std::mem::take(&mut pool.members));
            pools.push((pool.name.clone(), rosters.share(&members)));
        }
        let digest = request_digest(frame, pools.iter().map(|(_name, members)| members))?;
        Some(Self { digest, pools })
    }

    /// By the request that would make what is wanted.
    pub(super) fn as_wanted(wanted: &Wanted) -> Option<Self> {
        let pools = wanted.listeners.iter().map(|listener| &listener.pool);
        let pools = pools.map(|pool| (pool.name.clone(), pool.members.clone())).collect();
        Some(Self { digest: wanted.request_digest()?, pools })
    }

    /// Whether it made what is wanted.
    pub(super) fn makes(&self, wanted: &Wanted) -> bool {
        wanted.request_digest() == Some(self.digest)
    }

    /// How many members it has that no list shares.
    pub(super) fn single_members(&self) -> usize {
        let single = |members: &Members| if let Members::Each(all) = members { all.len() } else { 0 };
        self.pools.iter().map(|(_name, members)| single(members)).sum()
    }
}
