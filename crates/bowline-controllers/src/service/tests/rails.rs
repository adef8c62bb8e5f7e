//! The rails in the running controller: each holds back what does harm, and lets pass what is right.

use super::*;

#[tokio::test(start_paused = true)]
async fn losing_most_nodes_for_a_moment_takes_none_out_of_a_load_balancer() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a", "b", "c"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        ["a", "b", "c"].iter().for_each(|name| cluster.delete_node(name));
        seconds(4).await;
        assert_eq!(cluster.reasons().last().unwrap(), "LoadBalancerChangeHeld");
        ["a", "b", "c"].iter().for_each(|name| cluster.put_node(name));
        seconds(60).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes().len(), 3, "{:?}", cloud.changes());
}

#[tokio::test(start_paused = true)]
async fn nodes_that_stay_away_are_taken_out_after_a_second_look() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a", "b", "c"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        ["a", "b", "c"].iter().for_each(|name| cluster.delete_node(name));
        seconds(10).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes()[3..], ["nodes s-web "]);
    assert_eq!(cluster.reasons().last().unwrap(), "UnAvailableLoadBalancer");
}

#[tokio::test(start_paused = true)]
async fn steps_that_may_follow_at_once_need_no_look_in_between_and_one_that_fails_is_tried_again() {
    for failing in [false, true] {
        let (cluster, cloud) = (Cluster::with_nodes(&["a", "b"]), FakeCloud::default());
        cloud.state().all_at_once = true;
        cluster.put("web", |_| {});
        if failing {
            // The last first: the creation and the ports succeed, then the nodes fail.
            cloud.state().fails_at = Some("nodes");
        }
        run(&cluster, &cloud, seconds(60)).await;
        assert_eq!(cloud.changes(), ["create s-web", "ports s-web [80]", "nodes s-web a,b"]);
        // Nothing there, the new one, all of it; after a failure once more.
        assert_eq!(cloud.state().looks.len(), if failing { 4 } else { 3 });
    }
}

#[tokio::test(start_paused = true)]
async fn what_is_never_found_again_is_created_three_times_an_hour_at_most() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().forgetful = true;
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(3500).await;
        assert_eq!(cloud.changes(), ["create s-web"; 3]);
        assert!(cluster.reasons().iter().any(|reason| reason == "LoadBalancerCreateHeld"));
        seconds(300).await;
        assert!(cloud.changes().len() > 3, "an hour later it is tried again");
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn a_create_that_fails_for_some_minutes_still_succeeds_when_the_cloud_is_back() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    cloud.state().failures = (0..6).map(|_| bowline_cloud::CloudError::transient("502")).collect();
    run(&cluster, &cloud, seconds(400)).await;
    assert_eq!(cloud.changes().len(), 3);
}
