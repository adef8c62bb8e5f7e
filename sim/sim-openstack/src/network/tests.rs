//! Networks, addresses, groups, floating IPs, routers, trunks, quotas through the API.

use http::{Method, StatusCode};
use serde_json::{Value, json};

use crate::config::Config;
use crate::seed::testing::Bench;

const ROOT: &str = "/network/v2.0";

fn make(bench: &mut Bench, collection: &str, single: &str, wanted: &Value) -> Value {
    let answer = bench.post(&format!("{ROOT}/{collection}"), &json!({single: wanted}));
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    answer.body[single].clone()
}

fn id(value: &Value) -> String {
    value["id"].as_str().unwrap().to_owned()
}

fn kind(answer: &crate::seed::testing::Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.body["NeutronError"]["type"].as_str().unwrap_or_default().to_owned())
}

fn port(bench: &mut Bench) -> Value {
    let network = bench.estate.network.clone();
    make(bench, "ports", "port", &json!({"network_id": network}))
}

#[test]
fn addresses_are_taken_once_given_back_and_run_out() {
    let mut bench = Bench::new();
    let network = id(&make(&mut bench, "networks", "network", &json!({"name": "n"})));
    let subnet = json!({"network_id": network, "ip_version": 4, "cidr": "10.98.0.0/29"});
    let subnet = make(&mut bench, "subnets", "subnet", &subnet);
    assert_eq!(subnet["gateway_ip"], "10.98.0.1");
    assert_eq!(subnet["allocation_pools"], json!([{"start": "10.98.0.2", "end": "10.98.0.6"}]));
    let mut ports = Vec::new();
    for _ in 0..5 {
        ports.push(make(&mut bench, "ports", "port", &json!({"network_id": network})));
    }
    let full = bench.post(&format!("{ROOT}/ports"), &json!({"port": {"network_id": network}}));
    assert_eq!(kind(&full), (409, "IpAddressGenerationFailure".to_owned()));
    let address = ports[2]["fixed_ips"][0]["ip_address"].clone();
    let taken = json!({"port": {"network_id": network, "fixed_ips": [{"ip_address": address}]}});
    assert_eq!(
        kind(&bench.post(&format!("{ROOT}/ports"), &taken)),
        (409, "IpAddressAlreadyAllocated".to_owned())
    );
    bench.delete(&format!("{ROOT}/ports/{}", id(&ports[2])));
    let again = make(&mut bench, "ports", "port", &json!({"network_id": network}));
    assert_eq!(again["fixed_ips"][0]["ip_address"], address);
    let outside = json!({"port": {"network_id": network, "fixed_ips": [{"ip_address": "9.9.9.9"}]}});
    assert_eq!(kind(&bench.post(&format!("{ROOT}/ports"), &outside)), (400, "InvalidIpForSubnet".to_owned()));
    assert_eq!(kind(&bench.delete(&format!("{ROOT}/networks/{network}"))), (409, "NetworkInUse".to_owned()));
    let subnet = format!("{ROOT}/subnets/{}", id(&subnet));
    assert_eq!(kind(&bench.delete(&subnet)), (409, "SubnetInUse".to_owned()));
}

#[test]
fn a_change_that_fails_leaves_a_port_with_its_addresses() {
    let mut bench = Bench::new();
    let made = port(&mut bench);
    let path = format!("{ROOT}/ports/{}", id(&made));
    let bad = json!({"port": {"fixed_ips": [{"ip_address": "9.9.9.9"}]}});
    assert_eq!(bench.put(&path, &bad).status, StatusCode::BAD_REQUEST);
    assert_eq!(bench.get(&path).body["port"]["fixed_ips"], made["fixed_ips"]);
    let same = json!({"port": {"network_id": bench.estate.network, "fixed_ips": made["fixed_ips"]}});
    assert_eq!(
        bench.post(&format!("{ROOT}/ports"), &same).status,
        StatusCode::CONFLICT,
        "they are still taken"
    );
}

#[test]
fn a_stale_revision_is_refused_and_every_change_makes_a_new_one() {
    let mut bench = Bench::new();
    let path = format!("{ROOT}/ports/{}", id(&port(&mut bench)));
    let name = json!({"port": {"name": "a"}});
    let first = bench.send(Method::PUT, &path, &[("if-match", "revision_number=1")], Some(&name));
    assert_eq!((first.status, &first.body["port"]["revision_number"]), (StatusCode::OK, &json!(2)));
    let other = json!({"port": {"name": "b"}});
    let stale = bench.send(Method::PUT, &path, &[("if-match", "revision_number=1")], Some(&other));
    assert_eq!(kind(&stale), (412, "RevisionNumberConstraintFailed".to_owned()));
    assert_eq!(bench.get(&path).body["port"]["name"], "a");
}

