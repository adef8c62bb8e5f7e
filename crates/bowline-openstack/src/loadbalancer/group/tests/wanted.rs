//! What is wanted: rules and ports.

use std::collections::BTreeMap;

use bowline_cloud::{IpFamily, NodeSet, Protocol, ServiceView, TrafficPolicy};
use ipnet::IpNet;
use openstack_client::SubnetId;
use openstack_client::network::Port;

use super::{NAME, intent, node, nodes, port, service, service_port};
use crate::loadbalancer::annotations::PREFIX;
use crate::loadbalancer::group::{GroupError, Targets, WantedGroup};
use crate::loadbalancer::wanted::MemberSubnets;

fn subnet(id: &str) -> SubnetId {
    SubnetId::new(id).unwrap()
}

fn ranges(ranges: &[(&str, &str)]) -> BTreeMap<SubnetId, IpNet> {
    ranges.iter().map(|(id, range)| (subnet(id), range.parse().unwrap())).collect()
}

fn all_in(id: &str) -> MemberSubnets {
    MemberSubnets { all: Some(subnet(id)), ..MemberSubnets::default() }
}

fn rules(group: &WantedGroup) -> Vec<String> {
    let text = |rule: &super::super::WantedRule| {
        format!("{} {} {} {}", rule.ethertype, rule.protocol, rule.port, rule.from)
    };
    group.rules.iter().map(text).collect()
}

/// The rules of a Service whose members are in one subnet.
fn rules_from(service: &ServiceView, range: &str, ovn: bool) -> Vec<String> {
    let intent = intent(service);
    let targets = Targets::of(&intent, &NodeSet::default(), &all_in("s4"));
    rules(&WantedGroup::of(&intent, &targets, &[], &ranges(&[("s4", range)]), ovn).unwrap())
}

#[test]
fn each_node_port_is_let_in_from_the_subnet_of_the_members() {
    let three = ServiceView {
        ports: vec![
            service_port(Protocol::Tcp, 80, 30080),
            service_port(Protocol::Udp, 53, 30053),
            service_port(Protocol::Sctp, 99, 30099),
        ],
        ..service()
    };
    assert_eq!(
        rules_from(&three, "10.0.0.0/24", false),
        ["IPv4 sctp 30099 10.0.0.0/24", "IPv4 tcp 30080 10.0.0.0/24", "IPv4 udp 30053 10.0.0.0/24"]
    );
    let without = ServiceView { ports: vec![service_port(Protocol::Tcp, 80, 0)], ..service() };
    assert_eq!(rules_from(&without, "10.0.0.0/24", false), [""; 0], "no node port, no rule");
    let v6 = ServiceView { ip_families: vec![IpFamily::V6], ..service() };
    assert_eq!(rules_from(&v6, "fd00:1::/64", false), ["IPv6 tcp 30080 fd00:1::/64"]);
    let mut spoken = service();
    spoken.annotations.insert(format!("{PREFIX}x-forwarded-for"), "true".to_owned());
    assert_eq!(rules_from(&spoken, "10.0.0.0/24", false), ["IPv4 tcp 30080 10.0.0.0/24"], "HTTP is TCP");
}

#[test]
fn the_health_check_port_is_let_in_from_the_subnet_whatever_the_policy_and_the_provider() {
    for policy in [None, Some(TrafficPolicy::Local), Some(TrafficPolicy::Cluster)] {
        let checked = ServiceView {
            health_check_node_port: Some(31000),
            external_traffic_policy: policy,
            ports: vec![service_port(Protocol::Udp, 53, 30053)],
            source_ranges: ["192.0.2.0/24".into()].into(),
            ..service()
        };
        let from_subnet = ["IPv4 tcp 31000 10.0.0.0/24", "IPv4 udp 30053 10.0.0.0/24"];
        assert_eq!(rules_from(&checked, "10.0.0.0/24", false), from_subnet);
        let from_clients = ["IPv4 tcp 31000 10.0.0.0/24", "IPv4 udp 30053 192.0.2.0/24"];
        assert_eq!(rules_from(&checked, "10.0.0.0/24", true), from_clients);
    }
}

#[test]
fn with_ovn_each_allowed_range_has_a_rule_of_its_own_family() {
    assert_eq!(rules_from(&service(), "10.0.0.0/24", true), ["IPv4 tcp 30080 0.0.0.0/0"]);
    let mixed = ServiceView {
        source_ranges: ["192.0.2.7/24".into(), "2001:db8::/32".into(), "192.0.2.9/24".into()].into(),
        ..service()
    };
    assert_eq!(
        rules_from(&mixed, "10.0.0.0/24", true),
        ["IPv4 tcp 30080 192.0.2.0/24", "IPv6 tcp 30080 2001:db8::/32"]
    );
}

#[test]
fn members_in_several_subnets_are_reached_from_each_of_them() {
    let intent = intent(&service());
    let nodes = nodes([node("a", Some("sa"), &["10.0.0.5"]), node("b", Some("sb"), &["10.0.1.5"])]);
    let members =
        MemberSubnets { by_address: [("10.0.1.5".parse().unwrap(), subnet("s2"))].into(), ..all_in("s1") };
    let targets = Targets::of(&intent, &nodes, &members);
    let known = ranges(&[("s1", "10.0.0.0/24"), ("s2", "10.0.1.0/24")]);
    let group = WantedGroup::of(&intent, &targets, &[], &known, false).unwrap();
    assert_eq!(rules(&group), ["IPv4 tcp 30080 10.0.0.0/24", "IPv4 tcp 30080 10.0.1.0/24"]);
}

