//! Where a test takes place: an API server and a cloud of its own, and the manager's process, started and killed by its
//! process id. Decides nothing about when.

use std::path::PathBuf;
use std::process::Command;

use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manifest::apply_manifest;
use bowline_testkit::process::Process;
use real_kubernetes_tests::framework::protocol::NAME;
use real_kubernetes_tests::framework::server::Served;
use tokio::sync::{Mutex, MutexGuard};

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
        apply_manifest(&client, &bowline_manager::rbac::manifest(NAMESPACE, ACCOUNT)?).await?;
        let kubeconfig = cluster.kubeconfig(&Identity::service_account(NAMESPACE, ACCOUNT)).await?;
        let cloud = Served::start().await?;
        std::fs::write(cluster.folder().join("cloud.conf"), &cloud.url)?;
        Ok(Self { cluster, cloud, client, kubeconfig, _turn: turn })
    }

    /// Starts the manager with these flags besides those that say where it is.
    pub(crate) fn start(&self, flags: &[&str]) -> anyhow::Result<Process> {
        let log = self.cluster.folder().join(self.cluster.unique_name("ccm.log"));
        let kubeconfig = self.kubeconfig.display();
        let mut command = Command::new(env!("CARGO_BIN_EXE_framework-ccm"));
        command
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
            .args(flags);
        Process::start(command, log)
    }
}
