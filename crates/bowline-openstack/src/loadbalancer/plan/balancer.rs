//! The load balancer itself: made, given up, joined, shown.

use std::net::IpAddr;

use bowline_cloud::{LoadBalancerStatus, Plan, Planned};
use openstack_client::load_balancer::{LoadBalancer, LoadBalancerUpdate, ProvisioningStatus};

use super::claim::Claim;
use super::order::by_id;
use super::{LoadBalancerPlan, address, refuse};
use crate::loadbalancer::annotations::{LOAD_BALANCER_ID, RECREATE_ON_ERROR};
use crate::loadbalancer::found::{Found, FoundBalancer};
use crate::loadbalancer::intent::Publication;
use crate::loadbalancer::ownership::is_of_a_service;
use crate::loadbalancer::step::{Action, CloudStep, Seen};
use crate::loadbalancer::wanted::Wanted;

/// There is none.
pub(super) fn create(wanted: &Wanted, found: &Found) -> LoadBalancerPlan {
    let named = wanted
        .named
        .as_ref()
        .map(|id| format!("annotation {} names load balancer {id}", LOAD_BALANCER_ID.key));
    let named = named.filter(|_named| found.named_is_gone);
    if let Some(named) = named.as_ref().filter(|_named| !found.recover) {
        return refuse(vec![format!("{named}, which is not there; correct or remove it")]);
    }
    if let Some(problem) = address::asked_is_taken(wanted, found) {
        return refuse(vec![problem]);
    }
    let reason = match named {
        Some(named) => format!("{named}, which is gone; it is made anew"),
        None => "the Service has no load balancer".to_owned(),
    };
    let step = CloudStep::new(Action::CreateBalancer(Box::new(wanted.new_balancer())));
    Plan::Act(vec![Planned::new(step, reason)])
}

/// Octavia gave it up, and takes no order any more but its deletion. Its floating IP stays and leads to the new one afterwards.
pub(super) fn broken(wanted: &Wanted, claim: &Claim<'_>) -> LoadBalancerPlan {
    let (id, name) = (&claim.there.balancer.id, &claim.there.balancer.name);
    let failed = format!("Octavia could not make or change load balancer {id} (ERROR)");
    let failover =
        format!("let an administrator see why, then repair it with `openstack loadbalancer failover {id}`");
    let others: Vec<&str> = claim.sharers().into_iter().collect();
    if !claim.owner {
        return refuse(vec![format!("{failed}, and it is not this Service's own; {failover}")]);
    }
    if !others.is_empty() {
        return refuse(vec![format!("{failed}, and it is shared with {}; {failover}", others.join(", "))]);
    }
    if !wanted.recreate_on_error {
        let key = RECREATE_ON_ERROR.key;
        return refuse(vec![format!("{failed}, and annotation {key} forbids to make it anew; {failover}")]);
    }
    let delete = Action::DeleteBalancer { name: name.clone(), cascade: true };
    Plan::Act(vec![claim.step(delete, format!("{failed}; it is made anew"))])
}

/// Those that were made besides the Service's own, as soon as Octavia lets them go. It does not wait for them: one that hangs would
/// keep it from its address.
pub(super) fn twins(found: &Found) -> impl Iterator<Item = Planned<CloudStep>> {
    let at_rest = |twin: &&FoundBalancer| {
        let status = &twin.balancer.provisioning_status;
        matches!(status, ProvisioningStatus::Active | ProvisioningStatus::Error)
    };
    let twins = by_id(found.twins.iter().filter(at_rest), |twin| &twin.balancer.id);
    twins.into_iter().map(|twin| {
        let seen = Seen { id: twin.balancer.id.clone(), version: twin.version };
        let delete = Action::DeleteBalancer { name: twin.balancer.name.clone(), cascade: true };
        Planned::new(CloudStep::on(seen, delete), "it was made twice: the answer to a creation was lost")
    })
}

/// The tags of the Service come before its listeners, so that nobody else takes its place. Other tags stay, but those of an earlier
/// Service of its name, which went and left its load balancer.
pub(super) fn join(wanted: &Wanted, claim: &Claim<'_>) -> Option<Planned<CloudStep>> {
    let there = &claim.there.balancer.tags;
    // Of a name that was cut nobody knows whose it is.
    let inherits = claim.owner && !wanted.names.is_cut() && wanted.ownership.is_of_others(there);
    if !wanted.balancer.tagged || (claim.is_tagged() && !inherits) {
        return None;
    }
    let is_stale = |tag: &String| inherits && claim.sharers().is_empty() && is_of_a_service(tag);
    let kept = there.iter().filter(|tag| !tag.is_empty() && !is_stale(tag));
    let missing = wanted.tags().into_iter().filter(|tag| !there.contains(tag));
    let tags = kept.cloned().chain(missing).collect();
    let change = LoadBalancerUpdate { tags: Some(tags), ..LoadBalancerUpdate::default() };
    let reason = match (inherits, claim.owner) {
        (true, _) => "it was made for an earlier Service of this name",
        (false, true) => "the Service's tag is missing",
        (false, false) => "the Service joins a shared load balancer",
    };
    Some(claim.step(Action::UpdateBalancer(change), reason))
}

/// How the Service is reached, with one entry more for each further address of a Service of two IP families.
pub(super) fn status(wanted: &Wanted, balancer: &LoadBalancer, address: IpAddr) -> LoadBalancerStatus {
    let shown = &wanted.publication;
    let mut status = shown.status(address);
    if matches!(shown, Publication::Hostname(_)) || !wanted.dual_stack {
        return status;
    }
    for further in balancer.additional_vips.iter().filter_map(|vip| vip.ip_address) {
        status.ingress.extend(shown.status(further).ingress);
    }
    status
}
