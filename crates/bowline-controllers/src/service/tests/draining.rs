//! Nodes whose removal is announced, behind a load balancer that drains them and behind one that does not.

use serde_json::{Value, json};

use super::super::nodes::{AUTOSCALER_TAINT, EXCLUDE_LABEL};
use super::*;

/// Two settled Services on nodes a, b and c, of which one drains for a minute; then `edit`.
async fn after(edit: impl AsyncFnOnce(&Cluster, &FakeCloud)) -> (Cluster, FakeCloud) {
    let (cluster, cloud) = (Cluster::with_nodes(&["a", "b", "c"]), FakeCloud::default());
    cluster.put("drains", |s| s["metadata"]["annotations"] = json!({"fake/drain": "60"}));
    cluster.put("plain", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cloud.state().changes.clear();
        cluster.clear_log();
        edit(&cluster, &cloud).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    (cluster, cloud)
}

/// The autoscaler writes the Unix time into its taint; here, of so many seconds after the start.
fn tainted(after: i64) -> impl FnOnce(&mut Value) {
    let at = START.parse::<k8s_openapi::jiff::Timestamp>().unwrap().as_second() + after;
    move |node| {
        node["spec"]["taints"] =
            json!([{"key": AUTOSCALER_TAINT, "value": at.to_string(), "effect": "NoSchedule"}]);
    }
}

fn excluded(node: &mut Value) {
    node["metadata"]["labels"] = json!({EXCLUDE_LABEL: ""});
}

#[tokio::test(start_paused = true)]
async fn a_tainted_node_is_drained_at_once_and_taken_out_when_the_drain_is_over_and_others_are_not_disturbed()
{
    let (_, cloud) = after(async |cluster, cloud| {
        // It was tainted ten seconds ago: fifty are left.
        cluster.edit_node("a", tainted(20));
        seconds(45).await;
        assert_eq!(cloud.changes(), ["nodes s-drains b,c,~a"]);
        seconds(15).await;
    })
    .await;
    assert_eq!(cloud.changes(), ["nodes s-drains b,c,~a", "nodes s-drains b,c"]);
    let metrics = cloud.state().metrics.clone().unwrap();
    assert_eq!(metrics.load_balancer_syncs.get(), 2, "a change of nodes, both times");
}

#[tokio::test(start_paused = true)]
async fn an_excluded_node_is_drained_since_it_was_seen_and_where_nobody_drains_it_goes_at_once() {
    let (_, cloud) = after(async |cluster, cloud| {
        cluster.edit_node("a", excluded);
        seconds(58).await;
        assert_eq!(cloud.changes(), ["nodes s-drains b,c,~a", "nodes s-plain b,c"]);
        seconds(10).await;
    })
    .await;
    assert_eq!(cloud.changes()[2..], ["nodes s-drains b,c"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_comes_back_is_taken_back() {
    let (_, cloud) = after(async |cluster, _| {
        cluster.edit_node("a", tainted(30));
        seconds(20).await;
        cluster.edit_node("a", |node| node["spec"]["taints"] = json!([]));
        seconds(120).await;
    })
    .await;
    assert_eq!(cloud.changes(), ["nodes s-drains b,c,~a", "nodes s-drains a,b,c"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_is_not_drained_any_longer() {
    let (_, cloud) = after(async |cluster, cloud| {
        cluster.edit_node("a", tainted(30));
        seconds(10).await;
        // All Services are told of another change meanwhile, so that nothing is new to them when it goes.
        cluster.put_node("d");
        seconds(10).await;
        cloud.state().changes.clear();
        cluster.delete_node("a");
        seconds(10).await;
    })
    .await;
    assert_eq!(cloud.changes(), ["nodes s-drains b,c,d"]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_only_not_ready_has_announced_nothing() {
    let (_, cloud) = after(async |cluster, cloud| {
        cloud.state().looks.clear();
        cluster
            .edit_node("a", |n| n["status"] = json!({"conditions": [{"type": "Ready", "status": "False"}]}));
        seconds(120).await;
    })
    .await;
    assert!(cloud.changes().is_empty() && cloud.state().looks.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_shorter_drain_counts_at_once() {
    let (_, cloud) = after(async |cluster, _| {
        cluster.edit_node("a", tainted(30));
        seconds(20).await;
        cluster.put("drains", |s| s["metadata"]["annotations"] = json!({"fake/drain": "10"}));
        seconds(5).await;
    })
    .await;
    assert_eq!(cloud.changes(), ["nodes s-drains b,c,~a", "nodes s-drains b,c"]);
}
