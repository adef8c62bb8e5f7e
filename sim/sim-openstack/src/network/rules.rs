//! Rules of security groups.

use std::collections::BTreeSet;

use http::StatusCode;
use serde_json::{Value, json};

use super::changes::{check_known, may_change, may_write, now, wanted, with_changes, with_tenant};
use super::collection::Listing;
use super::errors::{bad_request, conflict, missing, path_unknown, required};
use super::model::{SecurityGroupRule, Standard};
use super::{quotas, security_groups};
use crate::cloud::World;
use crate::http::json::{JsonExt, members, to_map};
use crate::http::{ApiResponse, Call, Refusal, Reply};

const WRITABLE: [&str; 9] = [
    "security_group_id",
    "ethertype",
    "direction",
    "protocol",
    "port_range_min",
    "port_range_max",
    "remote_ip_prefix",
    "remote_group_id",
    "description",
];

/// The protocols that have names.
#[rustfmt::skip]
const PROTOCOLS: [&str; 26] = [
    "any", "ah", "dccp", "egp", "esp", "gre", "hopopt", "icmp", "igmp", "ip", "ipip", "ipv6-encap", "ipv6-frag",
    "ipv6-icmp", "icmpv6", "ipv6-nonxt", "ipv6-opts", "ipv6-route", "ospf", "pgm", "rsvp", "sctp", "tcp", "udp",
    "udplite", "vrrp",
];

/// Requests below `/security-group-rules`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                collection: "security-group-rules",
                table: &world.state.network.rules,
                indexed: &["security_group_id"],
                computed: &["remote_address_group_id", "normalized_cidr", "belongs_to_default_sg"],
                visible: &|rule| call.caller.may_see(&rule.project_id),
                render: &render,
                special: None,
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => {
            let rule = find(world, call, id)?;
            Ok(ApiResponse::ok(json!({"security_group_rule": render(rule)})))
        }
        ("DELETE", [id]) => {
            let rule = find(world, call, id)?.clone();
            let gone = missing("security-group-rules", id);
            may_change(call.caller, &rule.project_id, "delete_security_group_rule", gone)?;
            world.state.network.rules.remove(id);
            touch_group(world, &rule.security_group_id);
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(path_unknown()),
    }
}

fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a SecurityGroupRule, Refusal> {
    let rule = world.state.network.rules.get(id);
    rule.filter(|rule| call.caller.may_see(&rule.project_id))
        .ok_or_else(|| missing("security-group-rules", id))
}

/// A rule by itself.
fn render(rule: &SecurityGroupRule) -> Value {
    let mut shown = with_tenant(to_map(rule));
    shown.insert("remote_address_group_id".into(), Value::Null);
    shown.insert("normalized_cidr".into(), json!(rule.remote_ip_prefix));
    shown.insert("belongs_to_default_sg".into(), json!(false));
    Value::Object(shown)
}

/// A rule inside its group, which shows a little more; and lists of groups do not know whose it is.
pub(super) fn nested(rule: &SecurityGroupRule, single: bool) -> Value {
    let mut shown = render(rule);
    if let Some(shown) = shown.as_object_mut() {
        shown.insert("standard_attr_id".into(), json!(rule.number));
        shown.insert("tags".into(), json!([]));
        if !single {
            shown.insert("belongs_to_default_sg".into(), Value::Null);
        }
    }
    shown
}

/// A rule that lets nothing through yet.
pub(super) fn blank(world: &mut World, project: &str, group: &str) -> SecurityGroupRule {
    world.state.network.rules_made += 1;
    let now = now(world);
    SecurityGroupRule {
        id: world.ids.uuid(),
        project_id: project.to_owned(),
        security_group_id: group.to_owned(),
        ethertype: "IPv4".to_owned(),
        description: Some(String::new()),
        number: world.state.network.rules_made,
        created_at: now.clone(),
        updated_at: now,
        ..SecurityGroupRule::default()
    }
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    may_write(call.caller, "create_security_group_rule")?;
    let (all, bulk) = wanted(call, "security_group_rule", "security_group_rules")?;
    let rules: Vec<SecurityGroupRule> =
        all.iter().map(|wanted| checked(world, call, wanted)).collect::<Result<_, _>>()?;
    quotas::check(world, &call.caller.project_id, "security_group_rule", rules.len())?;
    let groups: BTreeSet<String> = rules.iter().map(|rule| rule.security_group_id.clone()).collect();
    let mut made: Vec<Value> = rules.iter().map(render).collect();
    rules.into_iter().for_each(|rule| world.state.network.rules.insert(rule));
    groups.iter().for_each(|group| touch_group(world, group));
    let body = match bulk {
        true => json!({"security_group_rules": made}),
        false => json!({"security_group_rule": made.pop()}),
    };
    Ok(ApiResponse::json(StatusCode::CREATED, body))
}

