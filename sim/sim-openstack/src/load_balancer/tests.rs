//! The state machine of load balancers, immutability, providers, batches, quotas, versions.

use http::StatusCode;
use serde_json::{Value, json};

use super::{finish, set_member_health};
use crate::config::Config;
use crate::seed::testing::{Answer, Bench};

const ROOT: &str = "/load-balancer/v2/lbaas";

fn create(bench: &mut Bench, provider: &str, extra: &Value) -> String {
    let mut wanted = json!({"name": "lb", "provider": provider, "vip_subnet_id": bench.estate.subnet});
    wanted.as_object_mut().unwrap().extend(extra.as_object().cloned().unwrap_or_default());
    let answer = bench.post(&format!("{ROOT}/loadbalancers"), &json!({"loadbalancer": wanted}));
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    answer.body["loadbalancer"]["id"].as_str().unwrap().to_owned()
}

fn active(bench: &mut Bench, provider: &str) -> String {
    let id = create(bench, provider, &json!({}));
    bench.pass(61.0);
    id
}

fn show(bench: &mut Bench, id: &str) -> Value {
    bench.get(&format!("{ROOT}/loadbalancers/{id}")).body["loadbalancer"].clone()
}

fn status(bench: &mut Bench, id: &str) -> String {
    show(bench, id)["provisioning_status"].as_str().unwrap_or("GONE").to_owned()
}

fn listener(bench: &mut Bench, balancer: &str, protocol: &str, port: u16) -> Answer {
    let wanted = json!({"protocol": protocol, "protocol_port": port, "loadbalancer_id": balancer});
    bench.post(&format!("{ROOT}/listeners"), &json!({"listener": wanted}))
}

fn pool(bench: &mut Bench, wanted: &Value) -> Answer {
    bench.post(&format!("{ROOT}/pools"), &json!({"pool": wanted}))
}

fn id(answer: &Answer, name: &str) -> String {
    assert_eq!(answer.status, StatusCode::CREATED, "{}", answer.text);
    answer.body[name]["id"].as_str().unwrap().to_owned()
}

fn words(answer: &Answer) -> (u16, String) {
    (answer.status.as_u16(), answer.body["faultstring"].as_str().unwrap_or_default().to_owned())
}

/// A load balancer with a listener and a pool, and both identifiers of those.
fn with_pool(bench: &mut Bench, provider: &str) -> (String, String, String) {
    let balancer = active(bench, provider);
    let listener = id(&listener(bench, &balancer, "TCP", 80), "listener");
    bench.pass(5.0);
    let algorithm = if provider == "ovn" { "SOURCE_IP_PORT" } else { "ROUND_ROBIN" };
    let wanted = json!({"protocol": "TCP", "lb_algorithm": algorithm, "listener_id": listener});
    let pool = id(&pool(bench, &wanted), "pool");
    bench.pass(5.0);
    (balancer, listener, pool)
}

fn members(bench: &mut Bench, pool: &str) -> Vec<(String, i64)> {
    let answer = bench.get(&format!("{ROOT}/pools/{pool}/members"));
    let members = answer.body["members"].as_array().unwrap().clone();
    let mut members: Vec<_> = members
        .iter()
        .map(|member| {
            (member["address"].as_str().unwrap().to_owned(), member["protocol_port"].as_i64().unwrap())
        })
        .collect();
    members.sort();
    members
}

#[test]
fn an_amphora_boots_for_a_minute_and_ovn_is_there_in_a_second() {
    let mut bench = Bench::new();
    let (amphora, ovn) = (create(&mut bench, "amphora", &json!({})), create(&mut bench, "ovn", &json!({})));
    assert_eq!(status(&mut bench, &amphora), "PENDING_CREATE");
    bench.pass(1.0);
    assert_eq!(
        (status(&mut bench, &amphora), status(&mut bench, &ovn)),
        ("PENDING_CREATE".into(), "ACTIVE".into())
    );
    bench.pass(58.9);
    assert_eq!(status(&mut bench, &amphora), "PENDING_CREATE");
    bench.pass(0.1);
    assert_eq!(show(&mut bench, &amphora)["operating_status"], "ONLINE");
}

