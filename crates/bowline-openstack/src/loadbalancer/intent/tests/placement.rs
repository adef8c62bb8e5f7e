//! Subnets, networks and floating IPs, by annotation, class and configuration.

use openstack_client::network::TagFilter;
use openstack_client::{NetworkId, SubnetId};

use super::*;
use crate::loadbalancer::subnet_choice::NamePattern;

fn subnet(id: &str) -> SubnetId {
    SubnetId::new(id).unwrap()
}

fn network(id: &str) -> NetworkId {
    NetworkId::new(id).unwrap()
}

fn in_subnet(id: &str) -> VipPlace {
    VipPlace::Given { subnet: Some(subnet(id)), network: None }
}

/// A class with every key, each named after its key.
fn full_class() -> LoadBalancerClass {
    LoadBalancerClass {
        floating_network_id: "class-floating-network".into(),
        floating_subnet_id: "class-floating-subnet".into(),
        network_id: "class-network".into(),
        subnet_id: "class-subnet".into(),
        member_subnet_id: "class-members".into(),
        ..LoadBalancerClass::default()
    }
}

#[test]
fn lbaas_v2_get_member_subnet_id() {
    let conf = |conf: &mut LoadBalancer| conf.member_subnet_id = "conf-members".into();
    let members = |case: Case| case.intent().member_subnet;
    let given = |id: &str| MemberSubnet::Given(subnet(id));
    let case = || Case::new().conf(conf).class("gold", full_class());
    assert_eq!(members(case()), given("conf-members"));
    assert_eq!(members(case().with("class", "gold")), given("class-members"));
    let annotated = case().with("class", "gold").with("member-subnet-id", "own-members");
    assert_eq!(members(annotated), given("own-members"));
    let empty = case().with("class", "gold").with("member-subnet-id", "");
    assert_eq!(members(empty), given("class-members"), "empty is the same as none");
}

#[test]
fn get_subnet_id_of_an_internal_service_prefers_the_annotation() {
    let case = || {
        let only_subnet = LoadBalancerClass { subnet_id: "class-subnet".into(), ..Default::default() };
        Case::new().internal().conf(|conf| conf.subnet_id = "conf-subnet".into()).class("gold", only_subnet)
    };
    assert_eq!(case().intent().vip, in_subnet("conf-subnet"));
    assert_eq!(case().with("class", "gold").intent().vip, in_subnet("class-subnet"));
    let annotated = case().with("class", "gold").with("subnet-id", "own-subnet");
    assert_eq!(annotated.intent().vip, in_subnet("own-subnet"));
    assert_eq!(annotated.intent().floating, None);
}

#[test]
fn lbaas_v2_get_network_id() {
    let case = || {
        let only_network = LoadBalancerClass { network_id: "class-network".into(), ..Default::default() };
        Case::new()
            .internal()
            .conf(|conf| conf.network_id = "conf-network".into())
            .class("gold", only_network)
    };
    let at = |id: &str| VipPlace::Given { subnet: None, network: Some(network(id)) };
    assert_eq!(case().intent().vip, at("conf-network"));
    assert_eq!(case().intent().member_subnet, MemberSubnet::Unsaid);
    assert_eq!(case().with("class", "gold").intent().vip, at("class-network"));
    assert_eq!(
        case().with("class", "gold").with("network-id", "own-network").intent().vip,
        at("own-network")
    );
}

#[test]
fn with_a_floating_ip_the_class_goes_before_the_annotation_for_the_load_balancer_only() {
    let only_subnet = LoadBalancerClass { subnet_id: "class-subnet".into(), ..Default::default() };
    let intent =
        Case::new().class("gold", only_subnet).with("class", "gold").with("subnet-id", "own").intent();
    assert_eq!(intent.vip, in_subnet("class-subnet"));
    assert_eq!(intent.member_subnet, MemberSubnet::Given(subnet("own")));
}

