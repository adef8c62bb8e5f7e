//! The lifecycle controller on an API server in memory and a scripted cloud, under virtual time.

mod limits;
mod pause;
mod rails;
mod upstream;
mod wire;

use bowline_cloud::{Doubt, ErrorClass, Evidence, Instance, Power, Proof};
use bowline_testkit::fence::TestFence;
use bowline_testkit::memory_cluster::{MemoryCluster, START as NOW, scripted};
use bowline_testkit::provider::{FakeCloud, FakeInstances, Lookup};
use serde_json::{Value, json};
use sim_kube::Verdict;

use super::*;
use crate::harness::Harness;
use crate::rails::node_filter::NodeFilter;
use crate::rails::seen_machines::SeenMachines;
use crate::registry::common_names;
use bowline_kube::ledger::Ledger;

const LONG_AGO: &str = "2026-11-01T08:00:00Z";

/// A Node as the API server has it.
fn node(name: &str, ready: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "uid": format!("uid-{name}"), "creationTimestamp": LONG_AGO},
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

/// A cluster, its cloud, and the controller between them.
struct World {
    harness: Harness,
    cloud: Arc<FakeCloud>,
    machines: Arc<FakeInstances>,
    controller: LifecycleController,
}

impl World {
    fn new(nodes: Vec<Value>) -> Self {
        Self::with_options(nodes, LifecycleOptions::default())
    }

    fn with_options(nodes: Vec<Value>, options: LifecycleOptions) -> Self {
        let machines = Arc::new(FakeInstances::answering(|_, _| there(Power::Running)));
        let cloud = Arc::new(FakeCloud::default().with_instances(machines.clone()));
        let controller = LifecycleController::new(common_names().remove(1), options).unwrap();
        let harness = Harness::new(&MemoryCluster::with(nodes), cloud.clone());
        Self { harness, cloud, machines, controller }
    }

    fn server(&self) -> &MemoryCluster {
        &self.harness.server
    }

    /// Long enough for one look, and too short for a second.
    async fn one_pass(&self) {
        self.run(sleep(Duration::from_secs(4))).await.unwrap();
    }

    /// Runs the controller while `meanwhile` does something, and stops it then.
    async fn run(&self, meanwhile: impl Future<Output = ()>) -> Result<(), Stopped> {
        self.harness.run(&self.controller, meanwhile).await
    }

    /// Answers every deletion of a Node with this code.
    fn refuse_deletions(&self, code: u16) {
        self.server().judge(move |request| match request.verb {
            "delete" => scripted(code),
            _ => Verdict::Pass,
        });
    }

    /// The version of a Node.
    fn version(&self, name: &str) -> Value {
        self.server().get(&path(name)).unwrap()["metadata"]["resourceVersion"].clone()
    }

    /// The patches of Nodes.
    fn patches(&self) -> Vec<Value> {
        self.server().patches("nodes").into_iter().map(|(_, body)| body).collect()
    }

    /// The names of deleted nodes, each once, and all by their UID.
    fn deleted(&self) -> Vec<String> {
        let mut names = Vec::new();
        for (what, body) in self.server().writes() {
            let Some(name) = what.strip_prefix("DELETE /api/v1/nodes/") else { continue };
            assert!(body["preconditions"]["uid"].as_str().is_some_and(|uid| !uid.is_empty()), "{body}");
            if !names.iter().any(|known| known == name) {
                names.push(name.to_owned());
            }
        }
        names
    }

    fn events_of(&self, reason: &str) -> Vec<Value> {
        self.server().events().into_iter().filter(|event| event["reason"] == reason).collect()
    }

    fn shows(&self, line: &str) -> bool {
        self.harness.shows(line)
    }

    /// For how many Nodes the cloud was asked in each look.
    fn looks(&self) -> Vec<usize> {
        self.machines.observed().iter().map(Vec::len).collect()
    }

    fn questions(&self) -> (usize, usize) {
        (self.machines.observed().len(), self.machines.confirmed().len())
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}