#[test]
fn a_floating_ip_needs_a_router_turns_active_later_and_loses_its_port_when_that_goes() {
    let mut bench = Bench::new();
    let public = bench.estate.external_network.clone();
    let made = port(&mut bench);
    let floating = json!({"floating_network_id": public, "port_id": made["id"]});
    let floating = make(&mut bench, "floatingips", "floatingip", &floating);
    assert_eq!(floating["status"], "DOWN");
    assert_eq!(floating["router_id"], bench.estate.router.as_str());
    let path = format!("{ROOT}/floatingips/{}", id(&floating));
    bench.pass(1.0);
    assert_eq!(bench.get(&path).body["floatingip"]["status"], "ACTIVE");
    let second = json!({"floatingip": {"floating_network_id": public, "port_id": made["id"]}});
    let taken = bench.post(&format!("{ROOT}/floatingips"), &second);
    assert_eq!(kind(&taken), (409, "FloatingIPPortAlreadyAssociated".to_owned()));
    bench.delete(&format!("{ROOT}/ports/{}", id(&made)));
    let alone = bench.get(&path).body["floatingip"].clone();
    assert!(alone["port_id"].is_null() && alone["status"] == "DOWN");
    let other = port(&mut bench);
    bench.put(&path, &json!({"floatingip": {"port_id": other["id"]}}));
    assert_eq!(
        bench.get(&format!("{ROOT}/floatingips?port_id={}", id(&other))).body["floatingips"]
            .as_array()
            .unwrap()
            .len(),
        1
    );
    let detached = bench.put(&path, &json!({"floatingip": {}}));
    assert!(detached.body["floatingip"]["port_id"].is_null(), "an empty object detaches");
    let island = id(&make(&mut bench, "networks", "network", &json!({"name": "island"})));
    make(
        &mut bench,
        "subnets",
        "subnet",
        &json!({"network_id": island, "ip_version": 4, "cidr": "10.99.0.0/24"}),
    );
    let far = make(&mut bench, "ports", "port", &json!({"network_id": island}));
    let refused = bench.put(&path, &json!({"floatingip": {"port_id": far["id"]}}));
    assert_eq!(kind(&refused), (404, "ExternalGatewayForFloatingIPNotFound".to_owned()));
}

#[test]
fn extra_routes_are_added_and_removed_one_by_one_or_replaced_as_a_whole() {
    let mut bench = Bench::new();
    let path = format!("{ROOT}/routers/{}", bench.estate.router);
    let route = |number: u8| json!({"destination": format!("10.244.{number}.0/24"), "nexthop": "10.10.0.5"});
    let routes = |bench: &mut Bench, action: &str, routes: Value| {
        bench.put(&format!("{path}{action}"), &json!({"router": {"routes": routes}}))
    };
    let added = routes(&mut bench, "/add_extraroutes", json!([route(1), route(2)]));
    assert_eq!(added.body["router"]["routes"].as_array().unwrap().len(), 2);
    let revision = added.body["router"]["revision_number"].clone();
    let again = routes(&mut bench, "/add_extraroutes", json!([route(1)]));
    assert_eq!(again.body["router"]["revision_number"], revision, "what is there already changes nothing");
    let removed = routes(&mut bench, "/remove_extraroutes", json!([route(1), route(9)]));
    assert_eq!(removed.body["router"]["routes"], json!([route(2)]));
    let replaced = routes(&mut bench, "", json!([route(3)]));
    assert_eq!(replaced.body["router"]["routes"], json!([route(3)]));
    let project = bench.estate.project.clone();
    bench.cloud.edit(|state| state.network.quotas.get_mut(&project).unwrap().router_route = 2);
    let many = json!([route(3), route(4), route(5)]);
    assert_eq!(kind(&routes(&mut bench, "", many)), (400, "RoutesExhausted".to_owned()));
    let far = json!([{"destination": "10.244.9.0/24", "nexthop": "203.0.113.9"}]);
    assert_eq!(kind(&routes(&mut bench, "/add_extraroutes", far)), (400, "InvalidRoutes".to_owned()));
}