#[test]
fn where_no_member_subnet_is_known_that_of_the_nodes_own_port_counts() {
    let intent = intent(&service());
    let nodes = nodes([node("a", Some("sa"), &["10.0.0.5"])]);
    let targets = Targets::of(&intent, &nodes, &MemberSubnets::default());
    let ports = [port("p1", "sa", ("s1", "10.0.0.5"), &[])];
    assert_eq!(targets.subnets(&ports), [subnet("s1")].into());
    let group = WantedGroup::of(&intent, &targets, &ports, &ranges(&[("s1", "10.0.0.0/24")]), false).unwrap();
    assert_eq!(rules(&group), ["IPv4 tcp 30080 10.0.0.0/24"]);
    assert_eq!(group.ports.len(), 1);
}

#[test]
fn a_range_that_is_not_known_is_an_error_and_never_fewer_rules() {
    let intent = intent(&service());
    let targets = Targets::of(&intent, &NodeSet::default(), &all_in("s1"));
    let error = WantedGroup::of(&intent, &targets, &[], &BTreeMap::new(), false).unwrap_err();
    assert!(matches!(&error, GroupError::NoRange { subnet, .. } if subnet.as_str() == "s1"), "{error}");
    let nowhere = Targets::default();
    assert_eq!(rules(&WantedGroup::of(&intent, &nowhere, &[], &BTreeMap::new(), false).unwrap()), [""; 0]);
}

/// The ports that a Service wants, of these Nodes, in subnet `s1`.
fn ports_of(nodes: &NodeSet, members: &MemberSubnets, ports: &[Port]) -> Vec<String> {
    let intent = intent(&service());
    let targets = Targets::of(&intent, nodes, members);
    let known = ranges(&[("s1", "10.0.0.0/24"), ("s2", "10.0.1.0/24")]);
    let group = WantedGroup::of(&intent, &targets, ports, &known, false).unwrap();
    assert_eq!(group.name, NAME);
    assert_eq!(group.description, "Security Group for default/web Service LoadBalancer in cluster held");
    group.ports.iter().map(ToString::to_string).collect()
}

#[test]
fn of_a_node_with_two_nics_the_port_with_the_members_address_has_the_group() {
    let ports = [
        port("p1", "sa", ("s1", "10.0.0.5"), &[]),
        port("p2", "sa", ("s2", "10.0.1.5"), &[]),
        port("p3", "other", ("s1", "10.0.0.5"), &[]),
    ];
    let both = nodes([node("a", Some("sa"), &["10.0.0.5", "10.0.1.5"])]);
    assert_eq!(ports_of(&both, &all_in("s1"), &ports), ["p1"]);
    assert_eq!(ports_of(&both, &MemberSubnets::default(), &ports), ["p1"]);
    assert_eq!(ports_of(&both, &all_in("s2"), &ports), [""; 0], "the address is not in the members' subnet");
    let members =
        MemberSubnets { addresses: [("a".to_owned(), "10.0.1.5".parse().unwrap())].into(), ..all_in("s2") };
    assert_eq!(ports_of(&both, &members, &ports), ["p2"], "its address in the members' subnet is another");
}

#[test]
fn a_port_without_port_security_has_no_group_and_one_that_does_not_tell_has() {
    let mut off = port("p1", "sa", ("s1", "10.0.0.5"), &[]);
    off.port_security_enabled = Some(false);
    let mut silent = port("p2", "sb", ("s1", "10.0.0.6"), &[]);
    silent.port_security_enabled = None;
    let two = nodes([node("a", Some("sa"), &["10.0.0.5"]), node("b", Some("sb"), &["10.0.0.6"])]);
    assert_eq!(ports_of(&two, &all_in("s1"), &[off, silent]), ["p2"]);
}

#[test]
fn a_node_that_names_no_server_is_known_by_its_address_in_the_members_subnet() {
    let mut vip = port("p2", "lb-1", ("s1", "10.0.0.6"), &[]);
    vip.device_owner = "Octavia".to_owned();
    let ports = [port("p1", "sa", ("s1", "10.0.0.5"), &[]), vip];
    let unnamed =
        nodes([node("a", None, &["10.0.0.5"]), node("b", None, &["10.0.0.6"]), node("c", None, &[])]);
    assert_eq!(ports_of(&unnamed, &all_in("s1"), &ports), ["p1"], "an address of no server is no Node's");
    assert_eq!(
        ports_of(&unnamed, &MemberSubnets::default(), &ports),
        [""; 0],
        "addresses recur in other subnets"
    );
}

#[test]
fn only_nodes_that_the_service_selects_are_targets() {
    let mut selecting = service();
    selecting.annotations.insert(format!("{PREFIX}node-selector"), "pool=blue".to_owned());
    let mut blue = node("blue", Some("sa"), &["10.0.0.5"]);
    blue.labels.insert("pool".to_owned(), "blue".to_owned());
    let all = nodes([blue, node("red", Some("sb"), &["10.0.0.6"]), node("v6", Some("sc"), &["fd00::5"])]);
    let targets = Targets::of(&intent(&selecting), &all, &MemberSubnets::default());
    assert_eq!(targets.nodes.iter().map(|target| target.node.as_str()).collect::<Vec<_>>(), ["blue"]);
    let targets = Targets::of(&intent(&service()), &all, &MemberSubnets::default());
    assert_eq!(targets.nodes.len(), 2, "an IPv6 address is none of an IPv4 Service");
}
