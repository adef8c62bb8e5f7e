//! Very many Services at once, against amphorae that take a minute to boot.

use std::time::Duration;

use sim_openstack::{Config, Latencies, Service};

use super::stack::{Stack, defaults};
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

const SERVICES: usize = 500;
const BOOT: Duration = Duration::from_secs(60);

/// How long the budget lets so many calls to one service take.
fn budget_time(calls: u64) -> Duration {
    let limits = defaults().cloud;
    let beyond_the_burst = calls.saturating_sub(u64::from(limits.api_burst));
    Duration::from_secs_f64(u32::try_from(beyond_the_burst).map(f64::from).unwrap() / limits.api_qps)
}

#[tokio::test(start_paused = true)]
async fn services_that_come_and_go_together_share_their_looks() {
    let count = 20;
    let world = World::new(Config::default(), 3);
    world.register(1..=3);
    let stack = Stack::start(&world).await;
    until("three Nodes", BOOT, || world.initialised() == 3).await;
    seconds(60).await;
    clear(&world);
    world.apply_many(count, 1);
    until("all served", Duration::from_secs(600), || world.served() == count).await;
    seconds(60).await;
    let made = cost(&world);
    made.print("20 Services come together");
    let changes = 2 * u64::try_from(count).unwrap();
    assert_eq!(made.changes, changes, "{}", made.detail());
    assert!(made.reads <= 10, "names are not looked up one by one: {}", made.detail());
    clear(&world);
    (0..count).for_each(|number| world.delete(&format!("web-{number}")));
    let gone = || (0..count).all(|number| !world.exists(&format!("web-{number}")));
    until("their end", Duration::from_secs(600), gone).await;
    seconds(60).await;
    let cost = cost(&world);
    cost.print("20 Services go together");
    assert_eq!(cost.changes, changes, "{}", cost.detail());
    assert!(cost.reads <= 10, "nor is their end: {}", cost.detail());
    assert_eq!((world.balancers(), world.floating_ips()), (0, 0));
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn five_hundred_services_at_once_wait_for_one_boot_and_for_the_call_budget() {
    let latencies = Latencies { amphora_create: BOOT, ..Latencies::default() };
    let world = World::new(Config { latencies, ..Config::default() }, 3);
    world.register(1..=3);
    let stack = Stack::start(&world).await;
    until("three Nodes", BOOT, || world.initialised() == 3).await;
    seconds(60).await;
    clear(&world);
    world.apply_many(SERVICES, 1);
    let took = until("all served", Duration::from_secs(600), || world.served() == SERVICES).await;
    let busiest = world.cloud.sim.with(|cloud| {
        let of = |service: Service| {
            cloud.log().counts().filter(|(of, ..)| *of == Some(service)).map(|(.., count)| count).sum::<u64>()
        };
        [Service::LoadBalancer, Service::Network].map(of).into_iter().max().unwrap()
    });
    seconds(60).await;
    let cost = cost(&world);
    cost.print(&format!(
        "500 Services at once, all served after {took:?}, {busiest} calls of the busiest API"
    ));
    // Two polls: one that is asked too early, and one that sees it.
    let allowed = BOOT + budget_time(busiest) + Duration::from_secs(5);
    assert!(took <= allowed, "{took:?} is more than {allowed:?}: {}", cost.detail());
    let wanted = u64::try_from(SERVICES).unwrap() * 2;
    assert_eq!(cost.changes, wanted, "{}", cost.detail());
    assert_eq!((world.balancers(), world.active(), world.floating_ips()), (SERVICES, SERVICES, SERVICES));
    // A look for each by its name, and the rest is shared.
    assert!(cost.reads <= wanted, "{}", cost.detail());
    stack.stop().await;
}
