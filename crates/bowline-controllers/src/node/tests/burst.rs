//! Many Nodes at once, and the budget of writes and look-ups.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Evidence, NodeView};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{FakeInstances, Lookup, Run, Server, UNINITIALIZED, instance, node, tainted};

fn script_for(names: &[String], latency: Duration) -> Arc<FakeInstances> {
    let script = FakeInstances::default();
    script.take(Lookup::Observe, latency);
    names.iter().for_each(|name| script.say(name, Evidence::Present(instance(name))));
    Arc::new(script)
}

fn names(count: usize) -> Vec<String> {
    (0..count).map(|at| format!("n{at:04}")).collect()
}

fn is_initialised(node: &Value) -> bool {
    node["spec"]["taints"].is_null() && node["status"]["addresses"][0]["address"] == "10.0.0.1"
}

#[tokio::test(start_paused = true)]
async fn nodes_that_wait_at_the_start_cost_one_look_up_and_two_writes_each() {
    let names = names(500);
    let server = Server::with(names.iter().map(|name| tainted(name)));
    let script = script_for(&names, Duration::from_secs(2));
    let metrics = Run::on(&server, &script).for_seconds(60).await;
    assert!(names.iter().all(|name| is_initialised(&server.node(name))));
    assert_eq!(script.observed().len(), 1);
    assert_eq!(server.patches().len(), 1_000);
    assert_eq!(metrics.node.failing.get(), 0);
}

#[tokio::test(start_paused = true)]
async fn nodes_that_join_one_after_the_other_within_a_moment_share_a_look_up() {
    let names = names(50);
    let server = Server::with([]);
    let script = script_for(&names, Duration::ZERO);
    let join = async {
        for name in &names {
            server.put(tainted(name));
            sleep(Duration::from_millis(1)).await;
        }
        sleep(Duration::from_secs(10)).await;
    };
    Run::on(&server, &script).during(join).await.unwrap();
    assert!(names.iter().all(|name| is_initialised(&server.node(name))));
    assert_eq!(script.observed().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn fifty_nodes_that_join_within_ten_seconds_cost_three_look_ups_and_nobody_waits_longer_than_six_seconds()
 {
    let names = names(50);
    let server = Server::with([]);
    let script = script_for(&names, Duration::from_millis(50));
    let join = async {
        for (place, name) in names.iter().enumerate() {
            server.put(tainted(name));
            sleep(Duration::from_millis(200)).await;
            if place == 0 {
                assert!(is_initialised(&server.node(name)), "the first is looked up at once");
            }
            if let Some(before) = place.checked_sub(30).and_then(|place| names.get(place)) {
                assert!(is_initialised(&server.node(before)), "{before} after six seconds");
            }
        }
        sleep(Duration::from_secs(2)).await;
        assert!(names.iter().all(|name| is_initialised(&server.node(name))), "two seconds after the last");
    };
    Run::on(&server, &script).during(join).await.unwrap();
    assert_eq!(script.observed().len(), 3, "{:?}", script.observed());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_joins_while_another_is_looked_for_in_vain_does_not_wait_for_it() {
    let server = Server::with([tainted("lost")]);
    let script = FakeInstances::with([("n", Evidence::Present(instance("n")))]);
    let join = async {
        sleep(Duration::from_secs(60)).await;
        server.put(tainted("n"));
        sleep(Duration::from_secs(1)).await;
        assert!(is_initialised(&server.node("n")));
    };
    Run::on(&server, &script).during(join).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn machines_of_nodes_that_were_initialised_or_refreshed_are_known_to_all_controllers() {
    let mut old = node("old");
    old["spec"]["providerID"] = json!("fake://old");
    let server = Server::with([tainted("new"), old, tainted("lost")]);
    let found = |name: &'static str| (name, Evidence::Present(instance(name)));
    let run = Run::on(&server, &FakeInstances::with([found("new"), found("old")]));
    let machines = run.harness.machines.clone();
    run.for_seconds(60).await;
    let view = |name: &str| NodeView {
        uid: format!("uid-{name}").as_str().into(),
        provider_id: Some(format!("fake://{name}").as_str().into()),
        ..NodeView::default()
    };
    assert!(machines.knows(&view("new")) && machines.knows(&view("old")));
    assert!(!machines.knows(&view("lost")), "the cloud never showed it");
}

#[tokio::test(start_paused = true)]
async fn a_batch_has_a_limit() {
    let names = names(10);
    let server = Server::with(names.iter().map(|name| tainted(name)));
    let script = script_for(&names, Duration::ZERO);
    let mut run = Run::on(&server, &script);
    run.options.largest_batch = 4;
    run.for_seconds(60).await;
    let sizes: Vec<_> = script.observed().iter().map(Vec::len).collect();
    assert_eq!(sizes, [4, 4, 2]);
}

#[tokio::test(start_paused = true)]
async fn a_node_is_never_schedulable_before_its_addresses_stand() {
    let server = Server::with([tainted("n")]);
    let before = server.resource_version();
    Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))])).for_seconds(60).await;
    let [(first, addresses), (second, rest)] = server.patches().try_into().unwrap();
    assert_eq!((first.as_str(), second.as_str()), ("/api/v1/nodes/n/status", "/api/v1/nodes/n"));
    assert_eq!(
        addresses,
        json!({
            "metadata": {"resourceVersion": before.to_string()},
            "status": {"addresses": [
                {"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "n"},
            ]},
        })
    );
    let operations = rest.as_array().unwrap();
    let version =
        json!({"op": "test", "path": "/metadata/resourceVersion", "value": (before + 1).to_string()});
    assert_eq!(operations.first(), Some(&version), "bound to the version that the first write made");
    assert_eq!(
        operations.last(),
        Some(&json!({"op": "remove", "path": "/spec/taints/0"})),
        "the taint goes last"
    );
    assert_eq!(server.events(), [("Synced".to_owned(), "Node synced successfully".to_owned())]);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_has_its_addresses_costs_one_write() {
    let mut waiting = tainted("n");
    waiting["status"]["addresses"] =
        json!([{"type": "InternalIP", "address": "10.0.0.1"}, {"type": "Hostname", "address": "n"}]);
    let server = Server::with([waiting]);
    Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))])).for_seconds(60).await;
    assert!(is_initialised(&server.node("n")));
    assert_eq!(server.patches().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn all_taints_of_the_key_go_whatever_their_effect() {
    let mut waiting = tainted("n");
    let foreign = json!({"key": "foreign", "effect": "NoSchedule"});
    waiting["spec"]["taints"] = json!([
        {"key": UNINITIALIZED, "effect": "NoSchedule"}, foreign, {"key": UNINITIALIZED, "effect": "NoExecute"},
    ]);
    let server = Server::with([waiting]);
    Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))])).for_seconds(60).await;
    assert_eq!(server.node("n")["spec"]["taints"], json!([foreign]));
}

