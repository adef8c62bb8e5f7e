//! The calls of Octavia.

use openstack_client::{Client, Error, LoadBalancerId};

use super::deleted;
use crate::loadbalancer::memory::Answer;
use crate::loadbalancer::step::Action;

/// Changes a load balancer, or what hangs on it.
pub(super) async fn change(client: &Client, on: &LoadBalancerId, action: &Action) -> Result<Answer, Error> {
    let octavia = client.load_balancer();
    let answer = match action {
        Action::UpdateBalancer(update) => {
            Answer::Balancer(Box::new(octavia.update_load_balancer(on, update).await?))
        }
        Action::DeleteBalancer { cascade, .. } => {
            done(deleted(octavia.delete_load_balancer(on, *cascade).await))?
        }
        Action::CreateListener(new) => Answer::Listener(Box::new(octavia.create_listener(new).await?)),
        Action::UpdateListener(id, update) => {
            Answer::Listener(Box::new(octavia.update_listener(id, update).await?))
        }
        Action::DeleteListener(id) => done(deleted(octavia.delete_listener(id).await))?,
        Action::CreatePool(new) => Answer::Pool(Box::new(octavia.create_pool(new).await?)),
        Action::UpdatePool(id, update) => Answer::Pool(Box::new(octavia.update_pool(id, update).await?)),
        Action::DeletePool(id) => done(deleted(octavia.delete_pool(id).await))?,
        Action::SetMembers { pool, members, .. } => {
            let members = members.clone();
            done(octavia.batch_members(pool, move || members.to_vec(), false).await)?
        }
        Action::CreateMember(pool, new) => Answer::Member(Box::new(octavia.create_member(pool, new).await?)),
        Action::DeleteMember { pool, member, .. } => {
            done(deleted(octavia.delete_member(pool, member).await))?
        }
        Action::CreateMonitor(new) => Answer::Monitor(Box::new(octavia.create_health_monitor(new).await?)),
        Action::UpdateMonitor(id, update) => {
            Answer::Monitor(Box::new(octavia.update_health_monitor(id, update).await?))
        }
        Action::DeleteMonitor(id) => done(deleted(octavia.delete_health_monitor(id).await))?,
        // Not Octavia's, or not on one that is there; performed elsewhere. All of them named, so that none can be forgotten.
        Action::CreateBalancer(_)
        | Action::CreateFloatingIp { .. }
        | Action::UpdateFloatingIp(..)
        | Action::DeleteFloatingIp(_)
        | Action::CreateGroup { .. }
        | Action::CreateRules(..)
        | Action::DeleteRule(..)
        | Action::AddPortGroup { .. }
        | Action::RemovePortGroup { .. }
        | Action::DeletePortTag { .. }
        | Action::DeleteGroup(_) => Answer::Done,
    };
    Ok(answer)
}

fn done(result: Result<(), Error>) -> Result<Answer, Error> {
    result.map(|()| Answer::Done)
}
