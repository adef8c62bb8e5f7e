//! The routes on the simulated OpenStack, in virtual time; calls are counted by its log.

mod bench;
mod ports;
mod races;

use std::time::Duration;

use bowline_cloud::{Capability, ErrorClass, RouteChange};
use bowline_testkit::fence::TestFence;
use http::{Method, StatusCode};
use sim_openstack::network::{NewSubnet, add_subnet, connect};
use sim_openstack::{Config, Fault, Rule, Service};

use self::bench::{Bench, access, classes, create, net, pods, without};
use crate::instances::simulation::Simulation;

const ATOMIC: &[&str] = &[];
const WHOLE: &[&str] = &["extraroute-atomic"];

#[tokio::test(start_paused = true)]
async fn two_hundred_routes_are_one_change_of_the_router_and_their_ports_are_found_fifty_at_a_time() {
    let add = "1 PUT /v2.0/routers/{id}/add_extraroutes";
    let put = "1 PUT /v2.0/routers/{id}";
    for (missing, of_router) in [(ATOMIC, vec![add]), (WHOLE, vec!["1 GET /v2.0/routers/{id}", put])] {
        let bench = Bench::new(missing, 200).await;
        let changes: Vec<RouteChange> = (0..200).map(|server| bench.create(server)).collect();
        bench.apply_all(&changes).await;
        let mut calls = bench.calls();
        calls.retain(|call| !call.contains("routers"));
        assert_eq!(calls, ["5 GET /v2.0/ports", "200 PUT /v2.0/ports/{id}"], "one for the interfaces");
        assert_eq!(bench.table().len(), 200);
        assert_eq!(bench.open_for(199), [pods(199)]);
        // All of them again: no port is written, and the router only where that costs less than to look.
        bench.apply_all(&changes).await;
        let writes: Vec<_> = bench.calls().into_iter().filter(|call| call.contains("PUT")).collect();
        assert_eq!(writes, if missing == ATOMIC { vec![add] } else { vec![] });
        let removals: Vec<_> = bench.list().await.into_iter().map(RouteChange::Delete).collect();
        bench.calls();
        bench.apply_all(&removals).await;
        let remove = "1 PUT /v2.0/routers/{id}/remove_extraroutes";
        let of_router = of_router.iter().map(|call| if *call == add { remove } else { call });
        let expected: Vec<_> = ["4 GET /v2.0/ports"].into_iter().chain(of_router).collect();
        let mut calls = bench.calls();
        calls.retain(|call| call != "200 PUT /v2.0/ports/{id}");
        assert_eq!(calls, expected);
        assert_eq!((bench.table().len(), bench.open_for(7)), (0, vec![]));
    }
}

#[tokio::test(start_paused = true)]
async fn while_nothing_changes_a_list_is_one_call_and_now_and_then_the_ports_are_looked_at() {
    let bench = Bench::new(ATOMIC, 3).await;
    let changes: Vec<RouteChange> = (0..3).map(|server| bench.create(server)).collect();
    bench.apply_all(&changes).await;
    bench.list().await;
    bench.calls();
    for _ in 0..29 {
        tokio::time::advance(Duration::from_secs(10)).await;
        let listed = bench.list().await;
        assert!(listed.iter().all(|route| route.incomplete.is_none()) && listed.len() == 3);
        assert_eq!(bench.calls(), ["1 GET /v2.0/routers/{id}"]);
    }
    tokio::time::advance(Duration::from_secs(10)).await;
    bench.list().await;
    assert_eq!(bench.calls(), ["1 GET /v2.0/ports", "1 GET /v2.0/routers/{id}"]);
}

#[tokio::test(start_paused = true)]
async fn thousands_of_routes_are_looked_at_in_lists_of_whole_networks() {
    let bench = Bench::new(ATOMIC, 1500).await;
    for server in 0..1500 {
        bench.add(&format!("10.{}.{}.0/24", 64 + server / 256, server % 256), &bench.address(server));
    }
    let listed = bench.list().await;
    assert_eq!(listed.iter().filter(|route| route.incomplete.is_some()).count(), 1500);
    assert_eq!(bench.calls(), ["3 GET /v2.0/ports", "1 GET /v2.0/routers/{id}"], "interfaces and two pages");
}

