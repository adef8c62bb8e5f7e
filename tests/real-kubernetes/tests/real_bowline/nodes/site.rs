//! A cluster, an OpenStack, a cloud.conf between them, and the binary. Waiting is for an object or a line of the log.

use std::path::PathBuf;
use std::process::Command;

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::cloud::Cloud;
use bowline_testkit::eventually;
use bowline_testkit::process::{self, Process};
use k8s_openapi::api::core::v1::{Node, NodeSpec, NodeStatus, NodeSystemInfo, Taint};
use kube::Api;
use kube::api::{DeleteParams, ObjectMeta, PostParams};
use sim_openstack::{MEMBER, State};
use tempfile::TempDir;
use tokio::sync::{Mutex, MutexGuard};

/// What a Node has until a cloud-controller-manager has seen it.
pub(crate) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// Nodes are cluster-wide, and one cloud takes those of another for its own that are gone: one test at a time.
static ALONE: Mutex<()> = Mutex::const_new(());

/// A cluster and an OpenStack.
pub(crate) struct Site {
    cluster: &'static Cluster,
    namespace: String,
    kubeconfig: PathBuf,
    folder: TempDir,
    pub(crate) nodes: Api<Node>,
    pub(crate) cloud: Cloud,
    _alone: MutexGuard<'static, ()>,
}

impl Site {
    pub(crate) async fn new(prefix: &str) -> anyhow::Result<Self> {
        let alone = ALONE.lock().await;
        let cluster = Cluster::shared().await?;
        let namespace = cluster.namespace(prefix).await?;
        let nodes = Api::<Node>::all(cluster.client(&Identity::Admin).await?);
        let site = Self {
            cluster,
            namespace,
            kubeconfig: cluster.kubeconfig(&Identity::Admin).await?,
            folder: tempfile::tempdir()?,
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
        self.register_with(name, system_uuid, None).await
    }

    /// The same for a kubelet that was given a provider ID.
    pub(crate) async fn register_with(
        &self,
        name: &str,
        system_uuid: &str,
        provider_id: Option<&str>,
    ) -> anyhow::Result<Node> {
        let taint = Taint {
            key: UNINITIALIZED.to_owned(),
            value: Some("true".to_owned()),
            effect: "NoSchedule".to_owned(),
            ..Taint::default()
        };
        let info = NodeSystemInfo { system_uuid: system_uuid.to_owned(), ..NodeSystemInfo::default() };
        let node = Node {
            metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
            spec: Some(NodeSpec {
                taints: Some(vec![taint]),
                provider_id: provider_id.map(str::to_owned),
                ..NodeSpec::default()
            }),
            status: Some(NodeStatus { node_info: Some(info), ..NodeStatus::default() }),
        };
        Ok(self.nodes.create(&PostParams::default(), &node).await?)
    }

    /// Waits until a Node is as wanted; one that is not there is `None`.
    pub(crate) async fn until(
        &self,
        name: &str,
        what: &str,
        ccm: &Process,
        wanted: impl Fn(Option<&Node>) -> bool,
    ) -> anyhow::Result<Option<Node>> {
        let mut last = None;
        let seen = eventually(format!("{name} {what}"), async || {
            last = self.nodes.get_opt(name).await?;
            Ok(wanted(last.as_ref()).then(|| last.clone()))
        });
        let seen = seen.await;
        seen.with_context(|| format!("{last:#?}\n{}", ccm.tail()))
    }

    /// Starts the binary under this name, with these arguments before the usual flags.
    pub(crate) fn start(&self, program: &str, first: &[&str]) -> anyhow::Result<Process> {
        let link = self.folder.path().join(program);
        std::os::unix::fs::symlink(process::program("bowline")?, &link)?;
        let mut command = Command::new(link);
        command
            .args(first)
            .args(["--cloud-provider=openstack", "--secure-port=0", "--user-agent=real-test/1"])
            // A test has few nodes and no time.
            .args(["--node-deletion-limit-percent=100", "--node-deletion-breaker-percent=100"])
            .args(["--new-node-grace-period=1s", "--node-monitor-period=1s"])
            .arg(format!("--cloud-config={}", self.folder.path().join("cloud.conf").display()))
            .arg(format!("--kubeconfig={}", self.kubeconfig.display()))
            .arg(format!("--leader-elect-resource-namespace={}", self.namespace));
        Process::start(command, self.folder.path().join(format!("{program}.log")))
    }

    /// Leaves no Node for the next test.
    pub(crate) async fn clean(&self) -> anyhow::Result<()> {
        for node in self.nodes.list(&Default::default()).await? {
            if let Some(name) = node.metadata.name {
                self.nodes.delete(&name, &DeleteParams::default()).await?;
            }
        }
        Ok(())
    }
}
