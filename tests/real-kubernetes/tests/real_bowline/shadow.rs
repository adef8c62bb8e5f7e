//! Shadow and adopt-only mode as an operator runs them: the shipped binary under the rights that are shipped, on a real API
//! server and a simulated OpenStack over HTTP.

mod harness;
mod living;

use anyhow::ensure;
use bowline_cloud::shadow::{Mode, ShadowReport, Verdict};
use bowline_testkit::objects::MANAGER;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::DeleteParams;

use crate::shadow::harness::{Harness, SHADOW};

/// The API server repairs its allocation of cluster IPs in the background, and reports a Service that was created while it did.
const API_SERVER: &str = "ipallocator-repair-controller";

#[tokio::test(flavor = "multi_thread")]
async fn a_shadow_with_the_rights_that_are_shipped_reports_and_writes_nothing_else() -> anyhow::Result<()> {
    let site = Harness::start().await?;
    let before = site.service().await?;
    let manager = site.run(SHADOW, &["--shadow", "--shadow-period=2s"]).await?;
    let report = site.until_report(&manager, ShadowReport::knows_the_cloud).await?;
    ensure!(report.mode == Mode::Shadow && !report.leader, "{report:#?}");
    ensure!(report.project.as_deref() == Some(site.cloud.estate.project.as_str()), "{report:#?}");
    ensure!(report.services.creates == 1 && !report.is_clean(), "{report:#?}");
    ensure!(report.findings[0].verdict == Verdict::Creates && report.findings[0].service == "default/web");
    ensure!(report.nodes.present == 1 && report.nodes.all_resolve(), "{report:#?}");
    site.until_newer(&manager, &report).await?;

    let leases = Api::<Lease>::all(site.admin.clone()).list(&Default::default()).await?;
    let ours = |lease: &&Lease| lease.metadata.name.as_deref() == Some("cloud-controller-manager");
    ensure!(!leases.iter().any(|lease| ours(&lease)), "it competes for nothing");
    ensure!(site.service().await?.metadata.resource_version == before.metadata.resource_version);
    let mut events = Api::<Event>::all(site.admin.clone()).list(&Default::default()).await?.items;
    events.retain(|event| event.reporting_component.as_deref() != Some(API_SERVER));
    ensure!(events.is_empty(), "{events:#?}");
    ensure!(site.cloud.changes().is_empty(), "{:?}", site.cloud.changes());
    manager.terminate().await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn both_verbs_of_the_report_are_needed_and_what_is_missing_is_said() -> anyhow::Result<()> {
    let site = Harness::start().await?;
    let manager = site.run(SHADOW, &["--shadow", "--shadow-period=1s"]).await?;
    site.until_report(&manager, |report| report.services.total == 1).await?;
    for verb in ["patch", "create"] {
        let says = format!("cannot {verb} resource");
        site.may_report_only(&["create", "patch"].map(|one| if one == verb { "get" } else { one })).await?;
        site.reports.delete(harness::REPORT, &DeleteParams::default()).await?;
        bowline_testkit::eventually("it says what it lacks", async || {
            Ok(manager.log().contains(&says).then_some(()))
        })
        .await?;
        ensure!(site.reports.get_opt(harness::REPORT).await?.is_none(), "written without {verb}");
        site.may_report_only(&["create", "patch"]).await?;
        site.until_report(&manager, |report| report.services.total == 1).await?;
    }
    manager.terminate().await.map(drop)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_that_only_adopts_makes_nothing_and_reports_what_it_held() -> anyhow::Result<()> {
    let site = Harness::start().await?;
    let manager = site.run(MANAGER, &["--adopt-only", "--shadow-period=2s"]).await?;
    let report = site.until_report(&manager, |report| report.services.held == 1).await?;
    ensure!(report.mode == Mode::AdoptOnly && report.leader, "{report:#?}");
    ensure!(report.findings[0].held && report.findings[0].verdict == Verdict::Creates, "{report:#?}");
    bowline_testkit::eventually("the condition", async || {
        let service = site.service().await?;
        let conditions = service.status.and_then(|status| status.conditions).unwrap_or_default();
        Ok(conditions.iter().any(|one| one.reason == "NotAdopted").then_some(()))
    })
    .await?;
    ensure!(site.cloud.changes().is_empty(), "{:?}", site.cloud.changes());
    ensure!(
        !manager.log().contains("Forbidden") && !manager.log().contains("forbidden"),
        "{}",
        manager.tail()
    );
    manager.terminate().await.map(drop)
}
