//! How many calls things take.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Purpose, Text};
use sim_openstack::Config;

use super::stage::{Stage, annotated, service, services};

#[tokio::test(start_paused = true)]
async fn a_new_service_costs_two_changes_and_three_reads_however_many_ports_it_has() {
    let mut stage = Stage::new();
    // Logins, endpoints and versions are asked for once.
    stage.ensure(&mut service("first", 1)).await;
    for (name, ports) in [("one", 1), ("three", 3)] {
        stage.clear();
        let mut service = service(name, ports);
        let status = stage.ensure(&mut service).await;
        assert!(
            status.ingress[0].ip.unwrap().to_string().starts_with("172.24."),
            "a floating IP: {status:?}"
        );
        assert_eq!(stage.mutating(), 2, "{:?}", stage.counts());
        assert!(stage.reads() <= 3, "{} reads: {:?}", stage.reads(), stage.counts());
        // What it wanted is there, and looking again changes nothing.
        tokio::time::advance(Duration::from_secs(60)).await;
        stage.clear();
        stage.ensure(&mut service).await;
        assert_eq!((stage.mutating(), stage.reads()), (0, 2), "{:?}", stage.counts());
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_goes_leaves_nothing_and_is_proven_gone() {
    let (mut stage, mut gone) = Stage::serving(service("gone", 2)).await;
    stage.clear();
    stage.remove(&mut gone).await;
    assert_eq!(stage.mutating(), 2, "{:?}", stage.counts());
    // The load balancer, its floating IP, and at last whether anything of its name is there.
    assert!(stage.reads() <= 3, "{} reads: {:?}", stage.reads(), stage.counts());
    stage.simulation.look(|state| {
        assert!(state.load_balancer.load_balancers.is_empty() && state.network.floating_ips.is_empty());
    });
}

#[tokio::test(start_paused = true)]
async fn a_managed_security_group_costs_nine_changes_and_few_reads_and_ports_are_not_read_for_each_service() {
    let mut stage = Stage::with_groups();
    stage.ensure(&mut service("first", 1)).await;
    let mut web = service("web", 1);
    stage.clear();
    stage.ensure(&mut web).await;
    // The load balancer, its floating IP, the group, its rule, two rules that Neutron gave it, three ports.
    assert_eq!(stage.mutating(), 9, "{:?}", stage.counts());
    // OCCM makes 19 besides its polls.
    assert!(stage.reads() <= 12, "{} reads: {:?}", stage.reads(), stage.counts());
    let single = |counts: &[String]| counts.iter().any(|count| count.ends_with("GET /v2.0/ports/{id}"));
    assert!(!single(&stage.counts()), "{:?}", stage.counts());
    tokio::time::advance(Duration::from_secs(60)).await;
    stage.clear();
    stage.remove(&mut web).await;
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
    let mut services = services(0..1000);
    stage.clear();
    stage.settle_all(&mut services, Purpose::Ensure).await;
    assert_eq!(stage.mutating(), 2000);
    let lists = stage.polls;
    assert!(lists <= 80, "{lists} calls of polls");

    stage.restart();
    stage.clear();
    stage.settle_all(&mut services, Purpose::Ensure).await;
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
    println!("1 Node joins, 40 Services of 2 ports: {} reads, {} polls", stage.reads(), stage.polls);
    assert!(stage.reads() <= 4, "{} reads: {:?}", stage.reads(), stage.counts());
    stage.simulation.look(|state| assert_eq!(state.load_balancer.members.len(), 240));
}

#[tokio::test(start_paused = true)]
async fn an_edit_costs_one_change_and_a_look_at_the_load_balancer_before_and_behind_it() {
    let (mut stage, mut web) = Stage::serving(service("web", 1)).await;
    for timeout in ["60000", "70000"] {
        tokio::time::advance(Duration::from_secs(60)).await;
        stage.clear();
        let mut edited = annotated(&web, "loadbalancer.openstack.org/timeout-client-data", timeout);
        stage.ensure(&mut edited).await;
        println!("an edit: {} reads, {} polls", stage.reads(), stage.polls);
        // What hangs on it is known from the answer to its creation, and this cannot have moved its floating IP.
        assert_eq!((stage.mutating(), stage.reads()), (1, 1), "{:?}", stage.counts());
        web = edited;
    }
    // Who looks for no reason of his own reads the floating IP.
    tokio::time::advance(Duration::from_secs(60)).await;
    stage.clear();
    stage.ensure(&mut web).await;
    assert_eq!((stage.mutating(), stage.reads()), (0, 2), "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_many_behind_many_services_costs_no_read_of_what_hangs_on_load_balancers() {
    // More members than would fit if each were remembered.
    let nodes = 106;
    let mut stage = Stage::of_size(nodes, Config::default(), |_conf| {});
    let last: Text = format!("node-{nodes}").into();
    let joining = Arc::clone(&stage.nodes.nodes[&last]);
    stage.change_nodes(|nodes| drop(nodes.remove(&last)));
    let mut services = services(0..200);
    stage.drive_all(&mut services, Purpose::Ensure).await;
    println!("200 Services are made: {} reads, {} polls", stage.reads(), stage.polls);
    assert!(stage.reads() <= 10, "{} reads: {:?}", stage.reads(), stage.counts());
    stage.clear();
    stage.change_nodes(|nodes| drop(nodes.insert(last, joining)));
    stage.drive_all(&mut services, Purpose::Ensure).await;
    println!("1 Node joins 105, 200 Services: {} reads, {} polls", stage.reads(), stage.polls);
    assert_eq!(stage.mutating(), 200, "{:?}", stage.counts());
    assert!(stage.reads() <= 4, "{} reads: {:?}", stage.reads(), stage.counts());
}

#[tokio::test(start_paused = true)]
async fn services_that_come_and_go_together_share_their_looks() {
    let mut stage = Stage::new();
    // Logins, endpoints and versions are asked for once.
    stage.ensure(&mut service("first", 1)).await;
    let mut services = services(0..20);
    stage.clear();
    stage.drive_all(&mut services, Purpose::Ensure).await;
    println!("20 Services come: {} reads, {} polls", stage.reads(), stage.polls);
    assert_eq!(stage.mutating(), 40, "{:?}", stage.counts());
    assert!(stage.reads() <= 3, "names are not looked up one by one: {:?}", stage.counts());
    tokio::time::advance(Duration::from_secs(60)).await;
    stage.clear();
    stage.drive_all(&mut services, Purpose::Remove).await;
    println!("20 Services go: {} reads, {} polls", stage.reads(), stage.polls);
    assert_eq!(stage.mutating(), 40, "{:?}", stage.counts());
    assert!(stage.reads() <= 3, "nor is their end: {:?}", stage.counts());
    assert_eq!(stage.balancer_count(), 1);
}

/// What a hundred Services cost that are made, get another Node, and go: changes and reads of each, without polls.
async fn a_hundred(nodes: usize, ports: u16) -> [(u64, u64); 3] {
    let mut stage = Stage::of_size(nodes, Config::default(), |_conf| {});
    let last: Text = format!("node-{nodes}").into();
    let joining = Arc::clone(&stage.nodes.nodes[&last]);
    stage.change_nodes(|nodes| drop(nodes.remove(&last)));
    stage.ensure(&mut service("first", 1)).await;
    let mut services: Vec<_> = (0..100).map(|number| service(&format!("web-{number}"), ports)).collect();
    let mut costs = [(0, 0); 3];
    for (place, purpose) in [Purpose::Ensure, Purpose::Ensure, Purpose::Remove].into_iter().enumerate() {
        tokio::time::advance(Duration::from_secs(60)).await;
        if place == 1 {
            stage.change_nodes(|nodes| drop(nodes.insert(last.clone(), Arc::clone(&joining))));
        }
        stage.clear();
        stage.drive_all(&mut services, purpose).await;
        costs[place] = (stage.mutating(), stage.reads());
    }
    println!("100 Services of {ports} ports, {nodes} Nodes: come, a Node joins, go: {costs:?}");
    costs
}

#[tokio::test(start_paused = true)]
async fn what_a_hundred_services_cost_does_not_grow_with_the_nodes_and_their_reads_not_with_the_services() {
    for (ports, pools) in [(1, 100), (3, 300)] {
        let [come, join, go] = a_hundred(3, ports).await;
        assert_eq!((come.0, join.0, go.0), (200, pools, 200));
        for (what, cost) in [("come", come), ("join", join), ("go", go)] {
            assert!(cost.1 <= 3, "{what}: {cost:?}");
        }
        assert_eq!(a_hundred(30, ports).await, [come, join, go]);
    }
}
