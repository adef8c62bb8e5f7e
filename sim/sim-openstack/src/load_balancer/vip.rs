//! The address of a load balancer: a port in Neutron, made or given.

use http::StatusCode;
use serde_json::{Map, Value};

use super::errors::{bad_request, conflict, invalid, refusal};
use super::model::{AdditionalVip, LoadBalancer};
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{Caller, Refusal};
use crate::ids::steady_id;
use crate::network::{self, AllocationError, Port, PortPlan};

/// Where the address is to be: found before anything is made.
pub(super) struct Place {
    network_id: String,
    /// Subnets with addresses: the VIP's, then the additional ones'.
    fixed: Vec<(String, Option<String>)>,
    given: Option<Port>,
}

/// Finds where the address is to be.
pub(super) fn place(world: &World, caller: &Caller, wanted: &Map<String, Value>) -> Result<Place, Refusal> {
    let text = |name: &str| wanted.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    let subnets = &world.state.network.subnets;
    let no_subnet = |id: &str| bad_request(&format!("Subnet {id} not found."));
    if let Some(id) = text("vip_port_id") {
        let port = world.state.network.ports.get(id).filter(|port| caller.may_see(&port.project_id));
        let mut port = port.ok_or_else(|| bad_request(&format!("Port {id} not found.")))?.clone();
        choose(&mut port, text("vip_subnet_id"), text("vip_address"))?;
        return Ok(Place { network_id: port.network_id.clone(), fixed: Vec::new(), given: Some(port) });
    }
    let address = text("vip_address").map(str::to_owned);
    let (network_id, subnet_id) = match (text("vip_subnet_id"), text("vip_network_id")) {
        (Some(subnet), _) => {
            let found = subnets.get(subnet).ok_or_else(|| no_subnet(subnet))?;
            (found.network_id.clone(), subnet.to_owned())
        }
        (None, Some(network)) => {
            if !world.state.network.networks.contains(network) {
                return Err(bad_request(&format!("Network {network} not found.")));
            }
            let mut of_network: Vec<_> = subnets.find("network_id", network).collect();
            of_network.sort_by_key(|subnet| subnet.ip_version); // IPv4 first
            let first =
                of_network.first().ok_or_else(|| invalid("Supplied network does not contain a subnet."))?;
            (network.to_owned(), first.id.clone())
        }
        (None, None) => {
            return Err(invalid("VIP must contain one of: vip_port_id, vip_network_id, vip_subnet_id."));
        }
    };
    let mut fixed = vec![(subnet_id, address)];
    for vip in wanted.get("additional_vips").and_then(Value::as_array).into_iter().flatten() {
        let subnet = vip.text("subnet_id").unwrap_or_default();
        let found = subnets.get(subnet).ok_or_else(|| no_subnet(subnet))?;
        if found.network_id != network_id {
            return Err(invalid("All VIP subnets must belong to the same network."));
        }
        fixed.push((subnet.to_owned(), vip.text("ip_address").map(str::to_owned)));
    }
    Ok(Place { network_id, fixed, given: None })
}

/// Of the addresses of a given port the one that is the VIP: the only one, or the one that is told by subnet or address.
fn choose(port: &mut Port, subnet: Option<&str>, address: Option<&str>) -> Result<(), Refusal> {
    if subnet.is_none() && address.is_none() {
        return match port.fixed_ips.len() {
            1 => Ok(()),
            _ => Err(invalid(
                "VIP port's subnet could not be determined. Please specify either a VIP subnet or address.",
            )),
        };
    }
    port.fixed_ips.retain(|fixed| {
        subnet.is_none_or(|subnet| fixed.subnet_id == subnet)
            && address.is_none_or(|address| fixed.ip_address == address)
    });
    port.fixed_ips.truncate(1);
    match port.fixed_ips.as_slice() {
        [] => Err(invalid("No VIP address found on the specified VIP port within the specified subnet.")),
        _ => Ok(()),
    }
}

