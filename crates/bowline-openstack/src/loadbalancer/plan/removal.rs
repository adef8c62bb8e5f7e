//! What is done so that nothing of a Service is left.
//!
//! A load balancer goes if it was made for a Service and no other Service is on it. From others only what bears the tag of this
//! Service goes. A load balancer that a user made is never deleted.

use bowline_cloud::{LoadBalancerStatus, Plan, Planned};
use openstack_client::load_balancer::{Listener, LoadBalancerUpdate, ProvisioningStatus};

use super::claim::Claim;
use super::order::by_id;
use super::{LoadBalancerPlan, Steps, children, claim, in_one_go, refuse, there, wait};
use crate::loadbalancer::found::{Children, Found, Tree};
use crate::loadbalancer::group;
use crate::loadbalancer::intent::Removal;
use crate::loadbalancer::names::{LOAD_BALANCER_PREFIX, describes_floating_ip_of};
use crate::loadbalancer::step::{Action, CloudStep};

const GONE: &str = "the Service wants no load balancer any more";

/// What is done so that nothing of a Service is left.
#[must_use]
pub fn remove(removal: &Removal, found: &Found) -> LoadBalancerPlan {
    if let Some(problem) = claim::namesakes(&removal.names, found) {
        return refuse(vec![problem]);
    }
    let Some(there) = there(found) else {
        return act(left_floating(removal, found).into_iter().chain(group_steps(found)).collect());
    };
    let claim = Claim::of(&removal.names, &removal.ownership, found, there);
    if claim.owner && claim.other_cluster.is_some() {
        // It has our name and is another cluster's; so may be the floating IPs. The security group has the Service's UID.
        return act(group_steps(found));
    }
    let status = &there.balancer.provisioning_status;
    let ready = matches!(status, ProvisioningStatus::Active | ProvisioningStatus::Error);
    if claim.joined() && !ready {
        return wait(&there.balancer);
    }
    let octavia = if goes_whole(&claim) { delete(removal, found, &claim) } else { leave(removal, &claim) };
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

/// Whether the load balancer goes as well. What bears no sign of this Service was never its own, whatever it is called.
fn goes_whole(claim: &Claim<'_>) -> bool {
    let made_for_a_service = claim.owner || claim.there.balancer.name.starts_with(LOAD_BALANCER_PREFIX);
    made_for_a_service && claim.joined() && claim.other_cluster.is_none() && claim.sharers().is_empty()
}

/// The floating IPs that lead to a load balancer that goes, if they were made for it: for this Service, or for one that owned
/// it before. Not if somebody joined it since: whoever is on it then is reached by them.
fn attached_floating(removal: &Removal, found: &Found, claim: &Claim<'_>) -> Steps {
    let (names, balancer) = (&removal.names, claim.there.balancer.name.as_str());
    let made = |text: &str| {
        names.describes_own_floating_ip(text)
            || names.describes_floating_ip_of_cluster(text)
            || describes_floating_ip_of(balancer, text)
    };
    let ours = found.floating.attached.iter().filter(|floating| made(&floating.description));
    let step = |floating: &openstack_client::network::FloatingIp| {
        let step = CloudStep::while_as(claim.seen(), Action::DeleteFloatingIp(floating.id.clone()));
        Planned::new(step, format!("{GONE} ({})", floating.floating_ip_address))
    };
    let ours = by_id(ours, |floating| &floating.id).into_iter();
    ours.filter(|_floating| !removal.keep_floating_ip).map(step).collect()
}

/// The floating IPs that were made for this Service and lead nowhere.
fn left_floating(removal: &Removal, found: &Found) -> Steps {
    let description = removal.names.floating_ip_description();
    let ours = found.floating.left.iter().filter(|floating| floating.description == description);
    let step = |floating: &openstack_client::network::FloatingIp| {
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

/// The load balancer goes. One that Octavia gave up cannot be taken apart: it goes with all that hangs on it.
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

/// The load balancer stays: what bears the Service's tag goes, its tags at last.
fn leave(removal: &Removal, claim: &Claim<'_>) -> Result<Steps, LoadBalancerPlan> {
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
    let ours = |listener: &&Listener| listener.tags.iter().any(|tag| claim.is_own(tag));
    let listeners = by_id(tree.listeners.iter().filter(ours), |listener| &listener.id);
    let mut steps: Steps =
        listeners.into_iter().flat_map(|listener| children::delete(claim, tree, listener, GONE)).collect();
    steps.extend(children::left_pools(&removal.names, claim, tree));
    steps.extend(untag(removal, claim));
    Ok(steps)
}

fn known<'a>(claim: &Claim<'a>) -> Result<&'a Tree, LoadBalancerPlan> {
    match &claim.there.children {
        Children::Known(tree) => Ok(tree),
        Children::AsWanted | Children::Busy => Err(wait(&claim.there.balancer)),
    }
}

/// The tags of the Service. The cluster's stays, for others of the cluster may be on it.
fn untag(removal: &Removal, claim: &Claim<'_>) -> Option<Planned<CloudStep>> {
    let (old, service) = (&claim.there.balancer.tags, removal.ownership.service_tag());
    let goes = |tag: &String| claim.is_own(tag) || *tag == service;
    if !removal.tagged || !old.iter().any(goes) {
        return None;
    }
    let tags = old.iter().filter(|tag| !goes(tag) && !tag.is_empty()).cloned().collect();
    let change = LoadBalancerUpdate { tags: Some(tags), ..LoadBalancerUpdate::default() };
    Some(claim.step(Action::UpdateBalancer(change), "the Service leaves the shared load balancer"))
}
