//! Addresses of subnets: choosing a free one, taking a given one, giving one back.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use ipnet::IpNet;

use super::model::{NetworkState, Subnet};

/// Why there is no address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AllocationError {
    /// None is free.
    Exhausted,
    /// Somebody has it.
    Taken(String),
    /// It is not in the subnet.
    Outside(String),
}

/// An address as a number.
pub(super) fn number(address: IpAddr) -> u128 {
    match address {
        IpAddr::V4(address) => u128::from(u32::from(address)),
        IpAddr::V6(address) => u128::from(address),
    }
}

/// A number as an address of a version.
pub(super) fn address(number: u128, version: u8) -> String {
    if version == 4 {
        Ipv4Addr::from(u32::try_from(number).unwrap_or(0)).to_string()
    } else {
        Ipv6Addr::from(number).to_string()
    }
}

/// Takes a free address of the subnet's pools: the next one after the last that was given, then from the start.
pub(super) fn take_any(state: &mut NetworkState, subnet: &Subnet) -> Result<String, AllocationError> {
    let taken = state.taken.entry(subnet.id.clone()).or_default();
    let cursor = state.cursor.get(&subnet.id).copied().unwrap_or(0);
    let pools: Vec<(u128, u128)> = subnet
        .allocation_pools
        .iter()
        .filter_map(|pool| Some((number(pool.start.parse().ok()?), number(pool.end.parse().ok()?))))
        .collect();
    let free = |from: u128| {
        pools.iter().find_map(|(start, end)| {
            let mut candidate = from.max(*start);
            // Taken addresses mostly lie in one run: step over them one by one, in order.
            for used in taken.range(candidate..) {
                if *used != candidate {
                    break;
                }
                candidate += 1;
            }
            (candidate <= *end).then_some(candidate)
        })
    };
    let found = free(cursor).or_else(|| free(0)).ok_or(AllocationError::Exhausted)?;
    taken.insert(found);
    state.cursor.insert(subnet.id.clone(), found + 1);
    Ok(address(found, subnet.ip_version))
}

/// Takes one address of the subnet.
pub(super) fn take(
    state: &mut NetworkState,
    subnet: &Subnet,
    wanted: &str,
) -> Result<String, AllocationError> {
    let outside = || AllocationError::Outside(wanted.to_owned());
    let parsed: IpAddr = wanted.parse().map_err(|_| outside())?;
    let range: IpNet = subnet.cidr.parse().map_err(|_| outside())?;
    let edge = matches!(range, IpNet::V4(range) if range.prefix_len() < 31
        && (IpAddr::V4(range.network()) == parsed || IpAddr::V4(range.broadcast()) == parsed));
    if !range.contains(&parsed) || edge {
        return Err(outside());
    }
    if !state.taken.entry(subnet.id.clone()).or_default().insert(number(parsed)) {
        return Err(AllocationError::Taken(wanted.to_owned()));
    }
    Ok(parsed.to_string())
}

/// Gives an address back.
pub(crate) fn release(state: &mut NetworkState, subnet_id: &str, address: &str) {
    if let (Some(taken), Ok(address)) = (state.taken.get_mut(subnet_id), address.parse()) {
        taken.remove(&number(address));
    }
}
