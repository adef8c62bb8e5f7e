//! A thousand Services, for each of which a node that joins is a change: ten a second, so that a round takes over a minute and a half.

use std::time::Duration;

use sim_openstack::{Config, Latencies};
use tokio::time::{Instant, sleep};

use super::stack::Stack;
use super::tally::{Cost, clear, cost};
use super::world::{World, seconds, until};

const SERVICES: usize = 1000;
const LONG: Duration = Duration::from_secs(1800);

async fn crowd(servers: usize) -> (World, Stack) {
    let latencies = Latencies { amphora_create: Duration::from_secs(5), ..Latencies::default() };
    let world = World::new(Config { latencies, ..Config::default() }, servers);
    world.register(1..=2);
    let stack = Stack::start(&world).await;
    until("two Nodes", LONG, || world.initialised() == 2).await;
    world.apply_many(SERVICES, 1);
    until("all served", LONG, || world.served() == SERVICES).await;
    seconds(120).await;
    (world, stack)
}

/// So many Nodes join evenly within so long.
async fn join(world: &World, numbers: std::ops::RangeInclusive<usize>, within: Duration) {
    let pause = within / u32::try_from(numbers.clone().count()).unwrap();
    for number in numbers {
        world.register([number]);
        sleep(pause).await;
    }
}

/// What it cost until all load balancers have so many members.
async fn settled(world: &World, nodes: usize, what: &str) -> Cost {
    let took = until("all members", LONG, || world.members() == nodes * SERVICES).await;
    seconds(60).await;
    assert_eq!((world.members(), world.active()), (nodes * SERVICES, SERVICES));
    let cost = cost(world);
    cost.print(&format!("{what}, 1,000 Services, over {took:?} later"));
    cost
}

#[tokio::test(start_paused = true)]
async fn fifty_nodes_that_join_in_ten_seconds_cost_a_thousand_services_one_round() {
    let (world, stack) = crowd(92).await;
    clear(&world);
    join(&world, 3..=52, Duration::from_secs(10)).await;
    let all = settled(&world, 52, "50 Nodes join in 10 s").await;
    assert_eq!(all.changes, 1000, "{}", all.detail());
    assert!(all.calls <= 1050, "{}", all.detail());

    // The round of the first group has begun when the second comes.
    clear(&world);
    join(&world, 53..=72, Duration::from_secs(4)).await;
    seconds(10).await;
    join(&world, 73..=92, Duration::from_secs(4)).await;
    let all = settled(&world, 92, "20 Nodes join in 4 s, and 20 more 10 s later").await;
    assert!(all.changes <= 1080, "what the first round did before the second group came: {}", all.detail());
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_overtakes_a_round_of_a_thousand() {
    let (world, stack) = crowd(3).await;
    clear(&world);
    world.register([3]);
    until("the round", LONG, || world.members() > 2 * SERVICES + 50).await;
    // Of both kinds: one whose members wait for their turn, and a new one.
    world.allow("web-999", "192.0.2.0/24");
    world.apply("new", 1);
    let began = Instant::now();
    until("both", LONG, || world.allowing("192.0.2.0/24") == 1 && world.address("new").is_some()).await;
    let (took, members) = (began.elapsed(), world.members());
    println!("an edit and a new Service in a round of 1,000: {took:?}, {members} members by then");
    assert!(members < 3 * SERVICES - 300, "the round goes on: {members}");
    until("all members", LONG, || world.members() == 3 * (SERVICES + 1)).await;
    stack.stop().await;
}