#[test]
fn routers_keep_their_interfaces_while_they_are_used() {
    let mut bench = Bench::new();
    let router = id(&make(&mut bench, "routers", "router", &json!({"name": "r"})));
    let network = id(&make(&mut bench, "networks", "network", &json!({"name": "n"})));
    let subnet = json!({"network_id": network, "ip_version": 4, "cidr": "10.97.0.0/24"});
    let subnet = id(&make(&mut bench, "subnets", "subnet", &subnet));
    let path = format!("{ROOT}/routers/{router}");
    let interface = json!({"subnet_id": subnet});
    let added = bench.put(&format!("{path}/add_router_interface"), &interface);
    assert_eq!(added.status, StatusCode::OK);
    let port = added.body["port_id"].as_str().unwrap().to_owned();
    assert_eq!(kind(&bench.delete(&path)), (409, "RouterInUse".to_owned()));
    assert_eq!(kind(&bench.delete(&format!("{ROOT}/ports/{port}"))), (409, "ServicePortInUse".to_owned()));
    let gateways = json!({"router": {"external_gateways": [{"network_id": bench.estate.external_network}]}});
    let out = bench.put(&format!("{path}/update_external_gateways"), &gateways);
    assert!(out.body["router"]["external_gateway_info"]["external_fixed_ips"][0]["ip_address"].is_string());
    bench.put(&format!("{path}/remove_router_interface"), &interface);
    assert_eq!(bench.delete(&path).status, StatusCode::NO_CONTENT);
}

#[test]
fn groups_rules_and_their_use() {
    let mut bench = Bench::new();
    let group = make(&mut bench, "security-groups", "security_group", &json!({"name": "g"}));
    assert_eq!(group["security_group_rules"].as_array().unwrap().len(), 2, "everything may go out");
    let rule = json!({
        "security_group_id": group["id"], "direction": "ingress", "ethertype": "IPv4", "protocol": "TCP",
        "port_range_min": 80, "port_range_max": 80, "remote_ip_prefix": "10.0.0.0/8",
    });
    let made = make(&mut bench, "security-group-rules", "security_group_rule", &rule.clone());
    assert_eq!(made["protocol"], "tcp");
    let twice = bench.post(&format!("{ROOT}/security-group-rules"), &json!({"security_group_rule": rule}));
    assert_eq!(kind(&twice), (409, "SecurityGroupRuleExists".to_owned()));
    let network = bench.estate.network.clone();
    let port =
        make(&mut bench, "ports", "port", &json!({"network_id": network, "security_groups": [group["id"]]}));
    let path = format!("{ROOT}/security-groups/{}", id(&group));
    assert_eq!(kind(&bench.delete(&path)), (409, "SecurityGroupInUse".to_owned()));
    let users = bench.get(&format!("{ROOT}/ports?security_groups={}", id(&group)));
    assert_eq!(users.body["ports"].as_array().unwrap().len(), 1);
    bench.put(&format!("{ROOT}/ports/{}", id(&port)), &json!({"port": {"security_groups": []}}));
    assert_eq!(bench.delete(&path).status, StatusCode::NO_CONTENT);
}

