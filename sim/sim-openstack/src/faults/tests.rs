//! Every fault, by rule and by seed.

use std::time::Duration;

use http::{Method, StatusCode};
use serde_json::{Value, json};

use super::{Chaos, Fault, Rule};
use crate::cloud::Outcome;
use crate::config::{Config, Service};
use crate::seed::testing::Bench;

const NETWORKS: &str = "/network/v2.0/networks";

fn with_rule(rule: Rule) -> Bench {
    let mut bench = Bench::new();
    bench.cloud.faults().add(rule);
    bench
}

fn balancer(bench: &mut Bench) -> String {
    let wanted = json!({"loadbalancer": {"provider": "ovn", "vip_subnet_id": bench.estate.subnet}});
    let made = bench.post("/load-balancer/v2/lbaas/loadbalancers", &wanted);
    made.body["loadbalancer"]["id"].as_str().unwrap().to_owned()
}

fn balancer_status(bench: &mut Bench, id: &str) -> Value {
    bench.get(&format!("/load-balancer/v2/lbaas/loadbalancers/{id}")).body["loadbalancer"]["provisioning_status"].clone()
}

#[test]
fn a_page_of_the_proxy_may_hide_that_it_was_done() {
    let lost = Fault::AnswerAfter(StatusCode::SERVICE_UNAVAILABLE);
    let mut bench = with_rule(Rule::new(lost).method(Method::POST));
    let wanted = json!({"loadbalancer": {"provider": "ovn", "vip_subnet_id": bench.estate.subnet}});
    let answer = bench.post("/load-balancer/v2/lbaas/loadbalancers", &wanted);
    assert_eq!(answer.status, StatusCode::SERVICE_UNAVAILABLE);
    assert!(answer.text.contains("<html>"), "{}", answer.text);
    let all = bench.get("/load-balancer/v2/lbaas/loadbalancers");
    assert_eq!(all.body["loadbalancers"].as_array().map(Vec::len), Some(1));
}

#[test]
fn injected_errors_look_like_those_of_their_service() {
    let cases = [
        (Fault::unauthorized(), 401, "error"),
        (Fault::forbidden(), 403, "NeutronError"),
        (Fault::not_found_lie(), 404, "NeutronError"),
        (Fault::conflict(), 409, "NeutronError"),
        (Fault::status(StatusCode::INTERNAL_SERVER_ERROR), 500, "NeutronError"),
    ];
    for (fault, status, member) in cases {
        let answer = with_rule(Rule::new(fault)).get(NETWORKS);
        assert_eq!(answer.status.as_u16(), status);
        assert!(answer.body.get(member).is_some(), "{}", answer.text);
        assert!(answer.headers.contains_key("x-openstack-request-id"));
    }
    let nova = with_rule(Rule::new(Fault::not_found_lie())).get("/compute/v2.1/servers/abc");
    assert_eq!(nova.body["itemNotFound"]["message"], "abc could not be found.");
    let octavia = with_rule(Rule::new(Fault::conflict())).get("/load-balancer/v2/lbaas/pools");
    assert_eq!(octavia.body["faultcode"], "Client");
}

#[test]
fn throttling_says_when_to_come_back_and_proxies_answer_in_html() {
    let throttled = with_rule(Rule::new(Fault::too_many_requests(7))).get(NETWORKS);
    assert_eq!((throttled.status.as_u16(), &throttled.headers["retry-after"]), (429, &"7".parse().unwrap()));
    let over = with_rule(Rule::new(Fault::over_limit(3))).get("/compute/v2.1/servers");
    assert!(over.status.as_u16() == 413 && over.body.get("overLimit").is_some());
    let page = with_rule(Rule::new(Fault::html(StatusCode::BAD_GATEWAY))).get(NETWORKS);
    assert_eq!(page.headers["content-type"], "text/html");
    assert!(page.text.contains("502 Bad Gateway"));
}

#[test]
fn a_lost_request_does_nothing_and_a_lost_reply_does_it_all_the_same() {
    for (fault, silent, made) in [
        (Fault::SilenceBefore, true, false),
        (Fault::SilenceAfter, true, true),
        (Fault::DisconnectBefore, false, false),
        (Fault::DisconnectAfter, false, true),
    ] {
        let mut bench = with_rule(Rule::new(fault.clone()).method(Method::POST).times(1));
        let body = json!({"network": {"name": "n"}});
        let outcome = bench.outcome(Method::POST, NETWORKS, &[], Some(&body));
        assert_eq!(matches!(outcome, Outcome::Silence), silent, "{fault:?}");
        assert_eq!(matches!(outcome, Outcome::Disconnect), !silent, "{fault:?}");
        let found = bench.get(&format!("{NETWORKS}?name=n")).body["networks"].as_array().unwrap().len();
        assert_eq!(found == 1, made, "{fault:?}");
    }
}

