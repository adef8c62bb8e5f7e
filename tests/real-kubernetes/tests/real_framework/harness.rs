//! An API server and a cloud of its own, and the manager's process, started and killed by its
//! process id. Decides nothing about when.

use std::path::PathBuf;

use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manager::Manager;
use bowline_testkit::manifest::apply_manifest;
use bowline_testkit::objects::{MANAGER, SYSTEM};
use bowline_testkit::process::Process;
use real_kubernetes_tests::framework::protocol::NAME;
use real_kubernetes_tests::framework::server::Served;
use tokio::sync::{Mutex, MutexGuard};

/// One harness at a time: two API servers and two managers at once only wait for each other.
static TURN: Mutex<()> = Mutex::const_new(());

pub(crate) struct Harness {
    pub(crate) cluster: Cluster,
    pub(crate) cloud: Served,
    pub(crate) client: kube::Client,
    kubeconfig: PathBuf,
    _turn: MutexGuard<'static, ()>,
}

impl Harness {
    /// An empty cluster, an empty cloud, and a ServiceAccount with exactly the rights of the shipped manifest.
    pub(crate) async fn new() -> anyhow::Result<Self> {
        let turn = TURN.lock().await;
        let cluster = Cluster::start().await?;
        let client = cluster.client(&Identity::Admin).await?;
        apply_manifest(&client, &bowline_manager::rbac::manifest(SYSTEM, MANAGER)?).await?;
        let kubeconfig = cluster.kubeconfig(&Identity::service_account(SYSTEM, MANAGER)).await?;
        let cloud = Served::start().await?;
        std::fs::write(cluster.folder().join("cloud.conf"), &cloud.url)?;
        Ok(Self { cluster, cloud, client, kubeconfig, _turn: turn })
    }

    /// Starts the manager with these flags besides those that say where it is.
    pub(crate) fn start(&self, flags: &[&str]) -> anyhow::Result<Process> {
        Manager::new(env!("CARGO_BIN_EXE_framework-ccm"))
            .flags([format!("--cloud-provider={NAME}")])
            .cloud_config(&self.cluster.folder().join("cloud.conf"))
            .kubeconfig(&self.kubeconfig)
            .without_port()
            .flags(["--cloud-api-qps=1000", "--cloud-api-burst=1000"])
            .flags(["--kube-api-qps=1000", "--kube-api-burst=1000"])
            .flags(flags.iter().copied())
            .start(self.cluster.folder().join(self.cluster.unique_name("ccm.log")))
    }
}
