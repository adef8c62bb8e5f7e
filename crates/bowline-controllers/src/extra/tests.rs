//! An extra controller on an API server in memory, under virtual time.

use std::collections::BTreeMap;

use bowline_cloud::{Answer, Fence, NodeView};
use bowline_testkit::eventually_virtual;
use bowline_testkit::fence::TestFence;
use bowline_testkit::memory_cluster::MemoryCluster;
use bowline_testkit::provider::FakeCloud;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use super::*;
use crate::harness::Harness;
use crate::view::node_view;

/// Wants the label `rack=r1`, and fails as often as it is told.
#[derive(Default)]
struct Rack {
    failures: Mutex<u32>,
    removed: Mutex<Vec<String>>,
}

#[async_trait]
impl ExtraController for Rack {
    fn name(&self) -> &str {
        "rack-controller"
    }
    fn watches(&self) -> Watches {
        Watches::Nodes
    }
    async fn reconcile(&self, _: &Watched, _: &dyn Fence) -> Result<Answer, CloudError> {
        let mut failures = self.failures.lock();
        if *failures > 0 {
            *failures -= 1;
            return Err(CloudError::transient("the racks are being moved"));
        }
        let labels = BTreeMap::from([("rack".to_owned(), Some("r1".to_owned()))]);
        Ok(Answer { labels, ..Answer::default() })
    }
    async fn removed(&self, object: &Watched, _: &dyn Fence) -> Result<(), CloudError> {
        let Watched::Node(node) = object else { return Ok(()) };
        self.removed.lock().push(node.uid.to_string());
        Ok(())
    }
}

/// Runs the controller on `server` while `meanwhile` does something, and stops it then.
async fn run(
    server: &MemoryCluster,
    rack: &Arc<Rack>,
    fence: TestFence,
    meanwhile: impl Future<Output = ()>,
) {
    let harness = Harness { fence: Arc::new(fence), ..Harness::new(server, Arc::new(FakeCloud::default())) };
    harness.run(&Extra::new(rack.clone()), meanwhile).await.unwrap();
}

fn node(uid: &str, labels: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "worker", "uid": uid, "labels": labels}})
}

fn patches(server: &MemoryCluster) -> Vec<Value> {
    server.patches("nodes").into_iter().map(|(_, body)| body).collect()
}

async fn a_minute() {
    sleep(Duration::from_secs(60)).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_written_once_on_exactly_that_object() {
    let server = MemoryCluster::with([node("u-1", &json!({"own": "1"}))]);
    run(&server, &Arc::default(), TestFence::default(), a_minute()).await;
    assert_eq!(patches(&server), [json!({"metadata": {"labels": {"rack": "r1"}, "uid": "u-1"}})]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_as_wanted_is_not_written() {
    let server = MemoryCluster::with([node("u-1", &json!({"rack": "r1"}))]);
    run(&server, &Arc::default(), TestFence::default(), a_minute()).await;
    assert!(server.writes().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_an_event_and_is_tried_again() {
    let server = MemoryCluster::with([node("u-1", &json!({}))]);
    let rack = Arc::new(Rack { failures: Mutex::new(3), ..Rack::default() });
    let began = Instant::now();
    let until_written = eventually_virtual("a patch", || !patches(&server).is_empty());
    run(&server, &rack, TestFence::default(), until_written).await;
    assert!(
        (7..8).contains(&began.elapsed().as_secs()),
        "1 + 2 + 4 s of back-off, not {:?}",
        began.elapsed()
    );
    let events = server.events();
    assert_eq!(events.len(), 1, "repeats are counted, not posted: {events:#?}");
    assert_eq!(events[0]["reason"], "ReconcileFailed");
    assert_eq!(events[0]["message"], "rack-controller: the racks are being moved");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_and_a_namesake_are_told_apart() {
    let server = MemoryCluster::with([node("u-1", &json!({"rack": "r1"}))]);
    let rack = Arc::<Rack>::default();
    let replace = async {
        a_minute().await;
        server.put(node("u-2", &json!({})));
        a_minute().await;
    };
    run(&server, &rack, TestFence::default(), replace).await;
    assert_eq!(*rack.removed.lock(), ["u-1"]);
    assert_eq!(patches(&server), [json!({"metadata": {"labels": {"rack": "r1"}, "uid": "u-2"}})]);
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_is_written() {
    let server = MemoryCluster::with([node("u-1", &json!({}))]);
    run(&server, &Arc::default(), TestFence::closed(), a_minute()).await;
    assert!(patches(&server).is_empty());
}

#[test]
fn a_view_that_only_differs_in_version_is_the_same_view() {
    let view = |version: &str| -> NodeView {
        let mut node = node("u-1", &json!({}));
        node["metadata"]["resourceVersion"] = json!(version);
        node_view(serde_json::from_value(node).unwrap())
    };
    assert_eq!(view("7"), view("8"), "a heartbeat is no change");
}

#[tokio::test(start_paused = true)]
async fn while_the_cluster_is_paused_a_clouds_own_controller_is_not_called_and_afterwards_it_is() {
    let server = MemoryCluster::with([node("u-1", &json!({}))]);
    let fence = TestFence::paused_for("rack 7 moves");
    let meanwhile = async {
        a_minute().await;
        assert!(server.writes().is_empty());
        fence.resume();
        a_minute().await;
    };
    run(&server, &Arc::default(), fence.clone(), meanwhile).await;
    assert_eq!(patches(&server).len(), 1);
}