#[test]
fn rules_match_by_service_method_path_count_and_time() {
    let mut bench = Bench::new();
    let now = bench.now;
    let rule = Rule::new(Fault::conflict()).on(Service::Network).path("/v2.0/ports/{id}").after(1).times(2);
    let id = bench.cloud.faults().add(rule);
    let port = bench.cloud.state().network.ports.iter().next().unwrap().id.clone();
    let path = format!("/network/v2.0/ports/{port}");
    let answers: Vec<u16> = (0..4).map(|_| bench.get(&path).status.as_u16()).collect();
    assert_eq!(answers, [200, 409, 409, 200]);
    assert_eq!(bench.cloud.faults().acted(id), Some(2));
    assert_eq!(bench.get(NETWORKS).status, StatusCode::OK);
    bench.cloud.faults().clear();
    let later = crate::clock::later(now, Duration::from_secs(10));
    let end = crate::clock::later(now, Duration::from_secs(20));
    bench.cloud.faults().add(Rule::new(Fault::forbidden()).path("*networks*").between(later, end));
    assert_eq!(bench.get(NETWORKS).status, StatusCode::OK);
    bench.pass(10.0);
    assert_eq!(bench.get(NETWORKS).status, StatusCode::FORBIDDEN);
    bench.pass(10.0);
    assert_eq!(bench.get(NETWORKS).status, StatusCode::OK);
}

#[test]
fn lists_and_bodies_are_cut() {
    let mut bench = with_rule(Rule::new(Fault::TruncateList { keep: 1 }).path("*servers*").times(1));
    let cut = bench.get("/compute/v2.1/servers?limit=3");
    assert_eq!(cut.body["servers"].as_array().unwrap().len(), 1);
    assert!(cut.body.get("servers_links").is_none());
    let mut bench = with_rule(Rule::new(Fault::CutBody { bytes: 10 }).times(1));
    let cut = bench.get(NETWORKS);
    assert!(cut.status.is_success() && cut.text.len() == 10 && cut.body.is_null());
}

#[test]
fn slow_answers_say_how_slow() {
    let mut bench = with_rule(Rule::new(Fault::Slow(Duration::from_secs(9))));
    let outcome = bench.outcome(Method::GET, NETWORKS, &[], None);
    assert!(matches!(outcome, Outcome::Slow(wait, _) if wait == Duration::from_secs(9)));
}

#[test]
fn stale_reads_show_the_past_for_a_while() {
    let mut bench = with_rule(Rule::new(Fault::Stale(Duration::from_secs(10))).method(Method::GET));
    let names = |bench: &mut Bench| {
        let shown = bench.get(NETWORKS).body["networks"].as_array().unwrap().clone();
        shown.iter().map(|network| network["name"].as_str().unwrap().to_owned()).collect::<Vec<_>>()
    };
    bench.pass(60.0);
    assert_eq!(names(&mut bench).len(), 2);
    bench.pass(1.0);
    let made = bench.post(NETWORKS, &json!({"network": {"name": "new"}}));
    let path = format!("{NETWORKS}/{}", made.body["network"]["id"].as_str().unwrap());
    assert!(!names(&mut bench).contains(&"new".to_owned()), "the former answer again");
    assert_eq!(bench.get(&path).status, StatusCode::NOT_FOUND, "not visible yet");
    bench.pass(11.0);
    assert!(names(&mut bench).contains(&"new".to_owned()));
    assert_eq!(bench.get(&path).status, StatusCode::OK);
}

#[test]
fn stale_reads_see_a_change_in_the_end_however_often_one_looks() {
    let mut bench = with_rule(Rule::new(Fault::Stale(Duration::from_secs(10))).method(Method::GET));
    bench.pass(60.0);
    bench.get(NETWORKS);
    bench.post(NETWORKS, &json!({"network": {"name": "new"}}));
    let sees = |bench: &mut Bench| bench.get(NETWORKS).text.contains("\"new\"");
    let mut looks = 0;
    while !sees(&mut bench) {
        looks += 1;
        assert!(looks < 30, "still the past after {looks} seconds");
        bench.pass(1.0);
    }
    assert!(looks >= 5, "the past for a while: {looks} seconds");
}

