//! A cluster with one Node and one Service, a cloud, and the binary under the rights that are shipped.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context;
use bowline_cloud::shadow::{REPORT_KEY, ShadowReport};
use bowline_testkit::apiserver::{Cluster, Identity};
use bowline_testkit::eventually;
use bowline_testkit::manifest::apply_manifest;
use bowline_testkit::process::{Process, program};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Service};
use k8s_openapi::api::rbac::v1::Role;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};

use bowline_testkit::cloud::Cloud;

const MANIFESTS: [&str; 2] =
    [include_str!("../../../../../deploy/rbac.yaml"), include_str!("../../../../../deploy/rbac-shadow.yaml")];

/// The ServiceAccounts of these manifests.
pub(crate) const SHADOW: &str = "bowline-shadow";
pub(crate) const MANAGER: &str = "cloud-controller-manager";
/// The ConfigMap, and the Role that lets it be written.
pub(crate) const REPORT: &str = "bowline-shadow-report";
const SYSTEM: &str = "kube-system";

pub(crate) struct Site {
    cluster: Cluster,
    pub(crate) cloud: Cloud,
    pub(crate) admin: Client,
    pub(crate) reports: Api<ConfigMap>,
    services: Api<Service>,
}

impl Site {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let (cluster, cloud) = (Cluster::start().await?, Cloud::start(1).await?);
        let admin = cluster.client(&Identity::Admin).await?;
        for manifest in MANIFESTS {
            apply_manifest(&admin, manifest).await?;
        }
        let reports = Api::namespaced(admin.clone(), SYSTEM);
        let services = Api::namespaced(admin.clone(), "default");
        let site = Self { cluster, cloud, admin, reports, services };
        let (name, id, address) = site.cloud.machines().await?.into_iter().next().context("a server")?;
        let nodes = Api::<Node>::all(site.admin.clone());
        let node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "spec": {"providerID": format!("openstack:///{id}")}});
        nodes.create(&PostParams::default(), &serde_json::from_value(node)?).await?;
        let status = json!({"status": {"addresses": [{"type": "InternalIP", "address": address}],
            "conditions": [{"type": "Ready", "status": "True"}]}});
        nodes.patch_status(&name, &PatchParams::default(), &Patch::Merge(status)).await?;
        let service = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "web"},
            "spec": {"type": "LoadBalancer", "ports": [{"port": 80}], "selector": {"app": "web"}}});
        site.services.create(&PostParams::default(), &serde_json::from_value(service)?).await?;
        Ok(site)
    }

    pub(crate) async fn service(&self) -> anyhow::Result<Service> {
        Ok(self.services.get("web").await?)
    }

    pub(crate) fn folder(&self) -> &Path {
        self.cluster.folder()
    }

    /// The way in of somebody who may do everything.
    pub(crate) async fn kubeconfig(&self) -> anyhow::Result<PathBuf> {
        self.cluster.kubeconfig(&Identity::Admin).await
    }

    /// Gives the Service these annotations.
    pub(crate) async fn annotate(&self, annotations: Value) -> anyhow::Result<()> {
        let change = Patch::Merge(json!({ "metadata": { "annotations": annotations } }));
        self.services.patch("web", &PatchParams::default(), &change).await?;
        Ok(())
    }

    /// Starts the manager as one of the shipped ServiceAccounts.
    pub(crate) async fn run(&self, account: &str, flags: &[&str]) -> anyhow::Result<Process> {
        let kubeconfig = self.cluster.kubeconfig(&Identity::service_account(SYSTEM, account)).await?;
        let conf = self.cloud.write_conf(self.cluster.folder(), "")?;
        let mut command = Command::new(program("bowline")?);
        command
            .args(["ccm", "--cloud-provider=openstack", "--secure-port=0"])
            .args(flags)
            .arg(format!("--cloud-config={}", conf.display()))
            .arg(format!("--kubeconfig={}", kubeconfig.display()));
        Process::start(command, self.cluster.folder().join("bowline.log"))
    }

    /// Gives the reporters these verbs on the report and takes all others.
    pub(crate) async fn may_report_only(&self, verbs: &[&str]) -> anyhow::Result<()> {
        let roles = Api::<Role>::namespaced(self.admin.clone(), SYSTEM);
        let rule = json!({"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [REPORT], "verbs": verbs});
        let change = json!({"rules": [rule]});
        roles.patch(REPORT, &PatchParams::default(), &Patch::Merge(change)).await?;
        Ok(())
    }

    async fn report(&self) -> anyhow::Result<Option<ShadowReport>> {
        let map = self.reports.get_opt(REPORT).await?;
        let text = map.and_then(|map| map.data).and_then(|mut data| data.remove(REPORT_KEY));
        Ok(text.map(|text| serde_json::from_str(&text)).transpose()?)
    }

    /// Waits for a report as it is wanted.
    pub(crate) async fn until_report(
        &self,
        manager: &Process,
        wanted: impl Fn(&ShadowReport) -> bool,
    ) -> anyhow::Result<ShadowReport> {
        let seen = eventually("a report", async || Ok(self.report().await?.filter(&wanted))).await;
        seen.with_context(|| manager.tail())
    }

    /// Waits for a later one.
    pub(crate) async fn until_newer(&self, manager: &Process, than: &ShadowReport) -> anyhow::Result<()> {
        self.until_report(manager, |report| report.observed_at > than.observed_at).await.map(drop)
    }
}
