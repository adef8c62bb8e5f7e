//! The same in another order: what a cloud lists has none, and the ports of a Service are each for itself.

use bowline_cloud::Plan;
use openstack_client::load_balancer::{BatchMember, ListenerUpdate, LoadBalancerUpdate, PoolUpdate};

use super::Choices;
use crate::loadbalancer::found::{Children, Found, FoundBalancer};
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::wanted::Wanted;

type LoadBalancerPlan = Plan<CloudStep, bowline_cloud::LoadBalancerStatus>;

/// The same cloud, listed otherwise.
pub(super) fn listed_otherwise(found: &Found, choices: &mut Choices<'_>) -> Found {
    let mut found = found.clone();
    choices.shuffle(&mut found.namesakes);
    choices.shuffle(&mut found.twins);
    choices.shuffle(&mut found.floating.attached);
    choices.shuffle(&mut found.floating.left);
    if let Some(balancer) = &mut found.balancer {
        balancer_otherwise(balancer, choices);
    }
    if let Some(group) = &mut found.group {
        group.group.rules.iter_mut().for_each(|rules| choices.shuffle(rules));
        choices.shuffle(&mut group.ports);
        group.ports.iter_mut().for_each(|port| choices.shuffle(&mut port.tags));
    }
    found
}

fn balancer_otherwise(found: &mut FoundBalancer, choices: &mut Choices<'_>) {
    choices.shuffle(&mut found.balancer.tags);
    let Children::Known(tree) = &mut found.children else { return };
    choices.shuffle(&mut tree.listeners);
    choices.shuffle(&mut tree.pools);
    for listener in &mut tree.listeners {
        choices.shuffle(&mut listener.tags);
        choices.shuffle(&mut listener.allowed_cidrs);
    }
    for pool in &mut tree.pools {
        pool.members.change(|all| choices.shuffle(all));
        choices.shuffle(&mut pool.pool.listeners);
    }
}

/// The same wish, with its ports in another order. Their names stay with them.
pub(super) fn wished_otherwise(wanted: &Wanted, choices: &mut Choices<'_>) -> Wanted {
    let mut wanted = wanted.clone();
    choices.shuffle(&mut wanted.listeners);
    wanted
}

/// A plan as text. Tags are a set, and are told as one.
pub(super) fn told(plan: &LoadBalancerPlan) -> Vec<String> {
    match plan {
        Plan::Settled(status) => vec![format!("settled {status:?}")],
        Plan::Wait(wait) => vec![format!("wait {wait:?}")],
        Plan::Elsewhere => vec!["elsewhere".to_owned()],
        Plan::Refuse(refusal) => {
            refusal.problems.iter().map(|problem| format!("refused: {problem}")).collect()
        }
        Plan::Act(steps) => steps
            .iter()
            .map(|planned| format!("{:?} because {}", sorted(planned.step.action.clone()), planned.reason))
            .collect(),
    }
}

/// A plan as text, whatever the order of its steps: for wishes whose ports have another one.
pub(super) fn told_in_any_order(plan: &LoadBalancerPlan) -> Vec<String> {
    let mut told = told(plan);
    told.sort_unstable();
    told
}

fn sorted(action: Action) -> Action {
    let sort = |tags: Option<Vec<String>>| {
        tags.map(|mut tags| {
            tags.sort_unstable();
            tags
        })
    };
    match action {
        Action::UpdateBalancer(change) => {
            Action::UpdateBalancer(LoadBalancerUpdate { tags: sort(change.tags.clone()), ..change })
        }
        Action::UpdateListener(id, change) => Action::UpdateListener(
            id,
            Box::new(ListenerUpdate { tags: sort(change.tags.clone()), ..*change }),
        ),
        Action::UpdatePool(id, change) => {
            Action::UpdatePool(id, Box::new(PoolUpdate { tags: sort(change.tags.clone()), ..*change }))
        }
        Action::CreateBalancer(mut new) => {
            let listeners = std::mem::take(&mut new.frame.listeners).into_iter();
            let mut listeners: Vec<_> = listeners.zip(std::mem::take(&mut new.members)).collect();
            listeners.sort_by_key(|(listener, _)| (listener.protocol_port, listener.protocol.to_string()));
            (new.frame.listeners, new.members) = listeners.into_iter().unzip();
            Action::CreateBalancer(new)
        }
        Action::SetMembers { pool, mut members, change } => {
            members.change(|all| {
                all.sort_by_key(|member: &BatchMember| (member.address, member.protocol_port));
            });
            Action::SetMembers { pool, members, change }
        }
        other => other,
    }
}
