//! Nodes that the autoscaler is about to remove, behind Services that drain them.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Node, Taint};
use sim_openstack::Config;

use super::stack::Stack;
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

const SERVICES: usize = 100;
const PORTS: u16 = 2;
const POOLS: usize = 200;
const MINUTES: Duration = Duration::from_secs(180);
const DRAIN: &str = "loadbalancer.bowline.dev/drain";

/// Three Nodes, and Services that drain for five minutes.
async fn crowd(services: usize) -> (World, Stack) {
    let world = World::new(Config::default(), 3);
    world.register(1..=3);
    let stack = Stack::start(&world).await;
    until("three Nodes", Duration::from_secs(60), || world.initialised() == 3).await;
    world.apply_many(services, PORTS);
    for number in 0..services {
        world.annotate(&format!("web-{number}"), DRAIN, "5m");
    }
    until("all served", Duration::from_secs(600), || world.served() == services).await;
    seconds(120).await;
    clear(&world);
    (world, stack)
}

/// The autoscaler taints a Node with the present time.
fn taint(world: &World, number: usize) {
    let value = Some(world.cloud.sim.now().as_second().to_string());
    let (key, effect) = ("ToBeDeletedByClusterAutoscaler".to_owned(), "NoSchedule".to_owned());
    let taint = Taint { key, value, effect, ..Taint::default() };
    world.edit_node(number, |node| {
        node.spec.get_or_insert_default().taints.get_or_insert_default().push(taint);
    });
}

fn untaint(world: &World, number: usize) {
    world.edit_node(number, |node| node.spec.get_or_insert_default().taints = None);
}

fn delete(world: &World, number: usize) {
    world.kube.objects::<Node>("").delete(&format!("node-{number}")).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_drained_costs_two_changes_for_each_pool_and_reads_by_the_page() {
    let (world, stack) = crowd(SERVICES).await;
    taint(&world, 3);
    until("all drain", MINUTES, || world.weighing(0) == POOLS).await;
    assert_eq!((world.members(), world.weighing(1)), (3 * POOLS, 2 * POOLS));
    until("all gone", Duration::from_secs(600), || world.members() == 2 * POOLS).await;
    seconds(120).await;
    assert_eq!((world.active(), world.weighing(0)), (SERVICES, 0));
    // The Node itself goes at last: nothing is left to do.
    delete(&world, 3);
    seconds(60).await;
    let cost = cost(&world);
    cost.print("1 Node leaves and is drained, 100 Services of 2 ports");
    assert_eq!(cost.changes, 2 * 200, "{}", cost.detail());
    assert!(cost.reads <= 40, "{}", cost.detail());
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_drain_lasts_as_long_as_asked_for_whoever_leads() {
    let (world, stack) = crowd(1).await;
    taint(&world, 3);
    seconds(30).await;
    assert_eq!((world.members(), world.weighing(0)), (6, 2));
    stack.stop().await;
    seconds(120).await;
    let stack = Stack::start(&world).await;
    seconds(140).await;
    assert_eq!((world.members(), world.weighing(0)), (6, 2), "290 seconds after the taint");
    seconds(40).await;
    assert_eq!((world.members(), world.weighing(0)), (4, 0), "330 seconds after the taint");
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_back_serves_again() {
    let (world, stack) = crowd(1).await;
    taint(&world, 3);
    seconds(30).await;
    assert_eq!(world.weighing(0), 2);
    untaint(&world, 3);
    seconds(30).await;
    assert_eq!((world.members(), world.weighing(1)), (6, 6));
    seconds(600).await;
    assert_eq!((world.members(), world.weighing(1)), (6, 6));
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_vanishes_is_taken_out_at_once() {
    let (world, stack) = crowd(1).await;
    taint(&world, 3);
    seconds(30).await;
    assert_eq!(world.weighing(0), 2);
    delete(&world, 3);
    seconds(30).await;
    assert_eq!((world.members(), world.weighing(1)), (4, 4));
    stack.stop().await;
}
