//! A cluster on which one run follows another, with the rights that are shipped, and the binary under test.

use std::ops::Deref;
use std::path::PathBuf;

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity, RunCluster};
use bowline_testkit::objects::{MANAGER, SYSTEM};
use bowline_testkit::process::{Watchdog, program};
use bowline_testkit::proxy::Upstream;
use kube::api::ListParams;

const RBAC: &str = include_str!("../../../deploy/rbac.yaml");
/// Where the Services are.
pub const NAMESPACE: &str = "default";

/// A cluster for runs.
pub struct ChaosCluster {
    _watchdog: Watchdog,
    runs: RunCluster,
    /// The API server for the proxies, which forward the credentials of their callers.
    pub upstream: Upstream,
    token: String,
    /// The shipped binary.
    pub bowline: PathBuf,
}

impl Deref for ChaosCluster {
    type Target = RunCluster;

    fn deref(&self) -> &RunCluster {
        &self.runs
    }
}

impl ChaosCluster {
    /// Starts the servers and applies the shipped roles.
    ///
    /// # Errors
    /// When the binaries are missing or the servers do not get ready.
    pub async fn start() -> anyhow::Result<Self> {
        let bowline = program("bowline")?;
        let runs = RunCluster::new(Cluster::start().await?, &[RBAC]).await?;
        let upstream = Upstream::new(&runs.config(&Identity::Anonymous).await?)?;
        let token = runs.token(SYSTEM, MANAGER).await?;
        let watchdog = Watchdog::of(runs.folder())?;
        Ok(Self { _watchdog: watchdog, runs, upstream, token, bowline })
    }

    /// A kubeconfig of the manager for a proxy.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn manager_kubeconfig(&self, url: &str) -> anyhow::Result<PathBuf> {
        self.kubeconfig_of_proxy(url, &self.token)
    }

    /// The version of everything now.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn version(&self) -> anyhow::Result<String> {
        let list = self.nodes().list_metadata(&ListParams::default()).await?;
        list.metadata.resource_version.context("a list without a version")
    }
}