#[test]
fn a_class_without_a_name_counts_for_load_balancers_of_services_without_a_class() {
    let unnamed = || LoadBalancerClass { subnet_id: "unnamed".into(), ..Default::default() };
    let intent = Case::new().class("", unnamed()).intent();
    assert_eq!((intent.vip, intent.member_subnet), (in_subnet("unnamed"), MemberSubnet::OfNodes));
    let internal = || Case::new().class("", unnamed()).internal();
    assert_eq!(internal().intent().vip, in_subnet("unnamed"));
    assert_eq!(internal().intent().member_subnet, MemberSubnet::OfNodes);
    assert_eq!(internal().with("subnet-id", "own").intent().vip, in_subnet("unnamed"));
    let named = LoadBalancerClass { subnet_id: "gold".into(), ..Default::default() };
    let named = || internal().class("gold", named.clone()).with("class", "gold");
    assert_eq!(named().intent().vip, in_subnet("unnamed"), "as OCCM does it");
    assert_eq!(named().intent().member_subnet, MemberSubnet::Given(subnet("gold")));
}

#[test]
fn the_subnet_of_cloud_conf_goes_before_the_annotation_for_members() {
    let intent = Case::new().conf(|conf| conf.subnet_id = "conf".into()).with("subnet-id", "own").intent();
    assert_eq!((intent.vip, intent.member_subnet), (in_subnet("own"), MemberSubnet::Given(subnet("conf"))));
}

#[test]
fn a_port_stands_for_subnet_and_network() {
    let intent = Case::new().conf(|conf| conf.subnet_id = "conf".into()).with("port-id", "p-1").intent();
    assert!(matches!(intent.vip, VipPlace::Port(port) if port.as_str() == "p-1"));
    assert_eq!(intent.member_subnet, MemberSubnet::Given(subnet("conf")));
}

#[test]
fn cloud_conf_makes_all_services_internal() {
    let key = "service.beta.kubernetes.io/openstack-internal-load-balancer";
    let intent = Case::new().conf(|conf| conf.internal_lb = true).with(key, "false").intent();
    assert!(intent.internal && intent.floating.is_none());
}

#[test]
fn the_network_of_a_floating_ip_is_that_of_the_class_the_annotation_or_cloud_conf() {
    let case =
        || Case::new().conf(|conf| conf.floating_network_id = "conf-net".into()).class("gold", full_class());
    let of = |case: Case| case.intent().floating.unwrap().network;
    assert_eq!(of(Case::new()), None, "has to be found");
    assert_eq!(of(case()), Some(network("conf-net")));
    assert_eq!(of(case().with("floating-network-id", "own-net")), Some(network("own-net")));
    assert_eq!(of(case().with("floating-network-id", "")), None, "has to be found");
    let classed = case().with("class", "gold").with("floating-network-id", "own-net");
    assert_eq!(of(classed), Some(network("class-floating-network")));
}

#[test]
fn the_subnet_of_a_floating_ip_is_said_by_the_first_place_that_says_anything() {
    let conf = |conf: &mut LoadBalancer| conf.floating_subnet_id = "conf-sub".into();
    let of = |case: Case| case.intent().floating.unwrap().subnet;
    let id = |id: &str| FloatingSubnet::Id(subnet(id));
    assert_eq!(of(Case::new()), FloatingSubnet::Any);
    assert_eq!(of(Case::new().conf(conf)), id("conf-sub"));
    assert_eq!(of(Case::new().conf(conf).with("floating-subnet-id", "")), id("conf-sub"));
    let by_name = Case::new().conf(conf).with("floating-subnet", "public*").with("floating-subnet-tags", "a");
    let tags = TagFilter { any: vec!["a".into()], ..TagFilter::default() };
    assert_eq!(
        of(by_name),
        FloatingSubnet::Matching { name: NamePattern::parse("public*"), tags: Some(tags) }
    );
    let both = Case::new().with("floating-subnet", "public*").with("floating-subnet-id", "own-sub");
    assert_eq!(of(both), id("own-sub"));
    let classed =
        Case::new().class("gold", full_class()).with("class", "gold").with("floating-subnet-id", "own");
    assert_eq!(of(classed), id("class-floating-subnet"));
}

#[test]
fn the_address_of_the_spec_is_that_of_the_floating_ip_or_of_the_load_balancer() {
    let case = || Case::new().service(|service| service.load_balancer_ip = Some("203.0.113.9".into()));
    let address = Some(IpAddr::from([203, 0, 113, 9]));
    let external = case().intent();
    assert_eq!((external.vip_address, external.floating.unwrap().address), (None, address));
    assert_eq!(case().internal().intent().vip_address, address);
    let v6 = Case::new().service(|service| {
        service.ip_families = vec![IpFamily::V6];
        service.load_balancer_ip = Some("2001:db8::9".into());
    });
    assert_eq!(v6.intent().vip_address, Some("2001:db8::9".parse().unwrap()));
}
