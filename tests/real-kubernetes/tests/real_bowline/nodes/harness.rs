//! A cluster, an OpenStack, a cloud.conf between them, and the binary. Waiting is for an object or a line of the log.

use std::path::PathBuf;

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::cloud::Cloud;
use bowline_testkit::manager::Manager;
use bowline_testkit::nodes::{Nodes, registered};
use bowline_testkit::process::{self, Process};
use bowline_testkit::{Wait, objects};
use k8s_openapi::api::core::v1::Node;
use serde_json::json;
use sim_openstack::{MEMBER, State};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

/// Nodes are cluster-wide, and one cloud takes those of another for its own that are gone: one test at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// A cluster and an OpenStack.
pub(crate) struct Harness {
    cluster: &'static Cluster,
    namespace: String,
    kubeconfig: PathBuf,
    folder: TempDir,
    pub(crate) nodes: Nodes,
    pub(crate) cloud: Cloud,
    _alone: MutexGuard<'static, ()>,
}

impl Harness {
    pub(crate) async fn new(prefix: &str) -> anyhow::Result<Self> {
        let alone = ALONE.lock().await;
        let cluster = Cluster::shared().await?;
        let namespace = cluster.namespace(prefix).await?;
        let folder = tempfile::tempdir()?;
        let nodes = Nodes::of(&cluster.client(&Identity::Admin).await?);
        let nodes = nodes.waiting(Wait::default().with_log(folder.path().join("ccm.log")));
        let site = Self {
            cluster,
            namespace,
            kubeconfig: cluster.kubeconfig(&Identity::Admin).await?,
            folder,
            nodes,
            cloud: Cloud::start(0).await?,
            _alone: alone,
        };
        site.write_conf(MEMBER.password)?;
        Ok(site)
    }

    pub(crate) fn write_conf(&self, password: &str) -> anyhow::Result<()> {
        self.cloud.write_conf_with(self.folder.path(), password, "").map(drop)
    }

    pub(crate) fn edit<R>(&self, change: impl FnOnce(&mut State) -> R) -> R {
        self.cloud.sim.with(|cloud| cloud.edit(change))
    }

    /// A server that nobody else has, by name and id.
    pub(crate) fn boot(&self, prefix: &str) -> (String, String) {
        let name = self.cluster.unique_name(prefix);
        let id = self.cloud.boot(&name);
        (name, id)
    }

    /// Deletes a server behind everybody's back.
    pub(crate) fn remove_server(&self, id: &str) -> anyhow::Result<()> {
        self.edit(|state| state.compute.remove_server(id)).context("no such server").map(drop)
    }

    /// A Node as a kubelet registers it that leaves the rest to us.
    pub(crate) async fn register(&self, name: &str, system_uuid: &str) -> anyhow::Result<Node> {
        self.nodes.create(registered(name, system_uuid)).await
    }

    /// The same for a kubelet that was given a provider ID.
    pub(crate) async fn register_with(
        &self,
        name: &str,
        system_uuid: &str,
        provider_id: &str,
    ) -> anyhow::Result<Node> {
        let mut node = registered(name, system_uuid);
        node["spec"]["providerID"] = json!(provider_id);
        self.nodes.create(node).await
    }

    /// Starts the binary under this name, with these arguments before the usual flags.
    pub(crate) fn start(&self, program: &str, first: &[&str]) -> anyhow::Result<Process> {
        let link = self.folder.path().join(program);
        std::os::unix::fs::symlink(process::program("bowline")?, &link)?;
        Manager::new(link)
            .flags(first.iter().copied())
            .flags(["--cloud-provider=openstack", "--user-agent=real-test/1"])
            // A test has few nodes and no time.
            .flags(["--node-deletion-limit-percent=100", "--node-deletion-breaker-percent=100"])
            .flags(["--new-node-grace-period=1s", "--node-monitor-period=1s"])
            .flags([format!("--leader-elect-resource-namespace={}", self.namespace)])
            .cloud_config(&self.folder.path().join("cloud.conf"))
            .kubeconfig(&self.kubeconfig)
            .without_port()
            .start(self.folder.path().join("ccm.log"))
    }

    /// Leaves no Node for the next test.
    pub(crate) async fn clean(&self) -> anyhow::Result<()> {
        objects::clear(&self.nodes.api, |_name| false).await
    }
}
