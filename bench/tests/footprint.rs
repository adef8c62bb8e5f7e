//! The budget of memory: less than 1 kB for each Node, each server and each Service with a load balancer, nothing for other Services.
//! Counted by the allocator, so the same everywhere. `cargo test -p bowline-bench -- --nocapture` prints the figures.

use bowline_bench::footprint::{Footprint, of_load_balancers, of_nodes, of_other_services};
use bowline_bench::kept_servers;

const BUDGET_BYTES: f64 = 1_000.0;
/// For a server with its port, of which a Node is told little.
const SERVER_BUDGET_BYTES: f64 = 600.0;

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
