//! What is planned.

use std::collections::BTreeSet;

use bowline_cloud::Planned;
use openstack_client::PortId;
use openstack_client::network::{EtherType, Port, SecurityGroup, SecurityGroupRule};
use serde_json::{Value, json};

use super::{NAME, port};
use crate::loadbalancer::group::{FoundGroup, WantedGroup, WantedRule, ensure_steps, removal_steps};
use crate::loadbalancer::step::{Action, CloudStep};

const RANGE: &str = "10.0.0.0/24";

fn tcp(port: u16, from: &str) -> WantedRule {
    WantedRule { ethertype: EtherType::Ipv4, protocol: "tcp".to_owned(), port, from: from.to_owned() }
}

fn rule(id: &str, values: &Value) -> SecurityGroupRule {
    let mut rule = json!({
        "id": id, "security_group_id": "g1", "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp",
        "port_range_min": 30080, "port_range_max": 30080, "remote_ip_prefix": RANGE,
    });
    for (key, value) in values.as_object().unwrap() {
        rule[key] = value.clone();
    }
    serde_json::from_value(rule).unwrap()
}

fn egress(id: &str, ethertype: &str) -> SecurityGroupRule {
    let any = json!({
        "direction": "egress", "ethertype": ethertype, "protocol": null, "port_range_min": null,
        "port_range_max": null, "remote_ip_prefix": null,
    });
    rule(id, &any)
}

fn group(name: &str, rules: Option<Vec<SecurityGroupRule>>) -> SecurityGroup {
    let mut group: SecurityGroup = serde_json::from_value(json!({"id": "g1", "name": name})).unwrap();
    group.rules = rules;
    group
}

fn found(rules: Vec<SecurityGroupRule>, ports: Vec<Port>) -> FoundGroup {
    FoundGroup { group: group(NAME, Some(rules)), ports }
}

fn wanted(rules: &[WantedRule], ports: &[&str]) -> WantedGroup {
    WantedGroup {
        name: NAME.to_owned(),
        description: "what it is for".to_owned(),
        rules: rules.iter().cloned().collect(),
        ports: ports.iter().map(|id| PortId::new(*id).unwrap()).collect(),
    }
}

/// The steps in a line each.
fn steps(wanted: Option<&WantedGroup>, found: Option<&FoundGroup>) -> Vec<String> {
    shown(&ensure_steps(wanted, found))
}

fn shown(steps: &[Planned<CloudStep>]) -> Vec<String> {
    let text = |action: &Action| match action {
        Action::CreateGroup { name, .. } => format!("group {name}"),
        Action::CreateRules(_, rules) => {
            let rules = rules.iter().map(|rule| {
                assert_eq!((rule.direction.as_str(), rule.port_range_min), ("ingress", rule.port_range_max));
                let (protocol, from) =
                    (rule.protocol.as_deref().unwrap(), rule.remote_ip_prefix.as_deref().unwrap());
                format!("{} {protocol} {} {from}", rule.ethertype, rule.port_range_min.unwrap())
            });
            format!("rules [{}]", rules.collect::<Vec<_>>().join(", "))
        }
        Action::DeleteRule(id, _) => format!("no rule {id}"),
        Action::AddPortGroup { port, group } => format!("{port}+{group}"),
        Action::RemovePortGroup { port, group } => format!("{port}-{group}"),
        Action::DeletePortTag { port, tag } => format!("{port} has no tag {tag}"),
        Action::DeleteGroup(id) => format!("no group {id}"),
        other => panic!("not a step of a group: {other:?}"),
    };
    steps.iter().map(|planned| text(&planned.step.action)).collect()
}

#[test]
fn get_rules_to_create_and_delete() {
    let plan = |wanted_rules: &[WantedRule], there: Vec<SecurityGroupRule>| {
        steps(Some(&wanted(wanted_rules, &[])), Some(&found(there, vec![])))
    };
    let same = |id: &str| rule(id, &json!({}));
    assert_eq!(plan(&[], vec![]), [""; 0], "nothing wanted, nothing there");
    assert_eq!(
        plan(&[], vec![egress("e4", "IPv4"), egress("e6", "IPv6")]),
        ["no rule e4", "no rule e6"],
        "what Neutron gives to a new group goes"
    );
    assert_eq!(plan(&[tcp(30080, RANGE)], vec![rule("r1", &json!({"protocol": "TCP"}))]), [""; 0]);
    assert_eq!(
        plan(&[tcp(30081, RANGE)], vec![same("r1")]),
        ["rules [IPv4 tcp 30081 10.0.0.0/24]", "no rule r1"],
        "another port"
    );
    assert_eq!(
        plan(&[tcp(30080, "10.0.1.0/24")], vec![same("r1")]),
        ["rules [IPv4 tcp 30080 10.0.1.0/24]", "no rule r1"],
        "another range"
    );
    let all = vec![same("r1"), rule("r2", &json!({"protocol": "udp"})), egress("e4", "IPv4")];
    assert_eq!(plan(&[], all), ["no rule e4", "no rule r1", "no rule r2"]);
    assert_eq!(
        plan(&[tcp(30080, RANGE), tcp(30081, RANGE)], vec![]),
        ["rules [IPv4 tcp 30080 10.0.0.0/24, IPv4 tcp 30081 10.0.0.0/24]"],
        "all in one call"
    );
}

