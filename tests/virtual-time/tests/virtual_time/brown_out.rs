//! A cloud that refuses a fifth of all requests, half of them with 503 and half with 429, while Services are made.

use std::time::Duration;

use http::StatusCode;
use sim_openstack::{Config, Fault, Latencies, Rule, Service};

use super::stack::settled;
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

const MINUTES: Duration = Duration::from_secs(600);
const SERVICES: usize = 10;

/// The fewest calls on average: two changes for each Service, a look at what is there and two while they boot, each of them made
/// 1 / (1 − 1/5) times. The benchmark's own reckoning (`minimum::create_in_brown_out`).
const LEAST: u64 = 25 + 4;

fn brown_out(world: &World) {
    for service in [Service::Compute, Service::Network, Service::LoadBalancer] {
        let unavailable = Rule::new(Fault::html(StatusCode::SERVICE_UNAVAILABLE)).on(service).chance(0.1);
        let too_many = Rule::new(Fault::too_many_requests(1)).on(service).chance(0.1 / 0.9);
        world.fault(unavailable);
        world.fault(too_many);
    }
    world.fault(Rule::new(Fault::Slow(Duration::from_millis(50))));
}

#[tokio::test(start_paused = true)]
async fn services_are_made_while_the_cloud_refuses_a_fifth_of_all_requests() {
    let (mut changes, mut calls, mut slowest) = (0, 0, Duration::ZERO);
    let seeds = 20;
    for seed in 0..seeds {
        let latencies = Latencies { amphora_create: Duration::from_secs(5), ..Latencies::default() };
        let (world, stack) = settled(Config { latencies, seed, ..Config::default() }, 3).await;
        clear(&world);
        brown_out(&world);
        world.apply_many(SERVICES, 1);
        let took = until("all served", MINUTES, || world.served() == SERVICES + 1).await;
        seconds(10).await;
        let made = cost(&world);
        made.print(&format!("{SERVICES} Services in a brown-out, seed {seed}, served after {took:?}"));
        assert_eq!((world.balancers(), world.floating_ips()), (SERVICES + 1, SERVICES + 1));
        changes += made.changes;
        calls += made.calls;
        slowest = slowest.max(took);
        stack.stop().await;
    }
    let ratio = |calls: u64, least: u64| calls as f64 / (least * seeds) as f64;
    println!(
        "| {SERVICES} Services in a brown-out, {seeds} seeds | changes {:.2} and all calls {:.2} times the least | the slowest run {slowest:?} |",
        ratio(changes, 25),
        ratio(calls, LEAST)
    );
    assert!(2 * calls <= 3 * LEAST * seeds, "{calls} calls in {seeds} runs");
    assert!(100 * changes <= 105 * 25 * seeds, "{changes} changes in {seeds} runs");
    // Who does not know whether his load balancer is made waits for half a minute.
    assert!(slowest <= Duration::from_secs(60), "{slowest:?}");
}
