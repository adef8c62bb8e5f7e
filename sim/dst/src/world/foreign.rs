//! What belongs to somebody else in the same project, and has to stay as it is.

use std::collections::BTreeMap;

use http::Method;
use serde_json::json;
use sim_openstack::State;

use super::World;
use crate::case::Provider;

/// What belongs to somebody else, and has to stay as it is.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Foreign {
    /// Load balancer, listener and pool by id, as they were made.
    balancers: BTreeMap<String, String>,
    /// Floating IPs, security groups.
    network: BTreeMap<String, String>,
}

impl Foreign {
    /// Whether all that was there at first is there as it was. What came besides is not ours either, and may come.
    fn has_all_of(&self, first: &Self) -> bool {
        let has = |now: &BTreeMap<String, String>, first: &BTreeMap<String, String>| {
            first.iter().all(|(id, was)| now.get(id) == Some(was))
        };
        has(&self.balancers, &first.balancers) && has(&self.network, &first.network)
    }
}

impl World {
    /// Another tenant of the same project: a load balancer, a floating IP and a security group that are not ours.
    pub(super) fn plant_foreign(&self) -> Foreign {
        let (provider, method) = match self.setting.provider {
            Provider::Amphora => ("amphora", "ROUND_ROBIN"),
            Provider::Ovn => ("ovn", "SOURCE_IP_PORT"),
        };
        let body = json!({"loadbalancer": {"name": "somebody-elses", "vip_subnet_id": self.estate.subnet,
            "project_id": self.estate.project, "provider": provider,
            "listeners": [{"name": "theirs", "protocol": "TCP", "protocol_port": 8443,
                "default_pool": {"name": "theirs", "protocol": "TCP", "lb_algorithm": method,
                    "members": [{"address": "10.10.99.9", "protocol_port": 1}]}}]}});
        let (code, answer) = self.operator(Method::POST, "/load-balancer/v2/lbaas/loadbalancers", &body);
        assert_eq!(code, 201, "{answer}");
        let (code, _) = self.operator(
            Method::POST,
            "/network/v2.0/floatingips",
            &json!({"floatingip": {"floating_network_id": self.estate.external_network,
                "project_id": self.estate.project, "description": "somebody else's"}}),
        );
        assert_eq!(code, 201);
        self.settle();
        self.cloud.with(|cloud| foreign_in(cloud.state()))
    }

    /// What the cloud has begun is over before the run begins; time itself does not move.
    pub(super) fn settle(&self) {
        let far = self.cloud.now().checked_add(jiff::SignedDuration::from_mins(5)).expect("within time");
        self.cloud.with(|cloud| {
            while cloud.next_due().is_some_and(|due| due <= far) {
                let due = cloud.next_due().unwrap_or(far);
                let now = cloud.now();
                cloud.settle(due);
                cloud.world().now = now;
            }
        });
    }

    /// What of somebody else's has changed since the start.
    #[must_use]
    pub fn foreign_changes(&self) -> Option<String> {
        let now = self.cloud.with(|cloud| foreign_in(cloud.state()));
        self.unguarded()
            .or_else(|| (!now.has_all_of(&self.foreign)).then(|| format!("{:?} was {:?}", now, self.foreign)))
    }

    /// A port that has lost the security group of somebody's tool.
    pub(super) fn unguarded(&self) -> Option<String> {
        let guarded = self.guarded.lock();
        self.cloud.with(|cloud| {
            let ports = &cloud.state().network.ports;
            let lost = guarded
                .iter()
                .find(|(id, group)| ports.get(id).is_some_and(|port| !port.security_groups.contains(group)));
            lost.map(|(id, group)| format!("port {id} has lost security group {group}, which is not ours"))
        })
    }
}

fn foreign_in(state: &State) -> Foreign {
    let octavia = &state.load_balancer;
    let theirs = octavia.load_balancers.iter().filter(|balancer| balancer.name == "somebody-elses");
    let mut balancers = BTreeMap::new();
    for balancer in theirs {
        balancers.insert(balancer.id.clone(), format!("{} {:?}", balancer.name, balancer.tags));
        for listener in octavia.listeners.iter().filter(|one| one.loadbalancer_id == balancer.id) {
            balancers.insert(listener.id.clone(), format!("{} {}", listener.name, listener.protocol_port));
        }
        for pool in octavia.pools.iter().filter(|pool| pool.loadbalancer_id == balancer.id) {
            let members = octavia.members.iter().filter(|member| member.pool_id == pool.id).count();
            balancers.insert(pool.id.clone(), format!("{} {members}", pool.name));
        }
    }
    let floating = state.network.floating_ips.iter().filter(|one| one.description == "somebody else's");
    let groups = state.network.security_groups.iter();
    let groups =
        groups.filter(|group| !group.name.starts_with("lb-sg-") && group.name != "somebody-elses-guard");
    let network = floating
        .map(|one| (one.id.clone(), format!("{:?} {:?}", one.port_id, one.tags)))
        .chain(groups.map(|group| {
            let rules = state.network.rules.iter().filter(|rule| rule.security_group_id == group.id).count();
            (group.id.clone(), format!("{} {rules} {:?}", group.name, group.tags))
        }))
        .collect();
    Foreign { balancers, network }
}
