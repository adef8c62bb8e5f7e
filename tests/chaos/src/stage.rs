//! A cluster on which one run follows the other, with the rights that are shipped, and the binary that is tested.

use std::path::{Path, PathBuf};

use anyhow::Context;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manifest::apply_manifest;
use bowline_testkit::process::{Watchdog, program};
use bowline_testkit::proxy::Upstream;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

/// Where the manager and its Lease are.
const SYSTEM: &str = "kube-system";
/// Whom the manager runs as: the ServiceAccount of the shipped manifest.
const ACCOUNT: &str = "cloud-controller-manager";
const RBAC: &str = include_str!("../../../deploy/rbac.yaml");
/// Where the Services are.
pub const NAMESPACE: &str = "default";

/// A cluster.
pub struct Stage {
    _watchdog: Watchdog,
    cluster: Cluster,
    /// Who may do everything, and is not disturbed.
    pub admin: Client,
    /// The API server for the proxies, which forward the credentials of whoever asks.
    pub upstream: Upstream,
    /// The token of the manager.
    pub token: String,
    /// The shipped binary.
    pub bowline: PathBuf,
}

impl Stage {
    /// Starts the servers and applies the shipped roles.
    ///
    /// # Errors
    /// When the binaries are missing or the servers do not get ready.
    pub async fn start() -> anyhow::Result<Self> {
        let bowline = program("bowline")?;
        let cluster = Cluster::start().await?;
        let admin = cluster.client(&Identity::Admin).await?;
        let upstream = Upstream::new(&cluster.config(&Identity::Anonymous).await?)?;
        apply_manifest(&admin, RBAC).await?;
        let token = cluster.token(SYSTEM, ACCOUNT).await?;
        let watchdog = Watchdog::of(cluster.folder())?;
        Ok(Self { _watchdog: watchdog, cluster, admin, upstream, token, bowline })
    }

    /// Where logs and files of processes are.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.cluster.folder()
    }

    /// A name that nobody else gets.
    #[must_use]
    pub fn unique_name(&self, prefix: &str) -> String {
        self.cluster.unique_name(prefix)
    }

    /// The Services of the runs.
    #[must_use]
    pub fn services(&self) -> Api<Service> {
        Api::namespaced(self.admin.clone(), NAMESPACE)
    }

    /// The Nodes.
    #[must_use]
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }

    /// A kubeconfig of the manager for a proxy.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn kubeconfig(&self, url: &str) -> anyhow::Result<PathBuf> {
        let document = json!({
            "apiVersion": "v1", "kind": "Config",
            "clusters": [{ "name": "test", "cluster": { "server": url } }],
            "users": [{ "name": "test", "user": { "token": self.token } }],
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
            "current-context": "test",
        });
        let path = self.folder().join(self.unique_name("kubeconfig"));
        std::fs::write(&path, document.to_string())?;
        Ok(path)
    }

    /// Leaves nothing for the next run. No manager runs.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn clean(&self) -> anyhow::Result<()> {
        let all = ListParams::default();
        let services = self.services();
        for service in services.list(&all).await? {
            let name = service.name_any();
            if name == "kubernetes" {
                continue;
            }
            let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            gone_is_fine(services.patch(&name, &PatchParams::default(), &patch).await.map(drop))?;
            gone_is_fine(services.delete(&name, &DeleteParams::default()).await.map(drop))?;
        }
        for node in self.nodes().list(&all).await? {
            gone_is_fine(self.nodes().delete(&node.name_any(), &DeleteParams::default()).await.map(drop))?;
        }
        let leases: Api<Lease> = Api::namespaced(self.admin.clone(), SYSTEM);
        for lease in leases.list(&all).await? {
            gone_is_fine(leases.delete(&lease.name_any(), &DeleteParams::default()).await.map(drop))?;
        }
        Ok(())
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

fn gone_is_fine(answer: kube::Result<()>) -> anyhow::Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => Ok(other?),
    }
}
