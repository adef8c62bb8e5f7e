//! The addresses of a port: those asked for, or one of each version.

use serde_json::Value;

use super::allocation::{self, AllocationError};
use super::errors::{bad_request, conflict, missing};
use super::model::{FixedIp, Subnet};
use crate::cloud::World;
use crate::http::Refusal;
use crate::http::json::JsonExt;

/// Why a port gets no address, with the identifier that the message names.
pub(super) enum NoAddress {
    Allocation(AllocationError, String),
    SubnetMissing(String),
}

/// The refusal that says so.
pub(super) fn refuse(error: &NoAddress) -> Refusal {
    match error {
        NoAddress::SubnetMissing(id) => missing("subnets", id),
        NoAddress::Allocation(AllocationError::Exhausted, network) => conflict(
            "IpAddressGenerationFailure",
            &format!("No more IP addresses available on network {network}."),
        ),
        NoAddress::Allocation(AllocationError::Taken(address), subnet) => conflict(
            "IpAddressAlreadyAllocated",
            &format!("IP address {address} already allocated in subnet {subnet}"),
        ),
        NoAddress::Allocation(AllocationError::Outside(address), _)
            if address.parse::<std::net::IpAddr>().is_err() =>
        {
            let message =
                format!("Invalid input for fixed_ips. Reason: '{address}' is not a valid IP address.");
            bad_request("HTTPBadRequest", &message)
        }
        NoAddress::Allocation(AllocationError::Outside(address), _) => bad_request(
            "InvalidIpForSubnet",
            &format!("IP address {address} is not a valid IP for the specified subnet."),
        ),
    }
}

/// The same as text, for what is no request to Neutron.
pub(super) fn describe(error: &NoAddress) -> String {
    let response = refuse(error).into_response();
    let message = response.body_json().and_then(|body| body.get("NeutronError"));
    message.and_then(|error| error.text("message")).unwrap_or("no address").to_owned()
}

/// The addresses a port gets: those asked for, or one of each version.
pub(super) fn allocate(
    world: &mut World,
    network_id: &str,
    asked: Option<&[Value]>,
) -> Result<Vec<FixedIp>, NoAddress> {
    let subnets: Vec<Subnet> = world.state.network.subnets.find("network_id", network_id).cloned().collect();
    let mut fixed: Vec<FixedIp> = Vec::new();
    let result = match asked {
        None => one_of_each_version(world, network_id, &subnets, &mut fixed),
        Some(asked) => asked.iter().try_for_each(|asked| one(world, network_id, &subnets, asked, &mut fixed)),
    };
    if result.is_err() {
        for taken in &fixed {
            allocation::release(&mut world.state.network, &taken.subnet_id, &taken.ip_address);
        }
    }
    result.map(|()| fixed)
}

fn one_of_each_version(
    world: &mut World,
    network_id: &str,
    subnets: &[Subnet],
    fixed: &mut Vec<FixedIp>,
) -> Result<(), NoAddress> {
    for version in [4, 6] {
        let mut last = None;
        for subnet in subnets.iter().filter(|subnet| subnet.ip_version == version) {
            match allocation::take_any(&mut world.state.network, subnet) {
                Ok(ip_address) => {
                    fixed.push(FixedIp { subnet_id: subnet.id.clone(), ip_address });
                    last = None;
                    break;
                }
                Err(error) => last = Some(error),
            }
        }
        if let Some(error) = last {
            return Err(NoAddress::Allocation(error, network_id.to_owned()));
        }
    }
    Ok(())
}

fn one(
    world: &mut World,
    network_id: &str,
    subnets: &[Subnet],
    asked: &Value,
    fixed: &mut Vec<FixedIp>,
) -> Result<(), NoAddress> {
    let wanted = asked.text("ip_address");
    let subnet = match asked.text("subnet_id") {
        Some(id) => {
            let own = subnets.iter().find(|subnet| subnet.id == id);
            own.ok_or_else(|| NoAddress::SubnetMissing(id.to_owned()))?
        }
        None => {
            let fits = |subnet: &&Subnet| {
                let range = subnet.cidr.parse::<ipnet::IpNet>();
                let address = wanted.and_then(|wanted| wanted.parse::<std::net::IpAddr>().ok());
                matches!((range, address), (Ok(range), Some(address)) if range.contains(&address))
            };
            let outside = || AllocationError::Outside(wanted.unwrap_or_default().to_owned());
            let found = subnets.iter().find(fits);
            found.ok_or_else(|| NoAddress::Allocation(outside(), network_id.to_owned()))?
        }
    };
    let taken = match wanted {
        Some(address) => allocation::take(&mut world.state.network, subnet, address),
        None => allocation::take_any(&mut world.state.network, subnet),
    };
    let name = |error: &AllocationError| match error {
        AllocationError::Exhausted => network_id.to_owned(),
        _ => subnet.id.clone(),
    };
    let ip_address = taken.map_err(|error| NoAddress::Allocation(error.clone(), name(&error)))?;
    fixed.push(FixedIp { subnet_id: subnet.id.clone(), ip_address });
    Ok(())
}
