//! The budget of the first lists: at most half as much again as what stays. Counted by the allocator, so nearly the same everywhere.
//! `cargo test -p bowline-bench --test initial_list -- --nocapture` prints the figures.

use bowline_bench::initial_list;
use bowline_bench::served_cluster::ClusterSize;

const BUDGET_RATIO: f64 = 1.5;
/// Of the 40 MB that the process may have.
const BUDGET_BYTES: u64 = 10_000_000;

#[test]
fn the_first_lists_take_half_as_much_again_as_what_stays_at_most() {
    let list = initial_list::of(ClusterSize { nodes: 5_000, services: 10_000 }).unwrap();
    println!(
        "5,000 Nodes, 10,000 Services: {} B kept, {} B at most, {:.2} times",
        list.kept_bytes,
        list.peak_bytes,
        list.peak_ratio()
    );
    assert!(list.kept_bytes < BUDGET_BYTES, "{list:?}");
    assert!(list.peak_ratio() <= BUDGET_RATIO, "{list:?}");
}
