//! What is refused: told once, and looked at again by itself.

use serde_json::json;

use super::*;

#[tokio::test(start_paused = true)]
async fn what_cannot_be_done_is_told_once_and_done_with_the_users_edit() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |s| s["metadata"]["annotations"]["fake"] = json!("refuse"));
    let meanwhile = async {
        seconds(200).await;
        assert_eq!(cloud.state().looks.len(), 1);
        cluster.put("web", |s| s["metadata"]["annotations"]["fake"] = json!("fine"));
        seconds(10).await;
        assert_eq!(cloud.changes().len(), 3);
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cluster.events()[0].2, "Error syncing load balancer: no such flavor");
}

#[tokio::test(start_paused = true)]
async fn what_was_mended_in_the_cloud_is_seen_without_an_edit() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().refusal = Some("subnet s-1 is not there");
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(100).await;
        cloud.state().refusal = None;
        seconds(300).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes().len(), 3);
    assert_eq!(cluster.condition("web").unwrap()[1], "Ensured");
}

/// Found on a real cloud: a Service that a rule had forbidden to join went on waiting after the rule was reloaded.
#[tokio::test(start_paused = true)]
async fn what_is_refused_is_reconciled_when_the_configuration_is_replaced() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(10).await;
        let made = cloud.changes().len();
        cloud.state().refusal = Some("[Tenancy \"shop\"] does not allow it");
        cluster.put("other", |_| {});
        seconds(10).await;
        let observed = cloud.state().looks.len();
        cloud.state().refusal = None;
        cloud.reconfigure();
        seconds(10).await;
        assert_eq!(cloud.state().looks.get(observed), Some(&2), "both are observed at once");
        assert_eq!(cloud.changes().len(), 2 * made);
        assert_eq!(cluster.condition("other").unwrap()[1], "Ensured");
    };
    run(&cluster, &cloud, meanwhile).await;
}

/// Found by the simulation (seed 5505): who had been refused the load balancer of another learned only minutes later that it was gone.
#[tokio::test(start_paused = true)]
async fn what_is_refused_is_looked_at_when_something_else_goes() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    for one in ["one", "two"] {
        cluster.put(one, |_| {});
    }
    let meanwhile = async {
        seconds(10).await;
        cluster.put("web", |s| s["metadata"]["annotations"]["fake"] = json!("refuse"));
        seconds(10).await;
        let looks = cloud.state().looks.len();
        seconds(60).await;
        assert_eq!(cloud.state().looks.len(), looks, "nothing happens");
        cluster.delete("one");
        seconds(1).await;
        cluster.delete("two");
        seconds(20).await;
        let services: Vec<usize> = cloud.state().looks[looks..].to_vec();
        assert_eq!(
            services.iter().sum::<usize>(),
            5,
            "two looks at each that goes, one at the one that is refused: {services:?}"
        );
    };
    run(&cluster, &cloud, meanwhile).await;
}

/// How many events and writes there were.
fn said(cluster: &Cluster) -> (usize, usize) {
    (cluster.events().len(), cluster.patches().len())
}

#[tokio::test(start_paused = true)]
async fn looks_at_what_stays_refused_become_rare_and_say_nothing() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().refusal = Some("subnet s-1 is not there");
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(10).await;
        assert_eq!(said(&cluster), (1, 1));
        seconds(6 * 3600).await;
        assert_eq!(said(&cluster), (1, 1));
        // 5, 10, 20 minutes and then every half hour, a quarter more or less.
        let looks = cloud.state().looks.len();
        assert!((10..=18).contains(&looks), "{looks}");
        cloud.state().refusal = Some("floating IP f-1 is in use");
        seconds(2400).await;
        assert_eq!(said(&cluster), (2, 2), "other words are news");
        assert_eq!(
            cluster.condition("web").unwrap()[2],
            "Waiting for a change of the Service or of the cloud: floating IP f-1 is in use"
        );
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn refused_services_do_not_come_back_all_at_once() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cloud.state().refusal = Some("the quota is used up");
    for n in 0..40 {
        cluster.put(&format!("web-{n}"), |_| {});
    }
    let meanwhile = async {
        seconds(10).await;
        cloud.state().looks.clear();
        seconds(400).await;
        let looks = cloud.state().looks.clone();
        assert_eq!(looks.iter().sum::<usize>(), 40);
        assert!(looks.iter().all(|services| *services < 10), "{looks:?}");
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn a_removal_that_is_refused_is_tried_again_too() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(30).await;
        cloud.state().refusal = Some("the load balancer is locked");
        cluster.delete("web");
        seconds(30).await;
        assert!(cluster.get("web").is_some());
        cloud.state().refusal = None;
        seconds(400).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert!(cluster.get("web").is_none());
    assert_eq!(cloud.changes().last().unwrap(), "delete s-web");
}
