//! What to do for a Service. Only the first parts of it: a load balancer and its floating IP are made, members follow the Nodes, and
//! all of it goes again.

use bowline_cloud::{LoadBalancerStatus, Plan, Planned, SetChange, Wait};
use openstack_client::network::FloatingIpCreate;

use super::found::{Children, Found, FoundBalancer};
use super::intent::Removal;
use super::step::{Action, CloudStep, Seen};
use super::wanted::{Wanted, WantedAddress};

type LoadBalancerPlan = Plan<CloudStep, LoadBalancerStatus>;

fn wait(reason: &str) -> LoadBalancerPlan {
    Plan::Wait(Wait { reason: reason.to_owned(), at_most: std::time::Duration::from_secs(300) })
}

fn seen(at: &FoundBalancer) -> Seen {
    Seen { id: at.balancer.id.clone(), version: at.version }
}

/// What to do so that a load balancer is there as wanted.
#[must_use]
pub fn ensure(wanted: &Wanted, found: &Found) -> LoadBalancerPlan {
    let Some(at) = &found.balancer else {
        let new = Box::new(wanted.new_balancer());
        return Plan::Act(vec![Planned::new(CloudStep::new(Action::CreateBalancer(new)), "there is none")]);
    };
    let tree = match &at.children {
        Children::Busy => return wait("Octavia is at work"),
        Children::AsWanted => None,
        Children::Known(tree) => Some(tree),
    };
    for listener in wanted.listeners.iter().filter(|_listener| tree.is_some()) {
        let Some(pool) =
            tree.and_then(|tree| tree.pools.iter().find(|found| found.pool.name == listener.pool.name))
        else {
            continue;
        };
        let mut now: Vec<_> = pool.members.iter().map(|one| (one.address, one.protocol_port)).collect();
        let mut then: Vec<_> =
            listener.pool.members.iter().map(|one| (one.address, one.protocol_port)).collect();
        now.sort_unstable();
        then.sort_unstable();
        if now != then {
            let change = SetChange { before: now.len(), removed: 0 };
            let members = listener.pool.members.clone();
            let action = Action::SetMembers { pool: pool.pool.id.clone(), members, change };
            return Plan::Act(vec![Planned::new(CloudStep::on(seen(at), action), "the Nodes have changed")]);
        }
    }
    match (&wanted.address, found.floating.attached.first(), at.balancer.vip_address) {
        (WantedAddress::Floating { .. }, Some(floating), _) => {
            Plan::Settled(wanted.publication.status(floating.floating_ip_address))
        }
        (WantedAddress::Floating { place: Some(place), .. }, None, _) => {
            let new = FloatingIpCreate {
                floating_network_id: place.network.clone(),
                subnet_id: None,
                floating_ip_address: None,
                port_id: at.balancer.vip_port_id.clone(),
                description: wanted.names.floating_ip_description(),
            };
            let action = Action::CreateFloatingIp { new, subnets: place.subnets.clone() };
            Plan::Act(vec![Planned::new(CloudStep::new(action), "it has no floating IP")])
        }
        (_, _, Some(own)) => Plan::Settled(wanted.publication.status(own)),
        (_, _, None) => wait("it has no address yet"),
    }
}

/// What to do so that nothing is there.
#[must_use]
pub fn remove(_removal: &Removal, found: &Found) -> LoadBalancerPlan {
    if let Some(floating) = found.floating.attached.iter().chain(&found.floating.left).next() {
        let step = CloudStep::new(Action::DeleteFloatingIp(floating.id.clone()));
        return Plan::Act(vec![Planned::new(step, "its Service goes")]);
    }
    match &found.balancer {
        Some(at) if matches!(at.children, Children::Busy) => wait("Octavia is at work"),
        Some(at) => {
            let action = Action::DeleteBalancer { name: at.balancer.name.clone(), cascade: true };
            Plan::Act(vec![Planned::new(CloudStep::on(seen(at), action), "its Service goes")])
        }
        None => Plan::Settled(LoadBalancerStatus::default()),
    }
}