fn checked(world: &mut World, call: &Call<'_>, wanted: &Value) -> Result<SecurityGroupRule, Refusal> {
    let mut changes = members(wanted);
    changes.remove("remote_address_group_id");
    check_known(&changes, &WRITABLE)?;
    let group_id = wanted.text("security_group_id").ok_or_else(|| required("security_group_id"))?;
    let project = security_groups::find(world, call, group_id)?.project_id.clone();
    let blank = blank(world, &project, group_id);
    let mut rule = SecurityGroupRule { number: blank.number, ..with_changes(&blank, &changes, &WRITABLE)? };
    match rule.direction.as_str() {
        "ingress" | "egress" => {}
        "" => return Err(required("direction")),
        other => {
            let message = format!("Invalid input for direction. Reason: {other} is not in valid_values.");
            return Err(bad_request("HTTPBadRequest", &message));
        }
    }
    rule.protocol =
        rule.protocol.map(|protocol| protocol.to_lowercase()).filter(|protocol| protocol != "any");
    check_protocol(&rule)?;
    check_ports(&rule)?;
    check_remote(world, &rule)?;
    if let Some(same) = duplicate(world, &rule) {
        let message = format!("Security group rule already exists. Rule id is {same}.");
        return Err(conflict("SecurityGroupRuleExists", &message));
    }
    Ok(rule)
}

fn check_protocol(rule: &SecurityGroupRule) -> Result<(), Refusal> {
    let Some(protocol) = rule.protocol.as_deref() else { return Ok(()) };
    if PROTOCOLS.contains(&protocol) || protocol.parse::<u8>().is_ok() {
        return Ok(());
    }
    let known: Vec<String> = PROTOCOLS.iter().map(|protocol| format!("'{protocol}'")).collect();
    let message = format!(
        "Security group rule protocol {protocol} not supported. Only protocol values (None, {}) and integer \
         representations [0 to 255] are supported.",
        known.join(", ")
    );
    Err(bad_request("SecurityGroupRuleInvalidProtocol", &message))
}

fn check_remote(world: &World, rule: &SecurityGroupRule) -> Result<(), Refusal> {
    if rule.remote_ip_prefix.is_some() && rule.remote_group_id.is_some() {
        let message =
            "Only one of remote_ip_prefix or remote_group_id or remote_address_group_id may be provided.";
        return Err(bad_request("SecurityGroupMultipleRemoteEntites", message));
    }
    if let Some(group) = &rule.remote_group_id
        && !world.state.network.security_groups.contains(group)
    {
        return Err(missing("security-groups", group));
    }
    let Some(range) = &rule.remote_ip_prefix else { return Ok(()) };
    let address = range.split('/').next().unwrap_or_default();
    if range.parse::<ipnet::IpNet>().is_err() && address.parse::<std::net::IpAddr>().is_err() {
        return Err(bad_request("InvalidCIDR", &format!("Invalid CIDR {range} given as IP prefix.")));
    }
    let ethertype = rule.ethertype.as_str();
    if (ethertype == "IPv6") != range.contains(':') {
        let message = format!("Conflicting value ethertype {ethertype} for CIDR {range}");
        return Err(bad_request("SecurityGroupRuleParameterConflict", &message));
    }
    Ok(())
}

fn check_ports(rule: &SecurityGroupRule) -> Result<(), Refusal> {
    for port in [rule.port_range_min, rule.port_range_max].into_iter().flatten() {
        if !(0..=65_535).contains(&port) {
            return Err(bad_request(
                "SecurityGroupInvalidPortValue",
                &format!("Invalid value for port {port}"),
            ));
        }
    }
    let icmp = rule.protocol.as_deref().is_some_and(|protocol| protocol.contains("icmp"));
    match (rule.port_range_min, rule.port_range_max) {
        (Some(low), Some(high)) if low > high && !icmp => {
            let message = "For TCP/UDP protocols, port_range_min must be <= port_range_max";
            Err(bad_request("SecurityGroupInvalidPortRange", message))
        }
        (Some(_), _) | (_, Some(_)) if rule.protocol.is_none() => {
            let message = "Must also specify protocol if port range is given.";
            Err(bad_request("SecurityGroupProtocolRequiredWithPorts", message))
        }
        _ => Ok(()),
    }
}

fn duplicate(world: &World, rule: &SecurityGroupRule) -> Option<String> {
    type What<'a> = (
        &'a str,
        &'a str,
        &'a Option<String>,
        Option<i64>,
        Option<i64>,
        &'a Option<String>,
        &'a Option<String>,
    );
    fn what(rule: &SecurityGroupRule) -> What<'_> {
        let SecurityGroupRule { direction, ethertype, protocol, remote_ip_prefix, remote_group_id, .. } =
            rule;
        (
            direction,
            ethertype,
            protocol,
            rule.port_range_min,
            rule.port_range_max,
            remote_ip_prefix,
            remote_group_id,
        )
    }
    let mut others = world.state.network.rules.find("security_group_id", &rule.security_group_id);
    others.find(|other| what(other) == what(rule)).map(|other| other.id.clone())
}

/// A change of its rules is a change of the group.
fn touch_group(world: &mut World, group: &str) {
    let time = now(world);
    world.state.network.security_groups.update(group, |group| group.touch(&time));
}
