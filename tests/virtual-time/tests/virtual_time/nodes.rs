//! Nodes that join a cluster with many Services.

use std::time::Duration;

use sim_openstack::Config;
use tokio::time::sleep;

use super::stack::Stack;
use super::tally::{Cost, clear, cost};
use super::world::{World, seconds, until};

/// Services, each with two ports.
const SERVICES: usize = 100;
const PORTS: u16 = 2;

async fn crowd(servers: usize) -> (World, Stack) {
    let world = World::new(Config::default(), servers);
    world.register(1..=2);
    let stack = Stack::start(&world).await;
    until("two Nodes", Duration::from_secs(60), || world.initialised() == 2).await;
    world.apply_many(SERVICES, PORTS);
    until("all served", Duration::from_secs(600), || world.served() == SERVICES).await;
    seconds(120).await;
    (world, stack)
}

async fn after_joining(world: &World, nodes: usize) -> Cost {
    let pools = SERVICES * usize::from(PORTS);
    until("all members", Duration::from_secs(600), || world.members() == nodes * pools).await;
    seconds(120).await;
    assert_eq!(world.members(), nodes * pools);
    assert_eq!(world.active(), SERVICES);
    cost(world)
}

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_costs_one_change_for_each_pool_and_reads_by_the_page() {
    let (world, stack) = crowd(3).await;
    clear(&world);
    world.register([3]);
    let cost = after_joining(&world, 3).await;
    cost.print("1 Node joins, 100 Services of 2 ports");
    assert_eq!(cost.changes, 200, "{}", cost.detail());
    assert_eq!(cost.reads, 0, "{}", cost.detail());
    assert!(cost.polls <= 8, "one each five seconds, for nobody waits: {}", cost.detail());
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_a_node_that_joins_costs_does_not_grow_with_the_nodes_that_are_there() {
    // More members than would fit if each were remembered.
    let (nodes, services) = (400, 60);
    let world = World::new(Config::default(), nodes + 1);
    world.register(1..=nodes);
    let stack = Stack::start(&world).await;
    until("the Nodes", Duration::from_secs(600), || world.initialised() == nodes).await;
    seconds(60).await;
    clear(&world);
    world.apply_many(services, 1);
    until("all served", Duration::from_secs(600), || world.served() == services).await;
    seconds(120).await;
    let made = cost(&world);
    made.print("60 Services with 400 Nodes");
    let count = u64::try_from(services).unwrap();
    assert_eq!(made.changes, 2 * count, "{}", made.detail());
    assert!(made.reads <= count, "{}", made.detail());
    clear(&world);
    world.register([nodes + 1]);
    until("all members", Duration::from_secs(600), || world.members() == (nodes + 1) * services).await;
    seconds(120).await;
    let cost = cost(&world);
    cost.print("1 Node joins 400, 60 Services");
    assert_eq!(cost.changes, count, "{}", cost.detail());
    assert!(cost.reads <= 2, "nothing that hangs on load balancers is read: {}", cost.detail());
    assert!(cost.polls <= 5, "{}", cost.detail());
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_fifty_nodes_costs_the_same_as_one() {
    let (world, stack) = crowd(52).await;
    clear(&world);
    for number in 3..=52 {
        world.register([number]);
        sleep(Duration::from_millis(80)).await;
    }
    let cost = after_joining(&world, 52).await;
    cost.print("50 Nodes join within 4 s, 100 Services of 2 ports");
    assert_eq!(cost.changes, 200, "{}", cost.detail());
    assert_eq!(cost.reads, 0, "{}", cost.detail());
    assert!(cost.polls <= 8, "{}", cost.detail());
    stack.stop().await;
}
