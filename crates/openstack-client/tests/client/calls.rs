//! What each call sends, and what is read from answers of the shapes that real services give.

use std::net::IpAddr;

use openstack_client::{
    Change, FlavorId, FloatingIpId, HealthMonitorId, ListenerId, LoadBalancerId, MemberId, NetworkId, PoolId,
    PortId, ProjectId, RouterId, SecurityGroupId, SecurityGroupRuleId, ServerId, SubnetId,
    compute::{AddressType, Microversion, PowerState, ServerQuery, ServerStatus},
    key_manager::Reference,
    load_balancer::{
        Algorithm, BatchMember, HealthMonitorCreate, HealthMonitorQuery, HealthMonitorUpdate, ListenerCreate,
        ListenerQuery, ListenerUpdate, LoadBalancerCreate, LoadBalancerQuery, LoadBalancerUpdate,
        MemberUpdate, MonitorType, OperatingStatus, PoolCreate, PoolQuery, PoolUpdate, Protocol,
        ProvisioningStatus, SessionPersistence,
    },
    network::{
        AllowedAddressPair, Direction, EtherType, FloatingIpCreate, FloatingIpQuery, FloatingIpUpdate,
        NetworkQuery, NewFixedIp, NewSecurityGroupRule, PortCreate, PortQuery, PortUpdate, Route,
        RouterQuery, SecurityGroupCreate, SecurityGroupQuery, SecurityGroupRuleQuery, SubnetQuery, TagFilter,
        Tagged, TrunkQuery,
    },
};
use serde_json::{Value, json};

use crate::cloud::{Asked, Cloud, PROJECT, Reply};

fn answering(body: Value) -> Cloud {
    Cloud::new(move |_| Reply::ok(&body))
}

fn last(cloud: &Cloud) -> Asked {
    cloud.calls().last().unwrap().clone()
}

fn address(text: &str) -> IpAddr {
    text.parse().unwrap()
}

