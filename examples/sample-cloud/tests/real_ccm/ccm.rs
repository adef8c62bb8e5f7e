//! Starts the binary, reads its log, ends it. Waiting is always for a line of the log or an object, never for time.

use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::{Context, bail};
use bowline_testkit::apiserver::{Cluster, Identity};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::{Node, NodeSpec};
use kube::Api;
use kube::api::{DynamicObject, ObjectMeta, Patch, PatchParams, PostParams};
use kube::discovery::Scope;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::sync::watch;
use tokio::time::timeout;

/// Longer than anything takes on a busy machine; a test that gets here has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

/// One line of the log.
#[derive(Debug, Clone)]
pub(crate) struct Line {
    pub(crate) at: Timestamp,
    pub(crate) message: String,
    pub(crate) fields: Value,
}

/// What a test shares between its processes: a namespace for the Lease, an identity with our rights, a cloud.
pub(crate) struct Site {
    pub(crate) cluster: &'static Cluster,
    pub(crate) namespace: String,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) folder: TempDir,
    /// A machine that only this site's cloud has: Nodes are cluster-wide, and other tests' managers run beside ours.
    pub(crate) machine: String,
}

impl Site {
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
        let kubeconfig = self.kubeconfig.display();
        let mut command = Command::new(env!("CARGO_BIN_EXE_sample-cloud"));
        command
            .args(["--cloud-provider=sample", "--logging-format=json", "--bind-address=127.0.0.1"])
            .arg(format!("--cloud-config={}", self.folder.path().join("cloud.yaml").display()))
            .arg(format!("--kubeconfig={kubeconfig}"))
            .arg(format!("--authentication-kubeconfig={kubeconfig}"))
            .arg(format!("--authorization-kubeconfig={kubeconfig}"))
            .arg(format!("--leader-elect-resource-namespace={}", self.namespace))
            .args(flags);
        if !flags.iter().any(|flag| flag.starts_with("--secure-port")) {
            command.arg("--secure-port=0");
        }
        Ccm::spawn(command)
    }
}

/// A running cloud-controller-manager. Killed when dropped.
pub(crate) struct Ccm {
    child: Child,
    log: watch::Receiver<Vec<Line>>,
}

impl Ccm {
    fn spawn(mut command: Command) -> anyhow::Result<Self> {
        let mut child =
            command.stdin(Stdio::null()).stderr(Stdio::piped()).spawn().context("start the binary")?;
        let stderr = child.stderr.take().context("its log")?;
        let (sender, log) = watch::channel(Vec::new());
        std::thread::spawn(move || read_log(stderr, &sender));
        Ok(Self { child, log })
    }

    /// Waits for a line that says `message`, after the first `skip` lines that do.
    pub(crate) async fn says_again(&self, message: &str, skip: usize) -> anyhow::Result<Line> {
        self.wait(message, |lines| lines.iter().filter(|line| line.message == message).nth(skip).cloned())
            .await
    }

    /// Waits for a line that says `message` and is of this kind.
    pub(crate) async fn says_so(&self, message: &str, kind: impl Fn(&Line) -> bool) -> anyhow::Result<Line> {
        self.wait(message, |lines| lines.iter().find(|line| line.message == message && kind(line)).cloned())
            .await
    }

    async fn wait(&self, what: &str, find: impl Fn(&Vec<Line>) -> Option<Line>) -> anyhow::Result<Line> {
        let mut log = self.log.clone();
        let found = timeout(PATIENCE, log.wait_for(|lines| find(lines).is_some())).await;
        if let Ok(Ok(lines)) = &found
            && let Some(line) = find(lines)
        {
            return Ok(line);
        }
        drop(found);
        bail!("it never said {what:?}; its log: {:#?}", self.lines())
    }

    pub(crate) async fn says(&self, message: &str) -> anyhow::Result<Line> {
        self.says_again(message, 0).await
    }

    /// The identity with which it competes.
    pub(crate) async fn identity(&self) -> anyhow::Result<String> {
        let line = self.says("competing").await?;
        Ok(line.fields["identity"].as_str().context("no identity in the log")?.to_owned())
    }

    pub(crate) fn lines(&self) -> Vec<Line> {
        self.log.borrow().clone()
    }

    pub(crate) fn signal(&self, name: &str) -> anyhow::Result<()> {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), pid.as_str()]).status()?;
        anyhow::ensure!(status.success(), "kill -{name} {pid} failed");
        Ok(())
    }

    /// Waits for its end; the log is complete then.
    pub(crate) async fn ended(&mut self) -> anyhow::Result<ExitStatus> {
        let mut log = self.log.clone();
        // The reader drops its end of the channel when the process has closed its log.
        let closed = async { while log.changed().await.is_ok() {} };
        timeout(PATIENCE, closed).await.context("it does not end")?;
        Ok(self.child.wait()?)
    }

    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Ccm {
    fn drop(&mut self) {
        // It may have ended already, which is just as well.
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn read_log(stderr: ChildStderr, log: &watch::Sender<Vec<Line>>) {
    for text in BufReader::new(stderr).lines().map_while(Result::ok) {
        if let Some(line) = parse(&text) {
            log.send_modify(|lines| lines.push(line));
        } else {
            eprintln!("not a log line: {text}");
        }
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

/// Applies documents, those that are not in the namespace under names of its own.
pub(crate) async fn apply(client: &kube::Client, namespace: &str, manifest: &str) -> anyhow::Result<()> {
    for document in manifest.split("---\n").skip(1) {
        let mut object: DynamicObject = serde_saphyr::from_str(document)?;
        let kind = object.types.clone().context("a kind")?;
        let name = object.metadata.name.clone().context("a name")?;
        if kind.kind.starts_with("ClusterRole") || object.metadata.namespace.as_deref() == Some("kube-system")
        {
            object.metadata.name = Some(format!("{name}-{namespace}"));
            if object.data["roleRef"].is_object() {
                object.data["roleRef"]["name"] = json!(format!("{name}-{namespace}"));
            }
        }
        let gvk = kube::core::GroupVersionKind::try_from(&kind)?;
        let (resource, capabilities) = kube::discovery::pinned_kind(client, &gvk).await?;
        let api: Api<DynamicObject> = match (capabilities.scope, &object.metadata.namespace) {
            (Scope::Namespaced, Some(namespace)) => {
                Api::namespaced_with(client.clone(), namespace, &resource)
            }
            _cluster_wide => Api::all_with(client.clone(), &resource),
        };
        let name = object.metadata.name.clone().context("a name")?;
        api.patch(&name, &PatchParams::apply("test").force(), &Patch::Apply(&object)).await?;
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
