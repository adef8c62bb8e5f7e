//! The kubelets of all servers, and as much of kube-controller-manager as notices that one is not heard: a server that runs has a
//! Node that is Ready; one that does not has a Node that is not. It never deletes a Node: that is the manager's part.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use http::Method;
use k8s_openapi::api::core::v1::Node;
use serde_json::{Value, json};
use sim_kube::SimKube;
use tokio::time::{Instant, sleep};
use tokio_util::task::AbortOnDropHandle;

use crate::cloud::Cloud;
use crate::cluster::{INGRESS, UNINITIALIZED};

const TICK: Duration = Duration::from_millis(100);

/// Where a tick takes long, because there are thousands, the pause after it is so many times as long: others have work to do.
const REST: u32 = 10;

/// How long a kubelet may be unheard before its Node is not Ready. Forty seconds in a real cluster.
const GRACE: Duration = Duration::from_millis(500);

/// How often it is seen that a Node is missing whose server runs: its kubelet starts again and registers.
const RESTART: Duration = Duration::from_secs(3);

/// In larger clusters that is not looked for.
const RESTARTS_NODES_MAX: usize = 200;

/// So many Nodes take traffic where not all do.
const INGRESS_NODES: usize = 10;

/// The kubelets of a cluster. They stop when this is dropped.
pub(crate) struct Kubelets {
    is_cut_off: Arc<AtomicBool>,
    _working: AbortOnDropHandle<()>,
}

impl Kubelets {
    /// Starts the kubelets of the servers of a cluster; where there are many, only a few Nodes take traffic.
    pub(crate) fn start(
        kube: SimKube,
        cloud: Arc<Cloud>,
        cluster: &'static str,
        few_take_traffic: bool,
    ) -> Self {
        let is_cut_off = Arc::new(AtomicBool::new(false));
        let work = Work {
            kube,
            cloud,
            cluster,
            few_take_traffic,
            is_cut_off: Arc::clone(&is_cut_off),
            known: BTreeMap::new(),
        };
        Self { is_cut_off, _working: AbortOnDropHandle::new(tokio::spawn(work.run())) }
    }

    /// The network between the control plane and all kubelets is cut, or whole again.
    pub(crate) fn cut_off(&self, cut: bool) {
        self.is_cut_off.store(cut, Relaxed);
    }
}

struct Work {
    kube: SimKube,
    cloud: Arc<Cloud>,
    cluster: &'static str,
    few_take_traffic: bool,
    is_cut_off: Arc<AtomicBool>,
    known: BTreeMap<String, Known>,
}

/// A kubelet that has registered.
struct Known {
    server: String,
    is_ready: bool,
    unheard_since: Option<Instant>,
}

impl Work {
    async fn run(mut self) {
        let mut restarts_at = Instant::now() + RESTART;
        loop {
            let began = Instant::now();
            let heard = self.heard();
            for (name, server) in &heard {
                self.beat(name, server);
            }
            self.miss(&heard);
            if Instant::now() >= restarts_at && heard.len() <= RESTARTS_NODES_MAX {
                restarts_at = Instant::now() + RESTART;
                self.known.retain(|name, _| exists(&self.kube, name));
            }
            sleep(TICK.max(began.elapsed() * REST)).await;
        }
    }

    /// The servers whose kubelets can be heard, by name.
    fn heard(&self) -> BTreeMap<String, String> {
        let machines = self.cloud.machines(self.cluster);
        let is_cut_off = self.is_cut_off.load(Relaxed);
        let heard = machines.into_iter().filter(|machine| machine.is_up && !is_cut_off);
        heard.map(|machine| (machine.name, machine.id)).collect()
    }

    /// A sign of life.
    fn beat(&mut self, name: &str, server: &str) {
        match self.known.get_mut(name) {
            Some(known) if known.server == server => {
                known.unheard_since = None;
                if !known.is_ready {
                    known.is_ready = set_ready(&self.kube, name, true);
                }
            }
            _ => {
                let is_ready = match exists(&self.kube, name) {
                    // It goes on with the Node that it finds.
                    true => set_ready(&self.kube, name, true),
                    false => self.register(name),
                };
                let known = Known { server: server.to_owned(), is_ready, unheard_since: None };
                self.known.insert(name.to_owned(), known);
            }
        }
    }

    /// No sign of life of the others.
    fn miss(&mut self, heard: &BTreeMap<String, String>) {
        let kube = &self.kube;
        self.known.retain(|name, known| {
            if heard.contains_key(name) {
                return true;
            }
            let since = *known.unheard_since.get_or_insert_with(Instant::now);
            if known.is_ready && since.elapsed() >= GRACE {
                known.is_ready = !set_ready(kube, name, false);
            }
            known.is_ready || exists(kube, name)
        });
    }

    fn register(&self, name: &str) -> bool {
        let node = node(name, self.few_take_traffic);
        serde_json::from_value(node).is_ok_and(|node: Node| self.kube.objects("").create(&node).is_ok())
    }
}

fn exists(kube: &SimKube, name: &str) -> bool {
    kube.objects::<Node>("").get(name).is_ok_and(|node| node.is_some())
}

/// Whether it could be written.
fn set_ready(kube: &SimKube, name: &str, ready: bool) -> bool {
    let patch = json!({"status": {"conditions": [condition(ready)]}});
    let path = format!("/api/v1/nodes/{name}/status");
    kube.request_as(Method::PATCH, &path, "application/strategic-merge-patch+json", &patch).0 == 200
}

fn condition(ready: bool) -> Value {
    let now = jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let (status, reason, message) = match ready {
        true => ("True", "KubeletReady", "kubelet is posting ready status"),
        false => ("Unknown", "NodeStatusUnknown", "Kubelet stopped posting node status."),
    };
    json!({"type": "Ready", "status": status, "reason": reason, "message": message,
        "lastHeartbeatTime": now, "lastTransitionTime": now})
}

/// A Node as a kubelet with `--cloud-provider=external` registers it.
fn node(name: &str, few_take_traffic: bool) -> Value {
    let mut labels =
        json!({"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"});
    let number = name.rsplit('-').next().and_then(|number| number.parse::<usize>().ok());
    if few_take_traffic
        && number.is_some_and(|number| number <= INGRESS_NODES)
        && let Some(labels) = labels.as_object_mut()
    {
        labels.insert(INGRESS.to_owned(), json!("true"));
    }
    json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels},
    "spec": {"taints": [{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]},
    "status": {
        "conditions": [condition(true)],
        "addresses": [{"type": "Hostname", "address": name}],
        "capacity": {"cpu": "1", "memory": "512Mi", "pods": "110"},
        "allocatable": {"cpu": "1", "memory": "512Mi", "pods": "110"},
        "nodeInfo": {"kubeletVersion": "v1.37.1", "osImage": "playground", "kernelVersion": "none",
            "containerRuntimeVersion": "none://0", "architecture": "amd64", "operatingSystem": "linux",
            "bootID": "", "machineID": "", "systemUUID": "", "kubeProxyVersion": ""},
    }})
}
