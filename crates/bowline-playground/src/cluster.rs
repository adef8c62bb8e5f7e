//! A Kubernetes API in memory, served on loopback, and what people do in it.

use std::net::SocketAddr;
use std::sync::Arc;

use ::http::Method;
use anyhow::{Context, ensure};
use k8s_openapi::api::core::v1::{Event, Node, Service};
use serde_json::{Value, json};
use sim_kube::{Config, Objects, SimKube, http};
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;

use crate::gate::{Counting, Gate};

/// The namespace of all Services that the playground makes.
pub(crate) const NAMESPACE: &str = "default";

/// The path of the Lease that says which manager leads.
pub(crate) const LEASE: &str =
    "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager";

/// The taint of Nodes that no cloud-controller-manager has seen yet.
pub(crate) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// The label of Nodes that take traffic, where not all do.
pub(crate) const INGRESS: &str = "playground.bowline.dev/ingress";

/// A cluster.
pub(crate) struct Cluster {
    /// Its API server.
    pub(crate) kube: SimKube,
    /// The door of the API server.
    pub(crate) gate: Arc<Gate>,
    /// Where it is served.
    pub(crate) address: SocketAddr,
    _serving: AbortOnDropHandle<()>,
}

impl Cluster {
    /// A new cluster, served until this is dropped.
    pub(crate) fn start(listener: TcpListener) -> anyhow::Result<Self> {
        let address = listener.local_addr()?;
        let kube = SimKube::new(Config { log_limit: 0, ..Config::real() });
        let gate = Arc::new(Gate::default());
        kube.intercept(Counting(Arc::clone(&gate)));
        let served = kube.clone();
        let serving = tokio::spawn(async move {
            // A listener that keeps failing is seen by everybody who asks.
            http::serve(served, listener).await.ok();
        });
        Ok(Self { kube, gate, address, _serving: AbortOnDropHandle::new(serving) })
    }

    /// A kubeconfig for it.
    pub(crate) fn kubeconfig(&self) -> String {
        http::kubeconfig(self.address)
    }

    /// The Nodes.
    pub(crate) fn nodes(&self) -> Objects<Node> {
        self.kube.objects("")
    }

    /// The Services.
    pub(crate) fn services(&self) -> Objects<Service> {
        self.kube.objects(NAMESPACE)
    }

    /// Creates a Service of type LoadBalancer as a person would.
    pub(crate) fn create_service(&self, name: &str, annotations: &Value) -> anyhow::Result<()> {
        let service = json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"type": "LoadBalancer", "selector": {"app": name},
                "ports": [{"name": "http", "port": 80, "targetPort": 8080}]}});
        let service = serde_json::from_value(service)?;
        self.services().create(&service).with_context(|| format!("create the Service {name}"))?;
        Ok(())
    }

    /// Changes an object as `kubectl patch` does, whoever else writes to it at the same time.
    pub(crate) fn patch(&self, path: &str, change: &Value) -> anyhow::Result<()> {
        let kind = "application/strategic-merge-patch+json";
        let (code, answer) = self.kube.request_as(Method::PATCH, path, kind, change);
        ensure!(code == 200, "patch {path}: {code} {answer}");
        Ok(())
    }

    /// Takes a right away from everybody.
    pub(crate) fn forbid(&self, verb: &'static str, resource: &'static str) {
        self.kube.authorize_with(move |asked| asked.verb != verb || asked.resource != resource);
    }

    /// Everybody has all rights again.
    pub(crate) fn permit(&self) {
        self.kube.authorize_with(|_| true);
    }

    /// The address of a Service.
    pub(crate) fn address_of(&self, name: &str) -> Option<String> {
        address(&self.services().get(name).ok()??)
    }

    /// The UIDs of all Nodes by name.
    pub(crate) fn node_uids(&self) -> std::collections::BTreeMap<String, String> {
        let nodes = self.nodes().list().unwrap_or_default();
        let named = nodes.into_iter().filter_map(|node| Some((node.metadata.name?, node.metadata.uid?)));
        named.collect()
    }

    /// The messages of all events with a reason.
    pub(crate) fn events(&self, reason: &str) -> Vec<String> {
        let events = self.kube.objects::<Event>("").list().unwrap_or_default();
        let alike = events.into_iter().filter(|event| event.reason.as_deref() == Some(reason));
        alike.filter_map(|event| event.message).collect()
    }
}

/// The address of a Service.
pub(crate) fn address(service: &Service) -> Option<String> {
    let ingress = service.status.as_ref()?.load_balancer.as_ref()?.ingress.as_ref()?.first()?;
    ingress.ip.clone().or_else(|| ingress.hostname.clone())
}

/// Whether no cloud-controller-manager has seen it yet.
pub(crate) fn is_tainted(node: &Node) -> bool {
    let taints = node.spec.as_ref().and_then(|spec| spec.taints.as_ref());
    taints.is_some_and(|taints| taints.iter().any(|taint| taint.key == UNINITIALIZED))
}

/// Whether its kubelet is heard.
pub(crate) fn is_ready(node: &Node) -> bool {
    let conditions = node.status.as_ref().and_then(|status| status.conditions.as_ref());
    conditions.is_some_and(|all| all.iter().any(|one| one.type_ == "Ready" && one.status == "True"))
}