/// A server as Nova shows it at 2.1.
fn server() -> Value {
    json!({
        "accessIPv4": "", "accessIPv6": "",
        "addresses": {"k8s-net": [
            {"version": 6, "addr": "fd00:10::3c7", "OS-EXT-IPS:type": "fixed", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:b0:65:0f"},
            {"version": 4, "addr": "203.0.113.9", "OS-EXT-IPS:type": "floating", "OS-EXT-IPS-MAC:mac_addr": "fa:16:3e:b0:65:0f"}]},
        "created": "2026-11-15T07:51:40Z", "flavor": {"id": "1", "links": []}, "hostId": "5c1c", "id": "s1", "image": "",
        "links": [], "metadata": {"role": "worker"}, "name": "node-1", "status": "ACTIVE", "tenant_id": PROJECT,
        "OS-EXT-AZ:availability_zone": "az1", "key_name": null, "OS-EXT-STS:task_state": null,
        "OS-EXT-STS:vm_state": "active", "OS-EXT-STS:power_state": 1, "os-extended-volumes:volumes_attached": [],
    })
}

#[tokio::test(start_paused = true)]
async fn a_server_is_read_with_addresses_zone_and_flavor() {
    let cloud = answering(json!({"server": server()}));
    let found = cloud.client().compute().server(&ServerId::new("s1").unwrap()).await.unwrap();
    assert_eq!(last(&cloud).line(), "GET nova.test/v2.1/servers/s1");
    assert_eq!(last(&cloud).header("openstack-api-version"), "");
    assert_eq!((found.status, found.power_state), (ServerStatus::Active, Some(PowerState::Running)));
    assert_eq!((found.availability_zone.as_deref(), found.access_ipv4), (Some("az1"), None));
    let addresses = &found.addresses["k8s-net"];
    assert_eq!((addresses[0].addr, &addresses[0].kind), (address("fd00:10::3c7"), &AddressType::Fixed));
    assert_eq!(addresses[1].kind, AddressType::Floating);
    assert_eq!(found.flavor.id, Some(FlavorId::new("1").unwrap()));
}

#[tokio::test(start_paused = true)]
async fn a_server_in_the_making_and_one_with_unknown_words_are_read() {
    for (change, check) in [
        (
            json!({"addresses": {}, "status": "BUILD", "OS-EXT-AZ:availability_zone": "", "flavor": null}),
            "BUILD",
        ),
        (
            json!({"status": "TELEPORTING", "OS-EXT-STS:power_state": 99, "metadata": null, "addresses": null}),
            "TELEPORTING",
        ),
    ] {
        let mut body = server();
        body.as_object_mut().unwrap().extend(change.as_object().unwrap().clone());
        let cloud = answering(json!({"server": body}));
        let found = cloud.client().compute().server(&ServerId::new("s1").unwrap()).await.unwrap();
        assert_eq!(found.status.as_str(), check);
    }
    let least = answering(json!({"server": {"id": "s1"}}));
    least.client().compute().server(&ServerId::new("s1").unwrap()).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn what_matters_must_be_there_and_be_right() {
    for body in [
        json!({"server": {"name": "no id"}}),
        json!({"server": {"id": ""}}),
        json!({"server": {"id": "s1", "addresses": {"n": [{"addr": "10.0.0.300"}]}}}),
        json!({"server": null}),
        json!({"servers": []}),
        json!([]),
    ] {
        let shown = body.to_string();
        let error =
            answering(body).client().compute().server(&ServerId::new("s1").unwrap()).await.expect_err(&shown);
        assert!(!error.is_not_found(), "{error}");
        assert_eq!(error.request_id(), Some("req-1"));
    }
}

#[tokio::test(start_paused = true)]
async fn a_name_is_searched_for_exactly_although_nova_takes_patterns() {
    let cloud = answering(json!({"servers": [server()]}));
    let query = ServerQuery::by_name("node-1.example");
    assert_eq!(cloud.client().compute().servers(&query).all().await.unwrap().len(), 1);
    assert_eq!(
        last(&cloud).line(),
        "GET nova.test/v2.1/servers/detail?name=%5Enode-1%5C.example%24&limit=500"
    );
}

#[tokio::test(start_paused = true)]
async fn a_microversion_is_sent_with_each_call_and_the_range_is_known() {
    let mut body = server();
    body["flavor"] = json!({"vcpus": 1, "original_name": "m1.tiny", "extra_specs": {}});
    let cloud = Cloud::new(move |asked| match asked.path.as_str() {
        "/v2.1/" => Reply::ok(
            &json!({"version": {"id": "v2.1", "status": "CURRENT", "version": "2.104", "min_version": "2.1"}}),
        ),
        _ => Reply::ok(&json!({"server": body})),
    });
    let compute = cloud.client().compute();
    let (low, high) = compute.microversions().await.unwrap().unwrap();
    assert!(low < Microversion::FLAVOR_IN_SERVER && Microversion::FLAVOR_IN_SERVER < high);
    let compute = compute.at(Microversion::FLAVOR_IN_SERVER);
    let found = compute.server(&ServerId::new("s1").unwrap()).await.unwrap();
    assert_eq!(found.flavor.original_name.as_deref(), Some("m1.tiny"));
    assert_eq!(last(&cloud).header("openstack-api-version"), "compute 2.47");
}

#[tokio::test(start_paused = true)]
async fn flavors_zones_and_interfaces_are_read() {
    let cloud = Cloud::new(|asked| match asked.path.as_str() {
        "/v2.1/flavors/1" => Reply::ok(
            &json!({"flavor": {"id": "1", "name": "m1.tiny", "ram": 512, "disk": 1, "vcpus": 1, "swap": ""}}),
        ),
        "/v2.1/flavors/detail" => {
            Reply::ok(&json!({"flavors": [{"id": "1", "name": "m1.tiny", "extra_specs": {"a": "b"}}]}))
        }
        "/v2.1/os-availability-zone" => Reply::ok(&json!({"availabilityZoneInfo": [
            {"zoneName": "az1", "zoneState": {"available": true}, "hosts": null}]})),
        "/v2.1/servers/s1/os-interface" => {
            Reply::ok(&json!({"interfaceAttachments": [{"net_id": "n1", "port_id": "p1",
            "mac_addr": "fa:16", "port_state": "ACTIVE", "fixed_ips": [{"subnet_id": "sn", "ip_address": "10.10.0.95"}]}]}))
        }
        "/v2.1/os-quota-sets/05a2ca643f9c4ec88c197cde22941c01" => {
            Reply::ok(&json!({"quota_set": {"id": "x", "cores": 20, "instances": -1}}))
        }
        other => panic!("{other}"),
    });
    let compute = cloud.client().compute();
    let flavor = compute.flavor(&FlavorId::new("1").unwrap()).await.unwrap();
    assert_eq!((flavor.name.as_str(), flavor.ram, flavor.vcpus), ("m1.tiny", 512, 1));
    assert_eq!(compute.flavors().all().await.unwrap()[0].extra_specs["a"], "b");
    let zones = compute.availability_zones().await.unwrap();
    assert_eq!((zones[0].name.as_str(), zones[0].available), ("az1", true));
    let interfaces = compute.interfaces(&ServerId::new("s1").unwrap()).await.unwrap();
    assert_eq!(interfaces[0].fixed_ips[0].ip_address, address("10.10.0.95"));
    let quota = compute.quota(&ProjectId::new(PROJECT).unwrap()).await.unwrap();
    assert_eq!(quota, [("cores".to_owned(), 20), ("instances".to_owned(), -1)]);
}

fn port() -> Value {
    json!({"id": "p1", "name": "", "network_id": "n1", "project_id": PROJECT, "mac_address": "fa:16:3e:a6:62:3e",
        "admin_state_up": true, "status": "ACTIVE", "device_id": "s1", "device_owner": "compute:az2",
        "fixed_ips": [{"subnet_id": "sn1", "ip_address": "10.10.0.251"}, {"subnet_id": "sn2", "ip_address": "fd00:10::53"}],
        "allowed_address_pairs": [{"mac_address": "fa:16:3e:a6:62:3e", "ip_address": "10.244.0.0/24"}],
        "security_groups": ["sg1"], "port_security_enabled": true, "qos_policy_id": null, "tags": ["a"], "revision_number": 4})
}

#[tokio::test(start_paused = true)]
async fn ports_are_found_made_changed_and_deleted() {
    let cloud = Cloud::new(|asked| match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/v2.0/ports") => Reply::ok(&json!({"ports": [port()], "ports_links": []})),
        ("DELETE", _) => Reply::text(204, ""),
        _ => Reply::json(201, &json!({"port": port()})),
    });
    let network = cloud.client().network();
    let query = PortQuery {
        device_id: Some("s1".into()),
        ip_address: Some(address("10.10.0.251")),
        network_id: Some(NetworkId::new("n1").unwrap()),
        security_group: Some(SecurityGroupId::new("sg1").unwrap()),
        tags: TagFilter {
            all: vec!["a".into(), "b".into()],
            not_any: vec!["c".into()],
            ..TagFilter::default()
        },
        ..PortQuery::default()
    };
    let found = network.ports(&query).all().await.unwrap();
    assert_eq!(
        last(&cloud).query,
        "device_id=s1&network_id=n1&fixed_ips=ip_address%3D10.10.0.251&security_groups=sg1&tags=a%2Cb&not-tags-any=c&limit=500"
    );
    assert_eq!((found[0].revision_number, found[0].fixed_ips.len()), (Some(4), 2));
    assert_eq!(found[0].allowed_address_pairs[0].ip_address, "10.244.0.0/24");

    let id = PortId::new("p1").unwrap();
    let update = PortUpdate { security_groups: Some(vec![]), ..PortUpdate::default() };
    network.update_port(&id, &update, Some(4)).await.unwrap();
    assert_eq!(
        (last(&cloud).line(), last(&cloud).header("if-match").to_owned()),
        ("PUT neutron.test/v2.0/ports/p1".into(), "revision_number=4".into())
    );
    assert_eq!(last(&cloud).body, json!({"port": {"security_groups": []}}));
    let pair = AllowedAddressPair { ip_address: "10.244.0.0/24".into(), mac_address: None };
    let update = PortUpdate { allowed_address_pairs: Some(vec![pair]), ..PortUpdate::default() };
    network.update_port(&id, &update, None).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"port": {"allowed_address_pairs": [{"ip_address": "10.244.0.0/24"}]}})
    );
    assert_eq!(last(&cloud).header("if-match"), "");

    let create = PortCreate {
        network_id: NetworkId::new("n1").unwrap(),
        name: "vip".into(),
        description: String::new(),
        fixed_ips: vec![NewFixedIp { subnet_id: Some(SubnetId::new("sn1").unwrap()), ip_address: None }],
        security_groups: None,
    };
    network.create_port(&create).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"port": {"network_id": "n1", "name": "vip", "fixed_ips": [{"subnet_id": "sn1"}]}})
    );
    network.delete_port(&id).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE neutron.test/v2.0/ports/p1");
    assert_eq!(network.port(&id).await.unwrap_err().status(), Some(201), "a GET is not answered with 201");
}

