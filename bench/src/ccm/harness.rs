//! What people, kubelets and machines do in a scenario, and how one sees that the CCM has done its part. They talk to the API server and
//! the cloud directly, and are not counted.

use std::time::Duration;

use bowline_testkit::nodes::{Nodes, UNINITIALIZED};
use bowline_testkit::objects::concurrently;
use bowline_testkit::services::{Services, service};
use k8s_openapi::api::core::v1::Service;
use kube::api::PostParams;
use serde_json::{Value, json};
use sim_openstack::State;
use tokio::time::{Instant, sleep_until};

use super::cloud::Cloud;
use super::cluster::{BenchCluster, OTHER};
use super::observed::Observed;
use super::scenario::Size;
use crate::objects;

/// What the edited Service is restricted to.
const RANGE: &str = "192.0.2.0/24";
/// The Service that is edited.
const EDITED: &str = "web-1";

/// A cluster on a cloud, for one life.
pub struct Harness<'s> {
    /// The cluster.
    pub cluster: &'s BenchCluster,
    /// The cloud.
    pub cloud: Cloud,
    services: Services,
    nodes: Nodes,
    observed: Observed,
    size: Size,
}

/// What has to be so when the CCM is done.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// So many Nodes, all initialised, and all of them members of every pool.
    pub nodes: usize,
    /// So many Services, all with an address and a load balancer that is ready, and no load balancer and floating IP besides.
    pub services: usize,
    /// Whether one Service was edited.
    pub is_edited: bool,
}

impl<'s> Harness<'s> {
    /// A cluster without Nodes on a cloud.
    #[must_use]
    pub fn new(cluster: &'s BenchCluster, cloud: Cloud, size: Size) -> Self {
        let (services, nodes) = (Services::of(&cluster.admin, "default"), Nodes::of(&cluster.admin));
        Self { cluster, cloud, services, nodes, observed: Observed::start(cluster), size }
    }

    /// A kubelet registers: with conditions, images and labels, without what the CCM has to say.
    ///
    /// # Errors
    /// When there is no server of this name, or the API server refuses.
    pub async fn join(&self, number: usize) -> anyhow::Result<()> {
        let name = node_name(number);
        let server = self.cloud.server(&name)?;
        self.nodes.create(kubelet_node(number, &name, &server)).await.map(drop)
    }

    /// The kubelets of the first `count` servers register.
    ///
    /// # Errors
    /// As [`Self::join`].
    pub async fn join_first(&self, count: usize) -> anyhow::Result<()> {
        concurrently(1..=count, |number| self.join(number)).await
    }

    /// Servers from `from` on are booted and their kubelets register, evenly over a time.
    ///
    /// # Errors
    /// As [`Self::join`].
    pub async fn join_over(&self, from: usize, count: usize, span: Duration) -> anyhow::Result<()> {
        let began = Instant::now();
        for place in 0..count {
            let part = place as f64 / count as f64;
            sleep_until(began + span.mul_f64(part)).await;
            self.cloud.boot(&node_name(from + place));
            self.join(from + place).await?;
        }
        Ok(())
    }

    /// The server of a Node is deleted; its kubelet is not heard of any more.
    ///
    /// # Errors
    /// When the API server or the cloud refuses.
    pub async fn leave(&self, number: usize) -> anyhow::Result<()> {
        self.cloud.delete_server(&node_name(number)).await?;
        self.nodes.report_ready(&node_name(number), "Unknown").await
    }

