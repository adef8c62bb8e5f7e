//! What a change of ours makes of a tree that was known. Pure. It is exact, or it is none: then the tree is read again.

use openstack_client::load_balancer::{
    HealthMonitor, Listener, ListenerCreate, LoadBalancer, LoadBalancerCreate, MadeParts, MadePool, Member,
    Pool, ProvisioningStatus,
};
use openstack_client::{LoadBalancerId, PoolId};

use crate::loadbalancer::found::{FoundPool, Tree};
use crate::loadbalancer::members::FoundMembers;
use crate::loadbalancer::step::Action;

/// What Octavia answered to a change.
#[derive(Debug, Clone)]
pub(in crate::loadbalancer) enum Answer {
    /// Nothing that tells more than the change itself.
    Done,
    /// The load balancer.
    Balancer(Box<LoadBalancer>),
    /// The listener.
    Listener(Box<Listener>),
    /// The pool.
    Pool(Box<Pool>),
    /// The member.
    Member(Box<Member>),
    /// The monitor.
    Monitor(Box<HealthMonitor>),
}

/// The tree after a change that was accepted, as it is when the load balancer is active again.
pub(super) fn after(mut tree: Tree, action: &Action, answer: &Answer) -> Option<Tree> {
    match (action, answer) {
        (Action::UpdateBalancer(_), _) => {}
        (Action::CreateListener(_) | Action::UpdateListener(..), Answer::Listener(answered)) => {
            let mut listener = (**answered).clone();
            listener.provisioning_status = ProvisioningStatus::Active;
            tree.listeners.retain(|known| known.id != listener.id);
            tree.listeners.push(listener);
        }
        (Action::DeleteListener(id), _) => {
            tree.listeners.retain(|listener| listener.id != *id);
            for found in &mut tree.pools {
                found.pool.listeners.retain(|listener| listener != id);
            }
        }
        (Action::CreatePool(_), Answer::Pool(answered)) => {
            let mut pool = (**answered).clone();
            pool.provisioning_status = ProvisioningStatus::Active;
            for listener in tree.listeners.iter_mut().filter(|one| pool.listeners.contains(&one.id)) {
                listener.default_pool_id = Some(pool.id.clone());
            }
            tree.pools.push(FoundPool { pool, members: FoundMembers::default(), monitor: None });
        }
        (Action::UpdatePool(id, _), Answer::Pool(answered)) => {
            let found = pool(&mut tree, id)?;
            found.pool = (**answered).clone();
            found.pool.provisioning_status = ProvisioningStatus::Active;
        }
        (Action::DeletePool(id), _) => {
            tree.pools.retain(|found| found.pool.id != *id);
            for listener in &mut tree.listeners {
                listener.default_pool_id = listener.default_pool_id.take().filter(|pool| pool != id);
            }
        }
        (Action::SetMembers { pool: id, members, .. }, _) => {
            pool(&mut tree, id)?.members = FoundMembers::Sent(members.clone());
        }
        (Action::CreateMember(id, _), Answer::Member(answered)) => {
            let mut member = (**answered).clone();
            member.provisioning_status = ProvisioningStatus::Active;
            pool(&mut tree, id)?.members.change(|all| all.push(member));
        }
        (Action::DeleteMember { pool: id, member, .. }, _) => {
            pool(&mut tree, id)?.members.change(|all| all.retain(|known| known.id != *member));
        }
        (Action::CreateMonitor(new), Answer::Monitor(answered)) => {
            set_monitor(pool(&mut tree, new.pool_id.as_ref()?)?, (**answered).clone());
        }
        (Action::UpdateMonitor(id, _), Answer::Monitor(answered)) => {
            let with = |found: &&mut FoundPool| found.monitor.as_ref().is_some_and(|known| known.id == *id);
            set_monitor(tree.pools.iter_mut().find(with)?, (**answered).clone());
        }
        (Action::DeleteMonitor(id), _) => {
            for found in &mut tree.pools {
                found.monitor = found.monitor.take().filter(|monitor| monitor.id != *id);
                found.pool.healthmonitor_id = found.monitor.as_ref().map(|monitor| monitor.id.clone());
            }
        }
        _ => return None,
    }
    Some(tree)
}

fn pool<'t>(tree: &'t mut Tree, id: &PoolId) -> Option<&'t mut FoundPool> {
    tree.pools.iter_mut().find(|found| found.pool.id == *id)
}

fn set_monitor(found: &mut FoundPool, mut monitor: HealthMonitor) {
    monitor.provisioning_status = ProvisioningStatus::Active;
    found.pool.healthmonitor_id = Some(monitor.id.clone());
    found.monitor = Some(monitor);
}

/// The tree of a load balancer that was just made, as it is when it is active. None unless all that was asked for is told.
pub(super) fn made(new: &LoadBalancerCreate, parts: MadeParts, id: &LoadBalancerId) -> Option<Tree> {
    let MadeParts { listeners, pools, .. } = parts;
    let whole = !new.listeners.is_empty()
        && (listeners.len(), pools.len()) == (new.listeners.len(), new.listeners.len())
        && new.listeners.iter().all(|asked| is_told(asked, &listeners, &pools));
    if !whole {
        return None;
    }
    let listener = |mut listener: Listener| {
        listener.provisioning_status = ProvisioningStatus::Active;
        listener.loadbalancers = vec![id.clone()];
        listener
    };
    let pool = |MadePool { mut pool, mut members, mut monitor, .. }: MadePool| {
        pool.provisioning_status = ProvisioningStatus::Active;
        pool.loadbalancers = vec![id.clone()];
        members.iter_mut().for_each(|member| member.provisioning_status = ProvisioningStatus::Active);
        if let Some(monitor) = &mut monitor {
            monitor.provisioning_status = ProvisioningStatus::Active;
            monitor.pools = vec![pool.id.clone()];
        }
        FoundPool { pool, members: members.into(), monitor }
    };
    let (listeners, pools) = (listeners.into_iter().map(listener), pools.into_iter().map(pool));
    Some(Tree { listeners: listeners.collect(), pools: pools.collect() })
}

/// Whether a listener that was asked for is there, with its pool, as many members, and its monitor.
fn is_told(asked: &ListenerCreate, listeners: &[Listener], pools: &[MadePool]) -> bool {
    let is =
        |told: &&Listener| (&told.protocol, told.protocol_port) == (&asked.protocol, asked.protocol_port);
    let Some(told) = listeners.iter().find(is) else { return false };
    let Some(asked) = &asked.default_pool else { return false };
    let of = pools.iter().find(|one| Some(&one.pool.id) == told.default_pool_id.as_ref());
    of.is_some_and(|one| {
        one.members.len() == asked.members.len() && one.monitor.is_some() == asked.healthmonitor.is_some()
    })
}
