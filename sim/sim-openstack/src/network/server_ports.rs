//! Ports of servers, and what happens around a port when it goes: changes that come from other services.

use super::changes::now;
use super::model::{FloatingIp, Port, Standard};
use super::{allocation, fixed_ips, ports, quotas, security_groups};
use crate::cloud::World;
use crate::compute::Server;

/// Makes a port for a server; gives its identifier, or why there is none.
pub(crate) fn add_server_port(
    world: &mut World,
    network_id: &str,
    address: Option<&str>,
    server: &Server,
    zone: &str,
    groups: &[String],
) -> Result<String, String> {
    let project = server.project_id.clone();
    if quotas::check(world, &project, "port", 1).is_err() {
        return Err("Failed to allocate the network(s): maximum number of ports exceeded".to_owned());
    }
    let groups = group_ids(world, &project, groups)?;
    let asked = address.map(|address| vec![serde_json::json!({"ip_address": address})]);
    let fixed_ips = fixed_ips::allocate(world, network_id, asked.as_deref())
        .map_err(|error| format!("Failed to allocate the network(s): {}", fixed_ips::describe(&error)))?;
    let blank = ports::blank(world, &project, network_id);
    let port = Port {
        status: "ACTIVE".to_owned(),
        device_id: server.id.clone(),
        device_owner: format!("compute:{zone}"),
        security_groups: groups,
        dns_name: server.name.clone(),
        fixed_ips,
        ..blank
    };
    let id = port.id.clone();
    world.state.network.ports.insert(port);
    Ok(id)
}

/// Security groups by name or identifier; none: the default group.
fn group_ids(world: &mut World, project: &str, groups: &[String]) -> Result<Vec<String>, String> {
    if groups.is_empty() || groups.iter().any(|group| group == "default") {
        let default = security_groups::default_group(world, project);
        if groups.len() <= 1 {
            return Ok(vec![default]);
        }
    }
    let find = |name: &String| {
        security_groups::by_name_or_id(world, project, name)
            .ok_or_else(|| format!("Security group {name} not found."))
    };
    groups.iter().map(find).collect()
}

/// Gives an existing port to a server.
pub(crate) fn bind_port(world: &mut World, port: &str, server: &str, zone: &str, name: &str) {
    let time = now(world);
    world.state.network.ports.update(port, |port| {
        server.clone_into(&mut port.device_id);
        port.device_owner = format!("compute:{zone}");
        "ACTIVE".clone_into(&mut port.status);
        name.clone_into(&mut port.dns_name);
        port.touch(&time);
    });
}

/// Takes a port from its server; the port stays.
pub(crate) fn unbind_port(world: &mut World, port: &str) {
    let time = now(world);
    world.state.network.ports.update(port, |port| {
        port.device_id.clear();
        port.device_owner.clear();
        "DOWN".clone_into(&mut port.status);
        port.touch(&time);
    });
}

/// Takes a port out: its addresses are free, its floating IPs have no port.
pub(crate) fn drop_port(world: &mut World, id: &str) {
    let Some(port) = world.state.network.ports.remove(id) else { return };
    for fixed in &port.fixed_ips {
        allocation::release(&mut world.state.network, &fixed.subnet_id, &fixed.ip_address);
    }
    let time = now(world);
    for floating in world.state.network.floating_ips.find_ids("port_id", id) {
        world.state.network.floating_ips.update(&floating, |floating: &mut FloatingIp| {
            floating.port_id = None;
            floating.router_id = None;
            floating.fixed_ip_address = None;
            "DOWN".clone_into(&mut floating.status);
            floating.touch(&time);
        });
    }
}

/// Adds a security group to all ports of a server, or takes it away; false if there is no such group.
pub(crate) fn change_server_group(
    world: &mut World,
    server: &str,
    project: &str,
    group: &str,
    add: bool,
) -> bool {
    let Some(group) = security_groups::by_name_or_id(world, project, group) else { return false };
    let time = now(world);
    for port in world.state.network.ports.find_ids("device_id", server) {
        world.state.network.ports.update(&port, |port| {
            port.security_groups.retain(|own| *own != group);
            if add {
                port.security_groups.push(group.clone());
            }
            port.touch(&time);
        });
    }
    true
}