    /// The first `count` Nodes report that they are ready, or not.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn report_first(&self, count: usize, ready: &str) -> anyhow::Result<()> {
        concurrently(
            1..=count,
            |number| async move { self.nodes.report_ready(&node_name(number), ready).await },
        )
        .await
    }

    /// All Services are made.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn create_services(&self) -> anyhow::Result<()> {
        concurrently(1..=self.size.services, |number| async move {
            let ports: Vec<Value> = (0..self.size.ports)
                .map(|place| json!({"name": format!("p{place}"), "port": 80 + place}))
                .collect();
            let service = service(&format!("web-{number}"), &[], &json!({"ports": ports}));
            self.services.create(&service).await.map(drop)
        })
        .await
    }

    /// All Services are deleted.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn delete_services(&self) -> anyhow::Result<()> {
        concurrently(1..=self.size.services, |number| async move {
            self.services.request_delete(&format!("web-{number}")).await
        })
        .await
    }

    /// One Service gets other source ranges.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn edit(&self) -> anyhow::Result<()> {
        self.services.edit(EDITED, &json!({"spec": {"loadBalancerSourceRanges": [RANGE]}})).await
    }

    /// What is not yet as it has to be, in words.
    #[must_use]
    pub fn missing(&self, wanted: Wanted) -> Vec<String> {
        let mut missing = Vec::new();
        let mut expect = |what: &str, wanted: usize, found: usize| {
            if wanted != found {
                missing.push(format!("{what}: {found} in place of {wanted}"));
            }
        };
        let ((nodes, initialised), (services, served)) = (self.observed.nodes(), self.observed.services());
        expect("Nodes", wanted.nodes, nodes);
        expect("initialised Nodes", wanted.nodes, initialised);
        expect("Services", wanted.services, services);
        expect("Services with an address", wanted.services, served);
        self.cloud.look(|state| {
            let octavia = &state.load_balancer;
            let pools = wanted.services * self.size.ports;
            expect("load balancers", wanted.services, octavia.load_balancers.len());
            let ready = octavia.load_balancers.iter().filter(|row| row.provisioning_status == "ACTIVE");
            expect("load balancers that are ready", wanted.services, ready.count());
            expect("pools", pools, octavia.pools.len());
            expect("members", pools * wanted.nodes, octavia.members.len());
            expect("floating IPs", wanted.services, floating_ips(state));
            let edited = octavia.listeners.iter().filter(|row| is_edited(row.allowed_cidrs.as_deref()));
            expect("edited listeners", if wanted.is_edited { self.size.ports } else { 0 }, edited.count());
        });
        missing
    }
}

fn is_edited(ranges: Option<&[String]>) -> bool {
    matches!(ranges, Some([range]) if range == RANGE)
}

fn floating_ips(state: &State) -> usize {
    state.network.floating_ips.iter().count()
}

/// The name of a Node and its server.
fn node_name(number: usize) -> String {
    format!("node-{number}")
}

/// A Node as its kubelet registers it where the cloud is external. It was told its address (`--node-ip`), as installers do: a kubelet
/// that was not reports none, and upstream's service controller then leaves a new Node out of load balancers for good if it looks
/// between the two writes that initialise it.
#[expect(clippy::indexing_slicing, reason = "of JSON that is made right there")]
fn kubelet_node(number: usize, name: &str, (server, address): &(String, String)) -> Value {
    let mut node = objects::node(number);
    let annotations = json!({"alpha.kubernetes.io/provided-node-ip": address});
    node["metadata"] = json!({"name": name, "annotations": annotations, "labels": {
        "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64",
        "kubernetes.io/hostname": name, "kubernetes.io/os": "linux",
    }});
    node["spec"] = json!({"taints": [{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]});
    node["status"]["addresses"] =
        json!([{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}]);
    node["status"]["nodeInfo"] = json!({
        "systemUUID": server, "machineID": server, "bootID": server, "architecture": "amd64",
        "containerRuntimeVersion": "containerd://2.1.0", "kernelVersion": "6.12.0", "kubeProxyVersion": "",
        "kubeletVersion": "v1.36.3", "operatingSystem": "linux", "osImage": "Debian GNU/Linux 13",
    });
    node
}

/// Services that are no CCM's business; those that are there already stay.
///
/// # Errors
/// When the API server refuses.
pub async fn create_others(cluster: &BenchCluster, count: usize) -> anyhow::Result<()> {
    concurrently(1..=count, |number| async move {
        let name = format!("{OTHER}{number}");
        let service: Service = serde_json::from_value(json!({
            "metadata": {"name": name, "labels": {"app.kubernetes.io/name": "shop", "app.kubernetes.io/managed-by": "Helm"}},
            "spec": {"selector": {"app": name}, "ports": [{"name": "http", "port": 80}, {"name": "https", "port": 443}]},
        }))?;
        match cluster.services().create(&PostParams::default(), &service).await {
            Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
            other => Ok(other.map(drop)?),
        }
    })
    .await
}
