//! What a cloud that fails does to the cluster.

use std::time::Duration;

use http::{Method, StatusCode};
use jiff::SignedDuration;
use sim_openstack::load_balancer::LoadBalancerQuota;
use sim_openstack::{Config, Fault, LogEntry, Rule, Service};

use super::stack::settled;
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

const MINUTES: Duration = Duration::from_secs(300);
const BALANCERS: &str = "/lbaas/loadbalancers";

/// The requests to Octavia that are still remembered, by their times.
fn octavia(world: &World, chosen: impl Fn(&LogEntry) -> bool) -> Vec<jiff::Timestamp> {
    world.cloud.sim.with(|cloud| {
        let entries = cloud.log().entries().filter(|entry| entry.service == Some(Service::LoadBalancer));
        entries.filter(|entry| chosen(entry)).map(|entry| entry.at).collect()
    })
}

fn creates(world: &World) -> usize {
    octavia(world, |entry| entry.method == Method::POST && entry.target.ends_with(BALANCERS)).len()
}

#[tokio::test(start_paused = true)]
async fn while_octavia_is_down_nodes_join_and_afterwards_every_service_is_served_once() {
    let (world, stack) = settled(Config::default(), 23).await;
    clear(&world);
    let now = world.cloud.sim.now();
    let down = Fault::html(StatusCode::SERVICE_UNAVAILABLE);
    let end = now.checked_add(SignedDuration::from_secs(300)).unwrap();
    world.fault(Rule::new(down).on(Service::LoadBalancer).between(now, end));
    world.apply_many(20, 1);
    seconds(30).await;
    world.register(4..=23);
    let took = until("the new Nodes", Duration::from_secs(30), || world.initialised() == 23).await;
    seconds(300 - 30 - took.as_secs()).await;
    assert_eq!(world.served(), 1, "Octavia is down");
    let during = octavia(&world, |_| true).len();
    println!(
        "| Octavia down for 5 minutes, 20 new Services | {during} requests to it | 20 Nodes joined in {took:?} |"
    );
    let served = until("all served", MINUTES, || world.served() == 21).await;
    seconds(120).await;
    println!("| … all served {served:?} after its return |");
    assert_eq!((world.balancers(), world.floating_ips(), world.active()), (21, 21, 21));
    assert_eq!(world.members(), 21 * 23);
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_exhausted_quota_is_named_seldom_asked_for_and_served_when_it_is_raised() {
    let (world, stack) = settled(Config::default(), 3).await;
    let project = world.cloud.estate.project.clone();
    let quota = |load_balancer: i64| {
        let (quota, project) =
            (LoadBalancerQuota { load_balancer, ..LoadBalancerQuota::default() }, project.clone());
        world.edit(|state| {
            state.load_balancer.quotas.insert(project, quota);
        });
    };
    quota(1);
    clear(&world);
    world.apply("second", 1);
    seconds(1800).await;
    let tries = creates(&world);
    let told = world.events("SyncLoadBalancerFailed");
    cost(&world).print(&format!("half an hour without quota, {tries} tries"));
    assert!(told.iter().any(|text| text.contains("quota") && text.contains("Load Balancer")), "{told:?}");
    assert!((1..=12).contains(&tries), "{tries} tries in half an hour");
    assert_eq!(world.balancers(), 1);
    quota(-1);
    let took =
        until("the second Service", Duration::from_secs(1200), || world.address("second").is_some()).await;
    println!("| … served {took:?} after the quota was raised |");
    assert_eq!((world.balancers(), world.floating_ips()), (2, 2));
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn too_many_requests_stops_all_calls_to_that_service_for_as_long_as_it_asked() {
    let (world, stack) = settled(Config::default(), 3).await;
    clear(&world);
    world.fault(Rule::new(Fault::too_many_requests(45)).on(Service::LoadBalancer).times(1));
    world.apply_many(10, 1);
    until("all served", MINUTES, || world.served() == 11).await;
    let throttled = octavia(&world, |entry| entry.status == 429);
    assert_eq!(throttled.len(), 1);
    let again = octavia(&world, |entry| entry.at > throttled[0]);
    let pause = again[0].duration_since(throttled[0]);
    println!("| 429 with Retry-After 45 s | the next request came {pause:?} later |");
    assert!(pause >= SignedDuration::from_secs(45), "{pause:?}");
    assert_eq!((world.balancers(), world.floating_ips()), (11, 11));
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_whose_making_was_never_answered_is_found_and_not_made_twice() {
    for lost in [Fault::DisconnectAfter, Fault::SilenceAfter] {
        let (world, stack) = settled(Config::default(), 3).await;
        clear(&world);
        let rule = Rule::new(lost.clone())
            .on(Service::LoadBalancer)
            .method(Method::POST)
            .path(&format!("*{BALANCERS}"));
        world.fault(rule.times(20));
        world.apply_many(20, 1);
        let took = until("all served", Duration::from_secs(600), || world.served() == 21).await;
        seconds(120).await;
        let cost = cost(&world);
        cost.print(&format!("20 Services whose POST was not answered ({lost:?}), served after {took:?}"));
        assert_eq!(creates(&world), 20, "{}", cost.detail());
        assert_eq!((world.balancers(), world.floating_ips()), (21, 21));
        stack.stop().await;
    }
}
