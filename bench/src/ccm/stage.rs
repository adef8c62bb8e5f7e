//! A cluster on which one CCM follows the other, each under a ServiceAccount: that of the shipped roles, or that of OCCM's.

use std::path::{Path, PathBuf};

use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manifest::apply_manifest;
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::json;

/// Where a CCM and its Lease are.
const SYSTEM: &str = "kube-system";
/// The Lease that says who leads.
const LEASE: &str = "cloud-controller-manager";
const SHIPPED: &str = include_str!("../../../deploy/rbac.yaml");
const SHIPPED_ACCOUNT: &str = "cloud-controller-manager";
const UPSTREAM: &str = include_str!("../../roles/upstream.yaml");
const UPSTREAM_ACCOUNT: &str = "upstream-ccm";
/// Where the Services are.
pub const NAMESPACE: &str = "default";
/// Requests of users that are under way at once.
pub const AT_ONCE: usize = 16;
/// The beginning of the names of Services that are no CCM's business.
pub const OTHER: &str = "other-";

/// A cluster.
pub struct Stage {
    cluster: Cluster,
    /// Who may do everything, and is not counted.
    pub admin: Client,
}

impl Stage {
    /// Starts the servers and applies both sets of roles.
    ///
    /// # Errors
    /// When the binaries are missing or the servers do not get ready.
    pub async fn start() -> anyhow::Result<Self> {
        let cluster = Cluster::start_roomy().await?;
        let admin = cluster.client(&Identity::Admin).await?;
        apply_manifest(&admin, SHIPPED).await?;
        apply_manifest(&admin, UPSTREAM).await?;
        Ok(Self { cluster, admin })
    }

    /// A folder that lives as long as the cluster.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.cluster.folder()
    }

    /// A name that nobody else gets.
    #[must_use]
    pub fn unique_name(&self, prefix: &str) -> String {
        self.cluster.unique_name(prefix)
    }

    /// How the API server is reached by somebody who brings credentials along.
    ///
    /// # Errors
    /// When the configuration cannot be made.
    pub async fn config(&self) -> anyhow::Result<Config> {
        self.cluster.config(&Identity::Anonymous).await
    }

    /// A token of the account that a CCM of this name runs as: ours shows that the shipped roles are enough, and any other has those that
    /// OCCM asks for.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn token(&self, ccm: &str) -> anyhow::Result<String> {
        let account = if ccm.starts_with("bowline") { SHIPPED_ACCOUNT } else { UPSTREAM_ACCOUNT };
        self.cluster.token(SYSTEM, account).await
    }

    /// A kubeconfig for a proxy.
    ///
    /// # Errors
    /// When it cannot be written.
    pub fn kubeconfig(&self, url: &str, token: &str) -> anyhow::Result<PathBuf> {
        let document = json!({
            "apiVersion": "v1", "kind": "Config",
            "clusters": [{ "name": "bench", "cluster": { "server": url } }],
            "users": [{ "name": "bench", "user": { "token": token } }],
            "contexts": [{ "name": "bench", "context": { "cluster": "bench", "user": "bench" } }],
            "current-context": "bench",
        });
        let path = self.folder().join(self.unique_name("kubeconfig"));
        std::fs::write(&path, document.to_string())?;
        Ok(path)
    }

    /// The Services of users.
    #[must_use]
    pub fn services(&self) -> Api<Service> {
        Api::namespaced(self.admin.clone(), NAMESPACE)
    }

    /// The Nodes.
    #[must_use]
    pub fn nodes(&self) -> Api<Node> {
        Api::all(self.admin.clone())
    }

    /// Who leads, if anybody does.
    ///
    /// # Errors
    /// When the API server does not answer.
    pub async fn leader(&self) -> anyhow::Result<Option<String>> {
        let leases: Api<Lease> = Api::namespaced(self.admin.clone(), SYSTEM);
        let lease = leases.get_opt(LEASE).await?;
        let holder = lease.and_then(|lease| lease.spec?.holder_identity);
        Ok(holder.filter(|holder| !holder.is_empty()))
    }

    /// Leaves no Node, no Service with a load balancer and no Lease for the next CCM. None runs.
    ///
    /// # Errors
    /// When the API server refuses.
    pub async fn clean(&self) -> anyhow::Result<()> {
        let all = ListParams::default();
        let services: Vec<String> =
            self.services().list_metadata(&all).await?.iter().map(ResourceExt::name_any).collect();
        let services = services.into_iter().filter(|name| name != "kubernetes" && !name.starts_with(OTHER));
        at_once(services, |name: String| async move {
            let patch = Patch::Merge(json!({"metadata": {"finalizers": null}}));
            let patched = self.services().patch(&name, &PatchParams::default(), &patch).await;
            gone_is_fine(patched.map(drop))?;
            gone_is_fine(self.services().delete(&name, &DeleteParams::default()).await.map(drop))
        })
        .await?;
        let nodes: Vec<String> =
            self.nodes().list_metadata(&all).await?.iter().map(ResourceExt::name_any).collect();
        at_once(nodes, |name: String| async move {
            gone_is_fine(self.nodes().delete(&name, &DeleteParams::default()).await.map(drop))
        })
        .await?;
        // A CCM may have others beside the one that says who leads.
        let leases: Api<Lease> = Api::namespaced(self.admin.clone(), SYSTEM);
        let names = leases.list_metadata(&all).await?;
        let names = names.iter().map(ResourceExt::name_any).filter(|name| name.starts_with(LEASE));
        at_once(names, |name: String| {
            let leases = leases.clone();
            async move { gone_is_fine(leases.delete(&name, &DeleteParams::default()).await.map(drop)) }
        })
        .await
    }
}

/// Does something for each, several at once.
///
/// # Errors
/// With the first that fails.
pub async fn at_once<T, F: Future<Output = anyhow::Result<()>>>(
    items: impl IntoIterator<Item = T>,
    perform: impl Fn(T) -> F,
) -> anyhow::Result<()> {
    stream::iter(items).map(perform).buffer_unordered(AT_ONCE).try_collect().await
}

fn gone_is_fine(answer: kube::Result<()>) -> anyhow::Result<()> {
    match answer {
        Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
        other => Ok(other?),
    }
}
