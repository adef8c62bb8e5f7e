//! Services that come and go within some milliseconds of each other, as people and programs make and delete them over the API, in a
//! cloud whose answers take a while: what they cost together.

use std::time::Duration;

use sim_openstack::{Config, Fault, Latencies, Rule};
use tokio::time::sleep;

use super::stack::{Stack, settled};
use super::tally::{clear, cost};
use super::world::{World, seconds, until};

const MINUTES: Duration = Duration::from_secs(300);
const CALL: Duration = Duration::from_millis(20);

/// Some Nodes, and a cloud with these latencies in which each call takes [`CALL`].
async fn slow(latencies: Latencies) -> (World, Stack) {
    let (world, stack) = settled(Config { latencies, ..Config::default() }, 3).await;
    world.fault(Rule::new(Fault::Slow(CALL)));
    (world, stack)
}

fn quick() -> Latencies {
    Latencies {
        amphora_create: Duration::from_millis(100),
        amphora_change: Duration::from_millis(200),
        amphora_delete: Duration::from_millis(200),
        ..Latencies::default()
    }
}

#[tokio::test(start_paused = true)]
async fn services_that_come_and_go_one_after_the_other_within_moments_share_their_looks() {
    for (count, apart) in [(2, 4), (3, 15), (5, 4), (5, 15), (20, 4)] {
        let (world, stack) = slow(quick()).await;
        clear(&world);
        for number in 0..count {
            world.apply(&format!("web-{number}"), 1);
            sleep(Duration::from_millis(apart)).await;
        }
        until("all served", MINUTES, || world.served() == count + 1).await;
        seconds(60).await;
        let made = cost(&world);
        made.print(&format!("{count} Services come, {apart} ms apart"));
        // What is there already, and one look when all of them are made.
        let least = 2 * u64::try_from(count).unwrap();
        assert_eq!((made.changes, made.reads + made.polls), (least, 2), "{}", made.detail());
        clear(&world);
        for number in 0..count {
            world.delete(&format!("web-{number}"));
            sleep(Duration::from_millis(apart)).await;
        }
        let gone = || (0..count).all(|number| !world.exists(&format!("web-{number}")));
        until("their end", MINUTES, gone).await;
        seconds(60).await;
        let went = cost(&world);
        went.print(&format!("{count} Services go, {apart} ms apart"));
        // Their load balancers and their floating IPs before the first change, and one look when all are gone.
        assert_eq!((went.changes, went.reads + went.polls), (least, 3), "{}", went.detail());
        assert_eq!((world.balancers(), world.floating_ips()), (1, 1), "only the first is left");
        stack.stop().await;
    }
}

/// Two changes for each, and looks that all of them share: the fewest are one each five seconds, and what is there already.
#[tokio::test(start_paused = true)]
async fn a_hundred_services_whose_load_balancers_take_a_minute_share_their_looks() {
    let boot = Duration::from_secs(60);
    let (world, stack) = slow(Latencies { amphora_create: boot, ..quick() }).await;
    clear(&world);
    for number in 0..100 {
        world.apply(&format!("web-{number}"), 1);
        sleep(Duration::from_millis(10)).await;
    }
    until("all served", MINUTES, || world.served() == 101).await;
    let made = cost(&world);
    made.print("100 Services come, whose load balancers take a minute");
    let least = 200 + 1 + (60 + 10) / 5;
    assert_eq!(made.changes, 200);
    assert!(made.calls * 10 <= least * 11, "more than 1.1 times of {least}: {}", made.detail());
    stack.stop().await;
}