#[test]
fn nothing_changes_while_a_load_balancer_is_pending() {
    let mut bench = Bench::new();
    let balancer = create(&mut bench, "amphora", &json!({}));
    let path = format!("{ROOT}/loadbalancers/{balancer}");
    let immutable = format!("Load Balancer {balancer} is immutable and cannot be updated.");
    let invalid = format!("Invalid state PENDING_CREATE of loadbalancer resource {balancer}");
    assert_eq!(words(&listener(&mut bench, &balancer, "TCP", 80)), (409, immutable.clone()));
    assert_eq!(words(&bench.put(&path, &json!({"loadbalancer": {"name": "y"}}))), (409, invalid.clone()));
    assert_eq!(words(&bench.delete(&format!("{path}?cascade=true"))), (409, invalid));
    bench.pass(60.0);
    assert_eq!(listener(&mut bench, &balancer, "TCP", 80).status, StatusCode::CREATED);
    assert_eq!(status(&mut bench, &balancer), "PENDING_UPDATE");
    assert_eq!(words(&listener(&mut bench, &balancer, "TCP", 81)), (409, immutable));
    bench.pass(2.0);
    assert_eq!(status(&mut bench, &balancer), "ACTIVE");
}

#[test]
fn with_ovn_a_child_may_be_pending_while_its_load_balancer_is_active() {
    let mut bench = Bench::new();
    let balancer = active(&mut bench, "ovn");
    let wanted = json!({"protocol": "TCP", "lb_algorithm": "SOURCE_IP_PORT", "loadbalancer_id": balancer});
    let pool = id(&pool(&mut bench, &wanted), "pool");
    bench.pass(1.0);
    assert_eq!(status(&mut bench, &balancer), "ACTIVE");
    let batch = json!({"members": [{"address": "10.10.0.5", "protocol_port": 1}]});
    let path = format!("{ROOT}/pools/{pool}/members");
    let refused = words(&bench.put(&path, &batch));
    assert_eq!(refused, (409, format!("Pool {pool} is immutable and cannot be updated.")));
    bench.pass(0.2);
    assert_eq!(bench.put(&path, &batch).status, StatusCode::ACCEPTED);
}

#[test]
fn ovn_gives_a_pool_up_whose_change_does_not_say_whether_it_is_on() {
    let mut bench = Bench::new();
    for (provider, said, outcome) in [
        ("ovn", json!({}), "ERROR"),
        ("ovn", json!({"admin_state_up": true}), "ACTIVE"),
        ("amphora", json!({}), "ACTIVE"),
    ] {
        let (balancer, _, pool) = with_pool(&mut bench, provider);
        let mut change = said.clone();
        change["session_persistence"] = json!({"type": "SOURCE_IP"});
        let path = format!("{ROOT}/pools/{pool}");
        let answer = bench.put(&path, &json!({"pool": change}));
        assert_eq!(answer.body["pool"]["provisioning_status"], "PENDING_UPDATE", "{}", answer.text);
        bench.pass(5.0);
        let left = bench.get(&path).body["pool"]["provisioning_status"].clone();
        assert_eq!(
            (left.as_str().unwrap(), status(&mut bench, &balancer).as_str()),
            (outcome, "ACTIVE"),
            "{provider} {said}"
        );
    }
}

#[test]
fn a_load_balancer_with_children_goes_only_with_cascade_and_takes_its_port_along() {
    let mut bench = Bench::new();
    let (balancer, ..) = with_pool(&mut bench, "amphora");
    let port = show(&mut bench, &balancer)["vip_port_id"].as_str().unwrap().to_owned();
    let public = bench.estate.external_network.clone();
    let floating = json!({"floatingip": {"floating_network_id": public, "port_id": port}});
    let floating = bench.post("/network/v2.0/floatingips", &floating).body["floatingip"]["id"]
        .as_str()
        .unwrap()
        .to_owned();
    let path = format!("{ROOT}/loadbalancers/{balancer}");
    assert_eq!(bench.delete(&path).status, StatusCode::BAD_REQUEST);
    assert_eq!(bench.delete(&format!("{path}?cascade=true")).status, StatusCode::NO_CONTENT);
    assert_eq!(status(&mut bench, &balancer), "PENDING_DELETE");
    bench.pass(4.0);
    assert_eq!(bench.get(&path).status, StatusCode::NOT_FOUND);
    assert_eq!(bench.get(&format!("/network/v2.0/ports/{port}")).status, StatusCode::NOT_FOUND);
    let floating = bench.get(&format!("/network/v2.0/floatingips/{floating}")).body["floatingip"].clone();
    assert!(floating["port_id"].is_null() && floating["status"] == "DOWN");
    let state = bench.cloud.state();
    let left = (
        state.load_balancer.listeners.len(),
        state.load_balancer.pools.len(),
        state.load_balancer.members.len(),
    );
    assert_eq!(left, (0, 0, 0));
}

