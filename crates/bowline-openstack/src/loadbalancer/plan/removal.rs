//! Plans the removal of everything that belongs to a Service.
//!
//! A load balancer is deleted only if all of these hold: its name is that of this Service, or of a Service of this cluster that no longer
//! wants it; no other Service uses it; every listener and pool on it is proven to be this Service's. From all other load balancers only the
//! parts of this Service are removed. A load balancer that a user created is never deleted. A floating IP is deleted only if its
//! description names this Service (SR-9). It is also deleted if the load balancer stays without any listener.

use bowline_cloud::{LoadBalancerStatus, Plan, Planned};
use openstack_client::load_balancer::{Listener, LoadBalancerUpdate, ProvisioningStatus};
use openstack_client::network::{FloatingIp, FloatingIpUpdate};

use super::claim::{Claim, Holder};
use super::order::by_id;
use super::{LoadBalancerPlan, Steps, children, claim, in_one_go, refuse, there, wait};
use crate::loadbalancer::found::{Children, Found, FoundPool, Tree};
use crate::loadbalancer::group;
use crate::loadbalancer::intent::Removal;
use crate::loadbalancer::names::{LOAD_BALANCER_PREFIX, Names, floating_ip_description, service_in};
use crate::loadbalancer::ownership::{is_of_a_cluster, is_of_a_service};
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::tenancy::sharing;

const GONE: &str = "the Service wants no load balancer any more";

/// Returns the plan that removes everything of a Service.
#[must_use]
pub fn remove(removal: &Removal, found: &Found) -> LoadBalancerPlan {
    if let Some(problem) = claim::namesakes(&removal.names, found) {
        return refuse(vec![problem]);
    }
    let Some(there) = there(found) else {
        return act(left_floating(removal, found).into_iter().chain(group_steps(found)).collect());
    };
    if found.group_unread {
        return wait(&there.balancer);
    }
    let claim = Claim::of(&removal.names, &removal.ownership, found, there);
    let is_namesake = claim.contested.is_some() && there.balancer.name == removal.names.load_balancer();
    if is_namesake || (claim.owner && claim.other_cluster.is_some()) {
        // The load balancer has the name of this Service and belongs to another cluster or Service. The same may be true for the floating
        // IPs. The security group has the UID of the Service in its name, so it is safe to remove.
        return act(group_steps(found));
    }
    let status = &there.balancer.provisioning_status;
    let ready = matches!(status, ProvisioningStatus::Active | ProvisioningStatus::Error);
    if claim.joined() && !ready {
        return wait(&there.balancer);
    }
    let octavia = match is_deleted_whole(removal, found, &claim) {
        Ok(true) => delete(removal, found, &claim),
        Ok(false) => leave(removal, found, &claim),
        Err(otherwise) => return otherwise,
    };
    match octavia {
        Ok(steps) => {
            let rest = left_floating(removal, found).into_iter().chain(group_steps(found));
            act(steps.into_iter().chain(rest).collect())
        }
        Err(otherwise) => otherwise,
    }
}

fn act(steps: Steps) -> LoadBalancerPlan {
    if steps.is_empty() { Plan::Settled(LoadBalancerStatus::default()) } else { Plan::Act(in_one_go(steps)) }
}

/// Whether the load balancer is deleted, too.
///
/// # Errors
///
/// The plan to wait, if the listeners and pools could not be read.
fn is_deleted_whole(removal: &Removal, found: &Found, claim: &Claim<'_>) -> Result<bool, LoadBalancerPlan> {
    if !is_for_a_service(removal, found, claim) || !claim.others().is_empty() {
        return Ok(false);
    }
    let tree = known(claim)?;
    Ok(claim.sharers().is_empty() && unknown_part(removal, claim, tree).is_none())
}

/// Whether this Service uses the load balancer, and it was created for this Service or for a Service of this cluster that no longer wants
/// it.
fn is_for_a_service(removal: &Removal, found: &Found, claim: &Claim<'_>) -> bool {
    let of_cluster = || service_in(&claim.there.balancer.name, removal.names.cluster()).is_some();
    let is_left = || of_cluster() && claim.foreign.is_none() && !found.owner_may_want_it;
    claim.joined() && claim.other_cluster.is_none() && (claim.owner || is_left())
}

/// Why the load balancer stays although its last Service leaves it: parts of it are of unknown origin. `None` if it does not stay for that
/// reason.
#[must_use]
pub fn strangers(removal: &Removal, found: &Found) -> Option<String> {
    let there = there(found)?;
    let claim = Claim::of(&removal.names, &removal.ownership, found, there);
    let Children::Known(tree) = &there.children else { return None };
    if !is_for_a_service(removal, found, &claim) || !claim.sharers().is_empty() {
        return None;
    }
    let (id, part) = (&there.balancer.id, unknown_part(removal, &claim, tree)?);
    Some(format!(
        "load balancer {id} is not deleted: it has {part}. Delete it by hand when nobody needs it: openstack loadbalancer delete \
         --cascade {id}"
    ))
}