/// Makes the port, or takes the given one, and writes the address into the load balancer.
pub(super) fn take(world: &mut World, place: Place, balancer: &mut LoadBalancer) -> Result<(), Refusal> {
    balancer.vip_network_id.clone_from(&place.network_id);
    if balancer.provider == "noop_driver" {
        "198.0.2.5".clone_into(&mut balancer.vip_address);
        balancer.vip_port_id = world.ids.uuid();
        balancer.vip_subnet_id = place.fixed.first().map(|(subnet, _)| subnet.clone()).unwrap_or_default();
        return Ok(());
    }
    let given = place.given.is_some();
    let port = match place.given {
        Some(port) => {
            guard_given(world, balancer, &port);
            port
        }
        None => make(world, balancer, place.network_id, place.fixed)?,
    };
    balancer.vip_port_id.clone_from(&port.id);
    let mut fixed = port.fixed_ips.into_iter();
    if let Some(first) = fixed.next() {
        balancer.vip_subnet_id = first.subnet_id;
        balancer.vip_address = first.ip_address;
    }
    balancer.additional_vips = fixed
        .map(|fixed| AdditionalVip {
            subnet_id: fixed.subnet_id,
            ip_address: fixed.ip_address,
            port_id: balancer.vip_port_id.clone(),
        })
        .collect();
    if given {
        world.state.load_balancer.given_ports.insert(balancer.id.clone());
    }
    Ok(())
}

fn make(
    world: &mut World,
    balancer: &LoadBalancer,
    network_id: String,
    fixed: Vec<(String, Option<String>)>,
) -> Result<Port, Refusal> {
    let ovn = balancer.provider == "ovn";
    // OVN takes the groups and does not put them on its port.
    let security_groups = if ovn {
        vec![network::default_group(world, &balancer.project_id)]
    } else {
        let own = own_group(world, balancer);
        balancer.vip_sg_ids.iter().cloned().chain([own]).collect()
    };
    let (name, owner) = if ovn { ("ovn-lb-vip", "ovn-lb:vip") } else { ("octavia-lb", "Octavia") };
    let plan = PortPlan {
        project: balancer.project_id.clone(),
        network_id,
        name: format!("{name}-{}", balancer.id),
        device_id: format!("lb-{}", balancer.id),
        device_owner: owner.to_owned(),
        security_groups,
        admin_state_up: ovn,
        fixed,
    };
    let result = network::add_port(world, plan);
    if result.is_err() {
        drop_own_group(world, &balancer.id);
    }
    result.map_err(|(error, name)| match error {
        AllocationError::Taken(address) => conflict(&format!(
            "The VIP IP address is already in use: IP address {address} already allocated in subnet {name}"
        )),
        AllocationError::Outside(address) => {
            let provider = &balancer.provider;
            // Of what Neutron says, amphorae only tell the status.
            let what = if provider != "ovn" {
                "BadRequestException: 400".to_owned()
            } else {
                format!("IP address {address} is not a valid IP for the specified subnet.")
            };
            let message = format!("Provider '{provider}' reports error: {what}");
            refusal(StatusCode::INTERNAL_SERVER_ERROR, &message)
        }
        AllocationError::Exhausted => {
            let message = format!("No more IP addresses available on network {name}.");
            refusal(
                StatusCode::INTERNAL_SERVER_ERROR,
                &format!("Provider '{}' reports error: {message}", balancer.provider),
            )
        }
    })
}

/// The project Octavia itself works in.
fn service_project() -> String {
    steady_id("octavia service project")
}

/// Amphorae have a security group of their own, which the tenant does not see.
fn own_group(world: &mut World, balancer: &LoadBalancer) -> String {
    network::add_group(world, &service_project(), &format!("lb-{}", balancer.id))
}

fn drop_own_group(world: &mut World, balancer: &str) {
    let key = format!("{}/lb-{balancer}", service_project());
    for group in world.state.network.security_groups.find_ids("project_name", &key) {
        network::forget_group(world, &group);
    }
}

/// An amphora puts its own group on a port that was given to it.
fn guard_given(world: &mut World, balancer: &LoadBalancer, port: &Port) {
    if balancer.provider != "ovn" {
        let group = own_group(world, balancer);
        world.state.network.ports.update(&port.id, |port| {
            port.security_groups = vec![group];
            port.revision_number += 1;
        });
    }
}

/// A load balancer went: its port goes, unless it was given.
pub(super) fn give_back(world: &mut World, balancer: &LoadBalancer) {
    if world.state.load_balancer.given_ports.remove(&balancer.id) {
        if balancer.provider != "ovn" {
            world.state.network.ports.update(&balancer.vip_port_id, |port| port.security_groups.clear());
        }
    } else {
        network::drop_port(world, &balancer.vip_port_id);
    }
    drop_own_group(world, &balancer.id);
}
