//! A cluster on a simulated cloud, and a manager on both: OCCM or Bowline.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manager::Manager;
use bowline_testkit::nodes::{Nodes, initialized};
use bowline_testkit::process::Process;
use bowline_testkit::services::{Services, address};
use bowline_testkit::{Wait, objects};
use kube::Client;
use serde_json::Value;

use crate::shapes::Shape;
use bowline_testkit::cloud::Cloud;

/// A manager is quiet when it has asked the cloud for nothing this long: longer than the five seconds between two polls of a load balancer
/// whose members change.
const QUIET: Duration = Duration::from_secs(6);
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
pub(crate) struct Harness {
    pub(crate) cloud: Cloud,
    cluster: Cluster,
    client: Client,
    kubeconfig: PathBuf,
    conf: PathBuf,
}

impl Harness {
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
        let nodes = Nodes::of(&self.client);
        for (place, (name, id, address)) in self.cloud.machines().await?.into_iter().enumerate() {
            let of_ipv6 = format!("fd00:20::{}", place + 1);
            nodes.create(initialized(&name, &id, &[&address, &of_ipv6])).await?;
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
        Manager::new(program)
            .flags(first.iter().copied())
            .flags(FLAGS)
            .flags([format!("--concurrent-service-syncs={workers}")])
            .cloud_config(&self.conf)
            .kubeconfig(&self.kubeconfig)
            .start(log)
    }

    pub(crate) async fn create_namespace(&self, namespace: &str) -> anyhow::Result<()> {
        objects::create_namespace(&self.client, namespace).await
    }

    /// Makes Services in a namespace.
    pub(crate) async fn create(&self, namespace: &str, shapes: &[Shape]) -> anyhow::Result<()> {
        let services = self.services(namespace);
        for shape in shapes {
            services.create(&shape.service()).await?;
        }
        Ok(())
    }

    pub(crate) fn services(&self, namespace: &str) -> Services {
        Services::of(&self.client, namespace)
    }

    /// Deletes all Services of a namespace, and waits until they are gone.
    pub(crate) async fn delete_all(&self, namespace: &str, manager: &Process) -> anyhow::Result<()> {
        self.services(namespace).delete_all().await.with_context(|| manager.tail())
    }

    /// Waits until every Service of a namespace has an address, then until nothing is asked of the cloud any more.
    pub(crate) async fn until_served(
        &self,
        namespace: &str,
        manager: &mut Process,
    ) -> anyhow::Result<Vec<Value>> {
        let services = self.services(namespace);
        let unserved = async || {
            manager.ensure_running()?;
            let mut services = self.json(&services).await?;
            services.retain(|service| address(service).is_none());
            Ok(services
                .iter()
                .filter_map(|service| service["metadata"]["name"].as_str())
                .map(str::to_owned)
                .collect())
        };
        let wait = Wait::default();
        let served = wait.until_value("all Services have addresses", unserved, Vec::<String>::is_empty).await;
        served.with_context(|| manager.tail())?;
        self.until_quiet(manager).await?;
        self.json(&services).await
    }

    async fn json(&self, services: &Services) -> anyhow::Result<Vec<Value>> {
        Ok(services.list().await?.into_iter().map(serde_json::to_value).collect::<Result<_, _>>()?)
    }

    /// Waits until the manager has asked the cloud for something, and then for nothing for a while.
    pub(crate) async fn until_quiet(&self, manager: &mut Process) -> anyhow::Result<()> {
        let requests = async || {
            manager.ensure_running()?;
            let (count, _) = self.cloud.requests();
            // A manager waits without a request for a load balancer that Octavia is changing.
            Ok((count > 0 && !self.cloud.is_changing()).then_some(count))
        };
        let quiet = Wait::default().until_settled("no more requests to the cloud", QUIET, requests).await;
        quiet.with_context(|| format!("{:?}\n{}", self.cloud.counts(), manager.tail()))
    }
}
