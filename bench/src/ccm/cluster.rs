//! A cluster on which one CCM follows another, each under a ServiceAccount: that of the shipped roles, or that of OCCM's.

use std::ops::Deref;

use bowline_testkit::apiserver::{Cluster, RunCluster};
use bowline_testkit::objects::{MANAGER, SYSTEM};

const SHIPPED: &str = include_str!("../../../deploy/rbac.yaml");
const UPSTREAM: &str = include_str!("../../roles/upstream.yaml");
const UPSTREAM_ACCOUNT: &str = "upstream-ccm";
/// The beginning of the names of Services that are no CCM's business.
pub const OTHER: &str = "other-";

/// A cluster for CCMs. Its admin's requests are not counted.
pub struct BenchCluster(RunCluster);

impl Deref for BenchCluster {
    type Target = RunCluster;

    fn deref(&self) -> &RunCluster {
        &self.0
    }
}

impl BenchCluster {
    /// Starts the servers and applies both sets of roles.
    ///
    /// # Errors
    /// When the binaries are missing or the servers do not get ready.
    pub async fn start() -> anyhow::Result<Self> {
        Ok(Self(RunCluster::new(Cluster::start_roomy().await?, &[SHIPPED, UPSTREAM]).await?))
    }

    /// A token of the account that a CCM of this name runs as: ours shows that the shipped roles are enough, and any other has those that
    /// OCCM asks for.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn token_of(&self, ccm: &str) -> anyhow::Result<String> {
        let account = if ccm.starts_with("bowline") { MANAGER } else { UPSTREAM_ACCOUNT };
        self.token(SYSTEM, account).await
    }

    /// Leaves no Node, no Service with a load balancer and no Lease for the next CCM. None runs.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn clean(&self) -> anyhow::Result<()> {
        self.clear(|name| name.starts_with(OTHER)).await
    }
}
