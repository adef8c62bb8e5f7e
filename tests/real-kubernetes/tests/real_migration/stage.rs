//! A cluster on which one run follows the other, and what they all need.

use std::path::{Path, PathBuf};

use bowline_operator::api::CloudControllerManager;
use bowline_testkit::apiserver::{Binaries, Cluster, Identity};
use bowline_testkit::eventually;
use bowline_testkit::process::{Watchdog, program};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::{Api, Client, CustomResourceExt, ResourceExt};

/// The namespace of managers and their Lease.
pub(crate) const SYSTEM: &str = "kube-system";
/// The operator's.
const OPERATOR_NAMESPACE: &str = "bowline-system";

/// A cluster.
pub(crate) struct Stage {
    _watchdog: Watchdog,
    cluster: Cluster,
    pub(crate) client: Client,
    pub(crate) kubeconfig: PathBuf,
    /// The shipped binary.
    pub(crate) bowline: PathBuf,
    /// The real manager that is migrated from.
    pub(crate) occm: PathBuf,
}

impl Stage {
    /// Starts the servers, and installs our resource. `None` where the manager to migrate from is not there.
    pub(crate) async fn start() -> anyhow::Result<Option<Self>> {
        let Some(occm) = Binaries::locate()?.occm else { return Ok(None) };
        let bowline = program("bowline")?;
        let cluster = Cluster::start().await?;
        let client = cluster.client(&Identity::Admin).await?;
        let kubeconfig = cluster.kubeconfig(&Identity::Admin).await?;
        let _watchdog = Watchdog::of(cluster.folder())?;
        let stage = Self { _watchdog, cluster, client, kubeconfig, bowline, occm };
        let metadata = |name: &str| ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata: metadata(OPERATOR_NAMESPACE), ..Namespace::default() };
        Api::all(stage.client.clone()).create(&PostParams::default(), &namespace).await?;
        let accounts: Api<ServiceAccount> = Api::namespaced(stage.client.clone(), SYSTEM);
        let account = ServiceAccount { metadata: metadata("default"), ..ServiceAccount::default() };
        accounts.create(&PostParams::default(), &account).await?;
        stage.define(&CloudControllerManager::crd()).await?;
        Ok(Some(stage))
    }

    /// Makes a kind known, and waits until it is.
    async fn define(&self, definition: &CustomResourceDefinition) -> anyhow::Result<()> {
        let api: Api<CustomResourceDefinition> = Api::all(self.client.clone());
        api.create(&PostParams::default(), definition).await?;
        let name = definition.name_any();
        eventually("the kind is known", async || {
            let found = api.get(&name).await?;
            let conditions = found.status.and_then(|status| status.conditions).unwrap_or_default();
            let is_known = conditions.iter().any(|each| each.type_ == "Established" && each.status == "True");
            // Its storage comes a little later.
            let all: Api<CloudControllerManager> = Api::all(self.client.clone());
            Ok((is_known && all.list(&ListParams::default()).await.is_ok()).then_some(()))
        })
        .await
    }

    /// Where logs and files of processes are.
    pub(crate) fn folder(&self) -> &Path {
        self.cluster.folder()
    }
}