#[tokio::test(start_paused = true)]
async fn a_node_without_any_label_gets_its_labels() {
    let mut waiting = tainted("n");
    waiting["metadata"].as_object_mut().unwrap().remove("labels");
    let server = Server::with([waiting]);
    Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))])).for_seconds(60).await;
    assert_eq!(server.node("n")["metadata"]["labels"]["topology.kubernetes.io/zone"], "z");
}

#[tokio::test(start_paused = true)]
async fn a_late_watch_leads_to_no_second_initialisation() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([("n", Evidence::Present(instance("n")))]);
    // The watch tells of our addresses, which brings the key back, but not yet of the taint.
    server.deliver_only(1);
    let late = async {
        sleep(Duration::from_secs(10)).await;
        server.catch_up();
        sleep(Duration::from_secs(5)).await;
    };
    Run::on(&server, &script).during(late).await.unwrap();
    assert!(is_initialised(&server.node("n")));
    assert_eq!(server.patches().len(), 2);
    assert_eq!(script.observed().len(), 1);
    assert_eq!(server.events().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_never_catches_up_is_believed_after_a_while() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([("n", Evidence::Present(instance("n")))]);
    server.deliver_only(1);
    Run::on(&server, &script).for_seconds(60).await;
    assert!(script.observed().len() > 1, "versions that go backwards must not freeze a node");
    assert!(is_initialised(&server.node("n")), "and the guard keeps what was written");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_tainted_again_is_initialised_again() {
    let server = Server::with([tainted("n")]);
    let script = FakeInstances::with([("n", Evidence::Present(instance("n")))]);
    let again = async {
        sleep(Duration::from_secs(5)).await;
        server.merge("n", &json!({"spec": {"taints": [{"key": UNINITIALIZED, "effect": "NoSchedule"}]}}));
        sleep(Duration::from_secs(5)).await;
    };
    Run::on(&server, &script).during(again).await.unwrap();
    assert!(is_initialised(&server.node("n")));
    assert_eq!(server.patches().len(), 3, "addresses, rest, and the taint alone");
}
