//! Between two lists of all servers: what has changed is asked for, and believed where it shows a server, and nowhere else.
//!
//! The cloud lives in a time of its own here, days or years from the clock of the machine that runs this.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{ErrorClass, Evidence, Instance, Instances, NodeView};
use futures::future::join_all;
use jiff::SignedDuration;
use sim_openstack::{Config, Fault, Rule, Service};

use crate::instances::Servers;
use crate::instances::simulation::{Simulation, class, node, present};

const LIST: &str = "/v2.1/servers/detail";
const SERVER: &str = "/v2.1/servers/{id}";

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

/// A project whose servers are some minutes old, but for one that has just changed, and all of them listed. Pages are of ten.
async fn listed(servers: usize) -> (Simulation, Servers) {
    listed_with(Config { compute_page_max: 10, ..Config::default() }, servers).await
}

async fn listed_with(config: Config, count: usize) -> (Simulation, Servers) {
    let simulation = Simulation::new(config, count);
    tokio::time::advance(seconds(600)).await;
    stamp(&simulation, &simulation.estate.servers[count - 1], SignedDuration::ZERO);
    let servers = simulation.servers();
    present(&servers.observe(&[Arc::new(simulation.of(0))]).await[0]);
    tokio::time::advance(seconds(20)).await;
    (simulation, servers)
}

/// Nova wrote a time to a server, by a clock that is so much off.
fn stamp(simulation: &Simulation, id: &str, off: SignedDuration) {
    let now = simulation.sim.now();
    simulation.edit(|state| {
        state.compute.servers.update(id, |server| server.updated = now + off);
    });
}

/// Servers are made, and these are their Nodes.
fn join(simulation: &Simulation, names: impl Iterator<Item = usize>) -> Vec<Arc<NodeView>> {
    let boot = |number: usize| {
        let name = format!("late-{number}");
        let id = simulation.boot(&name);
        Arc::new(node(&name, Some(&format!("openstack:///{id}"))))
    };
    names.map(boot).collect()
}

/// Lists of servers, servers by their ids and lists of ports that are asked for meanwhile, and what is found.
async fn asked(
    simulation: &Simulation,
    servers: &Servers,
    nodes: &[Arc<NodeView>],
) -> (Vec<Evidence<Instance>>, [u64; 3]) {
    let counts = || {
        simulation.sim.with(|cloud| {
            let count = |service, path| cloud.log().count(service, &http::Method::GET, path);
            [
                count(Service::Compute, LIST),
                count(Service::Compute, SERVER),
                count(Service::Network, "/v2.0/ports"),
            ]
        })
    };
    let before = counts();
    let found = servers.observe(nodes).await;
    let after = counts();
    (found, [0, 1, 2].map(|index| after[index] - before[index]))
}

