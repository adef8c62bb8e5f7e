//! What is to be done about a security group. Pure.
//!
//! New rules come before old ones go, and rules before ports. A change of a port is about the Service's own group only: the groups
//! of other Services, and those of other people, come and go on the same port at the same time.

use std::collections::BTreeSet;

use bowline_cloud::Planned;
use ipnet::{IpNet, Ipv4Net, Ipv6Net};
use openstack_client::SecurityGroupId;
use openstack_client::network::{
    Direction, EtherType, NewSecurityGroupRule, Port, SecurityGroup, SecurityGroupRule,
};

use super::{FoundGroup, WantedGroup, WantedRule};
use crate::loadbalancer::names::SECURITY_GROUP_PREFIX;
use crate::loadbalancer::plan::order::by_id;
use crate::loadbalancer::step::{Action, CloudStep};

/// What makes the group as it is wanted. A group that is not wanted at all goes.
#[must_use]
pub fn ensure_steps(wanted: Option<&WantedGroup>, found: Option<&FoundGroup>) -> Vec<Planned<CloudStep>> {
    match (wanted, found) {
        (None, None) => Vec::new(),
        (None, Some(found)) => removal_steps(found),
        (Some(wanted), Some(found)) if found.group.name == wanted.name => {
            let mut steps = rule_steps(wanted, &found.group);
            let ports = by_id(&found.ports, |port| &port.id).into_iter();
            steps.extend(ports.flat_map(|port| port_steps(wanted, &found.group.id, port)));
            steps
        }
        (Some(WantedGroup { name, description, .. }), _) => {
            let create = Action::CreateGroup { name: name.clone(), description: description.clone() };
            vec![planned(create, "the Nodes have no security group for the traffic of the Service")]
        }
    }
}

/// What takes the group away: from all ports first, for Neutron keeps a group that a port has. A group with a name that is none of
/// a Service's stays.
#[must_use]
pub fn removal_steps(found: &FoundGroup) -> Vec<Planned<CloudStep>> {
    let group = &found.group;
    if !group.name.starts_with(SECURITY_GROUP_PREFIX) {
        return Vec::new();
    }
    let why = "its security group is no longer needed";
    let ports = by_id(&found.ports, |port| &port.id).into_iter();
    let mut steps: Vec<_> = ports.flat_map(|port| take_off(port, &group.id, why)).collect();
    steps.push(planned(Action::DeleteGroup(group.id.clone()), "it is no longer needed"));
    steps
}

fn planned(action: Action, reason: impl Into<String>) -> Planned<CloudStep> {
    Planned::new(CloudStep::new(action), reason)
}

fn rule_steps(wanted: &WantedGroup, group: &SecurityGroup) -> Vec<Planned<CloudStep>> {
    // Rules that were not told are not known to be none.
    let Some(rules) = &group.rules else { return Vec::new() };
    let mut missing: BTreeSet<&WantedRule> = wanted.rules.iter().collect();
    let mut deletions = Vec::new();
    for rule in by_id(rules, |rule| &rule.id) {
        let same = as_wanted(rule);
        if same.as_ref().is_none_or(|same| !missing.remove(same)) {
            let reason = match rule.direction {
                Direction::Egress => "the group is about what comes in only",
                _ => "the Service does not ask for this traffic",
            };
            deletions.push(planned(Action::DeleteRule(rule.id.clone(), same), reason));
        }
    }
    let mut steps = Vec::new();
    if !missing.is_empty() {
        let rules = missing.into_iter().map(|rule| new_rule(&group.id, rule)).collect();
        let create = Action::CreateRules(group.id.clone(), rules);
        steps.push(planned(create, "the load balancer could not reach the Nodes without them"));
    }
    steps.extend(deletions);
    steps
}

fn new_rule(group: &SecurityGroupId, rule: &WantedRule) -> NewSecurityGroupRule {
    NewSecurityGroupRule {
        security_group_id: group.clone(),
        direction: Direction::Ingress,
        ethertype: rule.ethertype.clone(),
        protocol: Some(rule.protocol.clone()),
        port_range_min: Some(rule.port),
        port_range_max: Some(rule.port),
        remote_ip_prefix: Some(rule.from.clone()),
        remote_group_id: None,
        description: String::new(),
    }
}

/// The rule as one that could be wanted, if it could. What Neutron takes for the same must be the same here, for it refuses to make
/// it once more: a protocol by its number, and no range for all addresses.
fn as_wanted(rule: &SecurityGroupRule) -> Option<WantedRule> {
    let about_addresses = rule.remote_group_id.is_none() && rule.remote_address_group_id.is_none();
    if rule.direction != Direction::Ingress || !about_addresses || rule.port_range_min != rule.port_range_max
    {
        return None;
    }
    let everybody = || match rule.ethertype {
        EtherType::Ipv6 => IpNet::from(Ipv6Net::default()),
        _ => IpNet::from(Ipv4Net::default()),
    };
    let from: IpNet =
        rule.remote_ip_prefix.as_ref().map_or_else(|| Some(everybody()), |text| text.parse().ok())?;
    let protocol = match rule.protocol.as_ref()?.to_ascii_lowercase().as_str() {
        "6" => "tcp".to_owned(),
        "17" => "udp".to_owned(),
        "132" => "sctp".to_owned(),
        other => other.to_owned(),
    };
    let (ethertype, port) = (rule.ethertype.clone(), rule.port_range_min?);
    Some(WantedRule { ethertype, protocol, port, from: from.trunc().to_string() })
}

fn port_steps(wanted: &WantedGroup, group: &SecurityGroupId, port: &Port) -> Vec<Planned<CloudStep>> {
    // Of a port that does not tell its groups nothing can be kept, so it is left alone.
    let Some(own) = &port.security_groups else { return Vec::new() };
    match (wanted.ports.contains(&port.id), own.contains(group)) {
        (true, false) => {
            let add = Action::AddPortGroup { port: port.id.clone(), group: group.clone() };
            vec![planned(add, "it is the port of a Node that gets traffic of the Service")]
        }
        (false, true) => take_off(port, group, "its Node does not get traffic of the Service any more"),
        _ => Vec::new(),
    }
}

/// The tag goes first: a port without the group is not seen again.
fn take_off(port: &Port, group: &SecurityGroupId, why: &str) -> Vec<Planned<CloudStep>> {
    if !port.security_groups.as_ref().is_some_and(|own| own.contains(group)) {
        return Vec::new();
    }
    let mut steps = Vec::new();
    if port.tags.iter().any(|tag| tag == group.as_str()) {
        let tag = Action::DeletePortTag { port: port.id.clone(), tag: group.to_string() };
        steps.push(planned(tag, "an old release of OCCM marked the port as having the group"));
    }
    let remove = Action::RemovePortGroup { port: port.id.clone(), group: group.clone() };
    steps.push(planned(remove, why));
    steps
}
