//! Nodes outside of `--node-filter` are left alone, and labels may change at any time.

use std::time::Duration;

use AddressKind::InternalIP;
use bowline_cloud::{AddressKind, Evidence, Instance};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::{FakeInstances, Lookup, Run, Server, addresses, instance, node, tainted};
use crate::rails::node_filter::NodeFilter;

fn in_pool(mut node: Value, pool: &str) -> Value {
    node["metadata"]["labels"]["pool"] = json!(pool);
    node
}

fn found(name: &'static str) -> (&'static str, Evidence<Instance>) {
    (name, Evidence::Present(instance(name)))
}

fn filtered(mut run: Run) -> Run {
    run.options.reconcile_labels = true;
    run.harness.filter = NodeFilter::parse("pool=a").unwrap();
    run
}

#[tokio::test(start_paused = true)]
async fn nodes_outside_the_filter_are_neither_initialized_nor_relabelled() {
    let mut relabelled = in_pool(node("x-beta"), "b");
    relabelled["metadata"]["labels"]["failure-domain.beta.kubernetes.io/zone"] = json!("z1");
    let nodes = [
        in_pool(tainted("a-new"), "a"),
        in_pool(node("a-old"), "a"),
        in_pool(tainted("x-new"), "b"),
        in_pool(node("x-old"), "b"),
        relabelled,
    ];
    let (server, script) =
        (Server::with(nodes), FakeInstances::with(["a-new", "a-old", "x-new", "x-old", "x-beta"].map(found)));
    filtered(Run::on(&server, &script)).for_seconds(900).await;
    let paths: Vec<String> = server.patches().into_iter().map(|(path, _)| path).collect();
    for name in ["a-new", "a-old"] {
        assert!(paths.iter().any(|path| path.contains(name)), "{name} is handled: {paths:?}");
    }
    assert!(!paths.iter().any(|path| path.contains("/x-")), "{paths:?}");
    assert!(!script.observed().iter().flatten().any(|name| name.starts_with("x-")), "the cloud is not asked");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_enters_the_filter_is_initialized_then() {
    let (server, script) = (Server::with([in_pool(tainted("n"), "b")]), FakeInstances::with([found("n")]));
    let enters = async {
        sleep(Duration::from_secs(60)).await;
        assert!(server.patches().is_empty());
        server.merge("n", &json!({"metadata": {"labels": {"pool": "a"}}}));
        sleep(Duration::from_secs(5)).await;
    };
    filtered(Run::on(&server, &script)).during(enters).await.unwrap();
    assert_eq!(server.node("n")["spec"]["providerID"], "fake://n");
}

#[tokio::test(start_paused = true)]
async fn a_node_that_leaves_the_filter_during_the_look_up_is_not_written() {
    let script = FakeInstances::with([("new", Evidence::Present(instance("new")))]);
    script.take(Lookup::Observe, Duration::from_secs(10));
    let moved = Instance { addresses: addresses(&[(InternalIP, "10.0.0.2")]), ..instance("old") };
    script.say("old", Evidence::Present(moved));
    let server = Server::with([in_pool(tainted("new"), "a"), in_pool(node("old"), "a")]);
    let leaves = async {
        sleep(Duration::from_secs(5)).await;
        assert_eq!(script.observed().len(), 2, "both look-ups are under way");
        ["new", "old"]
            .into_iter()
            .for_each(|name| server.merge(name, &json!({"metadata": {"labels": {"pool": "b"}}})));
        sleep(Duration::from_secs(900)).await;
    };
    filtered(Run::on(&server, &script)).during(leaves).await.unwrap();
    assert!(server.patches().is_empty(), "{:?}", server.patches());
}

#[tokio::test(start_paused = true)]
async fn a_node_that_fails_and_leaves_the_filter_fails_no_more() {
    let (server, script) = (Server::with([in_pool(tainted("n"), "a")]), FakeInstances::with([]));
    let leaves = async {
        sleep(Duration::from_secs(30)).await;
        server.merge("n", &json!({"metadata": {"labels": {"pool": "b"}}}));
        sleep(Duration::from_secs(30)).await;
    };
    let metrics = filtered(Run::on(&server, &script)).during(leaves).await.unwrap();
    assert!(server.events().iter().any(|(reason, _)| reason == "CloudNodeInitializationFailed"));
    assert_eq!(metrics.node.failing.get(), 0);
}