fn whole(found: &[Evidence<Instance>]) {
    for evidence in found {
        assert_eq!(present(evidence).addresses.len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn nodes_that_join_three_thousand_are_found_with_one_call_for_servers_and_one_for_ports() {
    let (simulation, servers) = listed_with(Config::default(), 3000).await;
    let first = join(&simulation, 0..5);
    let (found, calls) = asked(&simulation, &servers, &first).await;
    whole(&found);
    assert_eq!(calls, [1, 0, 1], "and not four pages: {:?}", simulation.counts());
    tokio::time::advance(seconds(3)).await;
    let all: Vec<_> = first.into_iter().chain(join(&simulation, 5..50)).collect();
    let (found, calls) = asked(&simulation, &servers, &all).await;
    whole(&found);
    assert_eq!(calls, [1, 0, 1], "{:?}", simulation.counts());
    // What was told is known, and known to those who ask for all as well.
    let (found, calls) = asked(&simulation, &servers, &all).await;
    whole(&found);
    assert_eq!(calls, [0, 0, 0]);
    // The ports of many are cheaper among all.
    tokio::time::advance(seconds(3)).await;
    let (found, calls) = asked(&simulation, &servers, &join(&simulation, 50..150)).await;
    whole(&found);
    assert_eq!(calls, [1, 0, 1], "{:?}", simulation.counts());
}

#[tokio::test(start_paused = true)]
async fn many_looks_at_the_same_time_share_what_has_changed() {
    let (simulation, servers) = listed(95).await;
    let nodes = join(&simulation, 0..6);
    let before = simulation.calls();
    for found in join_all(nodes.chunks(2).map(|some| servers.observe(some))).await {
        whole(&found);
    }
    assert_eq!(simulation.calls() - before, 2, "{:?}", simulation.counts());
}

#[tokio::test(start_paused = true)]
async fn what_has_changed_may_itself_be_pages_long() {
    let (simulation, servers) = listed(95).await;
    let (found, calls) = asked(&simulation, &servers, &join(&simulation, 0..25)).await;
    whole(&found);
    assert_eq!(calls, [3, 0, 1], "25 and the one that had changed before");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_deleted_since_is_not_shown_any_more_and_gone_only_when_nova_says_so_twice() {
    let (simulation, servers) = listed(45).await;
    let (kept, gone) = (Arc::new(simulation.of(3)), Arc::new(simulation.of(4)));
    simulation.remove(4);
    whole(&asked(&simulation, &servers, &join(&simulation, 0..3)).await.0);
    // Of the one nothing new was told, and it is new enough; of the other Nova is asked.
    let (found, calls) = asked(&simulation, &servers, &[kept, Arc::clone(&gone)]).await;
    present(&found[0]);
    assert_eq!((class(&found[1]), calls), (Some(ErrorClass::NotFound), [0, 1, 0]));
    assert!(matches!(servers.confirm(&gone).await, Evidence::Absent(_)));
}

#[tokio::test(start_paused = true)]
async fn a_server_that_is_called_deleted_by_mistake_is_asked_for_and_stays() {
    let (simulation, servers) = listed(45).await;
    let id = simulation.estate.servers[4].clone();
    // Nova says deleted, and is then found to have it.
    let server = simulation.sim.with(|cloud| cloud.state().compute.servers.get(&id).cloned().unwrap());
    simulation.edit(|state| drop(state.compute.remove_server(&id).unwrap()));
    whole(&asked(&simulation, &servers, &join(&simulation, 0..3)).await.0);
    simulation.edit(|state| state.compute.insert_server(server));
    let (found, calls) = asked(&simulation, &servers, &[Arc::new(simulation.of(4))]).await;
    present(&found[0]);
    assert_eq!(calls[1], 1, "by its id");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_fails_half_way_changes_nothing_and_next_time_all_is_listed() {
    let (simulation, servers) = listed(45).await;
    let nodes = join(&simulation, 0..15);
    simulation.remove(4);
    let second_page = Rule::new(Fault::too_many_requests(7)).on(Service::Compute).path(LIST).after(1);
    simulation.fault(second_page.times(1));
    let (known, gone) = (Arc::new(simulation.of(3)), Arc::new(simulation.of(4)));
    let wanted: Vec<_> = nodes.iter().chain([&known, &gone]).cloned().collect();
    let (found, calls) = asked(&simulation, &servers, &wanted).await;
    assert!(found[..15].iter().all(|found| class(found) == Some(ErrorClass::Throttled)), "{found:?}");
    assert_eq!(calls, [2, 0, 0]);
    // What was listed still holds, also of the one whose deletion was on the first page.
    present(&found[15]);
    present(&found[16]);
    tokio::time::advance(seconds(8)).await;
    let (found, calls) = asked(&simulation, &servers, &nodes).await;
    whole(&found);
    assert_eq!(calls, [6, 0, 1], "all 59 of them: {:?}", simulation.counts());
    // And then what has changed since that.
    tokio::time::advance(seconds(1)).await;
    let (found, calls) = asked(&simulation, &servers, &join(&simulation, 15..18)).await;
    whole(&found);
    assert_eq!(
        calls,
        [3, 0, 1],
        "twenty have changed in the last minute: those 15, the deleted one and these"
    );
}

#[tokio::test(start_paused = true)]
async fn a_nova_whose_clocks_differ_by_less_than_a_minute_hides_nothing() {
    let (simulation, servers) = listed(45).await;
    let nodes = join(&simulation, 0..5);
    for node in &nodes {
        let id = node.provider_id.as_deref().unwrap().trim_start_matches("openstack:///").to_owned();
        // Twenty seconds after the list began, and still before it.
        stamp(&simulation, &id, SignedDuration::from_secs(-75));
    }
    let (found, calls) = asked(&simulation, &servers, &nodes).await;
    whole(&found);
    assert_eq!(calls, [1, 0, 1], "{:?}", simulation.counts());
}

#[tokio::test(start_paused = true)]
async fn what_a_wrong_clock_hides_is_asked_for_directly() {
    for (hidden, most) in [(2, [1, 2, 1]), (9, [1 + 6, 0, 1])] {
        let (simulation, servers) = listed(45).await;
        let nodes = join(&simulation, 0..hidden);
        for node in &nodes {
            let id = node.provider_id.as_deref().unwrap().trim_start_matches("openstack:///").to_owned();
            stamp(&simulation, &id, SignedDuration::from_secs(-300));
        }
        let (found, calls) = asked(&simulation, &servers, &nodes).await;
        whole(&found);
        assert_eq!(calls, most, "{:?}", simulation.counts());
    }
    // A time that is to come hides everything after it, and still nothing is missed.
    let (simulation, servers) = listed(45).await;
    stamp(&simulation, &simulation.estate.servers[0], SignedDuration::from_hours(1));
    tokio::time::advance(seconds(301)).await;
    present(&servers.observe(&[Arc::new(simulation.of(0))]).await[0]);
    tokio::time::advance(seconds(20)).await;
    let (found, _) = asked(&simulation, &servers, &join(&simulation, 0..5)).await;
    whole(&found);
}

#[tokio::test(start_paused = true)]
async fn all_is_listed_as_often_as_before_and_shows_what_nova_does_not_count_as_a_change() {
    let (simulation, servers) = listed(45).await;
    let all: Vec<_> = (0..45).map(|index| Arc::new(simulation.of(index))).collect();
    let id = simulation.estate.servers[7].clone();
    // The time of a server does not change with the addresses of its ports.
    simulation.edit(|state| {
        for port in state.network.ports.find_ids("device_id", &id) {
            state.network.ports.update(&port, |port| port.fixed_ips[0].ip_address = "10.10.255.7".into());
        }
    });
    let mut number = 0;
    for _ in 0..10 {
        tokio::time::advance(seconds(25)).await;
        let nodes = join(&simulation, number..number + 3);
        number += 3;
        whole(&servers.observe(&nodes).await);
    }
    // Whoever asks about that one is not told anew what is as old as the list, however new the rest is.
    let found = servers.observe(&all).await;
    assert_eq!(present(&found[7]).addresses[0].address, "10.10.255.7");
}

#[tokio::test(start_paused = true)]
async fn a_server_that_was_renamed_or_replaced_since_is_known_by_its_new_name_alone() {
    let (simulation, servers) = listed(45).await;
    let renamed = simulation.estate.servers[2].clone();
    simulation.edit(|state| {
        state.compute.servers.update(&renamed, |server| server.name = "other".into());
    });
    stamp(&simulation, &renamed, SignedDuration::ZERO);
    simulation.remove(5);
    let replaced = simulation.boot("node-6");
    whole(&asked(&simulation, &servers, &join(&simulation, 0..4)).await.0);
    let named = ["other", "node-6"].map(|name| Arc::new(node(name, None)));
    let (found, calls) = asked(&simulation, &servers, &named).await;
    assert_eq!(present(&found[0]).provider_id, format!("openstack:///{renamed}"));
    assert_eq!(present(&found[1]).provider_id, format!("openstack:///{replaced}"));
    assert_eq!(calls, [0, 0, 0]);
    assert_eq!(
        class(&servers.observe(&[Arc::new(node("node-3", None))]).await[0]),
        Some(ErrorClass::NotFound)
    );
}

#[tokio::test(start_paused = true)]
async fn a_node_without_a_server_costs_no_more_calls_for_the_second_time() {
    let (simulation, servers) = listed(95).await;
    let nobody = ["a", "b", "c"].map(|name| Arc::new(node(name, None)));
    let (found, calls) = asked(&simulation, &servers, &nobody).await;
    assert!(found.iter().all(|found| class(found) == Some(ErrorClass::NotFound)));
    assert_eq!(calls, [1 + 3, 0, 0]);
    tokio::time::advance(seconds(5)).await;
    assert_eq!(asked(&simulation, &servers, &nobody).await.1, [3, 0, 0], "by their names");
}
