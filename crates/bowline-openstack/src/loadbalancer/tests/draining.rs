//! Nodes that leave, for Services that drain them: weight 0, then gone, whatever happens in between.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{LoadBalancers, ServiceView};
use sim_openstack::Config;

use super::grouping::groups;
use super::stage::{Stage, annotated, service};
use crate::loadbalancer::annotations::DRAIN;

/// Three Nodes, and a Service with two ports that drains for a minute.
async fn settled(mut stage: Stage) -> (Stage, Arc<ServiceView>) {
    let mut web = annotated(&service("web", 2), DRAIN.key, "1m");
    stage.ensure(&mut web).await;
    tokio::time::advance(Duration::from_secs(60)).await;
    stage.clear();
    (stage, web)
}

/// The removal of a Node is announced.
fn leave(stage: &mut Stage, name: &str) {
    let node = Arc::clone(&stage.nodes.nodes[name]);
    stage.change_nodes(|nodes| drop(nodes.remove(name)));
    stage.nodes.leaving.insert(name.into(), node);
}

/// It is not to leave any more.
fn stay(stage: &mut Stage, name: &str) {
    let node = stage.nodes.leaving.remove(name).unwrap();
    stage.change_nodes(|nodes| drop(nodes.insert(name.into(), node)));
}

/// The members of every pool: names, and weights where they are not 1. All pools have the same.
fn members(stage: &Stage) -> String {
    let pools: Vec<String> = stage.simulation.look(|state| {
        let state = &state.load_balancer;
        let shown = |pool: &str| {
            let mut members: Vec<_> = state.members.find("pool_id", pool).collect();
            members.sort_by_key(|member| &member.name);
            let member = members.iter().map(|member| match member.weight {
                1 => member.name.clone(),
                weight => format!("{}:{weight}", member.name),
            });
            member.collect::<Vec<_>>().join(" ")
        };
        state.pools.iter().map(|pool| shown(&pool.id)).collect()
    });
    assert!(pools.len() == 2 && pools[0] == pools[1], "{pools:?}");
    pools[0].clone()
}

#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_gets_weight_0_and_goes_when_it_is_drained_for_one_change_of_each_pool_each() {
    let (mut stage, mut web) = settled(Stage::new()).await;
    leave(&mut stage, "node-3");
    stage.ensure(&mut web).await;
    assert_eq!((members(&stage).as_str(), stage.mutating()), ("node-1 node-2 node-3:0", 2));
    stage.nodes.leaving.clear();
    stage.ensure(&mut web).await;
    assert_eq!((members(&stage).as_str(), stage.mutating()), ("node-1 node-2", 4));
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_reads_nothing_while_a_node_is_drained_and_takes_it_out_when_it_is() {
    let (mut stage, mut web) = settled(Stage::new()).await;
    leave(&mut stage, "node-3");
    stage.ensure(&mut web).await;
    stage.restart();
    stage.clear();
    stage.ensure(&mut web).await;
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    let children = |path: &&String| path.contains("pools") || path.contains("listeners");
    let read = stage.counts();
    assert_eq!(read.iter().filter(children).count(), 0, "{read:?}");
    // What it believed without reading is not what is wanted now.
    stage.nodes.leaving.clear();
    stage.ensure(&mut web).await;
    assert_eq!(members(&stage), "node-1 node-2");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_stays_after_all_gets_connections_again_also_from_a_new_leader() {
    for restarts in [false, true] {
        let (mut stage, mut web) = settled(Stage::new()).await;
        leave(&mut stage, "node-3");
        stage.ensure(&mut web).await;
        if restarts {
            stage.restart();
        }
        stay(&mut stage, "node-3");
        stage.ensure(&mut web).await;
        assert_eq!(members(&stage), "node-1 node-2 node-3", "{restarts}");
    }
}

#[tokio::test(start_paused = true)]
async fn where_all_nodes_leave_they_serve_until_another_joins() {
    let (mut stage, mut web) = settled(Stage::new()).await;
    for name in ["node-1", "node-2", "node-3"] {
        leave(&mut stage, name);
    }
    stage.ensure(&mut web).await;
    assert_eq!((members(&stage).as_str(), stage.mutating()), ("node-1 node-2 node-3", 0));
    stay(&mut stage, "node-2");
    stage.ensure(&mut web).await;
    assert_eq!(members(&stage), "node-1:0 node-2 node-3:0");
}

#[tokio::test(start_paused = true)]
async fn who_does_not_drain_any_more_takes_it_out_at_once() {
    let (mut stage, mut web) = settled(Stage::new()).await;
    leave(&mut stage, "node-3");
    stage.ensure(&mut web).await;
    web = annotated(&web, DRAIN.key, "0");
    assert_eq!(stage.balancers.policy().drains(&web), None);
    stage.ensure(&mut web).await;
    assert_eq!(members(&stage), "node-1 node-2");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_drained_stays_reachable_in_a_managed_group() {
    let (mut stage, mut web) = settled(Stage::with_groups()).await;
    let guarded = |stage: &Stage| groups(stage)[0].1;
    leave(&mut stage, "node-3");
    stage.ensure(&mut web).await;
    assert_eq!((members(&stage).as_str(), guarded(&stage)), ("node-1 node-2 node-3:0", 3));
    stage.nodes.leaving.clear();
    stage.ensure(&mut web).await;
    assert_eq!((members(&stage).as_str(), guarded(&stage)), ("node-1 node-2", 2));
}

#[tokio::test(start_paused = true)]
async fn ovn_and_providers_that_take_one_thing_at_a_time_do_not_drain_and_say_so() {
    for config in ["lb-provider", "serial"] {
        let mut stage = Stage::with(Config::default(), |conf| match config {
            "serial" => conf.load_balancer.provider_requires_serial_api_calls = true,
            _ => conf.load_balancer.lb_provider = "ovn".to_owned(),
        });
        let web = annotated(&service("web", 2), DRAIN.key, "1m");
        assert_eq!(stage.balancers.policy().drains(&web), None);
        stage.ensure(&mut web.clone()).await;
        assert_eq!(stage.told(), ["LoadBalancerAnnotationIgnored"], "{config}");
    }
}
