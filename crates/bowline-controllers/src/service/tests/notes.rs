//! What a provider notes on a Service: when it is written, in how many writes, and that it causes no run of its own.

use bowline_cloud::{CloudError, Doubt};
use serde_json::{Value, json};

use super::*;

fn noting(id: &'static str) -> (Cluster, FakeCloud) {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().noted_as = Some(id);
    (cluster, cloud)
}

fn annotations(cluster: &Cluster, name: &str) -> Value {
    // The API server keeps no empty map.
    match cluster.get(name).unwrap()["metadata"]["annotations"].clone() {
        Value::Null => json!({}),
        annotations => annotations,
    }
}

fn noted(id: &str, ports: &str) -> Value {
    json!({"fake/id": id, "fake/ports": ports})
}

fn writes(cluster: &Cluster) -> usize {
    cluster.patches().len()
}

#[tokio::test(start_paused = true)]
async fn what_is_noted_comes_with_the_address_in_the_one_write_and_causes_no_other_look() {
    let mut looks = Vec::new();
    for id in [None, Some("lb-1")] {
        let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
        cloud.state().noted_as = id;
        cluster.put("web", |_| {});
        run(&cluster, &cloud, seconds(60)).await;
        looks.push(cloud.state().looks.len());
        let patches = cluster.patches();
        assert_eq!(patches.len(), 2, "finalizer, and all the rest: {patches:?}");
        assert!(patches[1]["status"]["loadBalancer"].is_object());
        assert_eq!(patches[1]["metadata"].get("annotations").is_some(), id.is_some());
        assert_eq!(cluster.reasons(), ["EnsuringLoadBalancer", "EnsuredLoadBalancer"]);
        let expected = id.map_or(json!({}), |id| noted(id, "1"));
        assert_eq!(annotations(&cluster, "web"), expected);
    }
    assert_eq!(looks[0], looks[1], "our own annotations are no edit");
}

#[tokio::test(start_paused = true)]
async fn a_user_who_changes_or_removes_what_is_noted_has_edited_the_service() {
    let (cluster, cloud) = noting("lb-1");
    cluster.put("web", |_| {});
    let edits: [fn(&mut Value); 3] = [
        |s| s["metadata"]["annotations"]["fake/id"] = json!("mine"),
        |s| drop(s["metadata"]["annotations"].as_object_mut().unwrap().remove("fake/id")),
        |s| s["metadata"]["annotations"] = json!({}),
    ];
    let meanwhile = async {
        seconds(30).await;
        for edit in edits {
            let (looks, before) = (cloud.state().looks.len(), writes(&cluster));
            cluster.put("web", edit);
            seconds(30).await;
            assert_eq!((cloud.state().looks.len(), writes(&cluster)), (looks + 1, before + 1));
            assert_eq!(annotations(&cluster, "web"), noted("lb-1", "1"));
        }
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes().len(), 3, "nothing had to be changed in the cloud");
}

#[tokio::test(start_paused = true)]
async fn an_edit_that_changes_what_is_noted_costs_one_write() {
    let (cluster, cloud) = noting("lb-1");
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.put("web", |s| {
            s["spec"]["ports"] = json!([{"name": "a", "port": 80}, {"name": "b", "port": 81}]);
        });
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(annotations(&cluster, "web"), noted("lb-1", "2"));
    assert_eq!(writes(&cluster), 3, "{:?}", cluster.patches());
}

