//! One namespace's thousand changes, and another's single one.

use serde_json::{Value, json};

use super::cloud::Balancer;
use super::*;

fn port(port: u16) -> impl FnOnce(&mut Value) {
    move |service| service["spec"]["ports"][0]["port"] = json!(port)
}

/// A Service that has what it asks for since long ago.
pub(super) fn finished(cluster: &Cluster, cloud: &FakeCloud, namespace: &str, name: &str) {
    cluster.put_in(namespace, name, |s| {
        s["metadata"]["finalizers"] = json!([FINALIZER]);
        s["status"]["loadBalancer"] = json!({"ingress": [{"ip": "192.0.2.1"}]});
    });
    let balancer =
        Balancer { ports: vec![80], nodes: ["a".to_owned()].into(), building: false, broken: None };
    cloud.state().balancers.insert(format!("s-{name}"), balancer);
}

#[tokio::test(start_paused = true)]
async fn an_edit_waits_for_one_lot_of_another_namespaces_thousand_not_for_all_of_them() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let names: Vec<_> = (0..1000).map(|n| format!("noisy-{n}")).collect();
    names.iter().for_each(|name| finished(&cluster, &cloud, "noisy", name));
    finished(&cluster, &cloud, "quiet", "web");
    let options = ServiceOptions { workers: 1, ..ServiceOptions::default() };
    let lot = options.batch + options.steps_at_once;
    let meanwhile = async {
        seconds(10).await;
        assert!(cloud.changes().is_empty());
        names.iter().for_each(|name| cluster.put_in("noisy", name, port(81)));
        tokio::time::sleep(Duration::from_millis(5)).await;
        cluster.put_in("quiet", "web", port(81));
        seconds(120).await;
    };
    run_with(&cluster, &cloud, options, Arc::new(Unfenced), meanwhile).await;
    let changes = cloud.changes();
    assert_eq!(changes.len(), 1001);
    let place = changes.iter().position(|change| change == "ports s-web [81]").unwrap();
    assert!(place <= lot, "behind {place} of 1000, with lots of {lot}");
}

#[tokio::test(start_paused = true)]
async fn an_edit_waits_for_no_round_of_nodes() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let names: Vec<_> = (0..1000).map(|n| format!("web-{n:03}")).collect();
    names.iter().for_each(|name| finished(&cluster, &cloud, "shop", name));
    let meanwhile = async {
        seconds(10).await;
        // Four minutes for all, 64 at once and some aside.
        cloud.state().steps_take = Duration::from_secs(60);
        cluster.put_node("b");
        seconds(20).await;
        cloud.state().steps_take = Duration::ZERO;
        cluster.put_in("shop", "web-999", port(81));
        cluster.put("new", |_| {});
        seconds(3).await;
        let balancers = cloud.state().balancers.clone();
        let old = balancers.values().filter(|one| !one.nodes.contains("b")).count();
        assert!(old > 500, "{old} wait for the round");
        assert_eq!(balancers["s-web-999"].ports, [81]);
        assert_eq!(balancers["s-new"].nodes, ["a".to_owned(), "b".to_owned()].into());
        seconds(300).await;
        assert!(cloud.state().balancers.values().all(|one| one.nodes.len() == 2));
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(cloud.changes().iter().filter(|change| change.starts_with("nodes ")).count(), 1001);
}