#[test]
fn a_given_port_stays_when_its_load_balancer_goes() {
    let mut bench = Bench::new();
    let wanted = json!({"port": {"network_id": bench.estate.network}});
    let port = bench.post("/network/v2.0/ports", &wanted).body["port"]["id"].as_str().unwrap().to_owned();
    let wanted = json!({"loadbalancer": {"provider": "ovn", "vip_port_id": port}});
    let balancer = id(&bench.post(&format!("{ROOT}/loadbalancers"), &wanted), "loadbalancer");
    bench.pass(2.0);
    bench.delete(&format!("{ROOT}/loadbalancers/{balancer}"));
    bench.pass(2.0);
    assert_eq!(status(&mut bench, &balancer), "GONE");
    assert_eq!(bench.get(&format!("/network/v2.0/ports/{port}")).status, StatusCode::OK);
}

#[test]
fn everything_can_be_made_at_once_and_nothing_is_made_if_one_part_is_wrong() {
    let mut bench = Bench::new();
    let member = |port: u16| json!({"address": "10.10.0.5", "protocol_port": port});
    let listener = |port: u16, algorithm: &str| {
        let monitor = json!({"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 2});
        let members = [member(1), member(2)];
        let pool = json!({"protocol": "TCP", "lb_algorithm": algorithm, "members": members, "healthmonitor": monitor});
        json!({"protocol": "TCP", "protocol_port": port, "default_pool": pool})
    };
    let good = json!({"listeners": [listener(80, "ROUND_ROBIN"), listener(443, "ROUND_ROBIN")]});
    let balancer = create(&mut bench, "amphora", &good);
    bench.pass(60.0);
    let tree = bench.get(&format!("{ROOT}/loadbalancers/{balancer}/status")).body;
    let pool = &tree["statuses"]["loadbalancer"]["listeners"][1]["pools"][0];
    assert_eq!(pool["members"].as_array().unwrap().len(), 2);
    assert_eq!(pool["health_monitor"]["provisioning_status"], "ACTIVE");
    let ports = bench.cloud.state().network.ports.len();
    let subnet = bench.estate.subnet.clone();
    for (provider, listeners) in [
        ("ovn", json!([listener(80, "SOURCE_IP_PORT"), listener(81, "ROUND_ROBIN")])),
        ("amphora", json!([listener(80, "ROUND_ROBIN"), listener(80, "ROUND_ROBIN")])),
    ] {
        let wanted =
            json!({"loadbalancer": {"provider": provider, "vip_subnet_id": subnet, "listeners": listeners}});
        let refused = bench.post(&format!("{ROOT}/loadbalancers"), &wanted);
        assert!(matches!(refused.status.as_u16(), 501 | 409), "{}", refused.text);
    }
    assert_eq!(bench.cloud.state().network.ports.len(), ports, "no port is left behind");
    assert_eq!(bench.cloud.state().load_balancer.load_balancers.len(), 1);
}

#[test]
fn a_batch_makes_changes_and_deletes_members_and_may_only_add() {
    let mut bench = Bench::new();
    let (.., pool) = with_pool(&mut bench, "amphora");
    let path = format!("{ROOT}/pools/{pool}/members");
    let member =
        |number: u8| json!({"address": format!("10.10.0.{number}"), "protocol_port": 80, "name": "x"});
    let mut batch = |query: &str, list: Value| {
        let answer = bench.put(&format!("{path}{query}"), &json!({"members": list}));
        bench.pass(2.0);
        (answer.status.as_u16(), members(&mut bench, &pool).len())
    };
    assert_eq!(batch("", json!([member(5), member(6)])), (202, 2));
    assert_eq!(batch("", json!([member(6), member(7)])), (202, 2));
    assert_eq!(batch("?additive_only=True", json!([member(8)])), (202, 3));
    assert_eq!(batch("", json!([member(8), member(8)])), (400, 3));
    assert_eq!(batch("", json!([])), (202, 0));
}

#[test]
fn a_batch_that_changes_nothing_keeps_the_members_but_still_makes_the_load_balancer_pending() {
    let mut bench = Bench::new();
    let (balancer, _, pool) = with_pool(&mut bench, "amphora");
    let path = format!("{ROOT}/pools/{pool}/members");
    let batch = json!({"members": [{"address": "10.10.0.5", "protocol_port": 80}]});
    bench.put(&path, &batch);
    bench.pass(2.0);
    let before = bench.get(&path).body["members"][0]["id"].clone();
    assert_eq!(bench.put(&path, &batch).status, StatusCode::ACCEPTED);
    assert_eq!(status(&mut bench, &balancer), "PENDING_UPDATE");
    bench.pass(2.0);
    assert_eq!(bench.get(&path).body["members"][0]["id"], before);
}

/// When something of Octavia's was last changed.
fn changed_at(bench: &mut Bench, path: &str) -> String {
    let body = bench.get(&format!("{ROOT}/{path}")).body;
    let shown = body.as_object().unwrap().values().next().unwrap();
    shown["updated_at"].as_str().unwrap_or("never").to_owned()
}

#[test]
fn every_change_below_a_load_balancer_is_a_change_of_it_when_it_begins_and_when_it_ends() {
    let mut bench = Bench::new();
    let (balancer, listener_id, pool_id) = with_pool(&mut bench, "amphora");
    let (above, within) = (format!("loadbalancers/{balancer}"), format!("pools/{pool_id}"));
    let side = format!("listeners/{listener_id}");
    let member = json!({"member": {"address": "10.10.0.5", "protocol_port": 80}});
    let monitor = json!({"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1, "pool_id": pool_id});
    let changes = [
        (http::Method::POST, format!("pools/{pool_id}/members"), member),
        (http::Method::PUT, format!("pools/{pool_id}/members"), json!({"members": []})),
        (http::Method::POST, "healthmonitors".to_owned(), json!({"healthmonitor": monitor})),
        (http::Method::PUT, format!("pools/{pool_id}"), json!({"pool": {"name": "x"}})),
    ];
    for (method, path, body) in changes {
        let before = [&above, &side, &within].map(|path| changed_at(&mut bench, path));
        bench.pass(10.0);
        let answer = bench.send(method.clone(), &format!("{ROOT}/{path}"), &[], Some(&body));
        assert!(answer.status.is_success(), "{method} {path}: {}", answer.text);
        let begun = [&above, &side, &within].map(|path| changed_at(&mut bench, path));
        bench.pass(10.0);
        let ended = [&above, &side, &within].map(|path| changed_at(&mut bench, path));
        for ((before, begun), ended) in before.iter().zip(&begun).zip(&ended) {
            assert!(before < begun && begun < ended, "{method} {path}: {before}, {begun}, {ended}");
        }
    }
}

#[test]
fn what_is_new_has_a_time_of_making_and_none_of_a_change_until_it_is_there() {
    let mut bench = Bench::new();
    let balancer = create(&mut bench, "amphora", &json!({}));
    assert_eq!(show(&mut bench, &balancer)["updated_at"], Value::Null);
    bench.pass(61.0);
    let made = listener(&mut bench, &balancer, "TCP", 80);
    let (listener, before) = (&made.body["listener"], show(&mut bench, &balancer)["updated_at"].clone());
    assert_eq!(listener["updated_at"], Value::Null);
    assert!(listener["created_at"].as_str() > show(&mut bench, &balancer)["created_at"].as_str());
    bench.pass(10.0);
    let id = listener["id"].as_str().unwrap();
    let listener = bench.get(&format!("{ROOT}/listeners/{id}")).body["listener"].clone();
    assert!(listener["updated_at"].as_str() > listener["created_at"].as_str());
    assert!(show(&mut bench, &balancer)["updated_at"].as_str() > before.as_str());
}

#[test]
fn lists_of_a_project_hold_what_is_below_all_its_load_balancers() {
    let mut bench = Bench::new();
    let mut wanted = [Vec::new(), Vec::new(), Vec::new()];
    for _ in 0..2 {
        let (_, listener, pool) = with_pool(&mut bench, "amphora");
        let monitor = json!({"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1, "pool_id": pool});
        let monitor = bench.post(&format!("{ROOT}/healthmonitors"), &json!({"healthmonitor": monitor}));
        bench.pass(5.0);
        for (ids, made) in wanted.iter_mut().zip([listener, pool, id(&monitor, "healthmonitor")]) {
            ids.push(made);
        }
    }
    for (mut wanted, name) in wanted.into_iter().zip(["listeners", "pools", "healthmonitors"]) {
        let answer = bench.get(&format!("{ROOT}/{name}"));
        let found = answer.body[name].as_array().unwrap().iter();
        let mut found: Vec<&str> = found.map(|row| row["id"].as_str().unwrap()).collect();
        found.sort_unstable();
        wanted.sort();
        assert_eq!(found, wanted, "{name}");
    }
    let named = create(&mut bench, "ovn", &json!({"name": "kube_service_a_b_c"}));
    create(&mut bench, "ovn", &json!({"name": "kube_service_a_b_cd"}));
    let found =
        bench.get(&format!("{ROOT}/loadbalancers?name=kube_service_a_b_c")).body["loadbalancers"].clone();
    assert_eq!(found.as_array().unwrap().iter().map(|row| &row["id"]).collect::<Vec<_>>(), [&json!(named)]);
}

#[test]
fn ovn_lacks_what_it_really_lacks() {
    let mut bench = Bench::new();
    let balancer = active(&mut bench, "ovn");
    assert_eq!(listener(&mut bench, &balancer, "HTTP", 80).status, StatusCode::NOT_IMPLEMENTED);
    let wanted = json!({"protocol": "TCP", "lb_algorithm": "ROUND_ROBIN", "loadbalancer_id": balancer});
    let refused = words(&pool(&mut bench, &wanted));
    let message = "Provider 'ovn' does not support a requested option: OVN provider does not support ROUND_ROBIN algorithm";
    assert_eq!(refused, (501, message.to_owned()));
    assert_eq!(status(&mut bench, &balancer), "ACTIVE", "a refusal changes nothing");
    let (_, listener, pool) = with_pool(&mut bench, "ovn");
    let cidrs = json!({"listener": {"allowed_cidrs": ["10.0.0.0/8"]}});
    assert_eq!(
        bench.put(&format!("{ROOT}/listeners/{listener}"), &cidrs).status,
        StatusCode::NOT_IMPLEMENTED
    );
    let monitor = json!({"type": "HTTP", "delay": 5, "timeout": 3, "max_retries": 1, "pool_id": pool});
    let refused = bench.post(&format!("{ROOT}/healthmonitors"), &json!({"healthmonitor": monitor}));
    assert_eq!(refused.status, StatusCode::NOT_IMPLEMENTED);
}

#[test]
fn monitors_see_members_fall_and_come_back() {
    let mut bench = Bench::new();
    let (balancer, _, pool) = with_pool(&mut bench, "amphora");
    let monitor = json!({"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1, "pool_id": pool});
    bench.post(&format!("{ROOT}/healthmonitors"), &json!({"healthmonitor": monitor}));
    bench.pass(2.0);
    let batch = json!({"members": [{"address": "10.10.0.5", "protocol_port": 1}, {"address": "10.10.0.6", "protocol_port": 1}]});
    bench.put(&format!("{ROOT}/pools/{pool}/members"), &batch);
    bench.pass(2.0);
    let shown = bench.get(&format!("{ROOT}/pools/{pool}/members")).body["members"].clone();
    let ids: Vec<String> =
        shown.as_array().unwrap().iter().map(|member| member["id"].as_str().unwrap().to_owned()).collect();
    set_member_health(bench.cloud.world(), &ids[0], false);
    assert_eq!(show(&mut bench, &balancer)["operating_status"], "DEGRADED");
    set_member_health(bench.cloud.world(), &ids[1], false);
    assert_eq!(show(&mut bench, &balancer)["operating_status"], "ERROR");
    set_member_health(bench.cloud.world(), &ids[0], true);
    set_member_health(bench.cloud.world(), &ids[1], true);
    assert_eq!(show(&mut bench, &balancer)["operating_status"], "ONLINE");
}

#[test]
fn an_error_can_only_be_deleted_and_the_do_nothing_provider_stays_pending() {
    let mut bench = Bench::new();
    let balancer = active(&mut bench, "amphora");
    bench.cloud.settle(bench.now);
    bench.cloud.edit(|state| {
        state
            .load_balancer
            .load_balancers
            .update(&balancer, |balancer| "ERROR".clone_into(&mut balancer.provisioning_status));
    });
    assert_eq!(listener(&mut bench, &balancer, "TCP", 80).status, StatusCode::CONFLICT);
    assert_eq!(bench.delete(&format!("{ROOT}/loadbalancers/{balancer}")).status, StatusCode::NO_CONTENT);
    let stuck = create(&mut bench, "noop_driver", &json!({}));
    bench.pass(10_000.0);
    bench.token = bench.login(crate::MEMBER);
    assert_eq!(status(&mut bench, &stuck), "PENDING_CREATE");
}

#[test]
fn an_older_octavia_does_not_know_newer_attributes() {
    let mut bench = Bench::with(Config { load_balancer_minor_version: 4, ..Config::default() });
    let versions = bench.get("/load-balancer/").body["versions"].clone();
    assert_eq!(versions.as_array().unwrap().last().unwrap()["id"], "v2.4");
    let wanted = json!({"loadbalancer": {"vip_subnet_id": bench.estate.subnet, "tags": ["a"]}});
    let refused = words(&bench.post(&format!("{ROOT}/loadbalancers"), &wanted));
    assert_eq!(refused, (400, "Unknown attribute for argument load_balancer.loadbalancer: tags".to_owned()));
    let balancer = active(&mut bench, "ovn");
    assert!(show(&mut bench, &balancer).get("tags").is_none());
}

#[test]
fn policy_and_quotas_are_both_403_with_different_words() {
    let mut bench = Bench::new();
    let project = bench.estate.project.clone();
    bench.as_admin(|bench| {
        bench.put(&format!("{ROOT}/quotas/{project}"), &json!({"quota": {"load_balancer": 0}}))
    });
    let wanted = json!({"loadbalancer": {"vip_subnet_id": bench.estate.subnet}});
    let full = words(&bench.post(&format!("{ROOT}/loadbalancers"), &wanted));
    assert_eq!(full, (403, "Quota has been met for resources: Load Balancer".to_owned()));
    bench.cloud.edit(|state| {
        let role = state.identity.role_named("load-balancer_member").unwrap().id.clone();
        state.identity.assignments.retain(|(_, _, assigned)| *assigned != role);
    });
    bench.token = bench.login(crate::MEMBER);
    let refused = words(&bench.post(&format!("{ROOT}/loadbalancers"), &wanted));
    assert_eq!(refused, (403, "Policy does not allow this request to be performed.".to_owned()));
    assert_eq!(bench.get(&format!("{ROOT}/loadbalancers")).status, StatusCode::OK, "a reader may look");
}

#[test]
fn an_operation_that_is_not_due_does_not_end_early() {
    let mut bench = Bench::new();
    let balancer = create(&mut bench, "amphora", &json!({}));
    finish(bench.cloud.world(), &balancer);
    assert_eq!(status(&mut bench, &balancer), "PENDING_CREATE");
}

#[test]
fn ovn_checks_members_from_a_port_of_its_own_that_goes_with_the_last_monitor() {
    let mut bench = Bench::new();
    let (balancer, _, pool) = with_pool(&mut bench, "ovn");
    let subnet = bench.estate.subnet.clone();
    let ports = |bench: &mut Bench| {
        let answer = bench.get("/network/v2.0/ports?device_owner=ovn-lb-hm:distributed");
        answer.body["ports"].as_array().unwrap().len()
    };
    let batch = json!({"members": [{"address": "10.10.0.5", "protocol_port": 1, "subnet_id": subnet}]});
    bench.put(&format!("{ROOT}/pools/{pool}/members"), &batch);
    bench.pass(2.0);
    assert_eq!(ports(&mut bench), 0);
    let monitor = json!({"type": "TCP", "delay": 5, "timeout": 3, "max_retries": 1, "pool_id": pool});
    let made = bench.post(&format!("{ROOT}/healthmonitors"), &json!({"healthmonitor": monitor}));
    let monitor = id(&made, "healthmonitor");
    bench.pass(2.0);
    assert_eq!(ports(&mut bench), 1);
    bench.delete(&format!("{ROOT}/healthmonitors/{monitor}"));
    bench.pass(2.0);
    assert_eq!(ports(&mut bench), 0);
    assert_eq!(status(&mut bench, &balancer), "ACTIVE");
}

#[test]
fn values_of_the_wrong_form_are_refused_in_the_words_of_octavia() {
    let mut bench = Bench::new();
    let subnet = bench.estate.subnet.clone();
    let cases = [
        (json!({"name": 5, "vip_subnet_id": subnet}), "name. Value: '5'. Value should be string"),
        (
            json!({"vip_subnet_id": "not-an-id"}),
            "vip_subnet_id. Value: 'not-an-id'. Value should be UUID format",
        ),
        (
            json!({"vip_subnet_id": subnet, "vip_address": "bogus"}),
            "vip_address. Value: 'bogus'. Value should be IPv4 or IPv6 format",
        ),
    ];
    for (wanted, words) in cases {
        let answer = bench.post("/load-balancer/v2/lbaas/loadbalancers", &json!({"loadbalancer": wanted}));
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{}", answer.body);
        assert_eq!(answer.body["faultstring"], format!("Invalid input for field/attribute {words}"));
    }
    let long = json!({"loadbalancer": {"name": "n".repeat(256), "vip_subnet_id": subnet}});
    let answer = bench.post("/load-balancer/v2/lbaas/loadbalancers", &long);
    assert_eq!(answer.status, StatusCode::BAD_REQUEST, "a name has at most 255 characters");
}

#[test]
fn each_provider_has_algorithms_of_its_own() {
    let mut bench = Bench::new();
    for (provider, possible) in
        [("ovn", ["SOURCE_IP", "SOURCE_IP_PORT"]), ("amphora", ["SOURCE_IP", "ROUND_ROBIN"])]
    {
        let balancer = create(&mut bench, provider, &json!({}));
        for algorithm in ["SOURCE_IP", "SOURCE_IP_PORT", "ROUND_ROBIN"] {
            bench.pass(70.0);
            let pool = json!({"protocol": "TCP", "lb_algorithm": algorithm, "loadbalancer_id": balancer});
            let answer = bench.post("/load-balancer/v2/lbaas/pools", &json!({"pool": pool}));
            let wanted =
                if possible.contains(&algorithm) { StatusCode::CREATED } else { StatusCode::NOT_IMPLEMENTED };
            assert_eq!(answer.status, wanted, "{provider} {algorithm}: {}", answer.body);
        }
    }
}

#[test]
fn source_ranges_of_a_populated_load_balancer_fit_the_address_that_it_gets() {
    let mut bench = Bench::new();
    let ports = |bench: &mut Bench| bench.get("/network/v2.0/ports").body["ports"].as_array().unwrap().len();
    let before = ports(&mut bench);
    let populated = |bench: &Bench, range: &str| {
        let listener = json!({"protocol": "TCP", "protocol_port": 80, "allowed_cidrs": [range]});
        json!({"loadbalancer": {
            "provider": "amphora", "vip_subnet_id": bench.estate.subnet, "listeners": [listener],
        }})
    };
    let wrong = populated(&bench, "::/0");
    let refused = bench.post(&format!("{ROOT}/loadbalancers"), &wrong);
    assert_eq!(refused.status, StatusCode::BAD_REQUEST);
    assert!(words(&refused).1.contains("incompatible"), "{}", refused.text);
    assert_eq!(ports(&mut bench), before, "its port is gone again");
    let right = populated(&bench, "0.0.0.0/0");
    assert_eq!(bench.post(&format!("{ROOT}/loadbalancers"), &right).status, StatusCode::CREATED);
}
