//! The published address of a Service becomes another one: a person is told, once for each change.

use serde_json::json;

use super::*;

const REASON: &str = "LoadBalancerAddressChanged";

fn told(cluster: &Cluster) -> Vec<String> {
    let events = cluster.events();
    let moved = events.iter().filter(|(_, reason, _)| reason == REASON);
    moved.map(|(kind, _, text)| format!("{kind}: {text}")).collect()
}

#[tokio::test(start_paused = true)]
async fn neither_the_first_address_nor_one_more_is_told_as_a_change() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(60).await;
        cloud.state().addresses = vec!["192.0.2.1", "2001:db8::1"];
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(60).await;
        assert_eq!(cluster.get("web").unwrap()["status"]["loadBalancer"]["ingress"][1]["ip"], "2001:db8::1");
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(told(&cluster), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_comes_back_with_another_address_is_told_once_with_the_reason() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(60).await;
        cloud.state().balancers.clear();
        cloud.state().addresses = vec!["192.0.2.9"];
        for time in 0..3 {
            cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81 + time));
            seconds(60).await;
        }
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(
        told(&cluster),
        [
            "Warning: The address changed from 192.0.2.1 to 192.0.2.9: it differs; they differ. DNS records and clients that use the old address \
          have to be changed"
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn an_address_that_changes_without_a_step_of_ours_is_told_and_so_is_the_way_back() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    run(&cluster, &cloud, seconds(60)).await;
    cloud.state().addresses = vec!["192.0.2.9"];
    let meanwhile = async {
        seconds(60).await;
        cloud.state().addresses = Vec::new();
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(60).await;
    };
    // Another process: it has performed no step.
    run(&cluster, &cloud, meanwhile).await;
    let told = told(&cluster);
    assert_eq!(told.len(), 2, "{told:?}");
    assert!(told[0].contains("from 192.0.2.1 to 192.0.2.9: it was changed in the cloud"), "{told:?}");
    assert!(told[1].contains("from 192.0.2.9 to 192.0.2.1: they differ"), "{told:?}");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_cannot_be_written_at_first_is_told_once_when_it_is() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    let meanwhile = async {
        seconds(60).await;
        cloud.state().addresses = vec!["192.0.2.9"];
        cluster.fail_next_patches("services", [500, 500]);
        cluster.put("web", |s| s["spec"]["ports"][0]["port"] = json!(81));
        seconds(120).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(told(&cluster).len(), 1, "{:?}", told(&cluster));
}
