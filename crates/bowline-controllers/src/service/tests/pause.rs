//! SR-15 for the whole cluster: nothing is written while a person has paused it, and all is caught up with afterwards.

use bowline_cloud::{CloudError, Doubt, ErrorClass};
use serde_json::json;

use super::*;

fn paused_events(cluster: &Cluster) -> usize {
    cluster.reasons().iter().filter(|reason| *reason == "LoadBalancerPaused").count()
}

#[tokio::test(start_paused = true)]
async fn while_the_cluster_is_paused_nothing_is_written_and_afterwards_everything_is_at_once() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let fence = TestFence::default();
    for name in ["edited", "deleted", "vanished"] {
        cluster.put(name, |_| {});
    }
    let meanwhile = async {
        seconds(30).await;
        fence.pause("rack 7 moves");
        cluster.clear_log();
        let (changes, looks) = (cloud.changes().len(), cloud.state().looks.len());
        cluster.put("new", |_| {});
        cluster.put("edited", |s| s["spec"]["ports"][0]["port"] = json!(81));
        cluster.delete("deleted");
        cluster.wipe("vanished");
        seconds(3600).await;
        assert_eq!(cloud.changes().len(), changes, "{:?}", cloud.changes());
        assert!(cluster.patches().is_empty(), "{:?}", cluster.patches());
        assert!(cloud.state().looks.len() > looks, "looks go on");
        assert_eq!(paused_events(&cluster), 4, "each is told once");
        let metrics = cloud.state().metrics.clone().unwrap();
        assert_eq!(metrics.times_held_back("pause"), 4);
        fence.resume();
        seconds(5).await;
        assert!(cluster.get("deleted").is_none());
        assert!(!cloud.state().balancers.contains_key("s-vanished"));
        assert_eq!(cloud.state().balancers["s-edited"].ports, [81]);
        assert!(cluster.condition("new").is_some());
    };
    run_with(&cluster, &cloud, ServiceOptions::default(), Arc::new(fence.clone()), meanwhile).await;
    let (_, _, text) =
        cluster.events().iter().find(|(_, reason, _)| reason == "LoadBalancerPaused").unwrap().clone();
    assert!(text.contains("rack 7 moves"), "{text}");
    assert!(cluster.events().iter().all(|(kind, ..)| kind == "Normal"));
}

#[tokio::test(start_paused = true)]
async fn what_is_as_it_should_be_does_not_notice_a_pause() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let fence = TestFence::default();
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        fence.pause("yes");
        cluster.edit_node("a", |n| n["metadata"]["labels"] = json!({"any": "thing"}));
        seconds(48 * 3600).await;
        assert_eq!(paused_events(&cluster), 0);
    };
    run_with(&cluster, &cloud, ServiceOptions::default(), Arc::new(fence.clone()), meanwhile).await;
    assert!(cloud.state().looks.len() > 3, "drift is still looked for");
}

#[tokio::test(start_paused = true)]
async fn drift_is_counted_once_during_a_pause_and_until_it_is_repaired() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let fence = TestFence::default();
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        fence.pause("yes");
        cloud.state().balancers.get_mut("s-web").unwrap().ports = vec![22];
        seconds(48 * 3600).await;
        let metrics = cloud.state().metrics.clone().unwrap();
        let drift = || (metrics.load_balancer_drift.get(), metrics.load_balancers_drifted.get());
        assert_eq!(drift(), (1, 1));
        fence.resume();
        seconds(24 * 3600).await;
        assert_eq!(drift(), (1, 0));
    };
    run_with(&cluster, &cloud, ServiceOptions::default(), Arc::new(fence.clone()), meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_begins_in_the_middle_of_the_work_stops_it_between_two_steps() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let fence = TestFence::default();
    cloud.state().slow_for = Some("s-web".into());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(10).await;
        fence.pause("yes");
        seconds(600).await;
        assert_eq!(cloud.changes(), ["create s-web"], "what had begun is finished");
        cloud.state().slow_for = None;
        fence.resume();
        seconds(5).await;
        assert_eq!(cloud.changes().len(), 3);
    };
    run_with(&cluster, &cloud, ServiceOptions::default(), Arc::new(fence.clone()), meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn what_a_closed_fence_held_runs_as_soon_as_it_is_open_and_not_after_its_back_off() {
    let lost = CloudError::new(ErrorClass::Unauthenticated, "401");
    for doubt in [None, Some(Doubt::from(&lost))] {
        let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
        let gate = TestFence::default();
        gate.close();
        cloud.state().doubt = doubt;
        cluster.put("web", |_| {});
        let meanwhile = async {
            seconds(2000).await;
            assert!(cloud.changes().is_empty());
            cloud.state().doubt = None;
            gate.open();
            seconds(5).await;
            assert_eq!(cloud.changes().len(), 3);
        };
        run_with(&cluster, &cloud, ServiceOptions::default(), Arc::new(gate.clone()), meanwhile).await;
    }
}
