//! Leader migration: controllers that may run in two components run under a second Lease.

use std::time::Duration;

use anyhow::Context;
use bowline_testkit::manager::FAST_ELECTION;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use tokio::time::{Instant, sleep};

use crate::ccm::Harness;
use crate::go_like::GoLike;

const MIGRATION: &str = "cloud-provider-extraction-migration";

const CONFIGURATION: &str = "
apiVersion: controllermanager.config.k8s.io/v1
kind: LeaderMigrationConfiguration
leaderName: cloud-provider-extraction-migration
controllerLeaders:
- {name: rack-label-controller, component: '*'}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_migrated_controller_waits_for_the_second_lease_and_both_are_given_back() -> anyhow::Result<()> {
    let site = Harness::new("migration").await?;
    let leases = Api::<Lease>::namespaced(site.admin().await?, &site.namespace);
    let file = site.folder.path().join("migration.yaml");
    std::fs::write(&file, CONFIGURATION)?;

    // The other component, an old kube-controller-manager, holds the migration Lease.
    let mut other = GoLike::new(leases.clone(), MIGRATION, 3);
    assert!(other.attempt().await?);
    let config = format!("--leader-migration-config={}", file.display());
    let mut ccm = site.start(&[&FAST_ELECTION[..], &["--enable-leader-migration", &config]].concat())?;
    let main = ccm.says("became leader").await?;
    assert_eq!(main.fields["lease"], "cloud-controller-manager", "the main lock comes first");
    let until = Instant::now() + Duration::from_secs(4);
    while Instant::now() < until {
        assert!(other.attempt().await?, "the migration lease was taken from a live holder");
        sleep(Duration::from_millis(500)).await;
    }
    let migrated = |line: &crate::ccm::Line| line.fields["controller"] == "rack-label-controller";
    assert!(
        !ccm.lines().iter().any(migrated),
        "a migrated controller ran while the other component held the lock"
    );

    // The other component leaves: now ours may run it.
    let second = ccm.says_again("became leader", 1).await?;
    assert_eq!(second.fields["lease"], MIGRATION);
    ccm.says_so("controller started", migrated).await?;
    ccm.signal("TERM")?;
    assert_eq!(ccm.ended().await?.code(), Some(143), "{:#?}", ccm.lines());
    for name in ["cloud-controller-manager", MIGRATION] {
        let record = leases.get(name).await?.spec.context("a spec")?;
        assert_eq!(record.holder_identity.as_deref().unwrap_or_default(), "", "{name} is released");
    }
    Ok(())
}