#[tokio::test(start_paused = true)]
async fn floating_ips_always_say_which_port_they_lead_to() {
    let body = json!({"id": "f1", "floating_ip_address": "172.24.4.50", "floating_network_id": "ext", "port_id": null,
        "fixed_ip_address": null, "router_id": null, "status": "DOWN", "description": "", "tags": []});
    let listed = body.clone();
    let cloud = Cloud::new(move |asked| match asked.path.as_str() {
        "/v2.0/floatingips" if asked.method == "GET" => Reply::ok(&json!({"floatingips": [listed]})),
        _ if asked.method == "DELETE" => Reply::text(204, ""),
        _ if asked.method == "POST" => Reply::json(201, &json!({"floatingip": body})),
        _ => Reply::ok(&json!({"floatingip": body})),
    });
    let network = cloud.client().network();
    let id = FloatingIpId::new("f1").unwrap();
    let found =
        network.floating_ips(&FloatingIpQuery::of_port(PortId::new("p1").unwrap())).all().await.unwrap();
    assert_eq!((found[0].port_id.clone(), last(&cloud).query.as_str()), (None, "port_id=p1&limit=500"));
    network.floating_ips(&FloatingIpQuery::by_address(address("172.24.4.50"))).all().await.unwrap();
    assert_eq!(last(&cloud).query, "floating_ip_address=172.24.4.50&limit=500");
    let create = FloatingIpCreate {
        floating_network_id: NetworkId::new("ext").unwrap(),
        subnet_id: None,
        floating_ip_address: None,
        port_id: Some(PortId::new("p1").unwrap()),
        description: "for a Service".into(),
    };
    network.create_floating_ip(&create).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"floatingip": {"floating_network_id": "ext", "port_id": "p1", "description": "for a Service"}})
    );
    network.update_floating_ip(&id, &FloatingIpUpdate::default(), None).await.unwrap();
    assert_eq!(last(&cloud).body, json!({"floatingip": {"port_id": null}}));
    let attach = FloatingIpUpdate { port_id: Some(PortId::new("p2").unwrap()), description: None };
    network.update_floating_ip(&id, &attach, Some(3)).await.unwrap();
    assert_eq!(last(&cloud).body, json!({"floatingip": {"port_id": "p2"}}));
    assert_eq!(last(&cloud).header("if-match"), "revision_number=3");
    network.floating_ip(&id).await.unwrap();
    network.delete_floating_ip(&id).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE neutron.test/v2.0/floatingips/f1");
}

