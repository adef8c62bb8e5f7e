//! Very many Nodes.

use std::time::Duration;

use sim_openstack::Config;

use super::stack::Stack;
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

/// A fifth of the five thousand of the budget, in pages of a fifth: as many pages, and so as many calls, in less time.
const NODES: usize = 1000;
const PAGE: usize = 200;

#[tokio::test(start_paused = true)]
async fn five_pages_of_nodes_are_initialised_and_kept_with_twenty_calls() {
    let config = Config { compute_page_max: PAGE, network_page_max: Some(PAGE), ..Config::default() };
    let world = World::new(config, NODES);
    world.register(1..=NODES);
    let stack = Stack::start(&world).await;
    let took = until("all initialised", Duration::from_secs(3600), || world.initialised() == NODES).await;
    let first = cost(&world);
    first.print(&format!("five pages of Nodes initialised within {took:?}"));
    assert!(first.calls <= 20, "{}", first.detail());
    assert_eq!(first.changes, 0);
    seconds(300).await;
    clear(&world);
    seconds(300).await;
    let kept = cost(&world);
    kept.print("five pages of Nodes, five quiet minutes");
    assert!(kept.calls <= 20, "{}", kept.detail());
    assert!(kept.calls >= 10, "they were looked at: {}", kept.detail());
    assert_eq!((kept.changes, kept.writes), (0, 0), "{}", kept.detail());
    stack.stop().await;
}
