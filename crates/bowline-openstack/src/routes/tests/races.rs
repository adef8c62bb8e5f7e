//! Others change the router and the ports at the same time, and answers get lost.

use std::time::Duration;

use bowline_cloud::ErrorClass;
use http::Method;
use sim_openstack::network::AddressPair;
use sim_openstack::{Fault, Rule};
use tokio::time::sleep;

use super::bench::{Bench, classes, create, pods};
use super::{ATOMIC, WHOLE};

fn slow(method: Method, path: &str, times: u64) -> Rule {
    Rule::new(Fault::Slow(Duration::from_secs(2))).method(method).path(path).times(times)
}

#[tokio::test(start_paused = true)]
async fn somebody_who_changes_the_router_meanwhile_loses_nothing() {
    let bench = Bench::new(WHOLE, 2).await;
    bench.apply_all(&[bench.create(0)]).await;
    let old = bench.delete(&bench.route(0)).await;
    bench.fault(slow(Method::GET, "/v2.0/routers/{id}", 1));
    let theirs = async {
        sleep(Duration::from_secs(1)).await;
        bench.add("192.168.0.0/16", "10.10.99.98");
    };
    let changes = [old, bench.create(1)];
    bench.calls();
    let (answers, ()) = futures::join!(bench.apply(&changes), theirs);
    assert_eq!(classes(&answers), [None, None]);
    assert_eq!(bench.table(), [bench.route(1), "192.168.0.0/16 via 10.10.99.98".to_owned()]);
    let calls = bench.calls();
    let of_router: Vec<_> = calls.iter().filter(|call| call.contains("routers")).collect();
    assert_eq!(of_router, ["2 GET /v2.0/routers/{id}", "2 PUT /v2.0/routers/{id}"]);
}

#[tokio::test(start_paused = true)]
async fn somebody_who_changes_the_router_again_and_again_makes_it_a_conflict() {
    let bench = Bench::new(WHOLE, 1).await;
    bench.fault(slow(Method::GET, "/v2.0/routers/{id}", 2));
    let theirs = async {
        for third in 1..=2 {
            sleep(Duration::from_secs(third)).await;
            bench.add(&format!("192.168.{third}.0/24"), "10.10.99.98");
        }
    };
    let changes = [bench.create(0)];
    let (answers, ()) = futures::join!(bench.apply(&changes), theirs);
    assert_eq!(classes(&answers), [Some(ErrorClass::Conflict)]);
    assert_eq!(bench.table().len(), 2, "only theirs");
    bench.apply_all(&changes).await;
    assert_eq!(bench.table().len(), 3);
}

#[tokio::test(start_paused = true)]
async fn somebody_who_changes_a_port_meanwhile_loses_nothing() {
    let bench = Bench::new(ATOMIC, 1).await;
    bench.fault(slow(Method::GET, "/v2.0/ports", 2));
    let theirs = async {
        sleep(Duration::from_secs(3)).await;
        let pair =
            AddressPair { ip_address: "10.99.0.1".to_owned(), mac_address: "aa:aa:aa:aa:aa:aa".to_owned() };
        bench.edit_port(0, |port| port.allowed_address_pairs.push(pair));
    };
    let changes = [bench.create(0)];
    let (answers, ()) = futures::join!(bench.apply(&changes), theirs);
    assert_eq!(classes(&answers), [None]);
    assert_eq!(bench.open_for(0), ["10.99.0.1".to_owned(), pods(0)]);
}

#[tokio::test(start_paused = true)]
async fn a_change_whose_answer_is_lost_is_an_error_and_can_be_asked_for_again() {
    for (missing, path) in [(ATOMIC, "*/add_extraroutes"), (WHOLE, "/v2.0/routers/{id}")] {
        let bench = Bench::new(missing, 1).await;
        bench.fault(Rule::new(Fault::DisconnectAfter).method(Method::PUT).path(path).times(1));
        let changes = [bench.create(0)];
        assert_eq!(classes(&bench.apply(&changes).await), [Some(ErrorClass::Transient)]);
        assert_eq!(bench.list().await.len(), 1, "it was done");
        bench.apply_all(&changes).await;
        assert_eq!(bench.table(), [bench.route(0)]);
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_removal_that_failed_halfway_the_ports_are_looked_at_at_once() {
    let bench = Bench::new(ATOMIC, 1).await;
    bench.apply_all(&[bench.create(0)]).await;
    let removal = bench.delete(&bench.route(0)).await;
    bench.fault(Rule::new(Fault::DisconnectBefore).path("*/remove_extraroutes").times(1));
    assert_eq!(classes(&bench.apply(&[removal]).await), [Some(ErrorClass::Transient)]);
    assert_eq!(bench.open_for(0), Vec::<String>::new());
    // The Node is back, and wants the route that is still there.
    let listed = bench.list().await;
    assert!(listed[0].incomplete.is_some(), "{listed:?}");
    bench.apply_all(&[create(&pods(0), &[bench.address(0)])]).await;
    assert_eq!(bench.open_for(0), [pods(0)]);
}
