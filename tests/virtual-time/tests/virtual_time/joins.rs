//! What Nodes cost the cloud by themselves, without Services: when they join, alone and in a burst, when some are not ready, and when
//! one leaves. Calls grow with the pages of a project at most, and not with its Nodes.

use std::time::Duration;

use http::Method;
use sim_openstack::{Config, Service};
use tokio::time::sleep;

use super::stack::Stack;
use super::tally::{Cost, clear, cost};
use super::world::{World, seconds, until};

/// With all Nodes of a project there, and nothing going on.
async fn settled(nodes: usize) -> (World, Stack) {
    let world = World::new(Config::default(), nodes);
    world.register(1..=nodes);
    let stack = Stack::start(&world).await;
    until("all Nodes", Duration::from_secs(3600), || world.initialised() == nodes).await;
    // Away from the refresh of all addresses every five minutes.
    let since_refresh = world.cloud.requests().0;
    until("a refresh", Duration::from_secs(330), || world.cloud.requests().0 > since_refresh).await;
    seconds(60).await;
    clear(&world);
    (world, stack)
}

/// A server is made, and its kubelet registers at once.
fn join(world: &World, number: usize) {
    world.cloud.boot(&format!("node-{number}"));
    world.register([number]);
}

fn total(cost: &Cost) -> u64 {
    assert_eq!(cost.changes, 0, "{}", cost.detail());
    cost.calls
}

#[tokio::test(start_paused = true)]
async fn nodes_are_initialised_with_as_many_calls_as_there_are_pages() {
    for (nodes, calls) in [(100, 2), (1000, 3)] {
        let world = World::new(Config::default(), nodes);
        world.register(1..=nodes);
        let stack = Stack::start(&world).await;
        until("all Nodes", Duration::from_secs(3600), || world.initialised() == nodes).await;
        let cost = cost(&world);
        cost.print(&format!("{nodes} Nodes initialised"));
        let logins = world.cloud.sim.with(|cloud| {
            let identity = cloud.log().counts().filter(|(service, ..)| *service == Some(Service::Identity));
            identity.map(|(.., count)| count).sum::<u64>()
        });
        assert_eq!(total(&cost) - logins, calls, "{}", cost.detail());
        stack.stop().await;
    }
}

/// What happened is over before the next thing happens, and all of it before addresses are refreshed again.
const APART: u64 = 15;

/// A Node joins alone: its server and its ports are asked for.
async fn one_joins(world: &World, number: usize) {
    clear(world);
    join(world, number);
    seconds(1).await;
    assert_eq!(world.initialised(), number, "within a second");
    seconds(APART).await;
    let cost = cost(world);
    cost.print(&format!("1 Node joins {}", number - 1));
    assert_eq!(total(&cost), 2, "{}", cost.detail());
}

/// Fifty Nodes join within ten seconds: three look-ups of two calls, of the first alone and two of what has changed since all was listed, or of
/// all where that is no more.
async fn fifty_join(world: &World, from: usize) {
    clear(world);
    for number in from..from + 50 {
        join(world, number);
        sleep(Duration::from_millis(200)).await;
    }
    let took = until("all joined", Duration::from_secs(10), || world.initialised() == from + 49).await;
    seconds(APART).await;
    let cost = cost(world);
    cost.print(&format!("50 Nodes join {} within 10 s, the last initialised {took:?} later", from - 1));
    assert_eq!(total(&cost), 3 * 2, "{}", cost.detail());
}

/// Ten Nodes are not ready for a minute: two lists of servers at most, and no ports.
async fn ten_are_not_ready(world: &World, pages: u64) {
    clear(world);
    (1..=10).for_each(|number| world.report(number, "False"));
    seconds(60).await;
    (1..=10).for_each(|number| world.report(number, "True"));
    seconds(APART).await;
    let cost = cost(world);
    cost.print("10 Nodes not ready for a minute");
    assert!(total(&cost) <= 2 * pages, "{}", cost.detail());
    let ports =
        world.cloud.sim.with(|cloud| cloud.log().count(Service::Network, &Method::GET, "/v2.0/ports"));
    assert_eq!(ports, 0, "{}", cost.detail());
}

/// The server of a Node is deleted: it is asked for by id, by name and by id, and the Node goes.
async fn one_leaves(world: &World, number: usize) {
    clear(world);
    world.remove_server(number);
    world.report(number, "Unknown");
    let took = until("it left", Duration::from_secs(20), || !world.has_node(number)).await;
    let cost = cost(world);
    cost.print(&format!("1 Node leaves after {took:?}"));
    assert_eq!(total(&cost), 3, "{}", cost.detail());
}

/// All of it in a project of so many Nodes, whose servers are so many pages.
async fn what_happens_to(nodes: usize, pages: u64) {
    let (world, stack) = settled(nodes).await;
    one_joins(&world, nodes + 1).await;
    fifty_join(&world, nodes + 2).await;
    ten_are_not_ready(&world, pages).await;
    // None of those ten: what was read of them a minute ago holds for a while.
    one_leaves(&world, 11).await;
    seconds(APART).await;
    // It joined less than five minutes ago, and its server was seen then.
    one_leaves(&world, nodes + 1).await;
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn what_happens_to_nodes_costs_a_few_calls_among_a_hundred() {
    what_happens_to(100, 1).await;
}

#[tokio::test(start_paused = true)]
async fn what_happens_to_nodes_costs_a_few_calls_among_a_thousand() {
    what_happens_to(1000, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_new_node_whose_server_was_never_seen_is_spared() {
    let (world, stack) = settled(3).await;
    world.register_as("node-9", Some("openstack:///7b9cf879-7146-417c-abfd-cb4272f0c935"), "Unknown");
    seconds(120).await;
    assert!(world.has_node(9));
    stack.stop().await;
}