/// The part of unknown origin that prevents the deletion of a load balancer with its last Service, for messages; `None` if there is none.
fn unknown_part(removal: &Removal, claim: &Claim<'_>, tree: &Tree) -> Option<&'static str> {
    if !is_all_ours(&removal.names, claim, tree) {
        return Some("listeners or pools that were not made for this Service");
    }
    let tags = &claim.there.balancer.tags;
    let is_of_cluster = removal.ownership.cluster_tag().is_some_and(|tag| tags.contains(&tag));
    // The former owner may have requested tags. Unknown tags count only while no tag of this cluster proves that a Service of this cluster
    // owned the load balancer.
    let is_unknown = !claim.owner && !is_of_cluster && has_unknown_tags(tags);
    is_unknown.then_some("tags of unknown origin, and no tag of this cluster")
}

/// Whether a load balancer that was created for another Service has a tag that neither OCCM nor Bowline sets.
fn has_unknown_tags(tags: &[String]) -> bool {
    let known = |tag: &String| {
        tag.is_empty()
            || tag.starts_with(LOAD_BALANCER_PREFIX)
            || is_of_a_service(tag)
            || is_of_a_cluster(tag)
    };
    !tags.iter().all(known)
}

/// Whether every listener and pool is this Service's: by its tag, by its name, or as the default pool of a listener. A pool that only an L7
/// policy uses belongs to another client: Bowline creates no policies.
pub(super) fn is_all_ours(names: &Names, claim: &Claim<'_>, tree: &Tree) -> bool {
    let listener = |listener: &Listener| {
        claim.holder(listener) == Holder::Us || (claim.owner && names.is_own_listener(&listener.name))
    };
    let pool = |found: &FoundPool| {
        let is_default =
            tree.listeners.iter().any(|one| one.default_pool_id.as_ref() == Some(&found.pool.id));
        is_default || names.is_own_pool(&found.pool.name)
    };
    tree.listeners.iter().all(listener) && tree.pools.iter().all(pool)
}

/// Deletes the floating IPs attached to the load balancer that were created for this Service, unless they are kept. All others stay:
/// Neutron detaches them when the port of the load balancer is deleted.
fn attached_floating(removal: &Removal, found: &Found, claim: &Claim<'_>) -> Steps {
    let step = |floating: &FloatingIp| {
        let step = CloudStep::while_as(claim.seen(), Action::DeleteFloatingIp(floating.id.clone()));
        Planned::new(step, format!("{GONE} ({})", floating.floating_ip_address))
    };
    own_floating(removal, found).into_iter().filter(|_floating| !removal.keep_floating_ip).map(step).collect()
}

fn own_floating<'f>(removal: &Removal, found: &'f Found) -> Vec<&'f FloatingIp> {
    let ours = |floating: &&FloatingIp| removal.names.describes_own_floating_ip(&floating.description);
    by_id(found.floating.attached.iter().filter(ours), |floating| &floating.id)
}

/// Plans the floating IP when a Service leaves a load balancer that is not deleted.
///
/// A floating IP that was created for this Service gets the description of the next Service that manages the address, so that it is
/// released with that one. It is released now if none of the other Services may keep the address, or if all of them are about to leave, and
/// also if neither a Service nor a listener stays. If it is to be kept, it keeps the description of the Service that leaves.
fn hand_over_floating(removal: &Removal, found: &Found, claim: &Claim<'_>, tree: &Tree) -> Steps {
    let cluster = removal.names.cluster();
    let tenants = claim.sharers();
    let goes = |listener: &Listener| claim.holder(listener) == Holder::Us;
    if tenants.is_empty() && is_for_a_service(removal, found, claim) && tree.listeners.iter().all(goes) {
        return attached_floating(removal, found, claim);
    }
    if !tenants.is_empty() && !tenants.iter().any(|tag| claim.may_keep(tag)) {
        return match claim.owner {
            true => sharing::release(removal, found, &claim.seen()),
            false => attached_floating(removal, found, claim),
        };
    }
    let next = tenants.into_iter().filter(|tag| claim.may_keep(tag)).find_map(|tag| service_in(tag, cluster));
    let Some((namespace, name)) = next.filter(|_next| !removal.keep_floating_ip) else {
        return Steps::new();
    };
    let service = format!("{namespace}/{name}");
    let description = floating_ip_description(&service, cluster);
    let step = |floating: &FloatingIp| {
        let change =
            FloatingIpUpdate { port_id: floating.port_id.clone(), description: Some(description.clone()) };
        let action = Action::update_floating_ip(floating, change);
        let reason =
            format!("Service {service} uses the load balancer on ({})", floating.floating_ip_address);
        Planned::new(CloudStep::while_as(claim.seen(), action), reason)
    };
    own_floating(removal, found).into_iter().map(step).collect()
}

