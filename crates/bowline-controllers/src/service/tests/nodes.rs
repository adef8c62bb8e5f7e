//! Nodes come and go: one round for a burst, nothing for what does not matter.

use serde_json::json;

use super::super::nodes::{AUTOSCALER_TAINT, EXCLUDE_LABEL};
use super::*;
use crate::node::plan::UNINITIALIZED_TAINT;

/// Three settled Services on nodes a, b and c; then `edit`, and a while.
async fn after(edit: impl AsyncFnOnce(&Cluster, &FakeCloud)) -> (Cluster, FakeCloud, Vec<String>) {
    let (cluster, cloud) = (Cluster::with_nodes(&["a", "b", "c"]), FakeCloud::default());
    for (name, policy) in [("one", "Cluster"), ("two", "Local"), ("three", "Local")] {
        cluster.put(name, |s| s["spec"]["externalTrafficPolicy"] = json!(policy));
    }
    let meanwhile = async {
        seconds(30).await;
        assert_eq!(cloud.changes().len(), 9);
        cloud.state().changes.clear();
        cluster.clear_log();
        edit(&cluster, &cloud).await;
        seconds(60).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    let changes = cloud.changes();
    (cluster, cloud, changes)
}

#[tokio::test(start_paused = true)]
async fn a_new_node_is_given_to_every_load_balancer_whatever_its_traffic_policy() {
    let (cluster, cloud, changes) = after(async |cluster, _| cluster.put_node("d")).await;
    assert_eq!(changes, ["nodes s-one a,b,c,d", "nodes s-three a,b,c,d", "nodes s-two a,b,c,d"]);
    assert_eq!(cluster.reasons(), ["UpdatedLoadBalancer"; 3]);
    let metrics = cloud.state().metrics.clone().unwrap();
    assert_eq!((metrics.load_balancer_syncs.get(), metrics.node_sync_errors.get()), (3, 0));
}

#[tokio::test(start_paused = true)]
async fn a_label_by_which_a_service_chooses_nodes_brings_that_service_and_no_other() {
    let relabel = async |cluster: &Cluster, cloud: &FakeCloud| {
        cluster.put("choosy", |s| s["metadata"]["annotations"]["fake/label"] = json!("gpu"));
        seconds(30).await;
        cloud.state().looks.clear();
        for (label, looks) in [("pool", 0), ("gpu", 1)] {
            cluster.edit_node("a", |node| node["metadata"]["labels"][label] = json!("yes"));
            seconds(10).await;
            assert_eq!(cloud.state().looks.len(), looks, "{label}: {:?}", cloud.state().looks);
        }
    };
    let (_, cloud, _) = after(relabel).await;
    assert_eq!(cloud.state().looks, [1]);
}

#[tokio::test(start_paused = true)]
async fn a_burst_of_nodes_costs_one_round() {
    let burst = async |cluster: &Cluster, _: &FakeCloud| {
        for n in 0..20 {
            cluster.put_node(&format!("new-{n:02}"));
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    };
    let (_, _, changes) = after(burst).await;
    assert_eq!(changes.len(), 3, "{changes:?}");
}

#[tokio::test(start_paused = true)]
async fn who_comes_with_others_is_followed_by_more_and_who_comes_alone_is_not_waited_for() {
    let with_gaps = async |cluster: &Cluster, cloud: &FakeCloud| {
        cluster.put_node("alone");
        seconds(2).await;
        assert_eq!(cloud.changes().len(), 3);
        cloud.state().changes.clear();
        for (n, gap) in [500, 2500, 2500, 0].into_iter().enumerate() {
            cluster.put_node(&format!("new-{n}"));
            tokio::time::sleep(Duration::from_millis(gap)).await;
        }
    };
    let (.., changes) = after(with_gaps).await;
    assert_eq!(changes.len(), 3, "{changes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_not_initialised_is_waited_for_but_not_for_ever() {
    let tainted = |node: &mut serde_json::Value| {
        node["spec"] = json!({"taints": [{"key": UNINITIALIZED_TAINT, "effect": "NoSchedule"}]});
    };
    let known = |node: &mut serde_json::Value| node["spec"] = json!({"providerID": "fake://d"});
    let (_, cloud, changes) = after(async |cluster, cloud| {
        cloud.state().looks.clear();
        cluster.edit_node("d", tainted);
        seconds(6).await;
        cluster.edit_node("d", known);
    })
    .await;
    assert_eq!(changes, ["nodes s-one a,b,c,d", "nodes s-three a,b,c,d", "nodes s-two a,b,c,d"]);
    assert_eq!(cloud.state().looks, [3, 3], "before and after");
    let (.., changes) = after(async |cluster, cloud| {
        cluster.edit_node("d", tainted);
        seconds(14).await;
        assert!(cloud.changes().is_empty());
        seconds(2).await;
        assert_eq!(cloud.changes().len(), 3);
    })
    .await;
    assert_eq!(changes.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_its_turn_gets_the_newest_nodes_and_gets_its_turn_though_they_change_all_the_time() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let names: Vec<_> = (0..40).map(|n| format!("web-{n:02}")).collect();
    names.iter().for_each(|name| cluster.put(name, |_| {}));
    let options = ServiceOptions { steps_at_once: 1, workers: 1, ..ServiceOptions::default() };
    let meanwhile = async {
        seconds(30).await;
        cloud.state().changes.clear();
        // A second for each: the second node comes when fifteen have the first.
        cloud.state().steps_take = Duration::from_secs(1);
        cluster.put_node("b");
        seconds(15).await;
        cluster.put_node("c");
        seconds(100).await;
        let changes = cloud.changes();
        let of = |nodes: &str| changes.iter().filter(|change| change.ends_with(nodes)).count();
        assert!((10..20).contains(&of(" a,b")), "{changes:?}");
        assert_eq!(of(" a,b,c"), 40, "{changes:?}");

        cloud.state().changes.clear();
        for n in 0..40 {
            cluster.put_node(&format!("d-{n:02}"));
            seconds(4).await;
        }
        let changes = cloud.changes();
        let has_new = |name: &&String| changes.iter().any(|change| change.contains(&format!("s-{name} ")));
        assert_eq!(names.iter().filter(has_new).count(), 40, "{changes:?}");
    };
    run_with(&cluster, &cloud, options, Arc::new(Unfenced), meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn a_stream_of_nodes_that_does_not_end_is_not_waited_for() {
    let stream = async |cluster: &Cluster, cloud: &FakeCloud| {
        for n in 0..32 {
            cluster.put_node(&format!("new-{n:02}"));
            tokio::time::sleep(Duration::from_millis(500)).await;
        }
        assert!(!cloud.changes().is_empty(), "after fifteen seconds at the latest");
    };
    after(stream).await;
}

#[tokio::test(start_paused = true)]
async fn a_node_that_drains_is_dropped_with_the_next_change_and_not_before() {
    let drains = |node: &mut serde_json::Value| {
        node["spec"]["taints"] = json!([{"key": AUTOSCALER_TAINT, "effect": "NoSchedule"}]);
    };
    let (.., changes) = after(async |cluster, cloud| {
        cluster.edit_node("a", drains);
        seconds(600).await;
        assert!(cloud.changes().is_empty());
        cluster.put_node("d");
    })
    .await;
    assert_eq!(changes, ["nodes s-one b,c,d", "nodes s-three b,c,d", "nodes s-two b,c,d"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_excluded_from_the_start_changes_nothing() {
    let (.., changes) = after(async |cluster, _| {
        cluster.edit_node("d", |n| n["metadata"]["labels"] = json!({EXCLUDE_LABEL: ""}));
        seconds(10).await;
        cluster.delete_node("d");
    })
    .await;
    assert!(changes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn readiness_and_foreign_taints_change_nothing() {
    let (_, cloud, changes) = after(async |cluster, cloud| {
        cloud.state().looks.clear();
        cluster
            .edit_node("a", |n| n["status"] = json!({"conditions": [{"type": "Ready", "status": "False"}]}));
        cluster.edit_node("b", |n| n["spec"]["taints"] = json!([{"key": "any", "effect": "NoSchedule"}]));
        cluster.edit_node("b", |n| n["spec"]["unschedulable"] = json!(true));
        cluster.edit_node("c", |n| {
            n["spec"]["taints"] = json!([{"key": AUTOSCALER_TAINT, "effect": "NoSchedule"}]);
        });
    })
    .await;
    assert!(changes.is_empty());
    assert!(cloud.state().looks.is_empty(), "not even a look");
}

#[tokio::test(start_paused = true)]
async fn excluded_removed_and_replaced_nodes_are_seen() {
    let (.., changes) = after(async |cluster, _| {
        cluster.edit_node("c", |n| n["metadata"]["labels"] = json!({EXCLUDE_LABEL: ""}));
    })
    .await;
    assert_eq!(changes[0], "nodes s-one a,b");
    let (.., changes) = after(async |cluster, _| cluster.delete_node("a")).await;
    assert_eq!(changes[0], "nodes s-one b,c");
    let (_, cloud, _) = after(async |cluster, cloud| {
        cloud.state().looks.clear();
        cluster.restore_node("a", |n| n["spec"]["providerID"] = json!("fake://other"));
    })
    .await;
    assert_eq!(cloud.state().looks.iter().sum::<usize>(), 3, "another machine behind the name is a change");
}

#[tokio::test(start_paused = true)]
async fn a_failed_update_is_told_and_tried_again() {
    let (cluster, cloud, changes) = after(async |cluster, cloud| {
        cloud.state().failures.push(bowline_cloud::CloudError::transient("no"));
        cluster.put_node("d");
    })
    .await;
    assert_eq!(changes.len(), 3);
    assert_eq!(cluster.reasons().iter().filter(|reason| *reason == "UpdateLoadBalancerFailed").count(), 1);
    assert_eq!(cloud.state().metrics.as_ref().unwrap().node_sync_errors.get(), 1);
}

#[tokio::test(start_paused = true)]
async fn without_nodes_the_load_balancer_is_made_and_a_person_is_warned() {
    let (cluster, cloud) = (Cluster::with_nodes(&[]), FakeCloud::default());
    cluster.put("web", |_| {});
    run(&cluster, &cloud, seconds(60)).await;
    assert_eq!(cloud.changes(), ["create s-web", "ports s-web [80]"]);
    let reasons = ["EnsuringLoadBalancer", "UnAvailableLoadBalancer", "EnsuredLoadBalancer"];
    assert_eq!(cluster.reasons(), reasons);
}

#[tokio::test(start_paused = true)]
async fn a_slow_update_of_one_gives_no_other_an_old_set() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a", "b"]), FakeCloud::default());
    cluster.put("slow", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cloud.state().slow_for = Some("s-slow".into());
        cluster.put_node("c");
        seconds(5).await;
        cluster.put_node("d");
        cluster.put("quick", |_| {});
        seconds(10).await;
        let changes = cloud.changes();
        assert_eq!(changes.last().unwrap(), "nodes s-quick a,b,c,d", "{changes:?}");
        cloud.state().slow_for = None;
        seconds(120).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    let changes = cloud.changes();
    assert_eq!(changes.iter().filter(|change| change.contains("nodes s-quick")).count(), 1, "{changes:?}");
    assert_eq!(changes[changes.len() - 2..], ["nodes s-slow a,b,c", "nodes s-slow a,b,c,d"]);
}

/// Forty Services whose changes are made one after the other, a second each, on nodes a and b.
async fn one_after_the_other(edit: impl AsyncFnOnce(&Cluster, &FakeCloud)) -> Vec<String> {
    let (cluster, cloud) = (Cluster::with_nodes(&["a", "b"]), FakeCloud::default());
    (0..40).for_each(|n| cluster.put(&format!("web-{n:02}"), |_| {}));
    let options =
        ServiceOptions { steps_at_once: 1, workers: 1, slow_at_once: 0, ..ServiceOptions::default() };
    let meanwhile = async {
        seconds(30).await;
        cloud.state().changes.clear();
        cloud.state().steps_take = Duration::from_secs(1);
        edit(&cluster, &cloud).await;
    };
    run_with(&cluster, &cloud, options, Arc::new(Unfenced), meanwhile).await;
    cloud.changes()
}

#[tokio::test(start_paused = true)]
async fn while_more_nodes_come_those_whose_turn_has_not_come_wait_for_them() {
    let changes = one_after_the_other(async |cluster, _| {
        cluster.put_node("c");
        seconds(6).await;
        for n in 0..10 {
            cluster.put_node(&format!("d-{n}"));
            seconds(1).await;
        }
        seconds(100).await;
    })
    .await;
    let few = changes.iter().filter(|change| change.ends_with(" a,b,c")).count();
    assert!((1..=6).contains(&few), "five seconds, a second each: {changes:?}");
    assert_eq!(changes.len(), 40 + few, "{changes:?}");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_left_is_taken_out_though_others_come_all_the_time() {
    one_after_the_other(async |cluster, cloud| {
        cluster.delete_node("a");
        for n in 0..20 {
            seconds(3).await;
            cluster.put_node(&format!("d-{n}"));
        }
        let has_left = |one: &cloud::Balancer| one.nodes.contains("a");
        let late = cloud.state().balancers.values().filter(|one| has_left(one)).count();
        assert_eq!(late, 0, "of forty, after a minute");
        seconds(200).await;
    })
    .await;
}
