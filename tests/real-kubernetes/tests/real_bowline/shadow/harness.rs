//! A cluster with one Node and one Service, a cloud, and the binary under the rights that are shipped.

use std::ops::Deref;
use std::sync::Arc;

use anyhow::Context;
use bowline_cloud::shadow::{REPORT_KEY, ShadowReport};
use bowline_testkit::eventually;
use bowline_testkit::objects::SYSTEM;
use bowline_testkit::process::Process;
use bowline_testkit::services::service;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use k8s_openapi::api::rbac::v1::Role;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;

use crate::harness::Harness as Base;
use bowline_testkit::cloud::Cloud;

const MANIFESTS: [&str; 2] =
    [include_str!("../../../../../deploy/rbac.yaml"), include_str!("../../../../../deploy/rbac-shadow.yaml")];

/// The ServiceAccount of a shadow.
pub(crate) const SHADOW: &str = "bowline-shadow";
/// The ConfigMap, and the Role that lets it be written.
pub(crate) const REPORT: &str = "bowline-shadow-report";

pub(crate) struct Harness {
    base: Base,
    pub(crate) reports: Api<ConfigMap>,
}

impl Deref for Harness {
    type Target = Base;

    fn deref(&self) -> &Base {
        &self.base
    }
}

impl Harness {
    pub(crate) async fn start() -> anyhow::Result<Self> {
        let base = Base::start(Arc::new(Cloud::start(1).await?), &MANIFESTS, "default", "").await?;
        base.services.create(&service("web", &[], &json!({}))).await?;
        let reports = Api::namespaced(base.admin.clone(), SYSTEM);
        Ok(Self { base, reports })
    }

    pub(crate) async fn service(&self) -> anyhow::Result<Service> {
        Ok(self.services.api.get("web").await?)
    }

    /// Starts the manager as one of the shipped ServiceAccounts.
    pub(crate) async fn run(&self, account: &str, flags: &[&str]) -> anyhow::Result<Process> {
        let manager = self.manager(account).await?.without_port().flags(flags.iter().copied());
        manager.start(&self.log)
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
