//! Plans creation, deletion and tags of the load balancer itself, and the status that it gives a Service.

use std::net::IpAddr;

use bowline_cloud::{LoadBalancerStatus, Plan, Planned, Traffic};
use openstack_client::load_balancer::{LoadBalancer, LoadBalancerUpdate, ProvisioningStatus};

use super::claim::Claim;
use super::order::by_id;
use super::{LoadBalancerPlan, address, in_one_go, refuse, removal, tags};
use crate::loadbalancer::annotations::{LOAD_BALANCER_ID, RECREATE_ON_ERROR};
use crate::loadbalancer::broken::traffic;
use crate::loadbalancer::found::{Children, Found, FoundBalancer};
use crate::loadbalancer::intent::Publication;
use crate::loadbalancer::ownership::is_of_a_service;
use crate::loadbalancer::step::{Action, CloudStep, Seen};
use crate::loadbalancer::tenancy::rules;
use crate::loadbalancer::wanted::Wanted;

/// Plans the creation of the load balancer if the Service has none.
pub(super) fn create(wanted: &Wanted, found: &Found) -> LoadBalancerPlan {
    let named = wanted
        .named
        .as_ref()
        .map(|id| format!("annotation {} names load balancer {id}", LOAD_BALANCER_ID.key));
    let named = named.filter(|_named| found.named_is_gone);
    if let Some(named) = named.as_ref().filter(|_named| !found.recover) {
        return refuse(vec![format!("{named}, which is not there; correct or remove it")]);
    }
    if let Some(problem) = address::is_taken(wanted, found) {
        return refuse(vec![problem]);
    }
    let reason = match named {
        Some(named) => format!("{named}, which is gone; it is made anew"),
        None => "the Service has no load balancer".to_owned(),
    };
    let reason = match wanted.balancer.earlier_address {
        Some(address) => format!("{reason}; its earlier address {address} is requested again"),
        None => reason,
    };
    let step = CloudStep::new(Action::CreateBalancer(Box::new(wanted.new_balancer())));
    Plan::Act(vec![Planned::new(step, reason)])
}

/// Plans what to do about a load balancer in ERROR. Octavia accepts only its deletion or a failover. It is deleted only if it carries no
/// traffic (safety rail SR-19); a new one then follows behind the same floating IP. The framework performs the deletion only after two
/// observations agree.
pub(super) fn broken(wanted: &Wanted, found: &Found, claim: &Claim<'_>) -> LoadBalancerPlan {
    let balancer = &claim.there.balancer;
    let id = &balancer.id;
    let operating = Some(balancer.operating_status.as_str()).filter(|status| !status.is_empty());
    let operating = operating.unwrap_or("unknown");
    let failed = format!("Octavia reports load balancer {id} in ERROR (operating status {operating})");
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
        return refuse(vec![format!("{failed}, and annotation {key} forbids to replace it; {failover}")]);
    }
    if let Some(forbidden) = rules::keeps_from_recreation(wanted) {
        return refuse(vec![format!("{failed}; {forbidden}; {failover}")]);
    }
    let traffic = traffic(claim.there, found);
    let why = match traffic {
        Traffic::Possible => {
            let why = if balancer.admin_state_up { "may still carry traffic" } else { "is disabled" };
            return refuse(vec![format!(
                "{failed}. It {why}, so it is kept, and its members do not follow the nodes; {failover}. If it serves nobody, delete it \
                 (`openstack loadbalancer delete --cascade`), and it is created again"
            )]);
        }
        Traffic::None => "it serves nobody, and is replaced",
        Traffic::Never => "it never served, and is replaced",
    };
    if has_strangers(wanted, claim) {
        return refuse(vec![format!(
            "{failed}, and it is not replaced: it has listeners or pools that were not made for this Service; {failover}, or delete it by \
             hand when nobody needs them (`openstack loadbalancer delete --cascade {id}`), and it is created again"
        )]);
    }
    let delete = Action::DeleteBalancer { name: balancer.name.clone(), cascade: true };
    let untold = if traffic == Traffic::Never { address::untold(wanted, found) } else { Vec::new() };
    let delete = claim.step(delete, format!("{failed}; {why}"));
    Plan::Act(in_one_go(untold.into_iter().chain([delete]).collect()))
}

/// Whether the load balancer has parts of unknown origin, which a deletion would remove as well (safety rail SR-8).
fn has_strangers(wanted: &Wanted, claim: &Claim<'_>) -> bool {
    match &claim.there.children {
        Children::Known(tree) => !removal::is_all_ours(&wanted.names, claim, tree),
        Children::AsWanted | Children::Busy => true,
    }
}

/// Deletes duplicates of the load balancer as soon as they are ACTIVE or in ERROR. The plan does not wait for the others: a duplicate that
/// is stuck in PENDING would delay the address of the Service.
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

/// Adds the tags of the Service. This step precedes the listeners, so that no other Service claims the load balancer in between. Other tags
/// stay, except those of an earlier Service of the same name that left its load balancer behind.
pub(super) fn join(wanted: &Wanted, claim: &Claim<'_>) -> Option<Planned<CloudStep>> {
    let there = &claim.there.balancer.tags;
    // Truncated names are ambiguous, so they never prove that an earlier Service of this name owned the load balancer.
    let inherits = claim.owner && !wanted.names.is_cut() && wanted.ownership.is_of_others(there);
    // Tags requested by a Service are not added to a load balancer of another Service.
    let asked: &[String] = if claim.owner { &wanted.extra_tags.balancer } else { &[] };
    let asked = tags::missing(asked, there);
    let is_complete = claim.is_tagged() && !inherits && !claim.rests_on_status;
    if !wanted.balancer.tagged || (is_complete && asked.is_empty()) {
        return None;
    }
    // A Service of another cluster with the same name has the same tag, so only its UID tag shows that it uses the load balancer.
    let may_be_stale = inherits && claim.foreign.is_none() && claim.sharers().is_empty();
    let is_stale = |tag: &String| may_be_stale && is_of_a_service(tag);
    let kept = there.iter().filter(|tag| !tag.is_empty() && !is_stale(tag));
    let missing = wanted.tags().into_iter().filter(|tag| !there.contains(tag));
    let tags = kept.cloned().chain(missing).chain(asked.into_iter().cloned()).collect();
    let change = LoadBalancerUpdate { tags: Some(tags), ..LoadBalancerUpdate::default() };
    let reason = match (inherits, claim.owner) {
        _ if claim.is_tagged() && claim.rests_on_status => {
            "other Services have the same name, so its UID tells them apart"
        }
        (true, _) => "it was made for an earlier Service of this name",
        (false, true) if claim.is_tagged() => "the Service asks for tags that are missing",
        (false, true) => "the Service's tag is missing",
        (false, false) => "the Service joins a shared load balancer",
    };
    Some(claim.step(Action::UpdateBalancer(change), reason))
}

/// The status of the Service. A dual-stack Service gets one more entry for each additional VIP, unless a host name is shown.
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
