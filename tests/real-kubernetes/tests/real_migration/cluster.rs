//! A cluster on which one run follows the other, and what they all need.

use std::path::{Path, PathBuf};

use bowline_operator::api::CloudControllerManager;
use bowline_testkit::apiserver::{Binaries, Cluster, Identity};
use bowline_testkit::objects;
pub(crate) use bowline_testkit::objects::SYSTEM;
use bowline_testkit::process::{Watchdog, program};
use kube::{Client, CustomResourceExt};

/// The operator's.
const OPERATOR_NAMESPACE: &str = "bowline-system";

/// A cluster.
pub(crate) struct MigrationCluster {
    _watchdog: Watchdog,
    cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) kubeconfig: PathBuf,
    /// The shipped binary.
    pub(crate) bowline: PathBuf,
    /// The real manager that is migrated from.
    pub(crate) occm: PathBuf,
}

impl MigrationCluster {
    /// Starts the servers, and installs our resource. `None` where the manager to migrate from is not there.
    pub(crate) async fn start() -> anyhow::Result<Option<Self>> {
        let Some(occm) = Binaries::locate()?.occm else { return Ok(None) };
        let bowline = program("bowline")?;
        let cluster = Cluster::start().await?;
        let client = cluster.client(&Identity::Admin).await?;
        let kubeconfig = cluster.kubeconfig(&Identity::Admin).await?;
        let _watchdog = Watchdog::of(cluster.folder())?;
        let cluster = Self { _watchdog, cluster, client, kubeconfig, bowline, occm };
        objects::create_namespace(&cluster.client, OPERATOR_NAMESPACE).await?;
        objects::create_service_account(&cluster.client, SYSTEM, "default").await?;
        objects::define(&cluster.client, &CloudControllerManager::crd()).await?;
        Ok(Some(cluster))
    }

    /// Where logs and files of processes are.
    pub(crate) fn folder(&self) -> &Path {
        self.cluster.folder()
    }
}
