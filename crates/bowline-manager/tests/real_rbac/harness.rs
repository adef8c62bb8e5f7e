//! An API server of one's own, with a manager's identity on it that has exactly the shipped rights.

use std::path::PathBuf;

use anyhow::Context;
use bowline_cloud::Watches;
use bowline_manager::rbac::Rights;
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::manifest::apply_manifest;
use bowline_testkit::nodes::Nodes;
use bowline_testkit::objects::{MANAGER, if_found, lease_holder};
use bowline_testkit::services::Services;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, Client, Config};
use serde_json::json;

use crate::audit;

/// The ServiceAccount of the manager.
pub(crate) const ACCOUNT: &str = "ccm";

/// In which form the rights are given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// One identity does everything.
    OneIdentity,
    /// Every controller has a ServiceAccount of its own.
    OwnAccounts,
}

impl Form {
    pub(crate) fn flags(self) -> &'static [&'static str] {
        match self {
            Self::OneIdentity => &[],
            Self::OwnAccounts => &["--use-service-account-credentials"],
        }
    }
}

pub(crate) struct Harness {
    pub(crate) cluster: Cluster,
    pub(crate) admin: Client,
    pub(crate) admin_config: Config,
    pub(crate) nodes: Nodes,
    pub(crate) services: Services,
    /// Where the Lease and the Services are.
    pub(crate) namespace: String,
    pub(crate) kubeconfig: PathBuf,
    pub(crate) form: Form,
    /// What was applied.
    pub(crate) manifest: String,
}

impl Harness {
    pub(crate) async fn new(form: Form) -> anyhow::Result<Self> {
        let cluster = Cluster::start_audited(&audit::policy()).await?;
        let admin = cluster.client(&Identity::Admin).await?;
        let admin_config = cluster.config(&Identity::Admin).await?;
        let namespace = cluster.namespace("rbac").await?;
        let rights = Rights::common()
            .with_extra("badge-controller", Watches::Nodes)
            .with_extra("ribbon-controller", Watches::Services);
        let manifest = match form {
            Form::OneIdentity => rights.manifest(&namespace, ACCOUNT)?,
            Form::OwnAccounts => rights.service_account_credentials_manifest(&namespace, ACCOUNT)?,
        };
        apply_manifest(&admin, &manifest).await?;
        let kubeconfig = cluster.kubeconfig(&Identity::service_account(&namespace, ACCOUNT)).await?;
        let (nodes, services) = (Nodes::of(&admin), Services::of(&admin, &namespace));
        let site =
            Self { cluster, admin, admin_config, nodes, services, namespace, kubeconfig, form, manifest };
        site.withdraw_bootstrapped_rights().await?;
        Ok(site)
    }

    /// What an API server gives these accounts by itself would hide what is missing in ours.
    async fn withdraw_bootstrapped_rights(&self) -> anyhow::Result<()> {
        let bindings = Api::<ClusterRoleBinding>::all(self.admin.clone());
        for account in ["node-controller", "service-controller", "route-controller"] {
            let name = format!("system:controller:{account}");
            bindings
                .delete(&name, &DeleteParams::default())
                .await
                .with_context(|| format!("delete {name}"))?;
        }
        Ok(())
    }

    pub(crate) fn leases(&self) -> Api<Lease> {
        Api::namespaced(self.admin.clone(), &self.namespace)
    }

    /// The Lease as a leader leaves it that ends in order. There may be none.
    pub(crate) async fn free_lease(&self) -> anyhow::Result<()> {
        let free = json!({"spec": {"holderIdentity": "", "leaseDurationSeconds": 1}});
        if_found(self.leases().patch(MANAGER, &PatchParams::default(), &Patch::Merge(free)).await).map(drop)
    }

    pub(crate) async fn delete_lease(&self) -> anyhow::Result<()> {
        if_found(self.leases().delete(MANAGER, &DeleteParams::default()).await).map(drop)
    }

    /// Who holds the Lease.
    pub(crate) async fn holder(&self) -> anyhow::Result<Option<String>> {
        lease_holder(&self.leases(), MANAGER).await
    }
}
