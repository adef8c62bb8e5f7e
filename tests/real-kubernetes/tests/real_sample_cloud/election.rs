//! Two processes and one Lease: never two leaders, and no long gap between them.

use std::time::Duration;

use anyhow::Context;
use bowline_testkit::eventually;
use bowline_testkit::manager::FAST_ELECTION;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use tokio::time::{Instant, sleep};

use crate::ccm::{Ccm, Harness};
use crate::go_like::{GoLike, IDENTITY};

/// The Lease's name without `--leader-elect-resource-name`.
const LEASE: &str = "cloud-controller-manager";

/// The time in which a process said that it leads.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Reign {
    pub(crate) began: Timestamp,
    /// A killed process cannot say when it stopped leading: then it is when it was surely gone.
    pub(crate) ended: Timestamp,
}

pub(crate) async fn leads(ccm: &Ccm) -> anyhow::Result<Timestamp> {
    Ok(ccm.says("became leader").await?.at)
}

/// Ends a leader by SIGTERM, in the orderly way.
pub(crate) async fn terminate(mut ccm: Ccm) -> anyhow::Result<Reign> {
    let began = leads(&ccm).await?;
    ccm.signal("TERM")?;
    let ended = ccm.says("stopped leading").await?.at;
    let status = ccm.ended().await?;
    assert_eq!(status.code(), Some(143), "the exit code of a process that SIGTERM ended: {:#?}", ccm.lines());
    Ok(Reign { began, ended })
}

/// Ends a leader by SIGKILL.
async fn kill(mut ccm: Ccm) -> anyhow::Result<Reign> {
    let began = leads(&ccm).await?;
    ccm.kill()?;
    Ok(Reign { began, ended: Timestamp::now() })
}

