//! Addresses and labels of Nodes that are initialised.

use std::time::Duration;

use AddressKind::{Hostname, InternalIP};
use bowline_cloud::{AddressKind, Doubt, ErrorClass, Evidence, Instance, NodeView, Proof};
use serde_json::json;
use tokio::time::sleep;

use super::{FakeInstances, Run, Server, addresses, instance, node, tainted};
use crate::node::addresses::PROVIDED_NODE_IP;

fn with_addresses(list: &[(AddressKind, &str)]) -> Evidence<Instance> {
    Evidence::Present(Instance { addresses: addresses(list), ..instance("n") })
}

#[tokio::test(start_paused = true)]
async fn addresses_follow_the_cloud_at_the_next_pass() {
    let server = Server::with([node("n")]);
    let script = FakeInstances::with([("n", with_addresses(&[(InternalIP, "10.0.0.1")]))]);
    let moves = async {
        sleep(Duration::from_secs(10)).await;
        assert_eq!(
            server.node("n")["status"]["addresses"][0]["address"],
            "10.0.0.1",
            "the first pass is at once"
        );
        script.say("n", with_addresses(&[(InternalIP, "10.0.0.2")]));
        sleep(Duration::from_secs(280)).await;
        assert_eq!(server.patches().len(), 1, "not yet");
        sleep(Duration::from_secs(20)).await;
    };
    Run::on(&server, &script).during(moves).await.unwrap();
    let wanted = json!(addresses(&[(InternalIP, "10.0.0.2"), (Hostname, "n")]));
    assert_eq!(server.node("n")["status"]["addresses"], wanted);
    let (path, body) = server.patches().remove(1);
    assert_eq!(path, "/api/v1/nodes/n/status");
    assert_eq!(body, json!({"metadata": {"uid": "uid-n"}, "status": {"addresses": wanted}}));
}

#[tokio::test(start_paused = true)]
async fn a_quiet_hour_of_dual_stack_nodes_costs_no_write_and_one_look_up_for_each_pass() {
    let dual = [(InternalIP, "10.0.0.1"), (InternalIP, "fd00::1"), (Hostname, "n")];
    let mut there = node("n");
    there["status"]["addresses"] = json!(addresses(&dual));
    let server = Server::with([there]);
    let script = FakeInstances::with([("n", with_addresses(&dual))]);
    Run::on(&server, &script).for_seconds(3_599).await;
    assert!(server.patches().is_empty());
    assert_eq!(script.observed().len(), 12);
}

#[tokio::test(start_paused = true)]
async fn not_knowing_changes_nothing() {
    for found in [
        Evidence::Unknown(Doubt::new("401 from Keystone")),
        Evidence::Absent(Proof::new("Nova answered 404")),
        with_addresses(&[]),
    ] {
        let server = Server::with([node("n")]);
        Run::on(&server, &FakeInstances::with([("n", found.clone())])).for_seconds(1_000).await;
        assert!(server.patches().is_empty() && server.events().is_empty(), "{found:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_provided_ip_that_does_not_fit_is_told_and_the_addresses_stay() {
    let mut wrong = node("n");
    wrong["metadata"]["annotations"] = json!({PROVIDED_NODE_IP: "10.0.0.9"});
    let server = Server::with([wrong]);
    Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))]))
        .for_seconds(1_000)
        .await;
    assert!(server.patches().is_empty());
    let events = server.events();
    assert_eq!((events.len(), events[0].0.as_str()), (1, "NodeAddressesNotUpdated"));
    assert!(events[0].1.contains("asks for 10.0.0.9"), "{events:?}");
}

#[tokio::test(start_paused = true)]
async fn a_write_that_failed_is_not_put_off_to_the_next_period() {
    let server = Server::with([node("n")]);
    server.fail_next([500]);
    Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))])).for_seconds(70).await;
    assert_eq!(server.node("n")["status"]["addresses"][0]["address"], "10.0.0.1");
}

#[tokio::test(start_paused = true)]
async fn labels_follow_the_cloud_only_if_asked_to() {
    for (asked, zone) in [(false, None), (true, Some("z"))] {
        let server = Server::with([node("n")]);
        let mut run = Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))]));
        run.options.reconcile_labels = asked;
        run.for_seconds(1_000).await;
        assert_eq!(server.node("n")["metadata"]["labels"]["topology.kubernetes.io/zone"].as_str(), zone);
        assert_eq!(server.patches().len(), if asked { 2 } else { 1 });
    }
}

#[tokio::test(start_paused = true)]
async fn a_pass_asks_about_claimed_and_initialised_nodes_only() {
    let mut foreign = node("foreign");
    foreign["spec"]["providerID"] = json!("vsphere://1");
    let server = Server::with([node("n"), foreign, tainted("waits")]);
    let script = FakeInstances::with([]);
    Run::on(&server, &script).for_seconds(650).await;
    let mut asked = script.observed();
    asked.retain(|names| names != &["waits"]);
    assert_eq!(asked, [["n"], ["n"], ["n"]], "a pass at once and every five minutes");
}

/// The labels of an older kubelet, of which the stable ones are made.
#[tokio::test(start_paused = true)]
async fn sr4_a_node_without_provider_id_is_labelled_only_after_its_machine_was_found() {
    for (found, labelled) in [
        (Evidence::Unknown(Doubt { class: ErrorClass::NotFound, ..Doubt::new("not listed") }), false),
        (Evidence::Present(instance("n")), true),
    ] {
        let mut bare = node("n");
        bare["metadata"]["labels"] = json!({"failure-domain.beta.kubernetes.io/zone": "rack-7"});
        let server = Server::with([bare]);
        Run::on(&server, &FakeInstances::with([("n", found)])).for_seconds(400).await;
        let labels = &server.node("n")["metadata"]["labels"];
        assert_eq!(labels["topology.kubernetes.io/zone"].as_str(), labelled.then_some("rack-7"));
        assert!(labelled || server.patches().is_empty());
    }
}

#[tokio::test(start_paused = true)]
async fn sr4_a_machine_counts_as_seen_although_its_provider_id_could_not_be_written() {
    let server = Server::with([tainted("n")]);
    server.fail_next([500; 40]);
    let run = Run::on(&server, &FakeInstances::with([("n", Evidence::Present(instance("n")))]));
    let machines = run.harness.machines.clone();
    run.for_seconds(20).await;
    let view = NodeView { uid: "uid-n".into(), ..NodeView::default() };
    assert!(server.node("n")["spec"]["providerID"].is_null());
    assert_eq!(machines.seen_for(&view).as_deref(), Some("fake://n"));
}

#[tokio::test(start_paused = true)]
async fn an_additional_label_follows_the_cloud_only_if_asked_and_is_written_once() {
    const HOST: &str = "topology.example.org/host";
    for (asked, host) in [(false, "h1"), (true, "h2")] {
        let mut there = node("n");
        there["metadata"]["labels"][HOST] = json!("h1");
        there["status"]["addresses"] = json!(addresses(&[(InternalIP, "10.0.0.1"), (Hostname, "n")]));
        let server = Server::with([there]);
        let additional_labels = [(HOST.to_owned(), "h2".to_owned())].into();
        let moved =
            Instance { zone: None, region: None, instance_type: None, additional_labels, ..instance("n") };
        let mut run = Run::on(&server, &FakeInstances::with([("n", Evidence::Present(moved))]));
        run.options.reconcile_labels = asked;
        run.for_seconds(3_599).await;
        assert_eq!(server.node("n")["metadata"]["labels"][HOST], host);
        assert_eq!(server.patches().len(), usize::from(asked), "{:?}", server.patches());
    }
}
