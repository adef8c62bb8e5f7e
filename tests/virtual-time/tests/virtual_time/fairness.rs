//! One namespace with very many Services, and a quiet one: how long the quiet one's Service takes.

use std::time::Duration;

use bowline_testkit::Wait;
use sim_openstack::{Config, Fault, Latencies, Rule};
use tokio::time::{Instant, sleep};

use super::stack::{Stack, settled};
use super::world::{World, seconds, until};

const NOISY: usize = 500;
const LIMIT: Duration = Duration::from_secs(900);
/// A call takes about so long, as those of a real Octavia and Neutron do.
const CALL: Duration = Duration::from_millis(300);

async fn cloud(boot: Duration) -> (World, Stack) {
    let latencies = Latencies { amphora_create: boot, ..Latencies::default() };
    let (world, stack) = settled(Config { latencies, ..Config::default() }, 3).await;
    world.fault(Rule::new(Fault::Slow(CALL)));
    (world, stack)
}

/// How long a Service of the namespace takes until it is served.
async fn creation(world: &World, namespace: &str) -> Duration {
    let began = Instant::now();
    world.apply_in(namespace, "web", 1);
    let wait = Wait::within_unscaled(LIMIT).every(Duration::from_millis(10));
    wait.until("served", async || Ok(world.address_in(namespace, "web"))).await.unwrap();
    began.elapsed()
}

async fn quiet_beside_noisy(boot: Duration, after: Duration) -> (Duration, Duration) {
    let (world, stack) = cloud(boot).await;
    ["alone", "noisy", "quiet"].iter().for_each(|name| world.add_namespace(name));
    let alone = creation(&world, "alone").await;
    seconds(60).await;
    for number in 0..NOISY {
        world.apply_in("noisy", &format!("web-{number}"), 1);
    }
    sleep(after).await;
    let served = world.served();
    let beside = creation(&world, "quiet").await;
    println!(
        "boot {boot:?}, {after:?} after {NOISY} noisy Services ({served} served): alone {alone:?}, beside them {beside:?}"
    );
    until("all served", LIMIT, || world.served() == NOISY + 3).await;
    stack.stop().await;
    (alone, beside)
}

#[tokio::test(start_paused = true)]
async fn a_service_of_a_quiet_namespace_waits_for_no_noisy_one() {
    let mut slow = Vec::new();
    for (boot, after) in [(1, 5), (1, 30), (60, 30)] {
        let (boot, after) = (Duration::from_secs(boot), Duration::from_secs(after));
        let (alone, beside) = quiet_beside_noisy(boot, after).await;
        if beside.as_secs_f64() > 1.5 * alone.as_secs_f64() {
            slow.push((boot, after, alone, beside));
        }
    }
    assert!(slow.is_empty(), "boot, after, alone, beside: {slow:?}");
}
