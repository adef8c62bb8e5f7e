//! A server is deleted and another one of its name is there before anything remembered of it has grown old.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Instances, NodeView};

use crate::instances::simulation::{Simulation, node, present};

fn told(name: &str, id: &str) -> NodeView {
    NodeView { system_uuid: Some(id.to_ascii_uppercase().as_str().into()), ..node(name, None) }
}

#[tokio::test(start_paused = true)]
async fn a_node_of_a_new_server_is_not_given_the_id_of_the_one_that_had_its_name() {
    let (simulation, servers) = Simulation::with_servers(2);
    let old = simulation.estate.servers[0].clone();
    let first = servers.observe(&[Arc::new(told("node-1", &old))]).await;
    assert_eq!(present(&first[0]).provider_id, format!("openstack:///{old}"));

    for _ in 0..2 {
        simulation.remove_named("node-1");
        let new = simulation.boot("node-1");
        tokio::time::advance(Duration::from_secs(2)).await;
        let again = servers.observe(&[Arc::new(told("node-1", &new))]).await;
        assert_eq!(present(&again[0]).provider_id, format!("openstack:///{new}"), "not that of {old}");
    }
}

#[tokio::test(start_paused = true)]
async fn many_of_them_at_once_are_told_apart_as_well() {
    let (simulation, servers) = Simulation::with_servers(12);
    let names: Vec<String> = (1..=12).map(|number| format!("node-{number}")).collect();
    let nodes = |ids: &[String]| -> Vec<Arc<NodeView>> {
        names.iter().zip(ids).map(|(name, id)| Arc::new(told(name, id))).collect()
    };
    servers.observe(&nodes(&simulation.estate.servers)).await;
    let new: Vec<String> = names
        .iter()
        .map(|name| {
            simulation.remove_named(name);
            simulation.boot(name)
        })
        .collect();
    let all = nodes(&new);
    // As many rounds as it takes; nobody gets another's id in any of them.
    let mut found = 0;
    for _ in 0..12 {
        tokio::time::advance(Duration::from_secs(3)).await;
        found = 0;
        for (evidence, id) in servers.observe(&all).await.iter().zip(&new) {
            if let bowline_cloud::Evidence::Present(instance) = evidence {
                assert_eq!(instance.provider_id, format!("openstack:///{id}"));
                found += 1;
            }
        }
    }
    assert_eq!(found, 12);
}

#[tokio::test(start_paused = true)]
async fn a_machine_whose_firmware_tells_something_else_is_found_by_its_name() {
    let (_simulation, servers) = Simulation::with_servers(8);
    let odd = "7b9cf879-7146-417c-abfd-cb4272f0c935";
    let all: Vec<_> = (1..=8).map(|number| Arc::new(told(&format!("node-{number}"), odd))).collect();
    let mut waiting = all.clone();
    for _ in 0..4 {
        let answers = servers.observe(&waiting).await;
        let mut next = Vec::new();
        for (node, evidence) in waiting.iter().zip(&answers) {
            if !matches!(evidence, bowline_cloud::Evidence::Present(_)) {
                next.push(Arc::clone(node));
            }
        }
        waiting = next;
        tokio::time::advance(Duration::from_secs(5)).await;
    }
    assert!(waiting.is_empty(), "{} are never found", waiting.len());
}