#[test]
fn a_lie_of_neutron_is_in_the_words_for_the_kind_of_object() {
    let lie =
        |path: &str| with_rule(Rule::new(Fault::not_found_lie())).get(path).body["NeutronError"].clone();
    let port = lie("/network/v2.0/ports/abc");
    assert_eq!(
        (&port["type"], &port["message"]),
        (&json!("PortNotFound"), &json!("Port abc could not be found."))
    );
    assert_eq!(lie("/network/v2.0/routers/r/add_extraroutes")["type"], "RouterNotFound");
    assert_eq!(lie("/network/v2.0/security-groups/g")["type"], "SecurityGroupNotFound");
    assert_eq!(lie(NETWORKS)["type"], "HTTPNotFound");
}

#[test]
fn operations_on_load_balancers_end_in_error_or_never() {
    let create = |fault| Rule::new(fault).on(Service::LoadBalancer).method(Method::POST).times(1);
    let mut bench = with_rule(create(Fault::LoadBalancerError));
    let id = balancer(&mut bench);
    bench.pass(2.0);
    assert_eq!(balancer_status(&mut bench, &id), "ERROR");
    let mut bench = with_rule(create(Fault::LoadBalancerStuck));
    let id = balancer(&mut bench);
    bench.pass(1000.0);
    assert_eq!(balancer_status(&mut bench, &id), "PENDING_CREATE");
    let healthy = balancer(&mut bench);
    bench.pass(2.0);
    assert_eq!(balancer_status(&mut bench, &healthy), "ACTIVE", "the rule was for one operation");
}

#[test]
fn tokens_expire_when_a_fault_says_so() {
    let mut bench = with_rule(Rule::new(Fault::ExpireTokens).times(1));
    assert_eq!(bench.get(NETWORKS).status, StatusCode::UNAUTHORIZED);
    bench.token = bench.login(crate::MEMBER);
    assert_eq!(bench.get(NETWORKS).status, StatusCode::OK);
}

#[test]
fn the_same_seed_gives_the_same_chaos_and_another_seed_another() {
    let run = |seed: u64| {
        let mut bench = Bench::with(Config { seed, ..Config::default() });
        bench.cloud.faults().add_chaos(&Chaos::even(0.05));
        let outcomes = (0..200).map(|_| match bench.outcome(Method::GET, NETWORKS, &[], None) {
            Outcome::Reply(response) => response.status().as_u16(),
            _ => 0,
        });
        outcomes.collect::<Vec<u16>>()
    };
    assert_eq!(run(7), run(7));
    assert_ne!(run(7), run(8));
    let faults = run(7).iter().filter(|status| **status != 200).count();
    assert!((20..150).contains(&faults), "{faults} of 200 went wrong");
}

#[test]
fn rules_do_not_change_the_identifiers_that_follow() {
    let name = |rule: Option<Rule>| {
        let mut bench = Bench::new();
        if let Some(rule) = rule {
            bench.cloud.faults().add(rule);
        }
        bench.post(NETWORKS, &json!({"network": {"name": "n"}})).body["network"]["id"].clone()
    };
    assert_eq!(name(None), name(Some(Rule::new(Fault::conflict()).path("*ports*").chance(0.5))));
}

#[test]
fn edits_behind_the_back_are_seen_and_counted_requests_are_right() {
    let mut bench = Bench::new();
    bench.cloud.log_mut().clear();
    let server = bench.estate.servers[0].clone();
    bench.cloud.edit(|state| state.compute.remove_server(&server));
    assert_eq!(bench.get(&format!("/compute/v2.1/servers/{server}")).status, StatusCode::NOT_FOUND);
    bench.get("/network/v2.0/ports?limit=1");
    bench.post(NETWORKS, &json!({"network": {"name": "n"}}));
    let log = bench.cloud.log();
    assert_eq!(log.count(Service::Compute, &Method::GET, "/v2.1/servers/{id}"), 1);
    assert_eq!(log.count(Service::Network, &Method::GET, "/v2.0/ports"), 1);
    assert_eq!((log.total(), log.mutating()), (3, 1));
    assert_eq!(log.entries().last().unwrap().status, 201);
}
