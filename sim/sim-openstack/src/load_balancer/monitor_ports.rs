//! OVN checks members from a port of its own: one per subnet with monitored members, shared by all load balancers.

use std::collections::BTreeSet;

use super::model::LoadBalancer;
use crate::cloud::World;
use crate::network::{self, PortPlan};

/// Makes the ports that a load balancer's monitors need, and takes away those that no monitor needs any more.
pub(super) fn sync(world: &mut World, balancer: &LoadBalancer) {
    if balancer.provider != "ovn" {
        return;
    }
    let needed = needed(world, balancer);
    for subnet in &needed {
        let users = world.state.load_balancer.monitored_subnets.entry(subnet.clone()).or_default();
        users.insert(balancer.id.clone());
        if users.len() == 1 {
            make(world, &balancer.project_id, subnet);
        }
    }
    let mut unused = Vec::new();
    world.state.load_balancer.monitored_subnets.retain(|subnet, users| {
        if !needed.contains(subnet) {
            users.remove(&balancer.id);
        }
        if users.is_empty() {
            unused.push(subnet.clone());
        }
        !users.is_empty()
    });
    for subnet in unused {
        for port in world.state.network.ports.find_ids("device_id", &name(&subnet)) {
            network::drop_port(world, &port);
        }
    }
}

/// The subnets of the members that have a monitor; members without a subnet are in the VIP's.
fn needed(world: &World, balancer: &LoadBalancer) -> BTreeSet<String> {
    let state = &world.state.load_balancer;
    let pools = state.pools.find("loadbalancer_id", &balancer.id);
    let monitored = pools.filter(|pool| state.monitors.find("pool_id", &pool.id).next().is_some());
    let members = monitored.flat_map(|pool| state.members.find("pool_id", &pool.id));
    members.map(|member| member.subnet_id.clone().unwrap_or_else(|| balancer.vip_subnet_id.clone())).collect()
}

fn name(subnet: &str) -> String {
    format!("ovn-lb-hm-{subnet}")
}

fn make(world: &mut World, project: &str, subnet_id: &str) {
    let name = name(subnet_id);
    let Some(subnet) = world.state.network.subnets.get(subnet_id) else { return };
    if world.state.network.ports.find("device_id", &name).next().is_some() {
        return;
    }
    let plan = PortPlan {
        project: project.to_owned(),
        network_id: subnet.network_id.clone(),
        name: name.clone(),
        device_id: name,
        device_owner: "ovn-lb-hm:distributed".to_owned(),
        admin_state_up: true,
        fixed: vec![(subnet_id.to_owned(), None)],
        ..PortPlan::default()
    };
    // Without a free address OVN goes without the port, and so without checks.
    if let Ok(port) = network::add_port(world, plan) {
        world.state.network.ports.update(&port.id, |port| port.port_security_enabled = false);
    }
}
