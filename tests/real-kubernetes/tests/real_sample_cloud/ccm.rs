//! Starts the binary, reads its log, ends it. Waiting is always for a line of the log or an object, never for time.

use std::path::PathBuf;
use std::process::ExitStatus;

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::eventually;
use bowline_testkit::manager::{Manager, ServingPort};
use bowline_testkit::manifest;
use bowline_testkit::process::{Process, program};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeSpec};
use kube::Api;
use kube::api::{ObjectMeta, PostParams};
use serde_json::{Value, json};
use tempfile::TempDir;

/// One line of the log.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) message: String,
    pub(crate) fields: Value,
}

/// What a test shares between its processes: a namespace for the Lease, an identity with our rights, a cloud.
pub(crate) struct Harness {
    pub(crate) cluster: &'static Cluster,
    pub(crate) namespace: String,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) folder: TempDir,
    /// A machine that only this site's cloud has: Nodes are cluster-wide, and other tests' managers run beside ours.
    pub(crate) machine: String,
}

impl Harness {
    /// A namespace, and a ServiceAccount in it that has exactly the rights of the shipped manifest.
    pub(crate) async fn new(prefix: &str) -> anyhow::Result<Self> {
        Self::on(Cluster::shared().await?, prefix).await
    }

    /// The same on an API server of its own, which ends with the test process.
    pub(crate) async fn alone(prefix: &str) -> anyhow::Result<Self> {
        Self::on(Box::leak(Box::new(Cluster::start().await?)), prefix).await
    }

    async fn on(cluster: &'static Cluster, prefix: &str) -> anyhow::Result<Self> {
        let namespace = cluster.namespace(prefix).await?;
        grant_shipped_rights(cluster, &namespace).await?;
        let kubeconfig = cluster.kubeconfig(&Identity::service_account(&namespace, "ccm")).await?;
        let folder = tempfile::tempdir()?;
        let machine = cluster.unique_name("machine");
        let cloud = format!(
            "region: here\nmachines:\n  {machine}: {{kind: small, zone: here-a, rack: r1, address: 192.0.2.11}}\n\
             balancer_addresses: [198.51.100.1]\n"
        );
        std::fs::write(folder.path().join("cloud.yaml"), cloud)?;
        Ok(Self { cluster, namespace, kubeconfig, folder, machine })
    }

    pub(crate) async fn admin(&self) -> anyhow::Result<kube::Client> {
        self.cluster.client(&Identity::Admin).await
    }

    /// Starts a process with the Lease in our namespace, and these flags besides.
    pub(crate) fn start(&self, flags: &[&str]) -> anyhow::Result<Ccm> {
        self.start_on(None, flags)
    }

    /// The same with a port on which it serves.
    pub(crate) fn start_on(&self, port: Option<ServingPort>, flags: &[&str]) -> anyhow::Result<Ccm> {
        let manager = Manager::new(program("sample-cloud")?)
            .flags(["--cloud-provider=sample", "--logging-format=json"])
            .cloud_config(&self.folder.path().join("cloud.yaml"))
            .kubeconfig(&self.kubeconfig)
            .flags([format!("--leader-elect-resource-namespace={}", self.namespace)]);
        let manager = match port {
            Some(port) => manager.serving(port, &self.kubeconfig),
            None => manager.without_port(),
        };
        let log = self.folder.path().join(self.cluster.unique_name("ccm.log"));
        Ok(Ccm { process: manager.flags(flags.iter().copied()).start(log)? })
    }
}

/// A running cloud-controller-manager. Killed when dropped.
pub(crate) struct Ccm {
    process: Process,
}

impl Ccm {
    /// Waits for a line that says `message`, after the first `skip` lines that do.
    pub(crate) async fn says_again(&self, message: &str, skip: usize) -> anyhow::Result<Line> {
        self.wait(message, |lines| lines.into_iter().filter(|line| line.message == message).nth(skip)).await
    }

    /// Waits for a line that says `message` and is of this kind.
    pub(crate) async fn says_so(&self, message: &str, kind: impl Fn(&Line) -> bool) -> anyhow::Result<Line> {
        self.wait(message, |lines| lines.into_iter().find(|line| line.message == message && kind(line))).await
    }

    async fn wait(&self, what: &str, find: impl Fn(Vec<Line>) -> Option<Line>) -> anyhow::Result<Line> {
        let found = eventually(format!("{what:?} in the log"), async || Ok(find(self.lines()))).await;
        found.with_context(|| self.process.tail())
    }

    pub(crate) async fn says(&self, message: &str) -> anyhow::Result<Line> {
        self.says_again(message, 0).await
    }

    /// The identity with which it competes.
    pub(crate) async fn identity(&self) -> anyhow::Result<String> {
        let line = self.says("competing").await?;
        Ok(line.fields["identity"].as_str().context("no identity in the log")?.to_owned())
    }

    /// The lines of its log. One that is half written is left out.
    pub(crate) fn lines(&self) -> Vec<Line> {
        self.process.log().lines().filter_map(parse).collect()
    }

    pub(crate) fn signal(&self, name: &str) -> anyhow::Result<()> {
        self.process.signal(name)
    }

    /// Waits for its end; the log is complete then.
    pub(crate) async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        self.process.exited().await
    }

    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.process.kill()
    }
}

fn parse(text: &str) -> Option<Line> {
    let mut record: Value = serde_json::from_str(text).ok()?;
    let at = record["timestamp"].as_str()?.parse().ok()?;
    let fields = record["fields"].take();
    Some(Line { at, message: fields["message"].as_str()?.to_owned(), fields })
}

/// Applies the shipped manifest for a ServiceAccount `ccm`, with cluster-wide names of this namespace's own.
async fn grant_shipped_rights(cluster: &Cluster, namespace: &str) -> anyhow::Result<()> {
    let client = cluster.client(&Identity::Admin).await?;
    apply(&client, namespace, &bowline_manager::rbac::manifest(namespace, "ccm")?).await
}

/// Applies a manifest; objects that are not in the namespace get names of its own.
pub(crate) async fn apply(client: &kube::Client, namespace: &str, text: &str) -> anyhow::Result<()> {
    for mut object in manifest::objects(text)? {
        let is_role = object.types.as_ref().is_some_and(|types| types.kind.starts_with("ClusterRole"));
        if is_role || object.metadata.namespace.as_deref() == Some("kube-system") {
            let own = |name: &str| format!("{name}-{namespace}");
            object.metadata.name = object.metadata.name.as_deref().map(own);
            if let Some(role) = object.data["roleRef"]["name"].as_str().map(own) {
                object.data["roleRef"]["name"] = json!(role);
            }
        }
        manifest::apply(client, &object).await?;
    }
    Ok(())
}

/// A Node that the sample cloud knows as `machine`.
pub(crate) async fn register_node(client: &kube::Client, name: &str, machine: &str) -> anyhow::Result<Node> {
    let node = Node {
        metadata: ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() },
        spec: Some(NodeSpec { provider_id: Some(format!("sample://{machine}")), ..NodeSpec::default() }),
        ..Node::default()
    };
    Ok(Api::all(client.clone()).create(&PostParams::default(), &node).await?)
}