#[tokio::test(start_paused = true)]
async fn routes_are_added_removed_and_replaced() {
    let router = json!({"id": "r1", "name": "k8s-router", "routes": [{"destination": "10.244.0.0/24", "nexthop": "10.10.0.95"}],
        "external_gateway_info": {"network_id": "ext", "external_fixed_ips": [{"subnet_id": "s", "ip_address": "172.24.4.142"}]},
        "revision_number": 5, "tags": []});
    let listed = router.clone();
    let cloud = Cloud::new(move |asked| match asked.path.as_str() {
        "/v2.0/routers" => Reply::ok(&json!({"routers": [listed]})),
        _ => Reply::ok(&json!({"router": router})),
    });
    let network = cloud.client().network();
    let id = RouterId::new("r1").unwrap();
    let route = Route { destination: "10.244.0.0/24".into(), nexthop: "10.10.0.95".into() };
    let expected = json!({"router": {"routes": [{"destination": "10.244.0.0/24", "nexthop": "10.10.0.95"}]}});
    assert_eq!(network.router(&id).await.unwrap().routes, std::slice::from_ref(&route));
    network.add_routes(&id, std::slice::from_ref(&route)).await.unwrap();
    assert_eq!(
        (last(&cloud).line(), last(&cloud).body),
        ("PUT neutron.test/v2.0/routers/r1/add_extraroutes".into(), expected.clone())
    );
    network.remove_routes(&id, std::slice::from_ref(&route)).await.unwrap();
    assert_eq!(
        (last(&cloud).line(), last(&cloud).body),
        ("PUT neutron.test/v2.0/routers/r1/remove_extraroutes".into(), expected.clone())
    );
    network.replace_routes(&id, std::slice::from_ref(&route), Some(5)).await.unwrap();
    assert_eq!(
        (last(&cloud).line(), last(&cloud).body),
        ("PUT neutron.test/v2.0/routers/r1".into(), expected)
    );
    assert_eq!(last(&cloud).header("if-match"), "revision_number=5");
    assert_eq!(network.routers(&RouterQuery::default()).all().await.unwrap().len(), 1);
    let without = answering(json!({"router": {"id": "r1"}}));
    without
        .client()
        .network()
        .router(&id)
        .await
        .expect_err("a router without routes must not pass for one with none");
}

#[tokio::test(start_paused = true)]
async fn security_groups_and_their_rules_are_made_one_by_one_and_all_at_once() {
    let rule = json!({"id": "r1", "security_group_id": "sg1", "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp",
        "port_range_min": 31000, "port_range_max": 31000, "remote_ip_prefix": "10.10.0.0/24", "remote_group_id": null, "description": null});
    let group = json!({"id": "sg1", "name": "lb-sg-x", "description": "", "tags": [], "security_group_rules": [rule.clone()]});
    let cloud = Cloud::new(move |asked| match (asked.method.as_str(), asked.path.as_str()) {
        ("GET", "/v2.0/security-groups") => Reply::ok(&json!({"security_groups": [group]})),
        ("GET", "/v2.0/security-groups/sg1") => Reply::ok(&json!({"security_group": group})),
        ("POST", "/v2.0/security-groups") => Reply::json(201, &json!({"security_group": group})),
        ("GET", "/v2.0/security-group-rules") => Reply::ok(&json!({"security_group_rules": [rule]})),
        ("POST", _) if asked.body.get("security_group_rules").is_some() => {
            Reply::json(201, &json!({"security_group_rules": [rule, rule]}))
        }
        ("POST", _) => Reply::json(201, &json!({"security_group_rule": rule})),
        _ => Reply::text(204, ""),
    });
    let network = cloud.client().network();
    let id = SecurityGroupId::new("sg1").unwrap();
    let found = network.security_groups(&SecurityGroupQuery::by_name("lb-sg-x")).all().await.unwrap();
    assert_eq!((found[0].rules.len(), last(&cloud).query.as_str()), (1, "name=lb-sg-x&limit=500"));
    network.security_group(&id).await.unwrap();
    network
        .create_security_group(&SecurityGroupCreate { name: "n".into(), ..Default::default() })
        .await
        .unwrap();
    assert_eq!(last(&cloud).body, json!({"security_group": {"name": "n"}}));
    let new = NewSecurityGroupRule {
        security_group_id: id.clone(),
        direction: Direction::Ingress,
        ethertype: EtherType::Ipv4,
        protocol: Some("tcp".into()),
        port_range_min: Some(31000),
        port_range_max: Some(31000),
        remote_ip_prefix: Some("10.10.0.0/24".into()),
        remote_group_id: None,
        description: String::new(),
    };
    let body = json!({"security_group_id": "sg1", "direction": "ingress", "ethertype": "IPv4", "protocol": "tcp",
        "port_range_min": 31000, "port_range_max": 31000, "remote_ip_prefix": "10.10.0.0/24"});
    network.create_security_group_rule(&new).await.unwrap();
    assert_eq!(last(&cloud).body, json!({"security_group_rule": body}));
    let made = network.create_security_group_rules(&[new.clone(), new]).await.unwrap();
    assert_eq!((made.len(), last(&cloud).body), (2, json!({"security_group_rules": [body, body]})));
    let query = SecurityGroupRuleQuery { security_group_id: Some(id.clone()) };
    assert_eq!(network.security_group_rules(&query).all().await.unwrap()[0].direction, Direction::Ingress);
    network.delete_security_group_rule(&SecurityGroupRuleId::new("r1").unwrap()).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE neutron.test/v2.0/security-group-rules/r1");
    network.delete_security_group(&id).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE neutron.test/v2.0/security-groups/sg1");
}