/// Deletes the detached floating IPs that were created for this Service, unless they are kept.
fn left_floating(removal: &Removal, found: &Found) -> Steps {
    let description = removal.names.floating_ip_description();
    let ours = found.floating.left.iter().filter(|floating| floating.description == description);
    let step = |floating: &FloatingIp| {
        let step = CloudStep::new(Action::DeleteFloatingIp(floating.id.clone()));
        Planned::new(
            step,
            format!("it was made for the Service and leads nowhere ({})", floating.floating_ip_address),
        )
    };
    let ours = by_id(ours, |floating| &floating.id).into_iter();
    ours.filter(|_floating| !removal.keep_floating_ip).map(step).collect()
}

fn group_steps(found: &Found) -> Steps {
    found.group.as_ref().map(group::removal_steps).unwrap_or_default()
}

/// The steps that delete the load balancer. One in ERROR accepts no change of its parts, so it is deleted with a cascade.
fn delete(removal: &Removal, found: &Found, claim: &Claim<'_>) -> Result<Steps, LoadBalancerPlan> {
    let balancer = &claim.there.balancer;
    let cascade = removal.cascade || balancer.provisioning_status == ProvisioningStatus::Error;
    let delete = claim.step(Action::DeleteBalancer { name: balancer.name.clone(), cascade }, GONE);
    let mut steps = attached_floating(removal, found, claim);
    if cascade {
        steps.push(delete);
        return Ok(steps);
    }
    let tree = known(claim)?;
    let pools = by_id(&tree.pools, |found| &found.pool.id);
    let monitors = pools.iter().filter_map(|found| found.monitor.as_ref());
    let monitors = monitors.map(|monitor| Action::DeleteMonitor(monitor.id.clone()));
    let pools = pools.iter().map(|found| Action::DeletePool(found.pool.id.clone()));
    let listeners = by_id(&tree.listeners, |listener| &listener.id);
    let listeners = listeners.iter().map(|listener| Action::DeleteListener(listener.id.clone()));
    let apart = monitors.chain(pools).chain(listeners);
    steps.extend(apart.map(|action| claim.step(action, GONE)));
    steps.push(delete);
    Ok(steps)
}

/// The steps if the load balancer stays: remove what is proven to be this Service's, and its tags last.
fn leave(removal: &Removal, found: &Found, claim: &Claim<'_>) -> Result<Steps, LoadBalancerPlan> {
    let id = &claim.there.balancer.id;
    if !claim.joined() {
        return Ok(Steps::new());
    }
    if claim.there.balancer.provisioning_status == ProvisioningStatus::Error {
        return Err(refuse(vec![format!(
            "load balancer {id} is in ERROR and others use it, so the Service's listeners cannot be taken off it; let an \
             administrator repair it with `openstack loadbalancer failover {id}`"
        )]));
    }
    let tree = known(claim)?;
    let ours = |listener: &&Listener| claim.holder(listener) == Holder::Us;
    let listeners = by_id(tree.listeners.iter().filter(ours), |listener| &listener.id);
    let mut steps = hand_over_floating(removal, found, claim, tree);
    let delete = |listener| children::delete(&removal.names, claim, tree, listener, GONE);
    steps.extend(listeners.into_iter().flat_map(delete));
    steps.extend(children::left_pools(&removal.names, claim, tree));
    steps.extend(untag(removal, found, claim));
    Ok(steps)
}

fn known<'a>(claim: &Claim<'a>) -> Result<&'a Tree, LoadBalancerPlan> {
    match &claim.there.children {
        Children::Known(tree) => Ok(tree),
        Children::AsWanted | Children::Busy => Err(wait(&claim.there.balancer)),
    }
}

/// Removes the tags of the Service. The tag of the cluster stays while another Service of the cluster uses the load balancer, and on a load
/// balancer that was created for this Service. On one that the last Service of the cluster had only joined, it is removed as well.
fn untag(removal: &Removal, found: &Found, claim: &Claim<'_>) -> Option<Planned<CloudStep>> {
    let (old, service) = (&claim.there.balancer.tags, removal.ownership.service_tag());
    let is_own = |tag: &String| claim.is_own(tag) || *tag == service;
    if !removal.tagged || !old.iter().any(is_own) {
        return None;
    }
    let of_another = |tag: &String| is_of_a_service(tag) && !is_own(tag);
    let is_used = found.owner_may_want_it || !claim.sharers().is_empty() || old.iter().any(of_another);
    let cluster = removal.ownership.cluster_tag().filter(|_tag| !claim.owner && !is_used);
    let goes = |tag: &String| is_own(tag) || Some(tag) == cluster.as_ref();
    let tags = old.iter().filter(|tag| !goes(tag) && !tag.is_empty()).cloned().collect();
    let change = LoadBalancerUpdate { tags: Some(tags), ..LoadBalancerUpdate::default() };
    Some(claim.step(Action::UpdateBalancer(change), "the Service leaves the shared load balancer"))
}
