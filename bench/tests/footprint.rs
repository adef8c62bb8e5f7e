//! The budget of memory: less than 1 kB for each Node, each server and each Service with a load balancer, nothing for other Services.
//! Counted by the allocator, so the same everywhere. `cargo test -p bowline-bench -- --nocapture` prints the figures.

use std::time::Duration;

use allocation_counter::measure;
use bowline_bench::footprint::{Footprint, of_load_balancers, of_nodes, of_other_services};
use bowline_bench::kept_servers;
use bowline_cloud::EventKind;
use bowline_kube::events::{EventCorrelator, NewEvent};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::ObjectReference;

const BUDGET_BYTES: f64 = 1_000.0;
/// For a server with its port, of which a Node is told little.
const SERVER_BUDGET_BYTES: f64 = 600.0;
/// For an event, whatever its text.
const EVENT_BUDGET_BYTES: f64 = 400.0;

fn shown(what: &str, footprint: Footprint) -> Footprint {
    println!("{what:<24} {:>6.0} B kept each", footprint.kept_bytes);
    footprint
}

#[test]
fn a_node_is_kept_in_less_than_a_kilobyte() {
    assert!(shown("5,000 nodes", of_nodes(5_000)).kept_bytes < BUDGET_BYTES);
}

#[test]
fn a_service_with_a_load_balancer_is_kept_in_less_than_a_kilobyte() {
    assert!(shown("5,000 load balancers", of_load_balancers(5_000)).kept_bytes < BUDGET_BYTES);
}

#[test]
fn a_service_without_a_load_balancer_is_not_kept() {
    assert!(shown("10,000 other Services", of_other_services(10_000)).kept_bytes < 10.0);
}

#[test]
fn a_server_with_its_port_is_kept_in_six_hundred_bytes() {
    let kept = kept_servers::of(5_000).unwrap();
    println!("5,000 servers            {:>6.0} B kept each, {} B at most", kept.kept_bytes, kept.peak_bytes);
    assert!(kept.kept_bytes < SERVER_BUDGET_BYTES, "{kept:?}");
}

/// Services that come and go are told of by events about ever new objects: what a leader remembers of them must not be what its memory grows by.
#[test]
fn an_event_is_remembered_in_four_hundred_bytes_and_not_for_ever() {
    let reasons = [
        ("EnsuringLoadBalancer", "Ensuring load balancer"),
        ("EnsuredLoadBalancer", "Ensured load balancer"),
    ];
    let kept_after = |services: u64| {
        let mut correlator = EventCorrelator::new("service-controller", "");
        let counted = measure(|| {
            for number in 0..services {
                for (reason, message) in reasons {
                    correlator.observe(&event(number, reason, message), Duration::from_secs(number));
                }
            }
        });
        drop(correlator);
        counted.bytes_current
    };
    // As many as are remembered, and ten times as many.
    let (few, many) = (kept_after(2_000), kept_after(20_000));
    let each = few as f64 / 4_000.0;
    println!("4,000 events             {each:>6.0} B kept each; {many} B after 40,000");
    assert!(each < EVENT_BUDGET_BYTES, "{each}");
    assert!(many < few * 2, "{few} B after 4,000, {many} B after 40,000");
}

fn event(number: u64, reason: &str, message: &str) -> NewEvent {
    let object = ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Service".to_owned()),
        namespace: Some("default".to_owned()),
        name: Some(format!("web-{number}")),
        uid: Some(format!("{number:08}-2f3a-4c55-9d2e-0242ac120002")),
        ..ObjectReference::default()
    };
    let (reason, message) = (reason.to_owned(), message.to_owned());
    NewEvent { object, kind: EventKind::Normal, reason, message, at: Timestamp::UNIX_EPOCH }
}
