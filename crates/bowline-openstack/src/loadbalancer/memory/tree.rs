//! What a change of ours makes of a tree that was known. Pure. It is exact, or it is none: then the tree is read again.

use openstack_client::PoolId;
use openstack_client::load_balancer::{
    BatchMember, HealthMonitor, Listener, LoadBalancer, Member, Pool, ProvisioningStatus,
};
use serde_json::json;

use crate::loadbalancer::found::{FoundPool, Tree};
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
            tree.pools.push(FoundPool { pool, members: Vec::new(), monitor: None });
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
            pool(&mut tree, id)?.members = members.iter().map(member).collect::<Option<_>>()?;
        }
        (Action::CreateMember(id, _), Answer::Member(answered)) => {
            let mut member = (**answered).clone();
            member.provisioning_status = ProvisioningStatus::Active;
            pool(&mut tree, id)?.members.push(member);
        }
        (Action::DeleteMember { pool: id, member, .. }, _) => {
            pool(&mut tree, id)?.members.retain(|known| known.id != *member);
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

/// A member as Octavia made it of what was sent. Its id is not told; a pool whose members are all sent at once needs none, and
/// where they are changed one by one each is answered with its own.
pub(in crate::loadbalancer) fn member(sent: &BatchMember) -> Option<Member> {
    let made = json!({
        "id": format!("unknown-{}-{}", sent.address, sent.protocol_port),
        "name": sent.name,
        "address": sent.address,
        "protocol_port": sent.protocol_port,
        "subnet_id": sent.subnet_id,
        "weight": sent.weight.unwrap_or(1),
        "monitor_port": sent.monitor_port,
        "admin_state_up": true,
        "provisioning_status": "ACTIVE",
        "tags": sent.tags,
    });
    serde_json::from_value(made).ok()
}
