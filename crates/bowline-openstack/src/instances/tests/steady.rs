//! What thousands of Nodes cost while nothing happens, with some that are not Ready for good.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{ErrorClass, Evidence, Instances, NodeView, Power};
use sim_openstack::compute::VmState;
use sim_openstack::{Config, Fault, Rule, Service};

use crate::instances::Servers;
use crate::instances::simulation::{Simulation, class, node, present};

/// How often Nodes that are not Ready are asked about, and how often all are.
const MONITOR: Duration = Duration::from_secs(5);
const REFRESHES: usize = 60;

/// Five minutes of a quiet cluster: one refresh of all Nodes, and a look at `not_ready` every five seconds.
async fn five_minutes(servers: &Servers, all: &[Arc<NodeView>], not_ready: &[Arc<NodeView>]) {
    servers.observe(all).await;
    for _ in 0..REFRESHES {
        for evidence in servers.observe(not_ready).await {
            if class(&evidence) == Some(ErrorClass::NotFound) {
                // What the framework does next, unless a rail keeps it from it.
                continue;
            }
            present(&evidence);
        }
        tokio::time::advance(MONITOR).await;
    }
}

#[tokio::test(start_paused = true)]
async fn five_thousand_nodes_of_which_some_are_never_ready_cost_at_most_twenty_calls_in_five_minutes() {
    for kept in [4, 30] {
        let config = Config { network_page_max: Some(1000), ..Config::default() };
        let simulation = Simulation::new(config, 5000);
        let servers = simulation.servers();
        let all: Vec<_> = (0..5000).map(|index| Arc::new(simulation.of(index))).collect();
        let mut not_ready: Vec<_> = all.iter().take(kept).cloned().collect();
        // And two whose server is gone, and which a rail keeps.
        not_ready.push(Arc::new(node("nobody", None)));
        not_ready.push(Arc::new(node("gone", Some("openstack:///7b9cf879-7146-417c-abfd-cb4272f0c935"))));
        five_minutes(&servers, &all, &not_ready).await;
        five_minutes(&servers, &all, &not_ready).await;
        for window in 0..2 {
            let before = simulation.calls();
            five_minutes(&servers, &all, &not_ready).await;
            let calls = simulation.calls() - before;
            assert!(calls <= 20, "{kept} not ready, {window}: {calls} calls: {:?}", simulation.counts());
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_shut_off_soon_after_its_node_ceased_to_be_ready_is_seen_within_a_minute() {
    let config = Config { network_page_max: Some(1000), ..Config::default() };
    let simulation = Simulation::new(config, 5000);
    let servers = simulation.servers();
    let node = [Arc::new(simulation.of(4711))];
    let id = simulation.estate.servers[4711].clone();
    present(&servers.observe(&node).await[0]);
    tokio::time::advance(MONITOR).await;
    simulation.edit(|state| {
        state.compute.servers.update(&id, |server| server.vm_state = VmState::Stopped);
    });
    let before = simulation.calls();
    let mut waited = Duration::ZERO;
    loop {
        let found = servers.observe(&node).await.remove(0);
        if present(&found).power == Power::ShutDown {
            assert_eq!(present(&found).addresses.len(), 1);
            break;
        }
        assert!(waited <= Duration::from_secs(65), "not seen after {waited:?}");
        waited += MONITOR;
        tokio::time::advance(MONITOR).await;
    }
    let calls = simulation.calls() - before;
    assert!(calls <= 2, "one server is read and not all: {calls}");
}

#[tokio::test(start_paused = true)]
async fn in_a_small_project_a_server_that_goes_is_missed_within_seconds() {
    let (simulation, servers) = Simulation::with_servers(3);
    let node = [Arc::new(simulation.of(0))];
    present(&servers.observe(&node).await[0]);
    simulation.remove(0);
    tokio::time::advance(Duration::from_secs(15)).await;
    assert_eq!(class(&servers.observe(&node).await[0]), Some(ErrorClass::NotFound));
    assert!(matches!(servers.confirm(&node[0]).await, Evidence::Absent(_)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_got_another_address_tells_it_also_when_it_is_read_alone() {
    let config = Config { network_page_max: Some(1000), ..Config::default() };
    let simulation = Simulation::new(config, 5000);
    let servers = simulation.servers();
    let node = [Arc::new(simulation.of(0))];
    present(&servers.observe(&node).await[0]);
    let id = simulation.estate.servers[0].clone();
    simulation.edit(|state| {
        for port in state.network.ports.find_ids("device_id", &id) {
            state.network.ports.update(&port, |port| port.fixed_ips[0].ip_address = "10.10.255.7".into());
        }
    });
    tokio::time::advance(Duration::from_secs(61)).await;
    let before = simulation.calls();
    let found = servers.observe(&node).await.remove(0);
    assert_eq!(present(&found).addresses[0].address, "10.10.255.7");
    assert!(simulation.calls() - before <= 2);
    let lists = simulation
        .sim
        .with(|cloud| cloud.log().count(Service::Compute, &http::Method::GET, "/v2.1/servers/detail"));
    assert!(lists <= 6, "the list was read once: {lists}");
}

/// What was asked for since there were `before` calls.
fn since(simulation: &Simulation, before: u64) -> u64 {
    simulation.calls() - before
}

#[tokio::test(start_paused = true)]
async fn whether_servers_are_there_costs_a_call_for_each_of_a_few_or_the_pages_of_all_and_no_ports() {
    for (nodes, kept, calls) in [(100, 4, 1), (100, 50, 1), (5000, 4, 4), (5000, 50, 6)] {
        let (simulation, servers) = Simulation::with_servers(nodes);
        let all: Vec<_> = (0..nodes).map(|index| Arc::new(simulation.of(index))).collect();
        servers.observe(&all).await;
        tokio::time::advance(Duration::from_secs(100)).await;
        let id = simulation.estate.servers[3].clone();
        simulation.edit(|state| {
            state.compute.servers.update(&id, |server| server.vm_state = VmState::Stopped);
        });
        let before = simulation.calls();
        let found = servers.presence(&all[..kept]).await;
        assert_eq!(since(&simulation, before), calls, "{kept} of {nodes}: {:?}", simulation.counts());
        for (index, power) in found.iter().enumerate() {
            let wanted = if index == 3 { Power::ShutDown } else { Power::Running };
            assert_eq!(*power, Evidence::Present(wanted), "{index}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn who_wants_addresses_is_not_told_what_was_read_without_them() {
    let (simulation, servers) = Simulation::with_servers(2);
    servers.observe(&[Arc::new(simulation.of(0))]).await;
    tokio::time::advance(Duration::from_millis(1)).await;
    let id = simulation.boot("late");
    let late = [Arc::new(node("late", Some(&format!("openstack:///{id}"))))];
    assert_eq!(servers.presence(&late).await, [Evidence::Present(Power::Running)]);
    tokio::time::advance(Duration::from_millis(1)).await;
    assert_eq!(present(&servers.observe(&late).await[0]).addresses.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_new_enough_is_told_although_the_rest_cannot_be_read() {
    let (simulation, servers) = Simulation::with_servers(2);
    let known = Arc::new(simulation.of(0));
    servers.observe(&[Arc::clone(&known)]).await;
    tokio::time::advance(Duration::from_millis(1)).await;
    let lists = Rule::new(Fault::too_many_requests(7)).on(Service::Compute).path("*/servers/detail");
    simulation.fault(lists.times(1));
    let found = servers.observe(&[known, Arc::new(node("late", None))]).await;
    present(&found[0]);
    assert_eq!(class(&found[1]), Some(ErrorClass::Throttled));
}
