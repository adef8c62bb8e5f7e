//! A cluster on a simulated cloud, and a manager on both: OCCM or Bowline.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, ensure};
use bowline_testkit::apiserver::{Cluster, Identity};
use k8s_openapi::api::core::v1::{Namespace, Node, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep};

use crate::shapes::Shape;
use bowline_testkit::cloud::Cloud;
use bowline_testkit::process::Process;

/// How long a manager may take until nothing changes any more.
const PATIENCE: Duration = Duration::from_secs(120);
/// A manager is quiet when it has asked the cloud for nothing this long: longer than the five seconds between two polls of a load balancer
/// whose members change.
const QUIET: Duration = Duration::from_secs(6);
const POLL: Duration = Duration::from_millis(200);
/// Stands in a configuration for the id of another subnet in the network of the servers.
const SECOND_SUBNET: &str = "{second subnet}";

/// What both are told.
const FLAGS: [&str; 8] = [
    "--cloud-provider=openstack",
    "--cluster-name=held",
    "--controllers=service",
    "--leader-elect=false",
    "--secure-port=0",
    "--kube-api-qps=500",
    "--kube-api-burst=1000",
    "--v=2",
];

/// A cluster and a cloud.
pub(crate) struct Stage {
    pub(crate) cloud: Cloud,
    cluster: Cluster,
    client: Client,
    kubeconfig: PathBuf,
    conf: PathBuf,
}

impl Stage {
    pub(crate) async fn start(load_balancer: &str) -> anyhow::Result<Self> {
        let cluster = Cluster::start_dual_stack().await?;
        let cloud = Cloud::start(3).await?;
        let client = cluster.client(&Identity::Admin).await?;
        let kubeconfig = cluster.kubeconfig(&Identity::Admin).await?;
        let mut load_balancer = load_balancer.to_owned();
        if load_balancer.contains(SECOND_SUBNET) {
            let subnet = cloud.add_subnet("10.20.9.0/24").await?;
            load_balancer = load_balancer.replace(SECOND_SUBNET, &subnet);
        }
        let conf = cloud.write_conf(cluster.folder(), &load_balancer)?;
        let stage = Self { cloud, cluster, client, kubeconfig, conf };
        stage.add_nodes().await?;
        Ok(stage)
    }

    /// The Nodes of the servers, initialised as either manager would.
    async fn add_nodes(&self) -> anyhow::Result<()> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        for (place, (name, id, address)) in self.cloud.machines().await?.into_iter().enumerate() {
            let of_ipv6 = format!("fd00:20::{}", place + 1);
            let node = json!({
                "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
                "spec": {"providerID": format!("openstack:///{id}")},
            });
            nodes.create(&PostParams::default(), &serde_json::from_value(node)?).await?;
            let addresses = json!([
                {"type": "InternalIP", "address": address}, {"type": "InternalIP", "address": of_ipv6},
                {"type": "Hostname", "address": name},
            ]);
            let status = json!({"status": {
                "addresses": addresses, "conditions": [{"type": "Ready", "status": "True"}],
            }});
            nodes.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
        }
        Ok(())
    }

    /// Starts a manager that works on so many Services at a time.
    pub(crate) fn run(
        &self,
        program: &Path,
        first: &[&str],
        name: &str,
        workers: u8,
    ) -> anyhow::Result<Process> {
        let log = self.cluster.folder().join(format!("{name}.log"));
        let mut command = Command::new(program);
        command
            .args(first)
            .args(FLAGS)
            .arg(format!("--concurrent-service-syncs={workers}"))
            .arg(format!("--cloud-config={}", self.conf.display()))
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()));
        Process::start(command, log)
    }

    pub(crate) async fn create_namespace(&self, namespace: &str) -> anyhow::Result<()> {
        let spaces: Api<Namespace> = Api::all(self.client.clone());
        let space = serde_json::from_value(json!({"metadata": {"name": namespace}}))?;
        spaces.create(&PostParams::default(), &space).await?;
        Ok(())
    }

    /// Makes Services in a namespace.
    pub(crate) async fn create(&self, namespace: &str, shapes: &[Shape]) -> anyhow::Result<()> {
        let services = self.services(namespace);
        for shape in shapes {
            let service = serde_json::from_value(shape.service())?;
            services.create(&PostParams::default(), &service).await.with_context(|| shape.name.to_owned())?;
        }
        Ok(())
    }

    pub(crate) fn services(&self, namespace: &str) -> Api<Service> {
        Api::namespaced(self.client.clone(), namespace)
    }

    /// Deletes all Services of a namespace, and waits until they are gone.
    pub(crate) async fn delete_all(&self, namespace: &str, manager: &mut Process) -> anyhow::Result<()> {
        let services = self.services(namespace);
        for service in services.list(&ListParams::default()).await? {
            let name = service.metadata.name.unwrap_or_default();
            services.delete(&name, &DeleteParams::default()).await?;
        }
        let deadline = Instant::now() + PATIENCE;
        loop {
            let left = services.list(&ListParams::default()).await?.items;
            if left.is_empty() {
                return Ok(());
            }
            let names: Vec<_> = left.into_iter().filter_map(|service| service.metadata.name).collect();
            ensure!(Instant::now() < deadline, "not deleted: {names:?}\n{}", manager.tail());
            manager.ensure_running()?;
            sleep(POLL).await;
        }
    }

    /// Waits until every Service of a namespace has an address, then until nothing is asked of the cloud any more.
    pub(crate) async fn until_served(
        &self,
        namespace: &str,
        manager: &mut Process,
    ) -> anyhow::Result<Vec<Value>> {
        let deadline = Instant::now() + PATIENCE;
        loop {
            manager.ensure_running()?;
            let services = self.services(namespace).list(&ListParams::default()).await?;
            let services: Vec<Value> =
                services.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?;
            let unserved: Vec<&str> = services
                .iter()
                .filter(|service| {
                    service["status"]["loadBalancer"]["ingress"].as_array().is_none_or(Vec::is_empty)
                })
                .filter_map(|service| service["metadata"]["name"].as_str())
                .collect();
            if unserved.is_empty() {
                self.until_quiet(manager).await?;
                let services = self.services(namespace).list(&ListParams::default()).await?;
                return Ok(services.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?);
            }
            ensure!(Instant::now() < deadline, "no address: {unserved:?}\n{}", manager.tail());
            sleep(POLL).await;
        }
    }

    /// Waits until the manager has asked the cloud for something, and then for nothing for a while.
    pub(crate) async fn until_quiet(&self, manager: &mut Process) -> anyhow::Result<()> {
        let deadline = Instant::now() + PATIENCE;
        let (mut since, mut before) = (Instant::now(), 0);
        while since.elapsed() < QUIET || before == 0 {
            manager.ensure_running()?;
            ensure!(Instant::now() < deadline, "never quiet: {:?}\n{}", self.cloud.counts(), manager.tail());
            sleep(POLL).await;
            let (now, _) = self.cloud.requests();
            // A manager waits without a request for a load balancer that Octavia is changing.
            if now != before || self.cloud.is_changing() {
                (since, before) = (Instant::now(), now);
            }
        }
        Ok(())
    }
}
