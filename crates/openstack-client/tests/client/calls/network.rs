//! Neutron.

use openstack_client::{
    FloatingIpId, NetworkId, PortId, ProjectId, RouterId, SecurityGroupId, SecurityGroupRuleId, SubnetId,
    network::{
        AllowedAddressPair, Direction, EtherType, FloatingIpCreate, FloatingIpQuery, FloatingIpUpdate,
        NetworkQuery, NewFixedIp, NewSecurityGroupRule, PortCreate, PortQuery, PortUpdate, Route,
        RouterQuery, SecurityGroupCreate, SecurityGroupQuery, SecurityGroupRuleQuery, SubnetQuery, TagFilter,
        Tagged, TrunkQuery,
    },
};
use serde_json::{Value, json};

use super::{address, answering, last};
use crate::cloud::{Cloud, PROJECT, Reply};

fn port() -> Value {
    json!({"id": "p1", "name": "", "network_id": "n1", "project_id": PROJECT, "mac_address": "fa:16:3e:a6:62:3e",
        "admin_state_up": true, "status": "ACTIVE", "device_id": "s1", "device_owner": "compute:az2",
        "fixed_ips": [{"subnet_id": "sn1", "ip_address": "10.10.0.251"}, {"subnet_id": "sn2", "ip_address": "fd00:10::53"}],
        "allowed_address_pairs": [{"mac_address": "fa:16:3e:a6:62:3e", "ip_address": "10.244.0.0/24"}],
        "security_groups": ["sg1"], "port_security_enabled": true, "qos_policy_id": null, "tags": ["a"], "revision_number": 4})
}

#[tokio::test(start_paused = true)]
async fn what_an_answer_does_not_have_is_not_taken_for_an_empty_list() {
    let cloud = Cloud::new(|asked| match asked.path.as_str() {
        "/v2.0/ports/p1" => Reply::ok(&json!({"port": {"id": "p1", "network_id": "n1"}})),
        "/v2.0/ports/p2" => {
            Reply::ok(&json!({"port": {"id": "p2", "network_id": "n1", "security_groups": []}}))
        }
        _ => Reply::ok(&json!({"security_groups": [{"id": "sg1", "name": "x"}]})),
    });
    let network = cloud.client().network();
    let port = network.port(&PortId::new("p1").unwrap()).await.unwrap();
    assert_eq!((port.security_groups, port.allowed_address_pairs), (None, None));
    let port = network.port(&PortId::new("p2").unwrap()).await.unwrap();
    assert_eq!(port.security_groups, Some(vec![]));
    let groups = network.security_groups(&SecurityGroupQuery::by_name("x")).all().await.unwrap();
    assert_eq!(groups[0].rules, None);
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
        device_ids: vec!["s2".into(), "s3".into()],
        ip_address: Some(address("10.10.0.251")),
        network_id: Some(NetworkId::new("n1").unwrap()),
        security_group: Some(SecurityGroupId::new("sg1").unwrap()),
        project_id: Some(ProjectId::new(PROJECT).unwrap()),
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
        "device_id=s1&device_id=s2&device_id=s3&network_id=n1&fixed_ips=ip_address%3D10.10.0.251&security_groups=sg1&project_id=05a2ca643f9c4ec88c197cde22941c01&tags=a%2Cb&not-tags-any=c&limit=500"
    );
    assert_eq!((found[0].revision_number, found[0].fixed_ips.len()), (Some(4), 2));
    let any_address = vec![address("10.10.0.1"), address("fd00::1")];
    network.ports(&PortQuery { any_address, ..PortQuery::default() }).all().await.unwrap();
    assert_eq!(
        last(&cloud).query,
        "fixed_ips=ip_address%3D10.10.0.1&fixed_ips=ip_address%3Dfd00%3A%3A1&limit=500"
    );
    assert_eq!(found[0].allowed_address_pairs.as_ref().unwrap()[0].ip_address, "10.244.0.0/24");

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
    let port_ids = ["p1", "p2"].map(|id| PortId::new(id).unwrap()).to_vec();
    network.floating_ips(&FloatingIpQuery { port_ids, ..FloatingIpQuery::default() }).all().await.unwrap();
    assert_eq!(last(&cloud).query, "port_id=p1&port_id=p2&limit=500");
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
    assert_eq!(network.router(&id).await.unwrap().routes, Some(vec![route.clone()]));
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
    let found = without.client().network().router(&id).await.unwrap();
    assert_eq!(
        found.routes, None,
        "a router that does not tell its routes must not pass for one without any"
    );
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
    assert_eq!(
        (found[0].rules.as_ref().unwrap().len(), last(&cloud).query.as_str()),
        (1, "name=lb-sg-x&limit=500")
    );
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
