//! An extra controller on an API server in memory, under virtual time.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use bowline_cloud::{Answer, Capability, Cloud, Fence, Fenced, Instances, NodeView, Unfenced};
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::informer::InformerSpec;
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use kube::Api;
use prometheus_client::registry::Registry;
use serde_json::json;
use tokio::time::{Instant, sleep};

use super::*;
use crate::memory_api::{Server, node};
use crate::metrics::ControllerMetrics;
use crate::rails::pause::switch::Switch;
use crate::view::{SlimNode, SlimService, node_view, service_view};

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
        let mut failures = self.failures.lock().unwrap_or_else(PoisonError::into_inner);
        if *failures > 0 {
            *failures -= 1;
            return Err(CloudError::transient("the racks are being moved"));
        }
        let labels = BTreeMap::from([("rack".to_owned(), Some("r1".to_owned()))]);
        Ok(Answer { labels, ..Answer::default() })
    }
    async fn removed(&self, object: &Watched, _: &dyn Fence) -> Result<(), CloudError> {
        let Watched::Node(node) = object else { return Ok(()) };
        self.removed.lock().unwrap().push(node.uid.to_string());
        Ok(())
    }
}

struct NoCloud;

#[async_trait]
impl Cloud for NoCloud {
    fn name(&self) -> &str {
        "none"
    }
    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        Capability::Unsupported
    }
}

/// Runs the controller on `server` while `meanwhile` does something, and stops it then.
async fn run(server: &Server, rack: &Arc<Rack>, fence: Arc<dyn Fence>, meanwhile: impl Future<Output = ()>) {
    let (client, cancel) = (server.client(), CancellationToken::new());
    let (nodes, node_task) = InformerSpec::new("nodes", |node: SlimNode| Some(Arc::new(node_view(node))))
        .build(client.clone(), Api::all);
    let (services, service_task) =
        InformerSpec::new("services", |service: SlimService| Some(Arc::new(service_view(service))))
            .build(client.clone(), Api::all);
    let mut registry = Registry::default();
    let context = ControllerContext {
        cloud: Arc::new(NoCloud),
        nodes,
        services,
        writer: Writer::new(client.clone(), fence.clone(), Duration::from_secs(5)),
        events: EventRecorder::new(client, "rack-controller", "", Clock::system(), EventMetrics::default()),
        fence,
        clock: Clock::system(),
        queues: QueueMetrics::register(&mut registry),
        metrics: ControllerMetrics::register(&mut registry),
        journal: bowline_cloud::Journal::default(),
        ledger: bowline_kube::ledger::Ledger::default(),
        machines: crate::rails::seen_machines::SeenMachines::default(),
        node_filter: crate::rails::node_filter::NodeFilter::default(),
    };
    let extra = Extra::new(rack.clone());
    let stop = async {
        meanwhile.await;
        cancel.cancel();
    };
    let (ended, ..) = tokio::join!(
        extra.run(context, cancel.clone()),
        node_task.run(cancel.clone()),
        service_task.run(cancel.clone()),
        stop
    );
    ended.unwrap();
}

async fn a_minute() {
    sleep(Duration::from_secs(60)).await;
}

#[tokio::test(start_paused = true)]
async fn what_is_missing_is_written_once_on_exactly_that_object() {
    let server = Server::new(vec![node("u-1", &json!({"own": "1"}))]);
    run(&server, &Arc::default(), Arc::new(Unfenced), a_minute()).await;
    assert_eq!(server.patches(), [json!({"metadata": {"labels": {"rack": "r1"}, "uid": "u-1"}})]);
}

#[tokio::test(start_paused = true)]
async fn an_object_that_is_as_wanted_is_not_written() {
    let server = Server::new(vec![node("u-1", &json!({"rack": "r1"}))]);
    run(&server, &Arc::default(), Arc::new(Unfenced), a_minute()).await;
    assert!(server.writes.lock().unwrap().is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_failure_is_an_event_and_is_tried_again() {
    let server = Server::new(vec![node("u-1", &json!({}))]);
    let rack = Arc::new(Rack { failures: Mutex::new(3), ..Rack::default() });
    let began = Instant::now();
    let until_written = async {
        while server.patches().is_empty() {
            sleep(Duration::from_millis(100)).await;
        }
    };
    run(&server, &rack, Arc::new(Unfenced), until_written).await;
    assert!(
        (7..8).contains(&began.elapsed().as_secs()),
        "1 + 2 + 4 s of back-off, not {:?}",
        began.elapsed()
    );
    let writes = server.writes.lock().unwrap();
    let events: Vec<_> = writes.iter().filter(|(what, _)| what.starts_with("POST")).collect();
    assert_eq!(events.len(), 1, "repeats are counted, not posted: {writes:#?}");
    assert_eq!(events[0].1["reason"], "ReconcileFailed");
    assert_eq!(events[0].1["message"], "rack-controller: the racks are being moved");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_object_and_a_namesake_are_told_apart() {
    let old = node("u-1", &json!({"rack": "r1"}));
    let server = Server::new(vec![old.clone()]);
    let rack = Arc::<Rack>::default();
    let replace = async {
        a_minute().await;
        server.tell("DELETED", &old);
        server.tell("ADDED", &node("u-2", &json!({})));
        a_minute().await;
    };
    run(&server, &rack, Arc::new(Unfenced), replace).await;
    assert_eq!(*rack.removed.lock().unwrap(), ["u-1"]);
    assert_eq!(server.patches(), [json!({"metadata": {"labels": {"rack": "r1"}, "uid": "u-2"}})]);
}

#[tokio::test(start_paused = true)]
async fn without_a_lease_nothing_is_written() {
    #[derive(Debug)]
    struct Closed;
    impl Fence for Closed {
        fn check(&self) -> Result<(), Fenced> {
            Err(Fenced { why: "the lease ran out".to_owned() })
        }
    }
    let server = Server::new(vec![node("u-1", &json!({}))]);
    run(&server, &Arc::default(), Arc::new(Closed), a_minute()).await;
    assert!(server.patches().is_empty());
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
    let server = Server::new(vec![node("u-1", &json!({}))]);
    let fence = Switch::default();
    fence.pause("rack 7 moves");
    let meanwhile = async {
        a_minute().await;
        assert!(server.writes.lock().unwrap().is_empty());
        fence.resume();
        a_minute().await;
    };
    run(&server, &Arc::default(), Arc::new(fence.clone()), meanwhile).await;
    assert_eq!(server.patches().len(), 1);
}