#[test]
fn tags_filters_fields_pages_and_sorting() {
    let mut bench = Bench::new();
    for (name, tags) in [("a", json!(["x", "y"])), ("b", json!(["x"])), ("c", json!([]))] {
        let network = make(&mut bench, "networks", "network", &json!({"name": name}));
        bench.put(&format!("{ROOT}/networks/{}/tags", id(&network)), &json!({"tags": tags}));
    }
    let names = |bench: &mut Bench, query: &str| {
        let answer = bench.get(&format!("{ROOT}/networks?router:external=False&fields=name&{query}"));
        assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
        let rows = answer.body["networks"].as_array().unwrap().clone();
        rows.iter().map(|row| row["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(names(&mut bench, "tags=x,y"), ["a"]);
    assert_eq!(names(&mut bench, "tags-any=x,z&sort_key=name&sort_dir=desc"), ["b", "a"]);
    assert_eq!(names(&mut bench, "not-tags=x,y&sort_key=name"), ["b", "c", "k8s-net"]);
    assert_eq!(names(&mut bench, "not-tags-any=x,y&sort_key=name"), ["c", "k8s-net"]);
    assert_eq!(names(&mut bench, "name=a&name=c&sort_key=name"), ["a", "c"]);
    let bad = bench.get(&format!("{ROOT}/networks?nonsense=1"));
    assert_eq!(kind(&bad), (400, "HTTPBadRequest".to_owned()));
    let mut path = format!("{ROOT}/networks?limit=2");
    let mut seen = 0;
    loop {
        let page = bench.get(&path).body;
        seen += page["networks"].as_array().unwrap().len();
        let links = page["networks_links"].as_array().cloned().unwrap_or_default();
        match links.iter().find(|link| link["rel"] == "next") {
            Some(next) => path = next["href"].as_str().unwrap().replace(&bench.root(), ""),
            None => break,
        }
    }
    assert_eq!(seen, 5);
}

/// The identifiers of a list.
fn listed(bench: &mut Bench, collection: &str, query: &str) -> Vec<String> {
    let answer = bench.get(&format!("{ROOT}/{collection}?{query}"));
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let mut ids: Vec<String> = answer.body[collection].as_array().unwrap().iter().map(id).collect();
    ids.sort();
    ids
}

fn sorted<const N: usize>(ids: [&String; N]) -> Vec<String> {
    let mut ids = ids.map(Clone::clone).to_vec();
    ids.sort();
    ids
}

#[test]
fn a_filter_that_is_given_several_times_means_any_of_its_values() {
    let mut bench = Bench::new();
    let (network, outside) = (bench.estate.network.clone(), bench.estate.external_network.clone());
    let mut ports = Vec::new();
    let mut addresses = Vec::new();
    for (device, note) in [("one", "of a"), ("two", "of b"), ("three", "of b too")] {
        let wanted = json!({"network_id": network, "device_id": device});
        ports.push(id(&make(&mut bench, "ports", "port", &wanted)));
        let wanted = json!({"floating_network_id": outside, "port_id": ports.last(), "description": note});
        addresses.push(id(&make(&mut bench, "floatingips", "floatingip", &wanted)));
    }
    let [a, b, c] = [&ports[0], &ports[1], &ports[2]];
    let two = listed(&mut bench, "floatingips", &format!("port_id={a}&port_id={c}&port_id={a}"));
    assert_eq!(two, sorted([&addresses[0], &addresses[2]]));
    assert_eq!(listed(&mut bench, "floatingips", "description=of%20b"), [addresses[1].clone()]);
    assert_eq!(listed(&mut bench, "floatingips", "description=of"), Vec::<String>::new());
    assert_eq!(listed(&mut bench, "ports", "device_id=one&device_id=two"), sorted([a, b]));
    assert_eq!(listed(&mut bench, "ports", "device_id=none&device_id=three"), std::slice::from_ref(c));
}

#[test]
fn ports_are_found_by_their_groups() {
    let mut bench = Bench::new();
    let network = bench.estate.network.clone();
    let mut group =
        |name: &str| id(&make(&mut bench, "security-groups", "security_group", &json!({"name": name})));
    let (a, b) = (group("a"), group("b"));
    let mut port = |groups: &[&String]| {
        let wanted = json!({"network_id": network, "security_groups": groups});
        id(&make(&mut bench, "ports", "port", &wanted))
    };
    let (first, second, both) = (port(&[&a]), port(&[&b]), port(&[&a, &b]));
    assert_eq!(listed(&mut bench, "ports", &format!("security_groups={a}")), sorted([&first, &both]));
    let any = listed(&mut bench, "ports", &format!("security_groups={a}&security_groups={b}"));
    assert_eq!(any, sorted([&first, &second, &both]));
}

#[test]
fn the_default_group_lets_its_own_members_in_and_other_new_groups_nobody() {
    let mut bench = Bench::new();
    let groups = bench.get(&format!("{ROOT}/security-groups?name=default")).body["security_groups"].clone();
    let rules = |group: &Value| {
        let rules = group["security_group_rules"].as_array().unwrap().clone();
        let mut rules: Vec<_> = rules
            .iter()
            .map(|rule| {
                let text = |name: &str| rule[name].as_str().unwrap_or_default().to_owned();
                (text("direction"), text("ethertype"), text("remote_group_id"))
            })
            .collect();
        rules.sort();
        rules
    };
    let rule = |direction: &str, ethertype: &str, group: &str| {
        (direction.to_owned(), ethertype.to_owned(), group.to_owned())
    };
    let out = [rule("egress", "IPv4", ""), rule("egress", "IPv6", "")];
    let own = id(&groups[0]);
    let within = [rule("ingress", "IPv4", &own), rule("ingress", "IPv6", &own)];
    assert_eq!(rules(&groups[0]), [&out[..], &within[..]].concat());
    let other = make(&mut bench, "security-groups", "security_group", &json!({"name": "other"}));
    assert_eq!(rules(&other), out);
}

#[test]
fn trunks_show_their_sub_ports_on_the_parent() {
    let mut bench = Bench::new();
    let (parent, child) = (port(&mut bench), port(&mut bench));
    let sub = json!({"port_id": child["id"], "segmentation_id": 7, "segmentation_type": "vlan"});
    let trunk = make(&mut bench, "trunks", "trunk", &json!({"port_id": parent["id"], "sub_ports": [sub]}));
    let shown = bench.get(&format!("{ROOT}/ports/{}", id(&parent))).body["port"]["trunk_details"].clone();
    assert_eq!(shown["trunk_id"], trunk["id"]);
    assert_eq!(shown["sub_ports"][0]["port_id"], child["id"]);
    assert_eq!(bench.delete(&format!("{ROOT}/ports/{}", id(&parent))).status, StatusCode::CONFLICT);
    let gone = json!({"sub_ports": [{"port_id": child["id"]}]});
    let left = bench.put(&format!("{ROOT}/trunks/{}/remove_subports", id(&trunk)), &gone);
    assert_eq!(left.body["sub_ports"], json!([]));
}

#[test]
fn projects_do_not_see_each_other_and_quotas_hold() {
    let mut bench = Bench::new();
    let made = port(&mut bench);
    let project = bench.estate.project.clone();
    let foreign = bench.as_admin(|bench| {
        let network = make(bench, "networks", "network", &json!({"name": "hidden"}));
        let quota = json!({"quota": {"port": 1}});
        let path = format!("{ROOT}/quotas/{project}");
        assert_eq!(bench.put(&path, &quota).status, StatusCode::CONFLICT, "more are used already");
        let forced = json!({"quota": {"port": 1, "force": true}});
        assert_eq!(bench.put(&path, &forced).status, StatusCode::OK);
        assert_eq!(bench.get(&format!("{ROOT}/ports/{}", id(&made))).status, StatusCode::OK);
        id(&network)
    });
    assert_eq!(bench.get(&format!("{ROOT}/networks/{foreign}")).status, StatusCode::NOT_FOUND);
    let network = bench.estate.network.clone();
    let full = bench.post(&format!("{ROOT}/ports"), &json!({"port": {"network_id": network}}));
    assert_eq!(kind(&full), (409, "OverQuota".to_owned()));
    let external = json!({"network": {"name": "x", "router:external": true}});
    assert_eq!(
        kind(&bench.post(&format!("{ROOT}/networks"), &external)),
        (403, "PolicyNotAuthorized".to_owned())
    );
}

#[test]
fn an_extension_that_is_missing_is_not_listed() {
    let missing_network_extensions = vec!["extraroute-atomic".to_owned()];
    let mut bench = Bench::with(Config { missing_network_extensions, ..Config::default() });
    let listed = bench.get(&format!("{ROOT}/extensions")).body["extensions"].clone();
    let has = |alias: &str| listed.as_array().unwrap().iter().any(|extension| extension["alias"] == alias);
    assert!(has("extraroute") && !has("extraroute-atomic"));
    let path = format!("{ROOT}/routers/{}/add_extraroutes", bench.estate.router);
    let unknown = bench.put(&path, &json!({"router": {"routes": []}}));
    assert_eq!(unknown.status, StatusCode::NOT_FOUND);
}

#[test]
fn ports_are_found_by_several_addresses_at_once() {
    let mut bench = Bench::new();
    let ports = [port(&mut bench), port(&mut bench), port(&mut bench)];
    let address = |port: &Value| port["fixed_ips"][0]["ip_address"].as_str().unwrap().to_owned();
    let (first, third) = (address(&ports[0]), address(&ports[2]));
    let subnet = bench.estate.subnet.clone();
    let either = format!("fixed_ips=ip_address%3D{first}&fixed_ips=ip_address%3D{third}");
    let count = |bench: &mut Bench, query: &str| {
        bench.get(&format!("{ROOT}/ports?{query}")).body["ports"].as_array().unwrap().len()
    };
    assert_eq!(count(&mut bench, &either), 2);
    assert_eq!(count(&mut bench, &format!("{either}&fixed_ips=subnet_id%3D{subnet}")), 2);
    assert_eq!(count(&mut bench, &format!("{either}&fixed_ips=subnet_id%3Dnone")), 0);
    assert_eq!(count(&mut bench, &format!("{either}&fixed_ips=nonsense%3D1")), 0);
}

#[test]
fn a_bulk_request_makes_all_or_none() {
    let mut bench = Bench::new();
    let network = bench.estate.network.clone();
    let before = bench.cloud.state().network.ports.len();
    let good = json!({"network_id": network});
    let bad = json!({"network_id": network, "fixed_ips": [{"ip_address": "9.9.9.9"}]});
    let refused = bench.post(&format!("{ROOT}/ports"), &json!({"ports": [good, bad]}));
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert_eq!(bench.cloud.state().network.ports.len(), before);
    let made = bench.post(&format!("{ROOT}/ports"), &json!({"ports": [good, good]}));
    assert_eq!(made.body["ports"].as_array().unwrap().len(), 2);
}
