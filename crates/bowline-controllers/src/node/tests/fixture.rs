//! The scripted cloud, and the frame that runs the controller.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{
    AddressKind, Capability, Claim, Cloud, Doubt, Evidence, Fence, Instance, Instances, NodeAddress,
    NodeView, Unfenced,
};
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::informer::InformerSpec;
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use kube::Api;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Server;
use crate::controller::{Controller, ControllerContext, Stopped};
use crate::deadline::{CallDeadlines, Punctual};
use crate::metrics::ControllerMetrics;
use crate::node::{NodeController, NodeOptions};
use crate::rails::node_filter::NodeFilter;
use crate::rails::seen_machines::SeenMachines;
use crate::view::{SlimNode, SlimService, node_view, service_view};

pub(super) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// A cloud that answers what it was told to, by the Node's name.
#[derive(Default)]
pub(super) struct Script {
    pub(super) found: Mutex<BTreeMap<String, Evidence<Instance>>>,
    pub(super) latency: Duration,
    /// The names of each look-up.
    pub(super) asked: Mutex<Vec<Vec<String>>>,
    pub(super) too_few_answers: bool,
}

impl Script {
    pub(super) fn with(found: impl IntoIterator<Item = (&'static str, Evidence<Instance>)>) -> Arc<Self> {
        let script = Self::default();
        found.into_iter().for_each(|(name, found)| script.say(name, found));
        Arc::new(script)
    }

    pub(super) fn say(&self, name: &str, found: Evidence<Instance>) {
        self.found.lock().unwrap().insert(name.to_owned(), found);
    }

    pub(super) fn look_ups(&self) -> usize {
        self.asked.lock().unwrap().len()
    }
}

#[async_trait]
impl Instances for Script {
    fn claims(&self, node: &NodeView) -> Claim {
        match &node.provider_id {
            Some(id) if !id.starts_with("fake://") => Claim::NotOurs(format!("its provider ID is {id}")),
            _ours_or_none => Claim::Ours,
        }
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        self.asked.lock().unwrap().push(nodes.iter().map(|node| node.name.to_string()).collect());
        sleep(self.latency).await;
        if self.too_few_answers {
            return Vec::new();
        }
        let found = self.found.lock().unwrap();
        let unknown = || Evidence::Unknown(Doubt::new("not in the script"));
        nodes.iter().map(|node| found.get(node.name.as_str()).cloned().unwrap_or_else(unknown)).collect()
    }

    async fn confirm(&self, _: &NodeView) -> Evidence<Instance> {
        panic!("this controller deletes nothing, so that it has nothing to confirm")
    }
}

/// A cloud with these instances.
pub(super) struct OnlyInstances(pub(super) Capability<Arc<dyn Instances>>);

#[async_trait]
impl Cloud for OnlyInstances {
    fn name(&self) -> &str {
        "fake"
    }
    fn instances(&self) -> Capability<Arc<dyn Instances>> {
        self.0.clone()
    }
}

/// How to run the controller.
pub(super) struct Run {
    pub(super) options: NodeOptions,
    pub(super) fence: Arc<dyn Fence>,
    pub(super) cloud: OnlyInstances,
    pub(super) machines: SeenMachines,
    pub(super) filter: NodeFilter,
}

impl Run {
    pub(super) fn on(script: &Arc<Script>) -> Self {
        let cloud = OnlyInstances(Capability::Supported(script.clone()));
        let (options, machines) = (NodeOptions::default(), SeenMachines::default());
        Self { options, fence: Arc::new(Unfenced), cloud, machines, filter: NodeFilter::default() }
    }

    /// Runs the controller on `server` while `meanwhile` does something, and stops it then.
    pub(super) async fn during(
        self,
        server: &Server,
        meanwhile: impl Future<Output = ()>,
    ) -> Result<ControllerMetrics, Stopped> {
        let (client, cancel) = (server.client(), CancellationToken::new());
        let (nodes, node_task) = InformerSpec::new("nodes", |node: SlimNode| Some(Arc::new(node_view(node))))
            .build(client.clone(), Api::all);
        let (services, _task) =
            InformerSpec::new("services", |service: SlimService| Some(Arc::new(service_view(service))))
                .build(client.clone(), Api::all);
        let clock = Clock::simulated("2026-11-02T08:00:00Z".parse().unwrap());
        let mut registry = Registry::default();
        let metrics = ControllerMetrics::register(&mut registry);
        let events = EventRecorder::new(
            client.clone(),
            "cloud-node-controller",
            "",
            clock.clone(),
            EventMetrics::default(),
        );
        let cloud: Arc<dyn Cloud> = Arc::new(self.cloud);
        let context = ControllerContext {
            cloud: Arc::new(Punctual::new(cloud, CallDeadlines::default())),
            nodes,
            services,
            writer: Writer::new(client, self.fence.clone(), Duration::from_secs(5)),
            events: events.clone(),
            fence: self.fence,
            clock,
            queues: QueueMetrics::register(&mut registry),
            metrics: metrics.clone(),
            journal: bowline_cloud::Journal::default(),
            ledger: bowline_kube::ledger::Ledger::default(),
            machines: self.machines,
            node_filter: self.filter,
        };
        let stop = async {
            meanwhile.await;
            cancel.cancel();
        };
        let controller = NodeController::new(self.options);
        let (ended, _, ()) =
            tokio::join!(controller.run(context, cancel.clone()), node_task.run(cancel.clone()), stop);
        events.flush(Duration::from_secs(60)).await.unwrap();
        ended.map(|()| metrics)
    }

    pub(super) async fn for_seconds(self, server: &Server, seconds: u64) -> ControllerMetrics {
        self.during(server, sleep(Duration::from_secs(seconds))).await.unwrap()
    }
}

/// A Node as kubelet registers it, a minute before the tests begin.
pub(super) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "uid": format!("uid-{name}"), "creationTimestamp": "2026-11-02T07:59:00Z",
            "labels": {"kubernetes.io/os": "linux"}, "annotations": {},
        },
        "spec": {},
        "status": {"addresses": [{"type": "Hostname", "address": name}]},
    })
}

/// The same, waiting for its cloud.
pub(super) fn tainted(name: &str) -> Value {
    let mut node = node(name);
    node["spec"]["taints"] = json!([{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]);
    node
}

/// A machine in zone `z`, with an address of its own.
pub(super) fn instance(name: &str) -> Instance {
    Instance {
        provider_id: format!("fake://{name}"),
        instance_type: Some("m1".to_owned()),
        addresses: addresses(&[(AddressKind::InternalIP, "10.0.0.1"), (AddressKind::Hostname, name)]),
        zone: Some("z".to_owned()),
        region: Some("r".to_owned()),
        ..Instance::default()
    }
}

pub(super) fn addresses(list: &[(AddressKind, &str)]) -> Vec<NodeAddress> {
    list.iter().map(|(kind, address)| NodeAddress::new(*kind, *address)).collect()
}
