//! Whether OVN has done what it was asked for. Octavia calls a load balancer of OVN active again also when a change of something on
//! it failed: only the thing itself is in ERROR then. So what a change of ours was believed to make is looked at once it has ended.

use openstack_client::LoadBalancerId;
use openstack_client::load_balancer::{LoadBalancerHealth, PoolHealth, ProvisioningStatus};

use super::{Resolved, together};
use crate::loadbalancer::balancers::Balancers;
use crate::loadbalancer::found::Children;
use crate::loadbalancer::trouble::Trouble;

/// The provider whose load balancers do not tell of failures.
const SILENT: &str = "ovn";

/// What became of a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Outcome {
    Done,
    /// Something on the load balancer is still at work.
    Pending,
    /// Something was given up, or nobody can say.
    Unknown,
}

impl Balancers {
    /// Looks at what is believed to hang on load balancers after changes of ours. What does not is read.
    pub(super) async fn prove(&self, resolved: &mut [Result<Resolved<'_>, Trouble>]) {
        let believed: Vec<_> = resolved.iter().map(|one| self.believed(one.as_ref().ok()?)).collect();
        let asked = believed.iter().flatten().map(|id| self.outcome(id)).collect();
        let mut outcomes = together(asked).await.into_iter();
        for (one, id) in resolved.iter_mut().zip(&believed) {
            let (Ok(one), Some(id)) = (one, id) else { continue };
            match outcomes.next() {
                Some(Outcome::Done) => self.memory.proven(id),
                Some(Outcome::Pending) => one.children = Some(Children::Busy),
                Some(Outcome::Unknown) | None => {
                    self.memory.doubt(id);
                    one.children = None;
                }
            }
        }
    }

    /// The load balancer, if what hangs on it is only believed.
    fn believed(&self, one: &Resolved<'_>) -> Option<LoadBalancerId> {
        let balancer = one.sight.at.balancer.as_ref().map(|at| &at.balancer)?;
        let known = matches!(one.children, Some(Children::Known(_) | Children::AsWanted));
        let silent = one.wanted.is_some() && balancer.provider == SILENT;
        (known && silent && self.memory.is_unproven(&balancer.id)).then(|| balancer.id.clone())
    }

    async fn outcome(&self, id: &LoadBalancerId) -> Outcome {
        match self.client.load_balancer().status_tree(id).await {
            Ok(tree) => outcome(&tree),
            Err(_error) => Outcome::Unknown,
        }
    }
}

fn outcome(tree: &LoadBalancerHealth) -> Outcome {
    let pool = |pool: &PoolHealth| {
        let members = pool.members.iter().map(|member| member.provisioning_status.clone());
        let monitor = pool.health_monitor.iter().map(|monitor| monitor.provisioning_status.clone());
        members.chain(monitor).chain([pool.provisioning_status.clone()]).collect::<Vec<_>>()
    };
    let pools = tree.listeners.iter().flat_map(|listener| &listener.pools).flat_map(pool);
    let listeners = tree.listeners.iter().map(|listener| listener.provisioning_status.clone());
    let all: Vec<ProvisioningStatus> = pools.chain(listeners).collect();
    if all.contains(&ProvisioningStatus::Error) {
        Outcome::Unknown
    } else if all.iter().any(ProvisioningStatus::is_pending) {
        Outcome::Pending
    } else {
        Outcome::Done
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn tree(listener: &str, pool: &str, member: &str, monitor: &Value) -> LoadBalancerHealth {
        let thing = |id: &str, status: &str| json!({"id": id, "provisioning_status": status});
        let mut one = thing("pool", pool);
        one["members"] = json!([thing("m1", "ACTIVE"), thing("m2", member)]);
        one["health_monitor"] = monitor.clone();
        let mut front = thing("listener", listener);
        front["pools"] = json!([one]);
        let mut whole = thing("lb", "ACTIVE");
        whole["listeners"] = json!([front]);
        serde_json::from_value(whole).unwrap()
    }

    #[test]
    fn one_thing_in_error_is_enough_for_a_look_at_all_and_one_at_work_to_wait() {
        let monitor = |status: &str| json!({"id": "hm", "provisioning_status": status});
        for (sight, wanted) in [
            (tree("ACTIVE", "ACTIVE", "ACTIVE", &Value::Null), Outcome::Done),
            (tree("ACTIVE", "ACTIVE", "ACTIVE", &monitor("ACTIVE")), Outcome::Done),
            (tree("PENDING_UPDATE", "ACTIVE", "ACTIVE", &Value::Null), Outcome::Pending),
            (tree("ACTIVE", "ACTIVE", "PENDING_CREATE", &Value::Null), Outcome::Pending),
            (tree("ERROR", "ACTIVE", "PENDING_CREATE", &Value::Null), Outcome::Unknown),
            (tree("ACTIVE", "ERROR", "ACTIVE", &Value::Null), Outcome::Unknown),
            (tree("ACTIVE", "ACTIVE", "ERROR", &Value::Null), Outcome::Unknown),
            (tree("ACTIVE", "ACTIVE", "ACTIVE", &monitor("ERROR")), Outcome::Unknown),
        ] {
            assert_eq!(outcome(&sight), wanted, "{sight:?}");
        }
    }
}
