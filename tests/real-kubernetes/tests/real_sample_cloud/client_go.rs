//! Ours and a candidate that uses client-go itself, on one Lease: what happens while a cluster moves from one to the other.

use std::path::Path;
use std::process::Command;

use anyhow::Context;
use bowline_testkit::apiserver::{Binaries, Identity};
use bowline_testkit::eventually;
use bowline_testkit::manager::FAST_ELECTION;
use bowline_testkit::process::Process;
use jiff::{SignedDuration, Timestamp};
use serde_json::Value;

use crate::ccm::Harness;
use crate::election::{Reign, leads, overlaps, terminate};

/// A running Go candidate. Killed when dropped, as a Go manager is ended: it does not give its Lease back.
struct GoCandidate(Process);

impl GoCandidate {
    async fn start(site: &Harness, binary: &Path, identity: &str) -> anyhow::Result<Self> {
        let kubeconfig = site.cluster.kubeconfig(&Identity::service_account(&site.namespace, "ccm")).await?;
        let mut command = Command::new(binary);
        command
            .arg(format!("-kubeconfig={}", kubeconfig.display()))
            .arg(format!("-namespace={}", site.namespace))
            .arg(format!("-identity={identity}"))
            .args(["-lease-duration=3s", "-renew-deadline=2s", "-retry-period=500ms"]);
        Ok(Self(Process::start(command, site.folder.path().join(identity))?))
    }

    /// Waits until it reports this event, and returns when that was.
    async fn says(&self, event: &str) -> anyhow::Result<Timestamp> {
        let line = eventually(format!("the Go candidate reports {event}"), async || {
            let log = self.0.log();
            let mut lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
            Ok(lines.find(|line| line["event"] == event))
        });
        Ok(line.await?["at"].as_str().context("a time")?.parse()?)
    }

    async fn kill(mut self) -> anyhow::Result<Reign> {
        let began = self.says("leading").await?;
        self.0.kill()?;
        Ok(Reign { began, ended: Timestamp::now() })
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn client_go_itself_shares_the_lease_with_ours() -> anyhow::Result<()> {
    let Some(binary) = Binaries::locate()?.lease_candidate else {
        println!(
            "not run: there is no lease-candidate; `cargo xtask kubernetes` without KUBEBUILDER_ASSETS builds it"
        );
        return Ok(());
    };
    let site = Harness::new("client-go").await?;
    let mut reigns = Vec::new();
    let mut after_ours = Vec::new();
    let mut go = GoCandidate::start(&site, &binary, "go-host_0").await?;
    go.says("leading").await?;
    for round in 1..=4 {
        // Go leads and ours stands by; Go is killed; ours leads.
        let ours = site.start(&FAST_ELECTION)?;
        assert_eq!(ours.says("new leader seen").await?.fields["leader"], format!("go-host_{}", round - 1));
        reigns.push(go.kill().await?);
        leads(&ours).await?;
        // Ours leads and Go stands by; ours ends; Go leads.
        go = GoCandidate::start(&site, &binary, &format!("go-host_{round}")).await?;
        go.says("sees").await?;
        let asked = Timestamp::now();
        reigns.push(terminate(ours).await?);
        after_ours.push(go.says("leading").await?.duration_since(asked));
    }
    reigns.push(go.kill().await?);
    let slowest = after_ours.iter().max().copied().unwrap_or_default();
    println!(
        "{} terms, {} overlaps; Go led {slowest} after ours was asked to end, at most",
        reigns.len(),
        overlaps(&reigns)
    );
    assert_eq!(overlaps(&reigns), 0, "{reigns:#?}");
    // Half a second of retry period with client-go's jitter, and no lease to wait for.
    assert!(slowest < SignedDuration::from_secs(3), "{after_ours:?}");
    Ok(())
}
