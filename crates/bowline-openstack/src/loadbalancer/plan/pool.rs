//! Plans the pool of a listener: creates it, updates it, or recreates it where Octavia cannot change it. The name stays as it is.

use std::collections::BTreeSet;

use bowline_cloud::Planned;
use openstack_client::load_balancer::{
    Listener, Pool, PoolUpdate, ProvisioningStatus, SessionPersistence, SessionPersistenceType,
};
use openstack_client::{Change, ListenerId};

use super::claim::{Claim, Holder};
use super::conflict::port;
use super::order::by_id;
use super::text::Differences;
use super::{Steps, listener, members, monitor};
use crate::loadbalancer::found::{FoundPool, Tree};
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::wanted::{Wanted, WantedListener};

pub(super) fn steps(
    wanted: &Wanted,
    claim: &Claim<'_>,
    tree: &Tree,
    wish: &WantedListener,
    listener: &Listener,
) -> Steps {
    let at = port(&wish.key);
    let create = |reason: String| {
        claim.step(Action::CreatePool(Box::new(wanted.new_pool(&wish.pool, &listener.id))), reason)
    };
    let Some(found) = of_listener(tree, listener) else {
        return vec![create(format!("{at} has no pool; its members and monitor follow"))];
    };
    if let Some(reason) = spoilt(wish, found) {
        let delete = claim.step(Action::DeletePool(found.pool.id.clone()), format!("{at}: {reason}"));
        return vec![delete, create(format!("{at}: the pool is made anew; its members and monitor follow"))];
    }
    let mut steps: Steps = update(wanted, claim, wish, found).into_iter().collect();
    steps.extend(members::steps(wanted, claim, wish, found));
    steps.extend(monitor::steps(claim, wish, found));
    steps
}

/// The default pool of the listener, or the one with the lowest id if the listener names no default pool. Other pools belong to L7
/// policies, which Bowline does not create.
fn of_listener<'t>(tree: &'t Tree, listener: &'t Listener) -> Option<&'t FoundPool> {
    let default = |found: &&FoundPool| listener.default_pool_id.as_ref() == Some(&found.pool.id);
    let any = || tree.pools_of(listener).min_by_key(|found| &found.pool.id);
    tree.pools_of(listener).find(default).or_else(any)
}

/// Why the pool of a listener is not changed: another listener uses it as well, either one that is not this Service's or another wanted
/// listener of this Service. The members for the one would be wrong for the other.
pub(super) fn is_of_others_too(
    claim: &Claim<'_>,
    tree: &Tree,
    kept: &BTreeSet<&ListenerId>,
    wish: &WantedListener,
    listener: &Listener,
) -> Option<String> {
    let pool = &of_listener(tree, listener)?.pool;
    let uses = |user: &&Listener| {
        user.id != listener.id
            && (user.default_pool_id.as_ref() == Some(&pool.id) || pool.listeners.contains(&user.id))
    };
    let whose = |user: &Listener| match claim.holder(user) {
        Holder::Us => kept.contains(&user.id).then(|| "is this Service's as well".to_owned()),
        Holder::Service(tag) => Some(format!("belongs to {tag}")),
        Holder::Unknown => Some("does not bear the tag of this Service".to_owned()),
    };
    let users = by_id(tree.listeners.iter().filter(uses), |user| &user.id);
    let (user, whose) = users.into_iter().find_map(|user| Some((&user.id, whose(user)?)))?;
    Some(format!(
        "{}: pool {} is that of listener {} and of listener {user}, which {whose}; give one of them a pool of its own",
        port(&wish.key),
        pool.id,
        listener.id
    ))
}

/// Why the pool has to be deleted and created again.
fn spoilt(wish: &WantedListener, found: &FoundPool) -> Option<String> {
    let (id, is, wanted) = (&found.pool.id, &found.pool.protocol, &wish.pool.protocol);
    if found.pool.provisioning_status == ProvisioningStatus::Error {
        return Some(format!("Octavia gave pool {id} up (ERROR)"));
    }
    (is != wanted).then(|| format!("pool {id} speaks {is} to members, {wanted} is wanted"))
}

fn update(
    wanted: &Wanted,
    claim: &Claim<'_>,
    wish: &WantedListener,
    found: &FoundPool,
) -> Option<Planned<CloudStep>> {
    let mut differs = Differences::default();
    let (is, pool) = (&found.pool, &wish.pool);
    let change = PoolUpdate {
        lb_algorithm: differs.of("algorithm", &is.lb_algorithm, &pool.algorithm),
        session_persistence: persistence(
            is.session_persistence.as_ref(),
            pool.session_persistence.as_ref(),
            &mut differs,
        ),
        tags: tags(wanted, is, &mut differs),
        ..unchanged(is)
    };
    let reason = differs.reason(&port(&wish.key))?;
    Some(claim.step(Action::UpdatePool(is.id.clone(), Box::new(change)), reason))
}

/// The tags with the requested ones added; the others stay. `None` if none is missing.
fn tags(wanted: &Wanted, is: &Pool, differs: &mut Differences) -> Option<Vec<String>> {
    let mut tags: Vec<String> = is.tags.iter().filter(|tag| !tag.is_empty()).cloned().collect();
    let before = tags.len();
    if wanted.balancer.tagged {
        listener::add_asked(&mut tags, &wanted.extra_tags.pool, differs);
    }
    (tags.len() > before).then_some(tags)
}

/// An update that changes nothing. It contains `admin_state_up`, because the OVN provider sets a pool to ERROR if an update omits it.
pub(super) fn unchanged(pool: &Pool) -> PoolUpdate {
    PoolUpdate { admin_state_up: Some(pool.admin_state_up.unwrap_or(true)), ..PoolUpdate::default() }
}

/// Compares only the type of session persistence: Octavia may add defaults to the other fields.
fn persistence(
    is: Option<&SessionPersistence>,
    wanted: Option<&SessionPersistence>,
    differs: &mut Differences,
) -> Change<SessionPersistence> {
    let kind = |of: Option<&SessionPersistence>| of.map(|of| of.kind.clone());
    if kind(is) == kind(wanted) {
        return Change::Keep;
    }
    let shown =
        |kind: Option<SessionPersistenceType>| kind.map_or("none".to_owned(), |kind| kind.to_string());
    differs.tell("session persistence", shown(kind(is)), shown(kind(wanted)));
    wanted.cloned().map_or(Change::Clear, Change::Set)
}
