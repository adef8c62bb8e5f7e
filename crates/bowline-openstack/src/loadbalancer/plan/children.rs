//! Plans listeners, pools, members and health monitors of an active load balancer.
//!
//! The order of steps: delete listeners that block a wanted port, create or update the listeners of `spec.ports` in order, and finally
//! delete what is no longer wanted, so that deletions delay nothing. Objects of other Services are never changed.

use std::collections::BTreeSet;

use openstack_client::ListenerId;
use openstack_client::load_balancer::Listener;

use super::claim::{Claim, Holder};
use super::order::by_id;
use super::{Draft, Steps, conflict, listener, pool};
use crate::loadbalancer::found::{FoundPool, Tree};
use crate::loadbalancer::names::Names;
use crate::loadbalancer::step::Action;
use crate::loadbalancer::tenancy::sharing;
use crate::loadbalancer::wanted::{ListenerKey, Wanted};

pub(super) fn draft(wanted: &Wanted, claim: &Claim<'_>, tree: &Tree) -> Draft {
    let mut draft = Draft::default();
    let mut spoken_for: BTreeSet<&ListenerId> = BTreeSet::new();
    let mut wishes = Steps::new();
    let at_ports: Vec<_> =
        wanted.listeners.iter().map(|wish| (wish, conflict::at_port(&wish.key, claim, tree))).collect();
    let kept: BTreeSet<&ListenerId> = at_ports.iter().filter_map(|(_, at)| Some(&at.same?.id)).collect();
    for (wish, at) in at_ports {
        spoken_for.extend(
            at.same
                .iter()
                .copied()
                .chain(at.first_goes.iter().map(|(found, _)| *found))
                .map(|found| &found.id),
        );
        if !at.problems.is_empty() {
            draft.problems.extend(at.problems);
            continue;
        }
        if let Some(problem) =
            at.same.and_then(|found| pool::is_of_others_too(claim, tree, &kept, wish, found))
        {
            draft.problems.push(problem);
            continue;
        }
        let new_port = claim.joined() && !claim.owner && at.same.is_none() && at.first_goes.is_empty();
        let forbidden = new_port
            .then(|| sharing::no_new_port(wanted, &claim.there.balancer, &conflict::port(&wish.key)))
            .flatten();
        if let Some(problem) = forbidden {
            draft.problems.push(problem);
            continue;
        }
        for (found, reason) in &at.first_goes {
            draft.steps.extend(delete(&wanted.names, claim, tree, found, reason));
        }
        wishes.extend(match at.same {
            None => vec![listener::create(wanted, claim, wish)],
            Some(found) => {
                let mut steps: Steps = listener::update(wanted, claim, wish, found).into_iter().collect();
                steps.extend(pool::steps(wanted, claim, tree, wish, found));
                steps
            }
        });
    }
    draft.steps.append(&mut wishes);
    let ours = |found: &&Listener| claim.holder(found) == Holder::Us && !spoken_for.contains(&found.id);
    for found in by_id(tree.listeners.iter().filter(ours), |listener| &listener.id) {
        let reason = format!("{} is not wanted any more", conflict::port(&key_of(found)));
        draft.steps.extend(delete(&wanted.names, claim, tree, found, &reason));
    }
    draft.steps.extend(left_pools(&wanted.names, claim, tree));
    draft
}

fn key_of(listener: &Listener) -> ListenerKey {
    ListenerKey { protocol: listener.protocol.clone(), port: listener.protocol_port }
}

/// The steps that delete a listener: first its default pool, with its members and monitor, then the listener.
pub(super) fn delete(
    names: &Names,
    claim: &Claim<'_>,
    tree: &Tree,
    listener: &Listener,
    reason: &str,
) -> Steps {
    let alone = |found: &&FoundPool| {
        let id = &found.pool.id;
        let elsewhere = tree.listeners.iter().filter(|other| other.id != listener.id);
        found.pool.listeners.iter().all(|user| *user == listener.id)
            && !elsewhere.into_iter().any(|other| other.default_pool_id.as_ref() == Some(id))
    };
    // A pool that is not the default pool belongs to an L7 policy of another client, so it stays. If the listener has no default pool, only
    // a pool with a name of this Service is deleted.
    let default = |found: &&FoundPool| match &listener.default_pool_id {
        Some(id) => *id == found.pool.id,
        None => names.is_own_pool(&found.pool.name),
    };
    let pools = by_id(tree.pools_of(listener).filter(default).filter(alone), |found| &found.pool.id);
    let mut steps: Steps = pools
        .into_iter()
        .map(|found| claim.step(Action::DeletePool(found.pool.id.clone()), reason))
        .collect();
    steps.push(claim.step(Action::DeleteListener(listener.id.clone()), reason));
    steps
}

/// Deletes pools of this Service without a listener: leftovers of an interrupted change.
pub(super) fn left_pools(names: &Names, claim: &Claim<'_>, tree: &Tree) -> Steps {
    let used = |found: &FoundPool| {
        tree.listeners.iter().any(|of| of.default_pool_id.as_ref() == Some(&found.pool.id))
    };
    let left = tree.pools.iter().filter(|found| {
        claim.owner && names.is_own_pool(&found.pool.name) && found.pool.listeners.is_empty() && !used(found)
    });
    let reason = |found: &FoundPool| format!("pool {} has no listener any more", found.pool.name);
    let left = by_id(left, |found| &found.pool.id).into_iter();
    left.map(|found| claim.step(Action::DeletePool(found.pool.id.clone()), reason(found))).collect()
}