#[tokio::test(start_paused = true)]
async fn tags_are_listed_replaced_added_and_removed() {
    let cloud = Cloud::new(|asked| match asked.method.as_str() {
        "DELETE" => Reply::text(204, ""),
        "PUT" if asked.body.is_null() => Reply::text(201, ""),
        _ => Reply::ok(&json!({"tags": ["a", "b"]})),
    });
    let network = cloud.client().network();
    let port = PortId::new("p1").unwrap();
    assert_eq!(network.tags(Tagged::Port(&port)).await.unwrap(), ["a", "b"]);
    network.replace_tags(Tagged::Port(&port), &["a".into(), "b".into()]).await.unwrap();
    assert_eq!(
        (last(&cloud).line(), last(&cloud).body),
        ("PUT neutron.test/v2.0/ports/p1/tags".into(), json!({"tags": ["a", "b"]}))
    );
    network.add_tag(Tagged::SecurityGroup(&SecurityGroupId::new("g").unwrap()), "k8s/a b").await.unwrap();
    assert_eq!(last(&cloud).line(), "PUT neutron.test/v2.0/security-groups/g/tags/k8s%2Fa%20b");
    network.remove_tag(Tagged::Port(&port), "a").await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE neutron.test/v2.0/ports/p1/tags/a");
    let before = cloud.calls().len();
    network.remove_tag(Tagged::Port(&port), "").await.expect_err("it would remove all tags");
    network.remove_tag(Tagged::Port(&port), "..").await.expect_err("it would delete the port");
    assert_eq!(cloud.calls().len(), before);
}

#[tokio::test(start_paused = true)]
async fn networks_subnets_trunks_extensions_and_quotas_are_read() {
    let cloud = Cloud::new(|asked| match asked.path.as_str() {
        "/v2.0/networks" => Reply::ok(
            &json!({"networks": [{"id": "n1", "name": "public", "router:external": true, "subnets": ["s1"], "is_default": false}]}),
        ),
        "/v2.0/networks/n1" => Reply::ok(&json!({"network": {"id": "n1", "name": "public"}})),
        "/v2.0/subnets" => Reply::ok(
            &json!({"subnets": [{"id": "s1", "name": "x", "network_id": "n1", "cidr": "10.10.0.0/24", "ip_version": 4, "gateway_ip": null}]}),
        ),
        "/v2.0/subnets/s1" => Reply::ok(
            &json!({"subnet": {"id": "s1", "network_id": "n1", "cidr": "10.10.0.0/24", "ip_version": 4, "gateway_ip": "10.10.0.1"}}),
        ),
        "/v2.0/trunks" => Reply::ok(
            &json!({"trunks": [{"id": "t1", "port_id": "p1", "sub_ports": [{"port_id": "p2", "segmentation_id": 7, "segmentation_type": "vlan"}]}]}),
        ),
        "/v2.0/extensions" => {
            Reply::ok(&json!({"extensions": [{"name": "x", "alias": "extraroute-atomic", "links": []}]}))
        }
        path if path.ends_with("/details.json") => {
            Reply::ok(&json!({"quota": {"port": {"limit": 50, "used": 3, "reserved": 0}}}))
        }
        _ => Reply::ok(&json!({"quota": {"network": -1, "port": 3}})),
    });
    let network = cloud.client().network();
    let found =
        network.networks(&NetworkQuery { external: Some(true), ..Default::default() }).all().await.unwrap();
    assert_eq!((found[0].external, last(&cloud).query.as_str()), (true, "router%3Aexternal=True&limit=500"));
    let id = NetworkId::new("n1").unwrap();
    assert!(!network.network(&id).await.unwrap().external);
    let subnets =
        network.subnets(&SubnetQuery { network_id: Some(id), ..Default::default() }).all().await.unwrap();
    assert_eq!((subnets[0].gateway_ip, last(&cloud).query.as_str()), (None, "network_id=n1&limit=500"));
    let subnet = network.subnet(&SubnetId::new("s1").unwrap()).await.unwrap();
    assert_eq!(subnet.gateway_ip, Some(address("10.10.0.1")));
    let trunks = network.trunks(&TrunkQuery::default()).all().await.unwrap();
    assert_eq!(trunks[0].sub_ports[0].segmentation_id, 7);
    assert_eq!(network.extensions().await.unwrap()[0].alias, "extraroute-atomic");
    let project = ProjectId::new(PROJECT).unwrap();
    assert_eq!(network.quota(&project).await.unwrap()["port"].limit, 3);
    assert_eq!(network.quota_details(&project).await.unwrap()["port"].used, Some(3));
}

