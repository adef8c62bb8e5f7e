//! A new leader on what another one left.

use std::time::Duration;

use sim_openstack::{Config, Latencies};

use super::stack::Stack;
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

const SERVICES: usize = 1000;

#[tokio::test(start_paused = true)]
async fn a_new_leader_looks_at_a_thousand_unchanged_services_with_ten_calls_and_changes_nothing() {
    let latencies = Latencies { amphora_create: Duration::from_secs(5), ..Latencies::default() };
    let pages = Some(1000);
    let config =
        Config { latencies, network_page_max: pages, load_balancer_page_max: pages, ..Config::default() };
    let world = World::new(config, 1);
    world.register([1]);
    let first = Stack::start(&world).await;
    world.apply_many(SERVICES, 1);
    until("all served", Duration::from_secs(1800), || world.served() == SERVICES).await;
    seconds(60).await;
    first.stop().await;
    clear(&world);
    let second = Stack::start(&world).await;
    seconds(120).await;
    let cost = cost(&world);
    cost.print("a new leader, 1,000 unchanged Services");
    assert_eq!((cost.changes, cost.writes), (0, 0), "{}", cost.detail());
    assert!(cost.calls <= 10, "{}", cost.detail());
    assert!(cost.calls >= 3, "it looked: {}", cost.detail());
    second.stop().await;
}
