//! A cluster on which one run follows another, and which is emptied between them.

use std::ops::Deref;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::{Api, Client};

use super::{Cluster, Identity};
use crate::manifest::apply_manifest;
use crate::objects::{self, MANAGER, SYSTEM};

/// A cluster for many runs, with Services in the namespace `default`.
pub struct RunCluster {
    cluster: Cluster,
    /// A client that may do everything.
    pub admin: Client,
}

impl Deref for RunCluster {
    type Target = Cluster;

    fn deref(&self) -> &Cluster {
        &self.cluster
    }
}

impl RunCluster {
    /// Makes one of a cluster, and applies these manifests.
    ///
    /// # Errors
    /// When the API server refuses a manifest.
    pub async fn new(cluster: Cluster, manifests: &[&str]) -> anyhow::Result<Self> {
        let admin = cluster.client(&Identity::Admin).await?;
        for manifest in manifests {
            apply_manifest(&admin, manifest).await?;
        }
        Ok(Self { cluster, admin })
    }

    /// The Services of the runs.
    #[must_use]
    pub fn services(&self) -> Api<Service> {
        Api::namespaced(self.admin.clone(), "default")
    }

    /// The Nodes.
    #[must_use]
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }

    fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.admin.clone(), SYSTEM)
    }

    /// Which manager leads, if any does.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn leader(&self) -> anyhow::Result<Option<String>> {
        objects::lease_holder(&self.leases(), MANAGER).await
    }

    /// Deletes all Nodes, Leases, and Services but those that `keep` names, by force. No manager runs.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn clear(&self, keep: impl Fn(&str) -> bool) -> anyhow::Result<()> {
        objects::clear(&self.services(), keep).await?;
        objects::clear(&self.nodes(), |_name| false).await?;
        objects::clear(&self.leases(), |_name| false).await
    }
}