#[test]
fn what_neutron_takes_for_the_same_rule_is_the_same() {
    let everybody = tcp(30080, "0.0.0.0/0");
    for (case, rule_wanted, there) in [
        ("by number", tcp(30080, RANGE), json!({"protocol": "6"})),
        ("host bits", tcp(30080, RANGE), json!({"remote_ip_prefix": "10.0.0.9/24"})),
        ("all addresses are not named", everybody.clone(), json!({"remote_ip_prefix": null})),
    ] {
        let there = found(vec![rule("r1", &there)], vec![]);
        assert_eq!(steps(Some(&wanted(&[rule_wanted], &[])), Some(&there)), [""; 0], "{case}");
    }
    for (case, there) in [
        ("from a group", json!({"remote_ip_prefix": null, "remote_group_id": "g2"})),
        ("from a group of addresses", json!({"remote_ip_prefix": null, "remote_address_group_id": "a1"})),
        ("a range of ports", json!({"remote_ip_prefix": "0.0.0.0/0", "port_range_max": 30090})),
        ("any port", json!({"remote_ip_prefix": null, "port_range_min": null, "port_range_max": null})),
        ("the other family", json!({"ethertype": "IPv6", "remote_ip_prefix": "::/0"})),
        ("out", json!({"direction": "egress", "remote_ip_prefix": "0.0.0.0/0"})),
    ] {
        let there = found(vec![rule("r1", &there)], vec![]);
        let expected = ["rules [IPv4 tcp 30080 0.0.0.0/0]", "no rule r1"];
        assert_eq!(
            steps(Some(&wanted(std::slice::from_ref(&everybody), &[])), Some(&there)),
            expected,
            "{case}"
        );
    }
}

#[test]
fn a_group_that_is_not_there_is_made_and_the_rest_waits_until_its_id_is_known() {
    let wanted = wanted(&[tcp(30080, RANGE)], &["p1"]);
    assert_eq!(steps(Some(&wanted), None), [format!("group {NAME}")]);
    assert_eq!(steps(None, None), [""; 0]);
}

#[test]
fn ports_get_the_group_and_the_ports_of_departed_nodes_lose_it() {
    let at = |address| ("s1", address);
    let mut silent = port("p5", "se", at("10.0.0.9"), &[]);
    silent.security_groups = None;
    let ports = vec![
        port("p1", "sa", at("10.0.0.5"), &["z", "a"]),
        port("p2", "sb", at("10.0.0.6"), &["g1"]),
        port("p3", "gone", at("10.0.0.7"), &["z", "g1", "a"]),
        port("p4", "gone", at("10.0.0.8"), &["a"]),
        silent,
    ];
    let found = found(vec![rule("r1", &json!({}))], ports);
    let wanted = wanted(&[tcp(30080, RANGE)], &["p1", "p2", "p5"]);
    assert_eq!(steps(Some(&wanted), Some(&found)), ["p1+g1", "p3-g1"]);
}

#[test]
fn rules_come_before_ports_and_new_ones_before_old_ones_go() {
    let found = found(vec![egress("e4", "IPv4")], vec![port("p1", "sa", ("s1", "10.0.0.5"), &["a"])]);
    let wanted = wanted(&[tcp(30080, RANGE)], &["p1"]);
    let expected = ["rules [IPv4 tcp 30080 10.0.0.0/24]", "no rule e4", "p1+g1"];
    assert_eq!(steps(Some(&wanted), Some(&found)), expected);
}

#[test]
fn removal_takes_the_group_and_the_tag_of_old_releases_off_all_ports_first() {
    let mut tagged = port("p2", "sb", ("s1", "10.0.0.6"), &["z", "g1", "a"]);
    tagged.tags = vec!["mine".to_owned(), "g1".to_owned()];
    let ports = vec![
        port("p1", "sa", ("s1", "10.0.0.5"), &["g1"]),
        tagged,
        port("p3", "sc", ("s1", "10.0.0.7"), &["a"]),
    ];
    let found = found(vec![rule("r1", &json!({}))], ports);
    let expected = ["p1-g1", "p2 has no tag g1", "p2-g1", "no group g1"];
    assert_eq!(shown(&removal_steps(&found)), expected);
    assert_eq!(steps(None, Some(&found)), expected, "a group that is not wanted any more goes");
}

#[test]
fn a_group_of_another_name_and_rules_that_were_not_told_are_left_alone() {
    let foreign = FoundGroup {
        group: group("k8s-nodes", Some(vec![rule("r1", &json!({}))])),
        ports: vec![port("p1", "sa", ("s1", "10.0.0.5"), &["g1"])],
    };
    assert_eq!(shown(&removal_steps(&foreign)), [""; 0]);
    assert_eq!(steps(Some(&wanted(&[], &[])), Some(&foreign)), [format!("group {NAME}")]);
    let untold = FoundGroup { group: group(NAME, None), ports: vec![] };
    assert_eq!(steps(Some(&wanted(&[tcp(30080, RANGE)], &[])), Some(&untold)), [""; 0]);
}

#[test]
fn every_step_says_what_it_does_and_why() {
    let mut tagged = port("p2", "sb", ("s1", "10.0.0.6"), &["g1"]);
    tagged.tags = vec!["g1".to_owned()];
    let found = found(vec![egress("e4", "IPv4")], vec![port("p1", "sa", ("s1", "10.0.0.5"), &["a"]), tagged]);
    let steps = ensure_steps(Some(&wanted(&[tcp(30080, RANGE)], &["p1"])), Some(&found));
    let told: Vec<String> = steps.iter().map(|planned| planned.step.to_string()).collect();
    assert_eq!(
        told,
        [
            "create security group rule g1 (tcp 30080 from 10.0.0.0/24)",
            "delete security group rule e4",
            "add security group g1 to port p1",
            "take the tag g1 from port p2",
            "take security group g1 off port p2",
        ]
    );
    let reasons: BTreeSet<&str> = steps.iter().map(|planned| planned.reason.as_str()).collect();
    assert_eq!(reasons.len(), 5);
}