/// How many of these reigns, in order, began before the one before had ended.
pub(crate) fn overlaps(reigns: &[Reign]) -> usize {
    reigns.windows(2).filter(|pair| pair[1].began < pair[0].ended).count()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn over_many_rounds_there_are_never_two_leaders_and_every_gap_is_short() -> anyhow::Result<()> {
    const ROUNDS: usize = 52;
    let site = Harness::new("rounds").await?;
    let mut leader = site.start(&FAST_ELECTION)?;
    leads(&leader).await?;
    let mut reigns: Vec<Reign> = Vec::new();
    let (mut after_terminate, mut after_kill) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let successor = site.start(&FAST_ELECTION)?;
        successor.says("new leader seen").await?;
        let killed = round % 5 == 4;
        let began = Timestamp::now();
        let reign = if killed { kill(leader).await? } else { terminate(leader).await? };
        let led_again = leads(&successor).await?;
        let list = if killed { &mut after_kill } else { &mut after_terminate };
        list.push(led_again.duration_since(began));
        reigns.push(reign);
        leader = successor;
    }
    reigns.push(terminate(leader).await?);
    let overlaps = overlaps(&reigns);
    let longest = |gaps: &[SignedDuration]| gaps.iter().max().copied().unwrap_or_default();
    println!(
        "{ROUNDS} rounds, {overlaps} overlaps; longest fail-over after SIGTERM {}, after SIGKILL {}",
        longest(&after_terminate),
        longest(&after_kill)
    );
    assert_eq!(overlaps, 0, "{reigns:#?}");
    assert!(longest(&after_terminate) <= SignedDuration::from_secs(3), "{after_terminate:?}");
    assert!(
        longest(&after_kill) <= SignedDuration::from_secs(3 + 3),
        "lease duration and 3 s: {after_kill:?}"
    );
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn with_the_default_times_a_successor_leads_3_s_after_sigterm_and_18_s_after_sigkill()
-> anyhow::Result<()> {
    let site = Harness::new("defaults").await?;
    let first = site.start(&[])?;
    leads(&first).await?;
    let second = site.start(&[])?;
    second.says("new leader seen").await?;
    let began = Timestamp::now();
    terminate(first).await?;
    let after_terminate = leads(&second).await?.duration_since(began);
    let third = site.start(&[])?;
    third.says("new leader seen").await?;
    let began = Timestamp::now();
    kill(second).await?;
    let after_kill = leads(&third).await?.duration_since(began);
    println!("default times: fail-over after SIGTERM {after_terminate}, after SIGKILL {after_kill}");
    assert!(after_terminate <= SignedDuration::from_secs(3), "{after_terminate}");
    assert!(after_kill <= SignedDuration::from_secs(15 + 3), "{after_kill}");
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_process_that_was_halted_past_its_lease_ends_with_code_1_and_leaves_the_new_leader_alone()
-> anyhow::Result<()> {
    let site = Harness::new("halted").await?;
    let mut halted = site.start(&FAST_ELECTION)?;
    leads(&halted).await?;
    let other = site.start(&FAST_ELECTION)?;
    other.says("new leader seen").await?;
    halted.signal("STOP")?;
    leads(&other).await?;
    halted.signal("CONT")?;
    assert_eq!(halted.ended().await?.code(), Some(1), "{:#?}", halted.lines());
    let lease = Api::<Lease>::namespaced(site.admin().await?, &site.namespace).get(LEASE).await?;
    assert_eq!(lease.spec.and_then(|spec| spec.holder_identity), Some(other.identity().await?));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_candidate_that_behaves_as_client_go_does_shares_the_lease_with_ours() -> anyhow::Result<()> {
    let site = Harness::new("go-like").await?;
    let leases = Api::<Lease>::namespaced(site.admin().await?, &site.namespace);
    let mut go = GoLike::new(leases.clone(), LEASE, 3);
    assert!(go.attempt().await?, "nobody else is there");

    // The Go replica leads and renews: ours stands by.
    let ccm = site.start(&FAST_ELECTION)?;
    ccm.says("new leader seen").await?;
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        assert!(go.attempt().await?, "ours took a live lease: {:#?}", ccm.lines());
        sleep(Duration::from_millis(500)).await;
    }
    let record = leases.get(LEASE).await?.spec.context("a spec")?;
    assert_eq!((record.holder_identity.as_deref(), record.lease_transitions), (Some(IDENTITY), Some(0)));

    // It dies: ours takes over, and counts the change.
    leads(&ccm).await?;
    let ours = ccm.identity().await?;
    let record = leases.get(LEASE).await?.spec.context("a spec")?;
    assert_eq!(record.holder_identity, Some(ours.clone()));
    assert_eq!((record.lease_transitions, record.lease_duration_seconds), (Some(1), Some(3)));
    assert!(record.acquire_time <= record.renew_time);

    // Ours leads and renews: the Go replica never gets it.
    let until = Instant::now() + Duration::from_secs(5);
    while Instant::now() < until {
        assert!(!go.attempt().await?, "the Go replica took our live lease");
        sleep(Duration::from_millis(500)).await;
    }

    // Ours ends: the lease is free at once, also for it.
    terminate(ccm).await?;
    let record = leases.get(LEASE).await?.spec.context("a spec")?;
    assert_eq!(record.holder_identity.as_deref().unwrap_or_default(), "", "released");
    assert_eq!(record.lease_duration_seconds, Some(1));
    assert!(go.attempt().await?);
    let record = leases.get(LEASE).await?.spec.context("a spec")?;
    assert_eq!((record.holder_identity.as_deref(), record.lease_transitions), (Some(IDENTITY), Some(2)));
    Ok(())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_lease_tells_who_led_in_its_events() -> anyhow::Result<()> {
    let site = Harness::new("lease-events").await?;
    let ccm = site.start(&FAST_ELECTION)?;
    let identity = ccm.identity().await?;
    terminate(ccm).await?;
    let events = Api::<Event>::namespaced(site.admin().await?, &site.namespace);
    let wanted = ["became leader", "stopped leading"].map(|news| format!("{identity} {news}"));
    eventually("the events of the election", async || {
        let list = events.list(&ListParams::default()).await?;
        let told = |text: &String| {
            list.iter().any(|event| {
                event.message.as_ref() == Some(text)
                    && event.reason.as_deref() == Some("LeaderElection")
                    && event.source.as_ref().and_then(|source| source.component.as_deref())
                        == Some("cloud-controller-manager")
            })
        };
        Ok(wanted.iter().all(told).then_some(()))
    })
    .await
}