#[tokio::test(start_paused = true)]
async fn a_service_that_stays_loses_its_notes_in_the_one_write_that_releases_it() {
    let (cluster, cloud) = noting("lb-1");
    cluster.put("web", |s| s["metadata"]["annotations"] = json!({"theirs": "x"}));
    let meanwhile = async {
        seconds(30).await;
        cluster.clear_log();
        cluster.put("web", |s| s["spec"]["type"] = json!("ClusterIP"));
        seconds(30).await;
        assert_eq!(annotations(&cluster, "web"), json!({"theirs": "x"}));
        assert_eq!(writes(&cluster), 1, "{:?}", cluster.patches());
        cluster.put("web", |s| s["spec"]["type"] = json!("LoadBalancer"));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(annotations(&cluster, "web")["fake/id"], "lb-1");
}

#[tokio::test(start_paused = true)]
async fn a_failure_notes_what_is_there_once_with_its_condition() {
    let (cluster, cloud) = noting("lb-1");
    cloud.state().builds_slowly = true;
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(5).await;
        assert_eq!(annotations(&cluster, "web"), json!({}), "nobody was told anything yet");
        cloud.state().failures = (0..4).map(|_| CloudError::transient("no quota")).collect();
        cloud.state().balancers.values_mut().for_each(|balancer| balancer.building = false);
        seconds(4).await;
        assert_eq!(cloud.state().failures.len(), 3, "what we wrote is no reason for another try");
        assert_eq!(annotations(&cluster, "web"), noted("lb-1", "0"));
        assert_eq!(cluster.condition("web").unwrap()[1], "SyncFailed");
        assert_eq!(writes(&cluster), 2, "{:?}", cluster.patches());
        seconds(30).await;
        assert_eq!((cloud.state().failures.len(), writes(&cluster)), (1, 2));
        // Other content, and the condition is no news.
        cloud.state().noted_as = Some("lb-2");
        seconds(120).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    let patches = cluster.patches();
    assert_eq!(patches.len(), 4, "{patches:?}");
    assert_eq!(patches[2]["metadata"]["annotations"], json!({"fake/id": "lb-2"}));
    assert!(patches[2].get("status").is_none());
    assert_eq!(annotations(&cluster, "web"), noted("lb-2", "1"));
}

#[tokio::test(start_paused = true)]
async fn a_wait_that_is_told_and_a_refusal_note_what_is_there_too() {
    let (cluster, cloud) = noting("lb-1");
    cloud.state().builds_slowly = true;
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(20).await;
        assert_eq!(annotations(&cluster, "web"), json!({}));
        seconds(600).await;
        assert_eq!(annotations(&cluster, "web"), noted("lb-1", "0"));
        assert_eq!(writes(&cluster), 2, "{:?}", cluster.patches());
        cluster.clear_log();
        cloud.state().noted_as = Some("lb-2");
        cluster.put("web", |s| s["metadata"]["annotations"]["fake"] = json!("refuse"));
        seconds(600).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(annotations(&cluster, "web")["fake/id"], "lb-2");
    assert_eq!(cluster.condition("web").unwrap()[1], "Refused");
    assert_eq!(writes(&cluster), 1, "{:?}", cluster.patches());
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_seen_is_not_noted() {
    let (cluster, cloud) = noting("lb-1");
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cloud.state().noted_as = Some("lb-2");
        cloud.state().doubt = Some(Doubt::new("wrong password"));
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(60).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cluster.condition("web").unwrap()[1], "CloudNotObserved");
    assert_eq!(annotations(&cluster, "web"), noted("lb-1", "1"));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_fails_is_made_again_once() {
    for code in [409, 500] {
        let (cluster, cloud) = noting("lb-1");
        cluster.put("web", |s| s["metadata"]["finalizers"] = json!([FINALIZER]));
        cluster.fail_next_patches("services", [code]);
        run(&cluster, &cloud, seconds(60)).await;
        let mut patches = cluster.patches();
        assert_eq!(patches.len(), 2, "{code}: {patches:?}");
        for patch in &mut patches {
            patch["status"]["conditions"][0]["lastTransitionTime"] = json!("some time");
        }
        assert_eq!(patches[0], patches[1], "{code}");
        assert_eq!(annotations(&cluster, "web"), noted("lb-1", "1"), "{code}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_we_could_not_write_is_an_edit_if_somebody_else_writes_it() {
    let (cluster, cloud) = noting("lb-1");
    cluster.put("web", |s| s["metadata"]["finalizers"] = json!([FINALIZER]));
    cluster.fail_next_patches("services", [404]);
    let meanwhile = async {
        seconds(30).await;
        let looks = cloud.state().looks.len();
        assert_eq!(writes(&cluster), 1, "it is said to be gone");
        cluster.put("web", |s| s["metadata"]["annotations"] = noted("lb-1", "1"));
        seconds(30).await;
        assert_eq!(cloud.state().looks.len(), looks + 1);
    };
    run(&cluster, &cloud, meanwhile).await;
    let patches = cluster.patches();
    assert!(patches[1]["status"]["loadBalancer"].is_object(), "{patches:?}");
    assert!(patches[1]["metadata"].get("annotations").is_none(), "{patches:?}");
}

#[tokio::test(start_paused = true)]
async fn a_new_leader_finds_the_notes_and_writes_nothing() {
    let (cluster, cloud) = noting("lb-1");
    (0..20).for_each(|n| cluster.put(&format!("web-{n}"), |_| {}));
    run(&cluster, &cloud, seconds(30)).await;
    cluster.clear_log();
    run(&cluster, &cloud, seconds(60)).await;
    assert!(cluster.patches().is_empty(), "{:?}", cluster.patches());
    // One that notes something else writes that, once, and tells nobody.
    cloud.state().noted_as = Some("lb-2");
    let told = cluster.reasons().len();
    run(&cluster, &cloud, seconds(60)).await;
    assert_eq!((writes(&cluster), cluster.reasons().len()), (20, told));
}

#[tokio::test(start_paused = true)]
async fn while_the_cluster_is_paused_nothing_is_noted() {
    let (cluster, cloud) = noting("lb-1");
    let fence = TestFence::default();
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        fence.pause("rack 7 moves");
        let before = writes(&cluster);
        cluster.put("web", |s| s["metadata"]["annotations"] = json!({}));
        seconds(3600).await;
        assert_eq!((writes(&cluster), annotations(&cluster, "web")), (before, json!({})));
        fence.resume();
        seconds(5).await;
        assert_eq!((writes(&cluster), annotations(&cluster, "web")), (before + 1, noted("lb-1", "1")));
    };
    run_with(&cluster, &cloud, ServiceOptions::default(), Arc::new(fence.clone()), meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn what_the_informer_does_not_show_yet_is_not_written_again_and_is_no_edit_when_it_comes() {
    let (cluster, cloud) = noting("lb-1");
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cluster.withhold();
        cloud.state().noted_as = Some("lb-2");
        cluster.put_node("b");
        seconds(10).await;
        assert_eq!(writes(&cluster), 3);
        cluster.put_node("c");
        seconds(10).await;
        assert_eq!(cloud.state().balancers["s-web"].nodes.len(), 3);
        assert_eq!(writes(&cluster), 3, "{:?}", cluster.patches());
        let looks = cloud.state().looks.len();
        cluster.deliver();
        seconds(10).await;
        assert_eq!(cloud.state().looks.len(), looks);
        // From now on it is a user's.
        cluster.put("web", |s| s["metadata"]["annotations"]["fake/id"] = json!("mine"));
        seconds(10).await;
        assert_eq!(cloud.state().looks.len(), looks + 1);
        cluster.put_node("d");
        seconds(10).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(annotations(&cluster, "web"), noted("lb-2", "1"));
    let metrics = cloud.state().metrics.clone().unwrap();
    assert_eq!(metrics.load_balancer_syncs.get(), 3, "a change of nodes is about nodes only");
}
