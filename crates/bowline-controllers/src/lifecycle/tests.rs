//! The lifecycle controller on an API server in memory and a scripted cloud, under virtual time.

mod limits;
mod pause;
mod rails;
mod upstream;
mod wire;

use std::collections::BTreeMap;
use std::sync::Mutex;

use bowline_cloud::{Claim, Cloud, Doubt, ErrorClass, Evidence, Fence, Instance, Power, Proof, Unfenced};
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::informer::InformerSpec;
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use kube::{Api, Client};
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use super::*;
use crate::deadline::{CallDeadlines, Punctual};
use crate::memory_api::Server;
use crate::metrics::ControllerMetrics;
use crate::rails::node_filter::NodeFilter;
use crate::rails::seen_machines::SeenMachines;
use crate::registry::common_names;
use crate::view::{SlimNode, SlimService, node_view, service_view};
use bowline_kube::ledger::Ledger;

const NOW: &str = "2026-11-02T08:00:00Z";
const LONG_AGO: &str = "2026-11-01T08:00:00Z";

/// A Node as the API server has it.
fn node(name: &str, ready: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "resourceVersion": "7", "creationTimestamp": LONG_AGO},
        "spec": {"providerID": format!("fake://{name}")},
        "status": {"conditions": [{"type": "Ready", "status": ready}]}
    })
}

fn with(mut node: Value, pointer: &str, value: Value) -> Value {
    let (parent, field) = pointer.rsplit_once('/').unwrap();
    node.pointer_mut(parent).unwrap()[field] = value;
    node
}

fn shutdown_taint() -> Value {
    json!({"key": "node.cloudprovider.kubernetes.io/shutdown", "effect": "NoSchedule"})
}

fn there(power: Power) -> Evidence<Instance> {
    Evidence::Present(Instance { power, ..Instance::default() })
}

fn gone() -> Evidence<Instance> {
    Evidence::Absent(Proof::new("the cloud answered 404"))
}

fn doubt(class: ErrorClass) -> Evidence<Instance> {
    Evidence::Unknown(Doubt { class, ..Doubt::new("nobody knows") })
}

/// What the cloud says to the question about many, and to the direct one.
type Said = (Evidence<Instance>, Evidence<Instance>);

/// A cloud that says of each node what it was told to say, and counts the questions.
#[derive(Default)]
struct Machines {
    say: Mutex<BTreeMap<String, Said>>,
    observed: Mutex<Vec<usize>>,
    confirmed: Mutex<Vec<String>>,
    unavailable: Mutex<bool>,
    answers_at_most: Mutex<Option<usize>>,
    look_takes: Mutex<Duration>,
    direct_read_takes: Mutex<Duration>,
}

impl Machines {
    fn says(&self, name: &str, evidence: Evidence<Instance>) {
        self.says_differently(name, evidence.clone(), evidence);
    }

    fn says_differently(&self, name: &str, at_once: Evidence<Instance>, direct: Evidence<Instance>) {
        self.say.lock().unwrap().insert(name.to_owned(), (at_once, direct));
    }

    fn of(&self, node: &NodeView) -> Said {
        let unscripted = || (there(Power::Running), there(Power::Running));
        let say = self.say.lock().unwrap();
        let by_id = node.provider_id.as_ref().and_then(|id| say.get(id.as_str()));
        by_id.or_else(|| say.get(node.name.as_str())).cloned().unwrap_or_else(unscripted)
    }
}

#[async_trait]
impl Instances for Machines {
    fn claims(&self, node: &NodeView) -> Claim {
        match node.provider_id.as_deref() {
            Some(id) if !id.starts_with("fake://") => Claim::NotOurs(format!("its provider ID is {id}")),
            _ => Claim::Ours,
        }
    }
    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        self.observed.lock().unwrap().push(nodes.len());
        let takes = *self.look_takes.lock().unwrap();
        sleep(takes).await;
        let at_most = self.answers_at_most.lock().unwrap().unwrap_or(usize::MAX);
        nodes.iter().take(at_most).map(|node| self.of(node).0).collect()
    }
    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        self.confirmed.lock().unwrap().push(node.name.to_string());
        let (answer, takes) = (self.of(node).1, *self.direct_read_takes.lock().unwrap());
        sleep(takes).await;
        answer
    }
}

struct FakeCloud(Arc<Machines>);

#[async_trait]
impl Cloud for FakeCloud {
    fn name(&self) -> &str {
        "fake"
    }
    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        match *self.0.unavailable.lock().unwrap() {
            true => Capability::Unavailable("no Nova".to_owned()),
            false => Capability::Supported(self.0.clone()),
        }
    }
}

