//! Renames all objects of a cluster on a load balancer after `--cluster-name` was changed, the load balancer last.
//!
//! The caller has checked that this Service owns the load balancer. Objects of other clusters keep their names.

use bowline_cloud::Planned;
use openstack_client::load_balancer::{
    HealthMonitorUpdate, Listener, ListenerUpdate, LoadBalancerUpdate, PoolUpdate,
};

use openstack_client::network::FloatingIpUpdate;

use super::claim::Claim;
use super::order::by_id;
use super::{Steps, pool};
use crate::loadbalancer::found::{Found, FoundPool, Tree};
use crate::loadbalancer::names::{cluster_of, in_cluster};
use crate::loadbalancer::step::{Action, CloudStep};
use crate::loadbalancer::wanted::Wanted;

/// The former and the present name of the cluster.
struct Renaming<'a> {
    from: &'a str,
    to: &'a str,
}

impl Renaming<'_> {
    /// The new name; `None` if the name stays or is not of the former cluster.
    fn name(&self, old: &str) -> Option<String> {
        let ours = cluster_of(old) == Some(self.from);
        Some(old).filter(|_old| ours).and_then(|old| in_cluster(old, self.to)).filter(|new| new != old)
    }

    fn tags(&self, old: &[String]) -> Vec<String> {
        let kept = old.iter().filter(|tag| !tag.is_empty());
        kept.map(|tag| self.name(tag).unwrap_or_else(|| tag.clone())).collect()
    }
}

pub(super) fn steps(
    wanted: &Wanted,
    found: &Found,
    claim: &Claim<'_>,
    tree: Option<&Tree>,
    former: &str,
) -> Steps {
    let renaming = Renaming { from: cluster_of(former).unwrap_or_default(), to: wanted.names.cluster() };
    let reason = format!("the cluster is called {} now, no longer {}", renaming.to, renaming.from);
    let pools = by_id(tree.iter().flat_map(|tree| &tree.pools), |found| &found.pool.id);
    let pools = pools.into_iter().flat_map(|pool| in_pool(&renaming, pool));
    let listeners = by_id(tree.iter().flat_map(|tree| &tree.listeners), |found| &found.id);
    let listeners = listeners.into_iter().filter_map(|found| listener(&renaming, found));
    let actions = pools.chain(listeners).chain(std::iter::once(balancer(wanted, claim, &renaming)));
    let named = actions.map(|action| claim.step(action, reason.clone()));
    described(wanted, found, &renaming, &reason).chain(named).collect()
}

/// Gives the floating IPs of the Service the description with the new cluster name, which proves from then on that they are its own. This
/// has to precede the new name of the load balancer: after that, nothing proves that they were created for this Service.
fn described<'a>(
    wanted: &'a Wanted,
    found: &'a Found,
    renaming: &Renaming<'_>,
    reason: &'a str,
) -> impl Iterator<Item = Planned<CloudStep>> + 'a {
    let before = wanted.names.floating_ip_description_in(renaming.from);
    let ours = found.floating.attached.iter().filter(move |floating| floating.description == before);
    by_id(ours, |floating| &floating.id).into_iter().map(move |floating| {
        let description = Some(wanted.names.floating_ip_description());
        let change = FloatingIpUpdate { port_id: floating.port_id.clone(), description };
        Planned::new(CloudStep::new(Action::update_floating_ip(floating, change)), reason)
    })
}

fn in_pool(renaming: &Renaming<'_>, found: &FoundPool) -> impl Iterator<Item = Action> {
    let monitor = found.monitor.as_ref().and_then(|monitor| {
        let name = Some(renaming.name(&monitor.name)?);
        let change = HealthMonitorUpdate { name, ..HealthMonitorUpdate::default() };
        Some(Action::UpdateMonitor(monitor.id.clone(), change))
    });
    let pool = renaming.name(&found.pool.name).map(|name| {
        let change = PoolUpdate { name: Some(name), ..pool::unchanged(&found.pool) };
        Action::UpdatePool(found.pool.id.clone(), Box::new(change))
    });
    monitor.into_iter().chain(pool)
}

fn listener(renaming: &Renaming<'_>, found: &Listener) -> Option<Action> {
    let name = renaming.name(&found.name);
    let tags = Some(renaming.tags(&found.tags)).filter(|tags| *tags != found.tags);
    if name.is_none() && tags.is_none() {
        return None;
    }
    let change = ListenerUpdate { name, tags, ..ListenerUpdate::default() };
    Some(Action::UpdateListener(found.id.clone(), Box::new(change)))
}

fn balancer(wanted: &Wanted, claim: &Claim<'_>, renaming: &Renaming<'_>) -> Action {
    let mut tags = renaming.tags(&claim.there.balancer.tags);
    let missing: Vec<String> = wanted.tags().into_iter().filter(|tag| !tags.contains(tag)).collect();
    tags.extend(missing);
    let tags = Some(tags).filter(|_tags| wanted.balancer.tagged);
    let name = Some(wanted.names.load_balancer());
    Action::UpdateBalancer(LoadBalancerUpdate { name, tags, ..LoadBalancerUpdate::default() })
}
