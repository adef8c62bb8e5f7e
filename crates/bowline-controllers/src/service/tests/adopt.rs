//! Adopt-only mode: nothing that users reach is made, deleted or exchanged; what is there is adopted.

use std::collections::BTreeSet;

use serde_json::json;

use super::cloud::Balancer;
use super::*;

fn adopting() -> ServiceOptions {
    ServiceOptions { adopt_only: true, ..ServiceOptions::default() }
}

async fn adopt(cluster: &Cluster, cloud: &FakeCloud, meanwhile: impl Future<Output = ()>) {
    run_with(cluster, cloud, adopting(), Arc::new(Unfenced), meanwhile).await;
}

fn told(cluster: &Cluster) -> usize {
    cluster.reasons().iter().filter(|reason| *reason == "LoadBalancerNotAdopted").count()
}

/// The address that this cloud gives.
fn served(address: &str) -> serde_json::Value {
    json!({"loadBalancer": {"ingress": [{"ip": address, "ipMode": "VIP"}]}})
}

#[tokio::test(start_paused = true)]
async fn in_adopt_only_mode_nothing_is_made_and_it_is_told_once() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    adopt(&cluster, &cloud, seconds(3600)).await;
    assert!(cloud.changes().is_empty(), "{:?}", cloud.changes());
    assert_eq!(told(&cluster), 1, "{:?}", cluster.reasons());
    assert_eq!(cloud.state().metrics.clone().unwrap().times_held_back("adopt-only"), 1);
    let [status, reason, message] = cluster.condition("web").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "NotAdopted"));
    assert!(message.contains("load balancer s-web would be created") && message.contains("--adopt-only"));
    assert!(cloud.state().looks.len() > 30, "it is looked for, every minute");
    run(&cluster, &cloud, seconds(30)).await;
    assert_eq!(cloud.changes().len(), 3, "without the mode it is made");
    assert_eq!(cluster.condition("web").unwrap()[1], "Ensured");
}

#[tokio::test(start_paused = true)]
async fn in_adopt_only_mode_what_is_there_is_adopted() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a", "b"]), FakeCloud::default());
    cloud.state().noted_as = Some("85a2");
    let (ports, nodes) = (vec![80], BTreeSet::from(["a".to_owned()]));
    cloud.state().balancers.insert("s-web".into(), Balancer { ports, nodes, building: false, broken: None });
    cluster.put("web", |service| service["status"] = served("192.0.2.1"));
    adopt(&cluster, &cloud, seconds(60)).await;
    assert_eq!(cloud.changes(), ["nodes s-web a,b"]);
    let service = cluster.get("web").unwrap();
    assert_eq!(service["metadata"]["finalizers"], json!([FINALIZER]));
    assert_eq!(service["metadata"]["annotations"]["fake/id"], "85a2");
    assert_eq!(told(&cluster), 0);
}

#[tokio::test(start_paused = true)]
async fn in_adopt_only_mode_a_service_keeps_the_address_that_it_shows() {
    let (cluster, cloud) = (Cluster::with_nodes(&[]), FakeCloud::default());
    cloud.state().noted_as = Some("85a2");
    cloud.state().balancers.insert("s-web".into(), Balancer { ports: vec![80], ..Balancer::default() });
    cluster.put("web", |service| service["status"] = served("192.0.2.77"));
    adopt(&cluster, &cloud, seconds(600)).await;
    let service = cluster.get("web").unwrap();
    assert_eq!(service["status"]["loadBalancer"]["ingress"][0]["ip"], "192.0.2.77");
    assert!(service["metadata"]["annotations"].is_null(), "nothing is noted of it");
    let [_, _, message] = cluster.condition("web").unwrap();
    assert!(message.contains("would become 192.0.2.1 in place of 192.0.2.77"), "{message}");
    run(&cluster, &cloud, seconds(30)).await;
    assert_eq!(cluster.get("web").unwrap()["status"]["loadBalancer"]["ingress"][0]["ip"], "192.0.2.1");
}

#[tokio::test(start_paused = true)]
async fn in_adopt_only_mode_a_deletion_waits() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web", |_| {});
    cluster.put("lost", |service| service["metadata"]["finalizers"] = json!([FINALIZER]));
    run(&cluster, &cloud, seconds(30)).await;
    let changes = cloud.changes().len();
    // One of which nothing is found: under another name it may be there.
    cloud.state().balancers.remove("s-lost");
    let meanwhile = async {
        cluster.delete("web");
        cluster.delete("lost");
        seconds(1800).await;
    };
    adopt(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes().len(), changes, "{:?}", cloud.changes());
    for name in ["web", "lost"] {
        assert_eq!(cluster.condition(name).unwrap()[1], "NotAdopted", "{name}");
    }
    assert_eq!(told(&cluster), 2);
    run(&cluster, &cloud, seconds(30)).await;
    assert!(cluster.get("web").is_none() && cluster.get("lost").is_none());
    assert!(cloud.state().balancers.is_empty());
}
