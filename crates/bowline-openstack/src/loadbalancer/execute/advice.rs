//! What a person can do about a refusal: where the value was said that the cloud does not take. Pure.
//!
//! Only values that the cloud itself names are blamed; a guess would send people the wrong way.

use openstack_client::load_balancer::LoadBalancerCreate;
use openstack_client::network::FloatingIpCreate;
use openstack_client::{Error, ErrorClass};

use crate::loadbalancer::annotations::{self, Annotation};

/// How Octavia tells that a provider failed. For amphorae that is all it says of an address outside of the subnet.
pub(super) const FAILED: &str = "reports error";

/// What to do about a load balancer that Octavia does not make.
pub(super) fn on_balancer(new: &LoadBalancerCreate, error: &Error) -> Option<String> {
    let said = error.to_string();
    let vip_subnet = new.vip_subnet_id.as_ref();
    let pools = new.listeners.iter().filter_map(|listener| listener.default_pool.as_ref()).chain(&new.pools);
    let members = pools.flat_map(|pool| &pool.members);
    let mut member_subnets =
        members.filter_map(|member| member.subnet_id.as_ref()).filter(|subnet| Some(*subnet) != vip_subnet);
    let names = |value: &str| said.contains(value);
    let mut places = Vec::new();
    let mut blame = |named: bool, row: &Annotation| places.extend(named.then(|| place(row)));
    blame(vip_subnet.is_some_and(|id| names(id.as_str())), &annotations::SUBNET_ID);
    blame(new.vip_network_id.as_ref().is_some_and(|id| names(id.as_str())), &annotations::NETWORK_ID);
    blame(new.vip_port_id.as_ref().is_some_and(|id| names(id.as_str())), &annotations::PORT_ID);
    blame(new.flavor_id.as_ref().is_some_and(|id| names(id.as_str())), &annotations::FLAVOR_ID);
    blame(member_subnets.any(|id| names(id.as_str())), &annotations::MEMBER_SUBNET_ID);
    // Octavia does not say which one it is that it does not have.
    let zone = new.availability_zone.is_some() && said.to_lowercase().contains("availability zone");
    blame(zone, &annotations::AVAILABILITY_ZONE);
    if new.vip_address.is_some_and(|address| names(&address.to_string())) {
        places.push(format!("spec.loadBalancerIP or annotation {}", annotations::VIP_ADDRESS.key));
    }
    if let Some(address) = new.vip_address.filter(|_address| places.is_empty() && said.contains(FAILED)) {
        return Some(format!(
            "Its provider does not say why; if it is for address {address}, choose one that is free and in the subnet \
             (spec.loadBalancerIP or annotation {})",
            annotations::VIP_ADDRESS.key
        ));
    }
    correct(&places, error)
}

/// What to do about a floating IP that Neutron does not make.
pub(super) fn on_floating_ip(new: &FloatingIpCreate, error: &Error) -> Option<String> {
    let said = error.to_string();
    if let Some(asked) = new.floating_ip_address.filter(|_asked| error.class() == ErrorClass::Forbidden) {
        return Some(format!(
            "Floating IP {asked} is not of this project, and we may not choose the address of a new one; make one with \
             `openstack floating ip create` and ask for its address, or ask for none (spec.loadBalancerIP, annotation {})",
            annotations::FLOATING_IP.key
        ));
    }
    let mut places = Vec::new();
    if said.contains(new.floating_network_id.as_str()) {
        places.push(place(&annotations::FLOATING_NETWORK_ID));
    }
    if new.subnet_id.as_ref().is_some_and(|id| said.contains(id.as_str())) {
        places.push(place(&annotations::FLOATING_SUBNET_ID));
    }
    if new.floating_ip_address.is_some_and(|address| said.contains(&address.to_string())) {
        places.push(format!("spec.loadBalancerIP or annotation {}", annotations::FLOATING_IP.key));
    }
    correct(&places, error)
}

/// Where a value comes from.
fn place(row: &Annotation) -> String {
    match row.config_key() {
        "" => format!("annotation {}", row.key),
        key => format!("annotation {} or {key} in cloud.conf", row.key),
    }
}

fn correct(places: &[String], error: &Error) -> Option<String> {
    if !places.is_empty() {
        return Some(format!("Correct {}", places.join(", ")));
    }
    let wrong = matches!(error.class(), ErrorClass::Invalid | ErrorClass::Unsupported);
    wrong.then(|| "Correct the annotations of the Service or [LoadBalancer] in cloud.conf".to_owned())
}
