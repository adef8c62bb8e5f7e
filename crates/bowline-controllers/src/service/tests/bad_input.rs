//! Odd Services: each gets what it asks for or a clear word why not, and none blocks another.

use bowline_cloud::PAUSED;
use serde_json::{Value, json};

use super::*;

/// Runs with an odd Service beside a plain one, which must be served within seconds.
async fn beside_a_plain_one(name: &str, edit: impl FnOnce(&mut Value)) -> (Cluster, FakeCloud) {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put(name, edit);
    cluster.put("plain", |_| {});
    run(&cluster, &cloud, seconds(5)).await;
    assert!(cluster.condition("plain").is_some_and(|[status, ..]| status == "True"));
    (cluster, cloud)
}

fn ports(count: u16) -> Value {
    (1..=count).map(|port| json!({"protocol": "TCP", "port": port, "name": format!("p{port}")})).collect()
}

fn told(cluster: &Cluster, text: &str) -> bool {
    cluster.events().iter().any(|(_, _, message)| message.contains(text))
}

#[tokio::test(start_paused = true)]
async fn a_hundred_ports_are_asked_for_in_one_step() {
    let (cluster, cloud) = beside_a_plain_one("wide", |s| s["spec"]["ports"] = ports(100)).await;
    assert_eq!(cloud.state().balancers["s-wide"].ports.len(), 100);
    assert_eq!(cloud.changes().iter().filter(|change| change.contains("s-wide")).count(), 3);
    assert!(cluster.condition("wide").is_some_and(|[status, ..]| status == "True"));
}

#[tokio::test(start_paused = true)]
async fn more_ports_than_the_cloud_can_do_are_refused_in_its_own_words_and_can_be_mended() {
    let too_many = |s: &mut Value| {
        s["spec"]["ports"] = ports(100);
        s["metadata"]["annotations"]["fake"] = json!("refuse");
    };
    let (cluster, cloud) = beside_a_plain_one("wide", too_many).await;
    assert!(told(&cluster, "Error syncing load balancer: no such flavor"));
    let [status, reason, _] = cluster.condition("wide").unwrap();
    assert_eq!((status.as_str(), reason.as_str()), ("False", "Refused"));
    cluster.put("wide", |s| s["metadata"]["annotations"] = json!({}));
    run(&cluster, &cloud, seconds(5)).await;
    assert!(cluster.condition("wide").is_some_and(|[status, ..]| status == "True"));
}

#[tokio::test(start_paused = true)]
async fn the_longest_name_there_can_be_is_a_name_like_others() {
    let name = "a".repeat(63);
    let (cluster, _cloud) = beside_a_plain_one(&name, |_| {}).await;
    assert!(cluster.condition(&name).is_some_and(|[status, ..]| status == "True"));
    assert_eq!(cluster.reasons().iter().filter(|reason| *reason == "EnsuredLoadBalancer").count(), 2);
}

#[tokio::test(start_paused = true)]
async fn one_port_with_two_protocols_is_two_ports() {
    let both = json!([{"protocol": "TCP", "port": 53, "name": "tcp"}, {"protocol": "UDP", "port": 53, "name": "udp"}]);
    let (cluster, cloud) = beside_a_plain_one("dns", |s| s["spec"]["ports"] = both).await;
    assert_eq!(cloud.state().balancers["s-dns"].ports, [53, 53]);
    assert!(cluster.condition("dns").is_some_and(|[status, ..]| status == "True"));
}

#[tokio::test(start_paused = true)]
async fn a_pause_that_is_no_boolean_is_a_pause_and_its_words_are_told() {
    for value in ["yes", "tru", "rack 7 moves", "[]"] {
        let paused = |s: &mut Value| s["metadata"]["annotations"][PAUSED] = json!(value);
        let (cluster, cloud) = beside_a_plain_one("odd", paused).await;
        assert!(!cloud.state().balancers.contains_key("s-odd"), "{value}");
        assert!(told(&cluster, &format!("while its annotation {PAUSED} is {value:?}; remove it to go on")));
    }
    let (_, cloud) =
        beside_a_plain_one("odd", |s| s["metadata"]["annotations"][PAUSED] = json!("False")).await;
    assert!(cloud.state().balancers.contains_key("s-odd"));
}

#[tokio::test(start_paused = true)]
async fn a_condition_of_ours_that_somebody_garbled_is_put_right() {
    let garbled = |s: &mut Value| {
        s["status"]["conditions"] = json!([
            {"type": crate::view::SERVICE_CONDITION, "status": "Perhaps", "lastTransitionTime": START},
        ]);
    };
    let (cluster, _) = beside_a_plain_one("odd", garbled).await;
    assert!(cluster.condition("odd").is_some_and(|[status, ..]| status == "True"));
}
