//! What the owner of a Service is told of a look. Pure.

use bowline_cloud::Plan;

use crate::loadbalancer::found::Found;
use crate::loadbalancer::intent::Notice;
use crate::loadbalancer::step::Action;
use crate::loadbalancer::wanted::{Wanted, WantedAddress};
use crate::loadbalancer::{names, plan};

/// What the owner should know: of the wish, and of what it came to.
pub(super) fn notices(wanted: &Wanted, found: &Found) -> Vec<Notice> {
    let mut notices = wanted.notices.clone();
    let Some(at) = &found.balancer else { return notices };
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