/// A cluster, its cloud, and the controller between them.
struct World {
    server: Server,
    machines: Arc<Machines>,
    /// What other controllers have seen.
    seen: SeenMachines,
    filter: NodeFilter,
    controller: LifecycleController,
    writes_to: Client,
    fence: Arc<dyn Fence>,
    registry: Mutex<Registry>,
}

impl World {
    fn new(nodes: Vec<Value>) -> Self {
        Self::with_options(nodes, LifecycleOptions::default())
    }

    fn with_options(nodes: Vec<Value>, options: LifecycleOptions) -> Self {
        let server = Server::new(nodes);
        let controller = LifecycleController::new(common_names().remove(1), options).unwrap();
        let (writes_to, fence) = (server.client(), Arc::new(Unfenced));
        let (machines, seen, registry) = (Arc::default(), SeenMachines::default(), Mutex::default());
        let filter = NodeFilter::default();
        Self { server, machines, seen, filter, controller, writes_to, fence, registry }
    }

    /// Long enough for one look, and too short for a second.
    async fn one_pass(&self) {
        self.run(sleep(Duration::from_secs(4))).await.unwrap();
    }

    /// Runs the controller while `meanwhile` does something, and stops it then.
    async fn run(&self, meanwhile: impl Future<Output = ()>) -> Result<(), Stopped> {
        let (client, cancel) = (self.server.client(), CancellationToken::new());
        let (nodes, node_task) = InformerSpec::new("nodes", |node: SlimNode| Some(Arc::new(node_view(node))))
            .build(client.clone(), Api::all);
        let (services, _service_task) =
            InformerSpec::new("services", |service: SlimService| Some(Arc::new(service_view(service))))
                .build(client.clone(), Api::all);
        let clock = Clock::simulated(NOW.parse().unwrap());
        let component = &self.controller.name().component;
        let events = EventRecorder::new(client, component, "", clock.clone(), EventMetrics::default());
        let (queues, metrics) = {
            let mut registry = self.registry.lock().unwrap();
            *registry = Registry::default();
            (QueueMetrics::register(&mut registry), ControllerMetrics::register(&mut registry))
        };
        let cloud: Arc<dyn Cloud> = Arc::new(FakeCloud(self.machines.clone()));
        let context = ControllerContext {
            cloud: Arc::new(Punctual::new(cloud, CallDeadlines::default())),
            nodes,
            services,
            writer: Writer::new(self.writes_to.clone(), self.fence.clone(), Duration::from_secs(5)),
            events: events.clone(),
            fence: self.fence.clone(),
            clock,
            queues,
            metrics,
            journal: bowline_cloud::Journal::default(),
            ledger: Ledger::default(),
            machines: self.seen.clone(),
            node_filter: self.filter.clone(),
        };
        let stop = async {
            tokio::select! { () = meanwhile => {}, () = cancel.cancelled() => {} }
            cancel.cancel();
        };
        let run = async {
            let ended = self.controller.run(context, cancel.clone()).await;
            cancel.cancel();
            ended
        };
        let (ended, ..) = tokio::join!(
            run,
            node_task.run(cancel.clone()),
            stop,
            cancel.run_until_cancelled(self.tell_what_was_deleted())
        );
        events.flush(Duration::from_secs(5)).await.unwrap();
        ended
    }

    /// The API server in memory applies nothing, so watchers are told here.
    async fn tell_what_was_deleted(&self) {
        let mut told = 0;
        loop {
            for name in self.deleted().iter().skip(told) {
                self.server.tell("DELETED", &node(name, "Unknown"));
                told += 1;
            }
            sleep(Duration::from_millis(100)).await;
        }
    }

    /// The names of deleted nodes, each once, and all by their UID.
    fn deleted(&self) -> Vec<String> {
        let writes = self.server.writes.lock().unwrap();
        let mut names = Vec::new();
        for (what, body) in writes.iter() {
            let Some(name) = what.strip_prefix("DELETE /api/v1/nodes/") else { continue };
            assert!(body["preconditions"]["uid"].as_str().is_some_and(|uid| !uid.is_empty()), "{body}");
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    fn events(&self) -> Vec<Value> {
        let writes = self.server.writes.lock().unwrap();
        writes.iter().filter(|(what, _)| what.starts_with("POST")).map(|(_, body)| body.clone()).collect()
    }

    fn events_of(&self, reason: &str) -> Vec<Value> {
        self.events().into_iter().filter(|event| event["reason"] == reason).collect()
    }

    fn shows(&self, line: &str) -> bool {
        let mut scrape = String::new();
        prometheus_client::encoding::text::encode(&mut scrape, &self.registry.lock().unwrap()).unwrap();
        scrape.lines().any(|shown| shown == line)
    }

    fn questions(&self) -> (usize, usize) {
        (self.machines.observed.lock().unwrap().len(), self.machines.confirmed.lock().unwrap().len())
    }
}
