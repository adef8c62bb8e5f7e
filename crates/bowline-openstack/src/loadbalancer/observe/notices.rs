//! What the owner of a Service is told of a look. Pure.

use std::net::IpAddr;

use bowline_cloud::Plan;

use crate::loadbalancer::annotations;
use crate::loadbalancer::found::{Children, Found};
use crate::loadbalancer::intent::{Notice, Publication};
use crate::loadbalancer::plan::tags;
use crate::loadbalancer::shortfalls;
use crate::loadbalancer::step::Action;
use crate::loadbalancer::tenancy::sharing;
use crate::loadbalancer::wanted::{Wanted, WantedAddress};
use crate::loadbalancer::{names, plan};

/// What the owner should know: of the wish, and of what it came to.
///
/// `lost`: the address that could not be had again, and why.
pub(super) fn notices(wanted: &Wanted, found: &Found, lost: Option<(IpAddr, String)>) -> Vec<Notice> {
    let mut notices = wanted.notices.clone();
    let Some(at) = &found.balancer else { return notices };
    if let Some((address, why)) = lost {
        let now = at.balancer.vip_address.map_or("another one".to_owned(), |address| address.to_string());
        let message = format!(
            "load balancer {} was created in place of an earlier one and could not get its address {address} again: {why}. It gets {now}; \
             to choose an address, set annotation {} and delete the load balancer",
            at.balancer.id,
            annotations::VIP_ADDRESS.key
        );
        notices.push(Notice { reason: "LoadBalancerAddressNotKept", message });
    }
    notices.extend(tags_not_added(wanted, found));
    let own = at.balancer.vip_address.map(|address| address.to_string()).unwrap_or_default();
    if let WantedAddress::Floating { place, .. } = &wanted.address {
        if own.contains(':') {
            let message =
                format!("the load balancer has the IPv6 address {own}, for which there are no floating IPs");
            notices.push(Notice { reason: "LoadBalancerFloatingIPSkipped", message });
        } else if place.is_none() && found.floating.attached.is_empty() {
            let message = format!(
                "there is no external network for a floating IP, so the load balancer is reached at {own} only; set \
                 floating-network-id in cloud.conf, or make it internal"
            );
            notices.push(Notice { reason: "LoadBalancerForcedInternal", message });
        }
    }
    if plan::uses(wanted, found) {
        notices.extend(sharing::notice(wanted, &at.balancer));
    }
    notices.extend(shortfalls::shortfalls(wanted, found).into_iter().map(shortfalls::notice));
    if is_renamed(wanted, found) {
        let message = format!(
            "load balancer {} is called {:?} and becomes {:?}",
            at.balancer.id,
            at.balancer.name,
            wanted.names.load_balancer()
        );
        notices.push(Notice { reason: "LoadBalancerRename", message });
    }
    notices
}

/// The status of a Service that shows a host name stays the same when its address changes, so that the framework does not see it.
/// `before`: the address that was noted last.
pub(super) fn address_behind_name(wanted: &Wanted, found: &Found, before: Option<IpAddr>) -> Option<Notice> {
    let Publication::Hostname(name) = &wanted.publication else { return None };
    let (before, now) = (before?, plan::address(wanted, found)?);
    let message = format!(
        "The address behind host name {name} changed from {before} to {now}. DNS records and clients that use the old address have to be \
         changed"
    );
    (before != now && plan::has(wanted, found))
        .then_some(Notice { reason: "LoadBalancerAddressChanged", message })
}

/// Tags that the Service asks for and does not get.
fn tags_not_added(wanted: &Wanted, found: &Found) -> Vec<Notice> {
    let Some(at) = found.balancer.as_ref().filter(|_at| wanted.balancer.tagged) else { return Vec::new() };
    let (id, extra) = (&at.balancer.id, &wanted.extra_tags);
    let mut messages = Vec::new();
    let owned = plan::owns(wanted, found);
    let key = annotations::LOAD_BALANCER_TAGS.key;
    if !extra.balancer.is_empty() && !owned {
        messages
            .push(format!("annotation {key} has no effect: load balancer {id} is not this Service's own"));
    }
    let mut full = |key: &str, what: String, asked: &[String], there: &[String]| {
        if tags::are_too_many(asked, there) {
            messages.push(format!(
                "tags of annotation {key} are not added: {what} would have more than {} tags; remove some of them",
                tags::MOST
            ));
        }
    };
    if owned {
        full(key, format!("load balancer {id}"), &extra.balancer, &at.balancer.tags);
    }
    if let Children::Known(tree) = &at.children {
        let ours = wanted.names.tag();
        for listener in tree.listeners.iter().filter(|one| one.tags.contains(&ours)) {
            let (key, what) = (annotations::LISTENER_TAGS.key, format!("listener {}", listener.id));
            full(key, what, &extra.listener, &listener.tags);
            for one in tree.pools.iter().filter(|one| Some(&one.pool.id) == listener.default_pool_id.as_ref())
            {
                let (key, what) = (annotations::POOL_TAGS.key, format!("pool {}", one.pool.id));
                full(key, what, &extra.pool, &one.pool.tags);
            }
        }
    }
    let notice = |message| Notice { reason: "LoadBalancerAnnotationIgnored", message };
    messages.into_iter().map(notice).collect()
}

/// Whether the load balancer has the name of another cluster, and the plan gives it ours.
fn is_renamed(wanted: &Wanted, found: &Found) -> bool {
    let Some(at) = &found.balancer else { return false };
    let name = &at.balancer.name;
    let ours = wanted.names.load_balancer();
    if *name == ours || names::cluster_of(name).is_none() {
        return false;
    }
    let renames = |action: &Action| matches!(action, Action::UpdateBalancer(update) if update.name.is_some());
    match plan::ensure(wanted, found) {
        Plan::Act(steps) => steps.iter().any(|planned| renames(&planned.step.action)),
        _ => false,
    }
}
