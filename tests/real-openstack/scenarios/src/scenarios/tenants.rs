//! Hostile tenants: what the Services of one namespace, or of one cluster, cannot do to what belongs to another. What belongs to the
//! other is compared before and after, object by object, as the cloud shows it.

mod addresses;
mod balancers;

use serde_json::Value;

use crate::harness::Whole;
use crate::scenario::{On, Provider, Scenario, When};

const LOAD_BALANCER_ID: &str = "loadbalancer.openstack.org/load-balancer-id";

pub(crate) const SCENARIOS: &[Scenario] = &[
    Scenario {
        name: "tenants/kept-address",
        story: "a Service that requested the kept floating IP of another Service does not delete it",
        when: When::Always,
        on: On::Ovn,
        run: |stage| Box::pin(addresses::kept(stage)),
    },
    Scenario {
        name: "tenants/other-cluster",
        story: "annotations do not take over the load balancer of another cluster",
        when: When::Always,
        on: On::Ovn,
        run: |stage| Box::pin(balancers::of_another_cluster(stage)),
    },
    Scenario {
        name: "tenants/leaving",
        story: "a Service that leaves a load balancer without tags deletes its own listener only",
        when: When::AlwaysWith(Provider::Ovn),
        on: On::Both,
        run: |stage| Box::pin(balancers::leaving(stage)),
    },
    Scenario {
        name: "tenants/other-namespace",
        story: "a Service joins the load balancer of another namespace only if a rule allows it, and not beyond its owner",
        when: When::Always,
        on: On::Ovn,
        run: |stage| Box::pin(balancers::of_another_namespace(stage)),
    },
];

/// A load balancer with its parts as text, but for what the cloud writes itself while others change theirs.
fn owned(whole: &Whole) -> String {
    let mut rows: Vec<Value> = vec![whole.balancer.clone()];
    rows.extend(whole.listeners.iter().chain(&whole.pools).chain(&whole.monitors).cloned());
    rows.extend(whole.members.iter().flatten().cloned());
    for row in &mut rows {
        if let Some(fields) = row.as_object_mut() {
            for field in ["updated_at", "provisioning_status", "operating_status"] {
                fields.remove(field);
            }
        }
    }
    format!("{rows:#?}")
}
