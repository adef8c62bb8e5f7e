//! Failures, waits and refusals: how long until the next try, and what a person is told.

use bowline_cloud::{CloudError, Doubt, ErrorClass};
use serde_json::json;

use super::*;

#[tokio::test(start_paused = true)]
async fn a_failure_backs_off_from_five_seconds_and_is_told() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    cloud.state().failures = (0..3).map(|_| CloudError::transient("no quota")).collect();
    let meanwhile = async {
        seconds(34).await;
        assert!(cloud.changes().is_empty(), "5 + 10 + 20 s of back-off");
        seconds(2).await;
        assert!(!cloud.changes().is_empty());
    };
    run(&cluster, &cloud, meanwhile).await;
    let (kind, reason, text) = cluster.events()[1].clone();
    assert_eq!((kind.as_str(), reason.as_str()), ("Warning", "SyncLoadBalancerFailed"));
    assert_eq!(text, "Error syncing load balancer: failed to ensure load balancer: no quota");
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_asks_for_42_seconds_gets_them_and_nobody_is_warned() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let busy = CloudError::new(ErrorClass::Throttled, "busy").retry_after(Duration::from_secs(42));
    cloud.state().failures.push(busy);
    let meanwhile = async {
        seconds(41).await;
        assert!(cloud.changes().is_empty());
        seconds(2).await;
        assert_eq!(cloud.changes().len(), 3);
        // The same holds when it is to go.
        let busy = CloudError::new(ErrorClass::Throttled, "busy").retry_after(Duration::from_secs(42));
        cloud.state().failures.push(busy);
        cluster.delete("web");
        seconds(41).await;
        assert_eq!(cloud.changes().len(), 3);
        seconds(2).await;
        assert!(cluster.get("web").is_none());
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cluster.events().iter().all(|(kind, ..)| kind == "Normal"));
}

#[tokio::test(start_paused = true)]
async fn a_user_who_edits_does_not_wait_for_the_back_off() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    cloud.state().failures = (0..5).map(|_| CloudError::transient("no")).collect();
    let meanwhile = async {
        seconds(80).await;
        assert!(cloud.changes().is_empty(), "in a back-off of 80 s");
        cluster.put("web", |s| s["metadata"]["annotations"]["mended"] = json!("yes"));
        seconds(1).await;
        assert_eq!(cloud.changes().len(), 3);
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn doubt_changes_nothing_and_keeps_a_deleted_service() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cloud.state().doubt = Some(Doubt::new("wrong password"));
        cluster.delete("web");
        seconds(600).await;
        assert!(cluster.get("web").is_some());
        assert_eq!(cloud.changes().len(), 3);
        cloud.state().doubt = None;
        seconds(300).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cluster.get("web").is_none());
    let events = cluster.events();
    assert!(
        events.iter().any(|(_, _, text)| text
            == "Error syncing load balancer: failed to check if load balancer exists before cleanup: wrong password"),
        "{events:?}"
    );
}

#[tokio::test(start_paused = true)]
async fn those_that_wait_are_polled_together_and_hold_no_worker() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().builds_slowly = true;
    for n in 0..30 {
        cluster.put(&format!("web-{n}"), |_| {});
    }
    let meanwhile = async {
        seconds(60).await;
        assert_eq!(cloud.changes().len(), 30, "all were begun at once");
        let polls = cloud.state().polls;
        assert!((14..=16).contains(&polls), "one for all every two seconds, then every five, not {polls}");
        cloud.state().builds_slowly = false;
        cloud.state().balancers.values_mut().for_each(|balancer| balancer.building = false);
        seconds(5).await;
        assert_eq!(cloud.changes().len(), 90);
        let polls = cloud.state().polls;
        seconds(60).await;
        assert_eq!(cloud.state().polls, polls, "nobody waits, nobody polls");
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cluster.events().iter().all(|(kind, ..)| kind == "Normal"));
}

#[tokio::test(start_paused = true)]
async fn a_long_wait_says_what_it_waits_for_once() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().builds_slowly = true;
    cluster.put("web", |_| {});
    run(&cluster, &cloud, seconds(1000)).await;
    let events = cluster.events();
    let waits: Vec<_> = events.iter().filter(|(_, reason, _)| reason == "WaitingForLoadBalancer").collect();
    assert_eq!(waits.len(), 1, "{events:?}");
    assert_eq!(waits[0].2, "Waiting for the cloud: amphora boots");
}

#[tokio::test(start_paused = true)]
async fn a_poisoned_service_delays_no_other() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().panic_for = Some("bad".into());
    for name in ["bad", "good", "other"] {
        cluster.put(name, |_| {});
    }
    run(&cluster, &cloud, seconds(4)).await;
    assert_eq!(cloud.changes().len(), 6, "{:?}", cloud.changes());
}

#[tokio::test(start_paused = true)]
async fn status_patch_errors_as_upstream_and_a_conflict_is_silent() {
    for (code, told) in [(409, 0), (500, 1), (404, 0)] {
        let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
        cluster.put("web", |s| s["metadata"]["finalizers"] = json!([FINALIZER]));
        cluster.fail_next_patches("services", [code]);
        run(&cluster, &cloud, seconds(30)).await;
        let failed = cluster.reasons().iter().filter(|reason| *reason == "SyncLoadBalancerFailed").count();
        assert_eq!(failed, told, "{code}");
        let status = &cluster.get("web").unwrap()["status"]["loadBalancer"]["ingress"];
        assert_eq!(status.is_null(), code == 404, "{code}: {status}");
    }
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_is_changed() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    run_with(&cluster, &cloud, ServiceOptions::default(), Arc::new(TestFence::closed()), seconds(60)).await;
    assert!(cloud.changes().is_empty());
    assert!(cluster.patches().is_empty());
    assert!(cluster.reasons().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_vanished_service_left_is_removed_in_the_end_although_the_cloud_fails_at_first() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cloud.state().failures.push(CloudError::transient("no"));
        cluster.wipe("web");
        seconds(4).await;
        let (_, reason, text) = cluster.events().last().unwrap().clone();
        assert_eq!(
            (reason.as_str(), text.as_str()),
            ("DeleteLoadBalancerFailed", "Error deleting load balancer: no")
        );
        seconds(2).await;
        assert!(cloud.state().balancers.is_empty());
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cluster.reasons().last().unwrap(), "DeletedLoadBalancer");
}

#[tokio::test(start_paused = true)]
async fn an_edit_while_the_cloud_is_slow_is_not_lost() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().slow_for = Some("s-web".into());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(10).await;
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        cluster.put_node("b");
        seconds(200).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes(), ["create s-web", "ports s-web [81]", "nodes s-web a,b"]);
}
