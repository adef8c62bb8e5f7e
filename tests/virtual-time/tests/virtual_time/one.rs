//! One Service: created, looked at again, deleted.

use std::time::Duration;

use sim_openstack::Config;

use super::stack::settled;
use super::tally::{clear, cost};
use super::world::{seconds, until};

const MINUTES: Duration = Duration::from_secs(180);

#[tokio::test(start_paused = true)]
async fn a_service_costs_two_changes_and_three_reads_however_many_ports_it_has() {
    let (world, stack) = settled(Config::default(), 3).await;
    for (name, ports) in [("one", 1), ("three", 3)] {
        clear(&world);
        world.apply(name, ports);
        until("an address", MINUTES, || world.address(name).is_some()).await;
        seconds(60).await;
        let cost = cost(&world);
        cost.print(&format!("create a Service, {ports} port(s), until quiet"));
        assert_eq!(cost.changes, 2, "{}", cost.detail());
        assert!(cost.reads <= 3, "{}", cost.detail());
        // One every two seconds while the amphora boots, and less often the longer it takes.
        assert!(cost.polls <= 18, "{}", cost.detail());
        assert!(cost.writes <= 3, "{}", cost.detail());
        assert!(world.address(name).unwrap().starts_with("172.24."));
    }
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_without_effect_changes_nothing() {
    let (world, stack) = settled(Config::default(), 3).await;
    clear(&world);
    world.annotate("first", "loadbalancer.openstack.org/keep-floatingip", "false");
    seconds(120).await;
    let cost = cost(&world);
    cost.print("an edit without effect");
    assert_eq!((cost.changes, cost.writes), (0, 0), "{}", cost.detail());
    assert!(cost.reads + cost.polls <= 4, "{}", cost.detail());
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_edit_costs_one_change_and_looks_at_the_load_balancer_alone() {
    let (world, stack) = settled(Config::default(), 3).await;
    for range in ["192.0.2.0/24", "198.51.100.0/24"] {
        clear(&world);
        world.allow("first", range);
        seconds(60).await;
        let cost = cost(&world);
        cost.print("an edit of the source ranges");
        assert_eq!(cost.changes, 1, "{}", cost.detail());
        // What hangs on it is known from the answer to its creation, and its floating IP cannot have been moved by this.
        assert_eq!(cost.reads, 0, "{}", cost.detail());
        assert!(
            cost.polls <= 3,
            "before the change, and each two seconds until it is made: {}",
            cost.detail()
        );
    }
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn an_annotation_of_somebody_else_changes_nothing() {
    let (world, stack) = settled(Config::default(), 3).await;
    clear(&world);
    world.annotate("first", "example.org/team", "blue");
    seconds(120).await;
    let cost = cost(&world);
    cost.print("an annotation of somebody else");
    assert_eq!((cost.changes, cost.writes), (0, 0), "{}", cost.detail());
    assert!(cost.reads + cost.polls <= 4, "{}", cost.detail());
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn whoever_changes_their_mind_ten_times_gets_what_they_want_each_time() {
    let (world, stack) = settled(Config::default(), 3).await;
    world.annotate("first", "loadbalancer.openstack.org/enable-health-monitor", "true");
    for turn in 0..10 {
        let proxy = if turn % 2 == 0 { "true" } else { "false" };
        let wanted = if turn % 2 == 0 { "PROXY" } else { "TCP" };
        world.annotate("first", "loadbalancer.openstack.org/proxy-protocol", proxy);
        until("another pool", MINUTES, || world.pool_protocols() == [wanted]).await;
    }
    seconds(60).await;
    assert_eq!(world.events("LoadBalancerCreateHeld"), Vec::<String>::new());
    assert_eq!((world.members(), world.balancers()), (3, 1), "all of it is there");
    stack.stop().await;
}

#[tokio::test(start_paused = true)]
async fn a_service_that_goes_costs_no_more_than_upstream_and_leaves_nothing() {
    let (world, stack) = settled(Config::default(), 3).await;
    world.apply("gone", 2);
    until("an address", MINUTES, || world.address("gone").is_some()).await;
    seconds(60).await;
    clear(&world);
    world.delete("gone");
    let took = until("its end", MINUTES, || !world.exists("gone")).await;
    seconds(30).await;
    let cost = cost(&world);
    cost.print(&format!("delete a Service ({took:?})"));
    assert_eq!(cost.changes, 2, "{}", cost.detail());
    // Its floating IP, and at last whether anything of its name is there. Upstream makes 7 calls and D polls.
    assert!(cost.reads <= 2, "{}", cost.detail());
    assert_eq!((world.balancers(), world.floating_ips()), (1, 1), "only the first is left");
    assert!(cost.writes <= 2, "{}", cost.detail());
    stack.stop().await;
}
