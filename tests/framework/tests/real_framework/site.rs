//! Where a test takes place: an API server and a cloud of its own, and the manager's process, started and killed by its
//! process id. Decides nothing about when.

use std::fs::File;
use std::path::PathBuf;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity};
use framework_tests::protocol::NAME;
use framework_tests::server::Served;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::discovery::Scope;
use tokio::sync::{Mutex, MutexGuard};

/// Longer than anything takes on a busy machine, where a single call may take seconds; a test that gets here has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);

const NAMESPACE: &str = "kube-system";
const ACCOUNT: &str = "cloud-controller-manager";

/// One site at a time: two API servers and two managers at once only wait for each other.
static TURN: Mutex<()> = Mutex::const_new(());

pub(crate) struct Site {
    pub(crate) cluster: Cluster,
    pub(crate) cloud: Served,
    pub(crate) client: kube::Client,
    kubeconfig: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Site {
    /// An empty cluster, an empty cloud, and a ServiceAccount with exactly the rights of the shipped manifest.
    pub(crate) async fn new() -> anyhow::Result<Self> {
        let turn = TURN.lock().await;
        let cluster = Cluster::start().await?;
        let client = cluster.client(&Identity::Admin).await?;
        apply(&client, &bowline_manager::rbac::manifest(NAMESPACE, ACCOUNT)?).await?;
        let kubeconfig = cluster.kubeconfig(&Identity::service_account(NAMESPACE, ACCOUNT)).await?;
        let cloud = Served::start().await?;
        std::fs::write(cluster.folder().join("cloud.conf"), &cloud.url)?;
        Ok(Self { cluster, cloud, client, kubeconfig, _turn: turn })
    }

    /// Starts the manager with these flags besides those that say where it is.
    pub(crate) fn start(&self, flags: &[&str]) -> anyhow::Result<Process> {
        let log = self.cluster.folder().join(self.cluster.unique_name("ccm.log"));
        let kubeconfig = self.kubeconfig.display();
        let child = Command::new(env!("CARGO_BIN_EXE_framework-ccm"))
            .arg(format!("--cloud-provider={NAME}"))
            .arg(format!("--cloud-config={}", self.cluster.folder().join("cloud.conf").display()))
            .arg(format!("--kubeconfig={kubeconfig}"))
            .args([
                "--bind-address=127.0.0.1",
                "--secure-port=0",
                "--cloud-api-qps=1000",
                "--cloud-api-burst=1000",
            ])
            .args(["--kube-api-qps=1000", "--kube-api-burst=1000"])
            .args(flags)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(File::create(&log)?)
            .spawn()
            .context("start framework-ccm")?;
        Ok(Process { child, log })
    }
}

/// A running manager. Killed when dropped.
pub(crate) struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Ends it at once (SIGKILL), and is done when it is gone.
    pub(crate) fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }

    /// Whether it ended by itself.
    pub(crate) fn ended(&mut self) -> anyhow::Result<Option<ExitStatus>> {
        Ok(self.child.try_wait()?)
    }

    /// The end of its log, for a test that failed.
    pub(crate) fn last_words(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().collect();
        lines.iter().skip(lines.len().saturating_sub(60)).map(|line| format!("{line}\n")).collect()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have ended already, which is just as well.
        drop(self.kill());
    }
}

/// Waits until `look` has an answer.
pub(crate) async fn until<T>(
    what: impl std::fmt::Display,
    look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    bowline_testkit::until(PATIENCE, what, look).await
}

async fn apply(client: &kube::Client, manifest: &str) -> anyhow::Result<()> {
    for document in manifest.split("---\n").skip(1) {
        let object: DynamicObject = serde_saphyr::from_str(document)?;
        let kind = object.types.clone().context("a kind")?;
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