fn balancer() -> Value {
    json!({"id": "lb1", "name": "kube_service_x", "description": "", "provisioning_status": "PENDING_CREATE", "operating_status": "OFFLINE",
        "admin_state_up": true, "project_id": PROJECT, "created_at": "2026-11-15T08:00:14", "updated_at": null, "vip_address": "10.10.0.61",
        "vip_port_id": "vp", "vip_subnet_id": "sn", "vip_network_id": "n", "vip_sg_ids": [], "additional_vips": [],
        "listeners": [{"id": "l1", "name": "a whole listener, when fully populated"}], "pools": [{"id": "po1"}], "provider": "ovn",
        "flavor_id": null, "vip_qos_policy_id": null, "tags": ["t"], "availability_zone": null, "vip_vnic_type": "normal", "tenant_id": PROJECT})
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_made_whole_in_one_call() {
    let cloud = Cloud::new(|_| Reply::json(201, &json!({"loadbalancer": balancer()})));
    let mut member = BatchMember::new(address("10.10.0.95"), 30080);
    member.monitor_port = Some(10256);
    let pool = PoolCreate {
        name: "p".into(),
        protocol: Protocol::Tcp,
        lb_algorithm: Algorithm::SourceIpPort,
        session_persistence: Some(SessionPersistence::source_ip()),
        members: vec![member],
        healthmonitor: Some(monitor()),
        ..PoolCreate::default()
    };
    let listener = ListenerCreate {
        name: "l".into(),
        protocol: Protocol::Tcp,
        protocol_port: 80,
        default_pool: Some(pool),
        ..Default::default()
    };
    let create = LoadBalancerCreate {
        name: "kube_service_x".into(),
        provider: Some("ovn".into()),
        vip_subnet_id: Some(SubnetId::new("sn").unwrap()),
        tags: vec!["t".into()],
        listeners: vec![listener],
        ..Default::default()
    };
    let made = cloud.client().load_balancer().create_load_balancer(&create).await.unwrap();
    assert_eq!(made.provisioning_status, ProvisioningStatus::PendingCreate);
    assert!(made.provisioning_status.is_pending());
    assert_eq!(
        (made.listeners, made.pools),
        (vec![ListenerId::new("l1").unwrap()], vec![PoolId::new("po1").unwrap()])
    );
    assert_eq!(last(&cloud).line(), "POST octavia.test/v2.0/lbaas/loadbalancers");
    assert_eq!(
        last(&cloud).body,
        json!({"loadbalancer": {"name": "kube_service_x", "provider": "ovn", "vip_subnet_id": "sn", "tags": ["t"], "listeners": [{
            "name": "l", "protocol": "TCP", "protocol_port": 80, "default_pool": {
                "name": "p", "protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT", "session_persistence": {"type": "SOURCE_IP"},
                "members": [{"address": "10.10.0.95", "protocol_port": 30080, "monitor_port": 10256}],
                "healthmonitor": {"name": "h", "type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1, "max_retries_down": 3}}}]}})
    );
}

fn monitor() -> HealthMonitorCreate {
    HealthMonitorCreate {
        pool_id: None,
        name: "h".into(),
        kind: MonitorType::Tcp,
        delay: 5,
        timeout: 3,
        max_retries: 1,
        max_retries_down: Some(3),
        url_path: None,
        http_method: None,
        expected_codes: None,
        tags: vec![],
    }
}

#[tokio::test(start_paused = true)]
async fn load_balancers_are_found_changed_and_deleted() {
    let cloud = Cloud::new(|asked| match asked.method.as_str() {
        "DELETE" => Reply::text(204, ""),
        "GET" if asked.path.ends_with("loadbalancers") => {
            Reply::ok(&json!({"loadbalancers": [balancer(), balancer()], "loadbalancers_links": []}))
        }
        _ => Reply::ok(&json!({"loadbalancer": balancer()})),
    });
    let octavia = cloud.client().load_balancer();
    let id = LoadBalancerId::new("lb1").unwrap();
    let found = octavia.load_balancers(&LoadBalancerQuery::by_name("kube_service_x")).all().await.unwrap();
    assert_eq!((found.len(), found[0].vip_address), (2, Some(address("10.10.0.61"))));
    assert_eq!(octavia.load_balancer(&id).await.unwrap().flavor_id, None);
    let update = LoadBalancerUpdate { tags: Some(vec![]), ..Default::default() };
    octavia.update_load_balancer(&id, &update).await.unwrap();
    assert_eq!(last(&cloud).body, json!({"loadbalancer": {"tags": []}}));
    octavia.delete_load_balancer(&id, true).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE octavia.test/v2.0/lbaas/loadbalancers/lb1?cascade=true");
    octavia.delete_load_balancer(&id, false).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE octavia.test/v2.0/lbaas/loadbalancers/lb1");
}

#[tokio::test(start_paused = true)]
async fn listeners_and_pools_are_found_made_changed_and_deleted() {
    let listener = json!({"id": "l1", "name": "l80", "description": null, "provisioning_status": "ACTIVE", "operating_status": "ONLINE",
        "protocol": "TCP", "protocol_port": 80, "connection_limit": -1, "default_tls_container_ref": null, "sni_container_refs": [],
        "default_pool_id": null, "l7policies": [], "insert_headers": {}, "loadbalancers": [{"id": "lb1"}], "timeout_client_data": 50000,
        "allowed_cidrs": null, "tags": []});
    let pool = json!({"id": "po1", "name": "p80", "protocol": "PROXYV3", "lb_algorithm": "ROUND_ROBIN", "session_persistence": null,
        "loadbalancers": [{"id": "lb1"}], "listeners": [{"id": "l1"}], "members": [{"id": "m1"}], "healthmonitor_id": "", "tags": null});
    let cloud = Cloud::new(move |asked| {
        let body = json!({"listener": listener, "pool": pool, "listeners": [listener], "pools": [pool]});
        match asked.method.as_str() {
            "DELETE" => Reply::text(204, ""),
            "POST" => Reply::json(201, &body),
            _ => Reply::ok(&body),
        }
    });
    let octavia = cloud.client().load_balancer();
    let (lb, l, p) =
        (LoadBalancerId::new("lb1").unwrap(), ListenerId::new("l1").unwrap(), PoolId::new("po1").unwrap());
    let found = octavia.listeners(&ListenerQuery::of(lb.clone())).all().await.unwrap();
    assert_eq!(
        (found[0].connection_limit, last(&cloud).line().as_str()),
        (Some(-1), "GET octavia.test/v2.0/lbaas/listeners?loadbalancer_id=lb1&limit=500")
    );
    let update = ListenerUpdate {
        default_pool_id: Change::Set(p.clone()),
        allowed_cidrs: Change::Clear,
        timeout_client_data: Some(1000),
        ..Default::default()
    };
    octavia.update_listener(&l, &update).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"listener": {"default_pool_id": "po1", "allowed_cidrs": null, "timeout_client_data": 1000}})
    );
    let create = ListenerCreate {
        loadbalancer_id: Some(lb.clone()),
        name: "l".into(),
        protocol: Protocol::Udp,
        protocol_port: 53,
        ..Default::default()
    };
    octavia.create_listener(&create).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"listener": {"loadbalancer_id": "lb1", "name": "l", "protocol": "UDP", "protocol_port": 53}})
    );
    octavia.listener(&l).await.unwrap();
    octavia.delete_listener(&l).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE octavia.test/v2.0/lbaas/listeners/l1");

    let found = octavia.pools(&PoolQuery::of(lb)).all().await.unwrap();
    assert_eq!((found[0].protocol.as_str(), found[0].healthmonitor_id.clone()), ("PROXYV3", None));
    octavia
        .update_pool(&p, &PoolUpdate { session_persistence: Change::Clear, ..Default::default() })
        .await
        .unwrap();
    assert_eq!(last(&cloud).body, json!({"pool": {"session_persistence": null}}));
    let create = PoolCreate {
        listener_id: Some(l),
        name: "p".into(),
        protocol: Protocol::Tcp,
        lb_algorithm: Algorithm::RoundRobin,
        ..Default::default()
    };
    octavia.create_pool(&create).await.unwrap();
    assert_eq!(
        last(&cloud).body,
        json!({"pool": {"listener_id": "l1", "name": "p", "protocol": "TCP", "lb_algorithm": "ROUND_ROBIN"}})
    );
    octavia.pool(&p).await.unwrap();
    octavia.delete_pool(&p).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn members_are_replaced_and_added_in_batches() {
    let member = json!({"id": "m1", "name": "n0", "operating_status": "NO_MONITOR", "provisioning_status": "ACTIVE", "admin_state_up": true,
        "address": "10.10.0.95", "protocol_port": 30080, "weight": 1, "backup": false, "subnet_id": null, "monitor_address": null, "monitor_port": null});
    let cloud = Cloud::new(move |asked| match (asked.method.as_str(), asked.path.ends_with("/members")) {
        ("PUT", true) => Reply::text(202, ""),
        ("GET", true) => Reply::ok(&json!({"members": [member]})),
        ("DELETE", _) => Reply::text(204, ""),
        _ => Reply::json(if asked.method == "POST" { 201 } else { 200 }, &json!({"member": member})),
    });
    let octavia = cloud.client().load_balancer();
    let (pool, id) = (PoolId::new("po1").unwrap(), MemberId::new("m1").unwrap());
    let mut wanted = BatchMember::new(address("fd00::5"), 30080);
    wanted.name = "n0".into();
    wanted.subnet_id = Some(SubnetId::new("sn").unwrap());
    let body =
        json!({"members": [{"address": "fd00::5", "protocol_port": 30080, "name": "n0", "subnet_id": "sn"}]});
    octavia.batch_members(&pool, std::slice::from_ref(&wanted), false).await.unwrap();
    assert_eq!(
        (last(&cloud).line(), last(&cloud).body),
        ("PUT octavia.test/v2.0/lbaas/pools/po1/members".into(), body)
    );
    octavia.batch_members(&pool, &[], true).await.unwrap();
    assert_eq!(
        (last(&cloud).query.as_str(), last(&cloud).body),
        ("additive_only=True", json!({"members": []}))
    );
    assert_eq!(octavia.members(&pool).all().await.unwrap()[0].address, address("10.10.0.95"));
    octavia.create_member(&pool, &wanted).await.unwrap();
    octavia.update_member(&pool, &id, &MemberUpdate { weight: Some(0), ..Default::default() }).await.unwrap();
    assert_eq!(last(&cloud).body, json!({"member": {"weight": 0}}));
    assert_eq!(octavia.member(&pool, &id).await.unwrap().operating_status, OperatingStatus::NoMonitor);
    octavia.delete_member(&pool, &id).await.unwrap();
    assert_eq!(last(&cloud).line(), "DELETE octavia.test/v2.0/lbaas/pools/po1/members/m1");
}

#[tokio::test(start_paused = true)]
async fn health_monitors_status_trees_and_offers_are_read() {
    let hm = json!({"id": "h1", "name": "hm", "type": "UDP-CONNECT", "delay": 5, "timeout": 3, "max_retries": 3, "max_retries_down": 3,
        "http_method": null, "url_path": null, "expected_codes": null, "pools": [{"id": "po1"}], "provisioning_status": "ACTIVE"});
    let leaf = |id: &str| json!({"id": id, "name": "", "operating_status": "ONLINE", "provisioning_status": "ACTIVE"});
    let mut member = leaf("m1");
    member["address"] = json!("10.10.0.192");
    member["protocol_port"] = json!(30080);
    let (mut pool, mut listener, mut tree) = (leaf("po1"), leaf("l1"), leaf("lb1"));
    pool["members"] = json!([member]);
    pool["health_monitor"] = json!({});
    listener["pools"] = json!([pool]);
    tree["listeners"] = json!([listener]);
    let cloud = Cloud::new(move |asked| match (asked.method.as_str(), asked.path.as_str()) {
        ("DELETE", _) => Reply::text(204, ""),
        ("POST", _) => Reply::json(201, &json!({"healthmonitor": hm})),
        (_, "/v2.0/lbaas/loadbalancers/lb1/status") => {
            Reply::ok(&json!({"statuses": {"loadbalancer": tree}}))
        }
        (_, "/v2.0/lbaas/providers") => {
            Reply::ok(&json!({"providers": [{"name": "ovn", "description": "x"}]}))
        }
        (_, "/v2.0/lbaas/flavors") => Reply::ok(
            &json!({"flavors": [{"id": "fl", "name": "small", "enabled": true}], "flavors_links": []}),
        ),
        (_, "/v2.0/lbaas/availabilityzones") => {
            Reply::ok(&json!({"availability_zones": [{"name": "az1", "enabled": true}]}))
        }
        (_, path) if path.contains("/quotas/") => Reply::ok(
            &json!({"quota": {"loadbalancer": 7, "load_balancer": 7, "pool": -1, "health_monitor": null}}),
        ),
        (_, "/v2.0/lbaas/healthmonitors") => Reply::ok(&json!({"healthmonitors": [hm]})),
        _ => Reply::ok(&json!({"healthmonitor": hm})),
    });
    let octavia = cloud.client().load_balancer();
    let tree = octavia.status_tree(&LoadBalancerId::new("lb1").unwrap()).await.unwrap();
    let pool = &tree.listeners[0].pools[0];
    assert_eq!(
        (pool.members[0].address, pool.health_monitor.is_none()),
        (Some(address("10.10.0.192")), true)
    );
    assert_eq!(octavia.providers().await.unwrap()[0].name, "ovn");
    assert_eq!(octavia.flavors(Some("small")).all().await.unwrap()[0].name, "small");
    assert!(octavia.availability_zones().all().await.unwrap()[0].enabled);
    let quota = octavia.quota(&ProjectId::new(PROJECT).unwrap()).await.unwrap();
    assert_eq!((quota.loadbalancer, quota.pool, quota.healthmonitor), (Some(7), Some(-1), None));
    let id = HealthMonitorId::new("h1").unwrap();
    let create = HealthMonitorCreate { pool_id: Some(PoolId::new("po1").unwrap()), ..monitor() };
    octavia.create_health_monitor(&create).await.unwrap();
    assert_eq!(last(&cloud).body["healthmonitor"]["pool_id"], "po1");
    octavia
        .update_health_monitor(&id, &HealthMonitorUpdate { delay: Some(9), ..Default::default() })
        .await
        .unwrap();
    assert_eq!(last(&cloud).body, json!({"healthmonitor": {"delay": 9}}));
    assert_eq!(octavia.health_monitor(&id).await.unwrap().kind, MonitorType::UdpConnect);
    assert_eq!(octavia.health_monitors(&HealthMonitorQuery::default()).all().await.unwrap().len(), 1);
    octavia.delete_health_monitor(&id).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn containers_and_secrets_are_looked_at_without_their_payload() {
    let cloud = Cloud::new(|asked| match asked.path.as_str() {
        "/v1/containers/c1" => Reply::ok(
            &json!({"container_ref": "http://b/v1/containers/c1", "name": "tls", "type": "certificate", "status": "ACTIVE", "secret_refs": []}),
        ),
        _ => Reply::ok(
            &json!({"secret_ref": "http://b/v1/secrets/s1", "name": null, "secret_type": "opaque", "status": "ACTIVE", "expiration": null}),
        ),
    });
    let barbican = cloud.client().key_manager();
    let Some(Reference::Container(id)) = Reference::parse("http://b/v1/containers/c1").unwrap() else {
        panic!()
    };
    assert_eq!(barbican.container(&id).await.unwrap().kind, "certificate");
    let Some(Reference::Secret(id)) = Reference::parse("http://b/v1/secrets/s1").unwrap() else { panic!() };
    assert_eq!(barbican.secret(&id).await.unwrap().secret_type, "opaque");
    assert_eq!(last(&cloud).line(), "GET barbican.test/v1/secrets/s1");
}
