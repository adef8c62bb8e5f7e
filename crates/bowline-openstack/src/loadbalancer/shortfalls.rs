//! The settings of a Service that its existing load balancer does not have. Pure.

use bowline_cloud::{Shortfall, ShortfallKind};
use openstack_client::load_balancer::LoadBalancer;

use super::annotations::{AVAILABILITY_ZONE, Annotation, FLAVOR_ID, FLOATING_IP, KEEP_FLOATING_IP};
use super::annotations::{NETWORK_ID, PORT_ID, SUBNET_ID, VIP_ADDRESS};
use super::found::Found;
use super::intent::{CreationOption, Notice};
use super::plan;
use super::wanted::Wanted;

/// The shortfalls of a Service that uses the load balancer that was found, the most urgent first.
#[must_use]
pub fn shortfalls(wanted: &Wanted, found: &Found) -> Vec<Shortfall> {
    let nothing = wanted.creation.is_empty() && wanted.unreadable.is_empty();
    if nothing || !plan::has(wanted, found) {
        return Vec::new();
    }
    let Some(at) = &found.balancer else { return Vec::new() };
    let is_own = at.balancer.name == wanted.names.load_balancer()
        || at.balancer.name == wanted.names.legacy_load_balancer();
    let unmet = wanted.creation.iter().filter_map(|option| unmet(option, &at.balancer, is_own));
    let unreadable = wanted.unreadable.iter().cloned();
    let unreadable = unreadable.map(|message| Shortfall { kind: ShortfallKind::InvalidValue, message });
    let unmet = unmet.map(|message| Shortfall { kind: ShortfallKind::RecreationNeeded, message });
    unreadable.chain(unmet).collect()
}

/// The event for a shortfall.
#[must_use]
pub fn notice(shortfall: Shortfall) -> Notice {
    let reason = match shortfall.kind {
        ShortfallKind::InvalidValue => "LoadBalancerInvalidValue",
        ShortfallKind::RecreationNeeded => "LoadBalancerRecreationNeeded",
    };
    Notice { reason, message: shortfall.message }
}

/// The message if a load balancer was created with another value; `None` if it has the requested one.
fn unmet(option: &CreationOption, on: &LoadBalancer, is_own: bool) -> Option<String> {
    let CreationOption { row, value: asked } = option;
    let there = there(row, on)?;
    if there.iter().any(|there| is_same(row, asked, there)) {
        return None;
    }
    let key = row.key;
    let has = there.first().filter(|there| !there.is_empty());
    let (has, back) = match has {
        Some(has) => (format!("has {has}"), format!("set the annotation to {has:?}")),
        None => ("has none".to_owned(), "remove the annotation".to_owned()),
    };
    let remedy = if is_own {
        format!(
            "to keep this load balancer, {back}; to get what is asked for, set spec.type of the Service to ClusterIP until the load balancer \
             is deleted, and then to LoadBalancer again (it gets another address, unless {} and {} keep the one it has)",
            KEEP_FLOATING_IP.key, FLOATING_IP.key
        )
    } else {
        format!("it is shared and was not created for this Service: {back}, or use another load balancer")
    };
    Some(format!(
        "annotation {key} is {asked:?} and load balancer {} {has}: this counts only when a load balancer is created; {remedy}",
        on.id
    ))
}

/// The values that a load balancer has for an annotation; messages show the first one. An empty text means that it has none; `None` means
/// that Octavia does not return the value.
fn there(row: &Annotation, on: &LoadBalancer) -> Option<Vec<String>> {
    let subnets = || on.additional_vips.iter().map(|vip| vip.subnet_id.to_string());
    let addresses = || on.additional_vips.iter().filter_map(|vip| vip.ip_address).map(|one| one.to_string());
    let (first, further): (Option<String>, Vec<String>) = match row.key {
        key if key == PORT_ID.key => (on.vip_port_id.as_ref().map(ToString::to_string), Vec::new()),
        key if key == SUBNET_ID.key => {
            (on.vip_subnet_id.as_ref().map(ToString::to_string), subnets().collect())
        }
        key if key == NETWORK_ID.key => (on.vip_network_id.as_ref().map(ToString::to_string), Vec::new()),
        key if key == VIP_ADDRESS.key => {
            (on.vip_address.map(|address| address.to_string()), addresses().collect())
        }
        key if key == FLAVOR_ID.key => {
            (Some(on.flavor_id.as_ref().map(ToString::to_string).unwrap_or_default()), Vec::new())
        }
        key if key == AVAILABILITY_ZONE.key => {
            (Some(on.availability_zone.clone().unwrap_or_default()), Vec::new())
        }
        _ => (None, Vec::new()),
    };
    Some(std::iter::once(first?).chain(further).collect())
}

/// Compares a requested value with an observed one. Octavia returns ids in lower case, and an address has several spellings.
fn is_same(row: &Annotation, asked: &str, there: &str) -> bool {
    if row.key == AVAILABILITY_ZONE.key {
        return asked == there;
    }
    let address = |text: &str| text.parse::<std::net::IpAddr>().ok();
    asked.eq_ignore_ascii_case(there) || (row.key == VIP_ADDRESS.key && address(asked) == address(there))
}