#[tokio::test(start_paused = true)]
async fn routes_are_listed_by_their_next_hop_and_taken_away_as_they_are_spelled() {
    for missing in [ATOMIC, WHOLE] {
        let bench = Bench::new(missing, 2).await;
        // A machine that is gone, somebody's own route, and one in another spelling.
        bench.add("10.244.9.0/24", "10.10.99.99");
        bench.add("192.168.0.0/16", "10.10.99.98");
        bench.add("10.244.8.77/24", "10.10.99.97");
        bench.apply_all(&[bench.create(0)]).await;
        let listed = bench.list().await;
        let gone = listed.iter().find(|route| route.destination == net("10.244.9.0/24")).unwrap();
        assert_eq!(gone.next_hop, Some("10.10.99.99".parse().unwrap()));
        assert_eq!((&gone.target_node, gone.blackhole, &gone.incomplete), (&None, false, &None));
        let odd = listed.iter().find(|route| route.destination == net("10.244.8.0/24")).unwrap();
        let changes = [RouteChange::Delete(gone.clone()), RouteChange::Delete(odd.clone())];
        bench.apply_all(&changes).await;
        assert_eq!(bench.table(), [bench.route(0), "192.168.0.0/16 via 10.10.99.98".to_owned()]);
        // Once more: they are gone, and that is what was wanted.
        bench.apply_all(&changes).await;
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_with_another_address_has_its_old_route_replaced_in_one_go() {
    for missing in [ATOMIC, WHOLE] {
        let bench = Bench::new(missing, 2).await;
        bench.apply_all(&[bench.create(0)]).await;
        let old = bench.delete(&bench.route(0)).await;
        let moved = create(&pods(0), &[bench.address(1)]);
        bench.calls();
        // Whatever order they come in.
        bench.apply_all(&[moved, old]).await;
        assert_eq!(bench.table(), [format!("{} via {}", pods(0), bench.address(1))]);
        assert_eq!((bench.open_for(0), bench.open_for(1)), (vec![], vec![pods(0)]));
        let writes = bench.calls().iter().filter(|call| call.contains("PUT /v2.0/routers")).count();
        assert_eq!(writes, if missing == ATOMIC { 2 } else { 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn while_an_old_route_cannot_be_removed_its_successor_waits_and_others_do_not() {
    let bench = Bench::new(ATOMIC, 3).await;
    bench.apply_all(&[bench.create(0)]).await;
    let old = bench.delete(&bench.route(0)).await;
    bench.fault(Rule::new(Fault::status(StatusCode::INTERNAL_SERVER_ERROR)).path("*/remove_extraroutes"));
    let answers = bench.apply(&[old, create(&pods(0), &[bench.address(1)]), bench.create(2)]).await;
    assert_eq!(classes(&answers), [Some(ErrorClass::Transient), Some(ErrorClass::Transient), None]);
    assert_eq!(bench.table(), [bench.route(0), bench.route(2)]);
}

#[tokio::test(start_paused = true)]
async fn both_families_have_their_routes_and_one_port_both_ranges() {
    for missing in [ATOMIC, WHOLE] {
        let bench = Bench::new(missing, 0).await;
        let estate = bench.simulation.estate.clone();
        bench.simulation.sim.with(|cloud| {
            let new = NewSubnet {
                name: "six".to_owned(),
                network_id: estate.network.clone(),
                cidr: "fd00:10::/64".to_owned(),
                pool: None,
            };
            let subnet = add_subnet(cloud.world(), &estate.project, new).unwrap();
            connect(cloud.world(), &estate.router, &subnet).unwrap();
        });
        let server = bench.simulation.boot("node-1");
        let port = bench.simulation.port(&server).unwrap();
        let addresses: Vec<String> = port.fixed_ips.iter().map(|ip| ip.ip_address.clone()).collect();
        let [six, four] =
            [true, false].map(|six| addresses.iter().find(|ip| ip.contains(':') == six).unwrap());
        bench.calls();
        let wanted = ["10.244.0.0/24", "fd00:244:0:1::/64"].map(|pods| create(pods, &addresses));
        bench.apply_all(&wanted).await;
        let expected = [format!("10.244.0.0/24 via {four}"), format!("fd00:244:0:1::/64 via {six}")];
        assert_eq!(bench.table(), expected);
        let calls = bench.calls();
        assert!(calls.contains(&"1 PUT /v2.0/ports/{id}".to_owned()), "{calls:?}");
        let listed = bench.list().await;
        assert!(listed.iter().all(|route| route.incomplete.is_none()), "{listed:?}");
        bench.apply_all(&[bench.delete(&expected[1]).await]).await;
        let pairs = bench
            .simulation
            .sim
            .with(|cloud| cloud.state().network.ports.get(&port.id).unwrap().allowed_address_pairs.clone());
        assert_eq!(pairs.iter().map(|pair| pair.ip_address.as_str()).collect::<Vec<_>>(), ["10.244.0.0/24"]);
    }
}

#[tokio::test(start_paused = true)]
async fn a_node_without_an_address_of_the_family_has_no_route_and_spoils_nothing() {
    let bench = Bench::new(ATOMIC, 1).await;
    let changes = [create("fd00:244::/64", &[bench.address(0)]), create(&pods(5), &[]), bench.create(0)];
    let answers = bench.apply(&changes).await;
    assert_eq!(classes(&answers), [Some(ErrorClass::Invalid), Some(ErrorClass::Invalid), None]);
    let text = answers[0].as_ref().unwrap_err().to_string();
    assert!(text.contains("Node node has no InternalIP of IPv6"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn one_route_that_neutron_refuses_does_not_spoil_the_others() {
    for missing in [&["allowed-address-pairs"][..], &["allowed-address-pairs", "extraroute-atomic"]] {
        let bench = Bench::new(missing, 16).await;
        bench.add("10.244.99.0/24", "10.10.99.99");
        let mut changes: Vec<_> = (0..16).map(|server| bench.create(server)).collect();
        changes[5] = create(&pods(5), &["192.0.2.1".to_owned()]);
        changes.push(bench.delete("10.244.99.0/24 via 10.10.99.99").await);
        bench.calls();
        let answers = bench.apply(&changes).await;
        let failed: Vec<_> = answers.iter().enumerate().filter(|(_, answer)| answer.is_err()).collect();
        let [(5, Err(error))] = failed.as_slice() else { panic!("{failed:?}") };
        let expected =
            "the router takes no route to 10.244.5.0/24 via 192.0.2.1; the next hop must be in a subnet";
        assert!(error.to_string().starts_with(expected), "{error}");
        assert_eq!(bench.table().len(), 15);
        let calls = bench.calls();
        assert!(calls.iter().all(|call| !call.contains("ports")), "nobody needs pairs here: {calls:?}");
        let writes: usize = calls
            .iter()
            .filter(|call| call.contains("PUT"))
            .map(|call| call.split(' ').next().unwrap().parse::<usize>().unwrap())
            .sum();
        assert!(writes <= 11, "{calls:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn behind_a_closed_fence_nothing_is_written_nor_even_looked_for() {
    for missing in [ATOMIC, WHOLE] {
        let bench = Bench::new(missing, 2).await;
        bench.apply_all(&[bench.create(0)]).await;
        let changes = [bench.delete(&bench.route(0)).await, bench.create(1)];
        bench.calls();
        let answers = bench.routes.apply("kubernetes", &changes, &TestFence::closed()).await;
        assert_eq!(classes(&answers), [Some(ErrorClass::Fenced); 2]);
        assert_eq!((bench.calls(), bench.table()), (vec![], vec![bench.route(0)]));
    }
}

#[tokio::test(start_paused = true)]
async fn a_router_that_is_not_there_or_does_not_answer_is_an_error_and_no_empty_list() {
    let bench = Bench::new(ATOMIC, 1).await;
    bench.fault(Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(Service::Network));
    let error = bench.routes.list("kubernetes").await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Transient);
    bench.clear_faults();
    bench.simulation.edit(|state| {
        let ids: Vec<String> = state.network.routers.iter().map(|router| router.id.clone()).collect();
        ids.iter().for_each(|id| drop(state.network.routers.remove(id)));
    });
    let error = bench.routes.list("kubernetes").await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::NotFound);
    assert_eq!(classes(&bench.apply(&[bench.create(0)]).await), [Some(ErrorClass::NotFound)]);
}

#[tokio::test(start_paused = true)]
async fn without_a_router_there_are_no_routes_and_a_cloud_without_extra_routes_is_told_and_asked_again() {
    let simulation = Simulation::new(without(&["extraroute", "extraroute-atomic"]), 0);
    let none = access(&simulation, "");
    none.find_out().await.unwrap();
    assert!(matches!(none.capability(), Capability::Unsupported));
    assert_eq!(simulation.calls(), 0);
    let lacking = access(&simulation, &simulation.estate.router);
    assert!(matches!(lacking.capability(), Capability::Unavailable(_)), "nobody has asked yet");
    lacking.find_out().await.unwrap_err();
    let Capability::Unavailable(why) = lacking.capability() else { panic!("it is final") };
    assert!(why.contains("extraroute"), "{why}");
    let calls = simulation.calls();
    lacking.find_out().await.unwrap_err();
    assert!(simulation.calls() > calls, "an answer that was cut short must not count for ever");
    let wrong = access(&simulation, "the router");
    wrong.find_out().await.unwrap_err();
    let Capability::Unavailable(why) = wrong.capability() else { panic!("it is usable") };
    assert!(why.contains("[Route] router-id"), "{why}");
}

#[tokio::test(start_paused = true)]
async fn a_neutron_that_does_not_answer_is_asked_again_until_it_does() {
    let simulation = Simulation::new(Config::default(), 0);
    let lists = Rule::new(Fault::status(StatusCode::BAD_GATEWAY)).method(Method::GET).path("*/extensions");
    simulation.fault(lists.times(3));
    let access = access(&simulation, &simulation.estate.router);
    access.find_out().await.unwrap_err();
    assert!(matches!(access.capability(), Capability::Unavailable(_)));
    access.until_found_out().await;
    assert!(matches!(access.capability(), Capability::Supported(_)));
}
