//! How many calls things take.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Purpose, Text};
use sim_openstack::Config;

use super::stage::{Stage, service};

#[tokio::test(start_paused = true)]
async fn a_new_service_costs_two_changes_and_three_reads_however_many_ports_it_has() {
    let mut stage = Stage::new();
    // Logins, endpoints and versions are asked for once.
    stage.drive(&mut service("first", 1), Purpose::Ensure).await.settled();
    for (name, ports) in [("one", 1), ("three", 3)] {
        stage.clear();
        let mut service = service(name, ports);
        let status = stage.drive(&mut service, Purpose::Ensure).await.settled();
        assert!(
            status.ingress[0].ip.unwrap().to_string().starts_with("172.24."),
            "a floating IP: {status:?}"
        );
        assert_eq!(stage.mutating(), 2, "{:?}", stage.counts());
        assert!(stage.reads() <= 3, "{} reads: {:?}", stage.reads(), stage.counts());
        // What it wanted is there, and looking again changes nothing.
        tokio::time::advance(Duration::from_secs(60)).await;
        stage.clear();
        stage.drive(&mut service, Purpose::Ensure).await.settled();
        assert_eq!((stage.mutating(), stage.reads()), (0, 2), "{:?}", stage.counts());
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_goes_leaves_nothing_and_is_proven_gone() {
    let mut stage = Stage::new();
    let mut gone = service("gone", 2);
    stage.drive(&mut gone, Purpose::Ensure).await;
    stage.clear();
    stage.drive(&mut gone, Purpose::Remove).await.settled();
    assert_eq!(stage.mutating(), 2, "{:?}", stage.counts());
    // The load balancer, its floating IP, and at last whether anything of its name is there.
    assert!(stage.reads() <= 3, "{} reads: {:?}", stage.reads(), stage.counts());
    stage.simulation.sim.with(|cloud| {
        let state = cloud.state();
        assert!(state.load_balancer.load_balancers.is_empty() && state.network.floating_ips.is_empty());
    });
}

#[tokio::test(start_paused = true)]
async fn a_managed_security_group_costs_nine_changes_and_few_reads_and_ports_are_not_read_for_each_service() {
    let mut stage = Stage::with(Config::default(), |conf| conf.load_balancer.manage_security_groups = true);
    stage.drive(&mut service("first", 1), Purpose::Ensure).await.settled();
    let mut web = service("web", 1);
    stage.clear();
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    // The load balancer, its floating IP, the group, its rule, two rules that Neutron gave it, three ports.
    assert_eq!(stage.mutating(), 9, "{:?}", stage.counts());
    // OCCM makes 19 besides its polls.
    assert!(stage.reads() <= 12, "{} reads: {:?}", stage.reads(), stage.counts());
    let single = |counts: &[String]| counts.iter().any(|count| count.ends_with("GET /v2.0/ports/{id}"));
    assert!(!single(&stage.counts()), "{:?}", stage.counts());
    tokio::time::advance(Duration::from_secs(60)).await;
    stage.clear();
    stage.drive(&mut web, Purpose::Remove).await.settled();
    assert_eq!(stage.mutating(), 6, "{:?}", stage.counts());
    assert!(stage.reads() <= 6, "{} reads: {:?}", stage.reads(), stage.counts());
    assert!(!single(&stage.counts()), "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_looks_at_a_thousand_unchanged_services_with_thirty_calls() {
    let config =
        Config { load_balancer_page_max: Some(1000), network_page_max: Some(1000), ..Config::default() };
    let mut stage = Stage::with(config, |_conf| {});
    stage.change_nodes(|nodes| nodes.retain(|name, _node| name == "node-1"));
    let mut services: Vec<_> = (0..1000).map(|number| service(&format!("web-{number}"), 1)).collect();
    stage.clear();
    for end in stage.drive_all(&mut services, Purpose::Ensure).await {
        end.settled();
    }
    assert_eq!(stage.mutating(), 2000);
    let lists = stage.polls;
    assert!(lists <= 80, "{lists} calls of polls");

    stage.restart("sim");
    stage.clear();
    for end in stage.drive_all(&mut services, Purpose::Ensure).await {
        end.settled();
    }
    assert_eq!(stage.mutating(), 0);
    let calls = stage.simulation.calls();
    assert!(calls <= 30, "{calls} calls: {:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_costs_each_pool_one_change_and_reads_by_the_page() {
    let mut stage = Stage::new();
    let third: Text = "node-3".into();
    let joining = Arc::clone(&stage.nodes.nodes[&third]);
    stage.change_nodes(|nodes| drop(nodes.remove(&third)));
    let mut services: Vec<_> = (0..40).map(|number| service(&format!("web-{number}"), 2)).collect();
    stage.drive_all(&mut services, Purpose::Ensure).await;
    stage.clear();
    stage.change_nodes(|nodes| drop(nodes.insert(third, joining)));
    stage.drive_all(&mut services, Purpose::Ensure).await;
    assert_eq!(stage.mutating(), 80, "{:?}", stage.counts());
    assert!(stage.reads() <= 20, "{} reads: {:?}", stage.reads(), stage.counts());
    stage.simulation.sim.with(|cloud| assert_eq!(cloud.state().load_balancer.members.len(), 240));
}
