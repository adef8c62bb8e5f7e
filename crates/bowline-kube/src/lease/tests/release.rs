//! Giving the Lease back, and how fast the next one takes over.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use bowline_core::Fence;
use http::Method;

use crate::scripted_api::Asked;

use super::{
    super::Released,
    server::{Fate, LeaseServer, Loss},
    *,
};

async fn leader_on(client: Client) -> Elector {
    let mut a = Running::start(elector(client, "a"));
    a.until_leading().await;
    a.stop().await.0
}

#[tokio::test(start_paused = true)]
async fn a_released_lease_is_empty_lasts_a_second_and_keeps_its_count() {
    let server = LeaseServer::default();
    server.hold("", 1, 6);
    let mut a = leader_on(server.good_link().0).await;
    tokio::time::advance(SECOND).await;
    assert!(a.fence().check().is_ok(), "still ours until it is given back");
    assert_eq!(a.release().await, Ok(Released::Done));
    assert!(a.fence().check().unwrap_err().why.contains("released"));
    let spec = server.lease()["spec"].clone();
    assert_eq!((&spec["holderIdentity"], &spec["leaseDurationSeconds"]), (&"".into(), &1.into()));
    assert_eq!(spec["leaseTransitions"], 7);
    assert_eq!(spec["renewTime"], "2026-11-02T08:00:01.000000Z");
    assert_eq!(spec["acquireTime"], spec["renewTime"]);
    assert!(matches!(a.run(&CancellationToken::new()).await, Ended::Lost(_)), "no way back");
}

#[tokio::test(start_paused = true)]
async fn only_our_own_lease_is_released() {
    let server = LeaseServer::default();
    let mut a = leader_on(server.good_link().0).await;
    server.hold("b", 15, 3);
    assert_eq!(a.release().await, Ok(Released::NotHolder));
    assert_eq!(server.holder(), "b");
    let mut missing = leader_on(LeaseServer::default().good_link().0).await;
    assert_eq!(missing.release().await, Ok(Released::Done));
    let server = LeaseServer::default();
    let mut a = leader_on(server.good_link().0).await;
    server.delete();
    assert_eq!(a.release().await, Ok(Released::Missing));
}

#[tokio::test(start_paused = true)]
async fn a_conflict_while_releasing_is_tried_again() {
    let server = LeaseServer::default();
    let (touching, puts) = (server.clone(), Arc::new(AtomicUsize::new(0)));
    let count = Arc::clone(&puts);
    let (client, _) = server.link(move |seen| {
        if seen.method == Method::PUT && count.fetch_add(1, SeqCst) == 0 {
            touching.touch();
        }
        Fate::default()
    });
    let mut a = leader_on(client).await;
    assert_eq!(a.release().await, Ok(Released::Done));
    assert_eq!((puts.load(SeqCst), server.holder()), (2, String::new()));
}

#[tokio::test(start_paused = true)]
async fn a_release_whose_answer_is_lost_is_still_a_release() {
    let server = LeaseServer::default();
    let (client, _) =
        server.link(|seen| if seen.method == Method::PUT { Loss::Reply.into() } else { Fate::default() });
    let mut a = leader_on(client).await;
    a.release().await.unwrap();
    assert_eq!(server.holder(), "");
}

#[tokio::test(start_paused = true)]
async fn a_release_gives_up_after_five_seconds_and_the_fence_is_shut_from_its_start() {
    let server = LeaseServer::default();
    let down = Arc::new(AtomicBool::new(false));
    let cut = Arc::clone(&down);
    let (client, _) =
        server.link(move |_| if cut.load(SeqCst) { Loss::Request.into() } else { Fate::default() });
    let mut a = leader_on(client).await;
    down.store(true, SeqCst);
    let (start, fence) = (Instant::now(), a.fence());
    let release = tokio::spawn(async move { a.release().await });
    tokio::task::yield_now().await;
    assert!(fence.check().is_err());
    let error = release.await.unwrap().unwrap_err();
    assert_eq!(start.elapsed(), 5 * SECOND);
    assert!(error.to_string().contains("kube-system/ccm"), "{error}");
}

/// A link over which each PUT takes `there` to arrive.
fn slow_writes(server: &LeaseServer, there: Duration) -> Client {
    let fate = move |seen: &Asked| match seen.method {
        Method::GET => Fate::default(),
        _ => Fate { there, ..Fate::default() },
    };
    server.link(fate).0
}

/// A candidate that is stopped as soon as its first write has left.
async fn stopped_while_it_takes_the_lease(server: &LeaseServer, there: Duration) -> Elector {
    let running = Running::start(elector(slow_writes(server, there), "a"));
    tokio::time::sleep(SECOND / 10).await;
    let (a, ended) = running.stop().await;
    assert_eq!(ended, Ended::Cancelled);
    assert!(!matches!(*a.leadership().borrow(), Leadership::Leading { .. }), "it has not heard of its luck");
    a
}

#[tokio::test(start_paused = true)]
async fn a_candidate_that_is_stopped_while_it_takes_the_lease_gives_it_back() {
    for (there, before) in [(SECOND / 2, SECOND), (2 * SECOND, Duration::ZERO)] {
        for exists in [true, false] {
            let server = LeaseServer::default();
            if exists {
                server.hold("", 1, 6);
            }
            let mut a = stopped_while_it_takes_the_lease(&server, there).await;
            tokio::time::sleep(before).await;
            assert_eq!(a.release().await, Ok(Released::Done), "{there:?}, {exists}");
            tokio::time::sleep(60 * SECOND).await;
            assert_eq!(server.holder(), "", "{there:?}, {exists}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_candidate_whose_write_can_no_longer_take_effect_does_not_wait_for_it() {
    let server = LeaseServer::default();
    server.hold("", 1, 6);
    let mut a = stopped_while_it_takes_the_lease(&server, 60 * SECOND).await;
    server.hold("b", 15, 7);
    let start = Instant::now();
    assert_eq!((a.release().await, start.elapsed()), (Ok(Released::NotHolder), Duration::ZERO));
    let mut idle = elector(server.good_link().0, "c");
    assert_eq!((idle.release().await, start.elapsed()), (Ok(Released::NotHolder), Duration::ZERO));
}

#[tokio::test(start_paused = true)]
async fn a_candidate_whose_write_is_lost_waits_for_it_no_longer_than_a_release_may_take() {
    let server = LeaseServer::default();
    let mut a = stopped_while_it_takes_the_lease(&server, 60 * SECOND).await;
    let start = Instant::now();
    let error = a.release().await.unwrap_err().to_string();
    assert_eq!(start.elapsed(), 5 * SECOND);
    assert!(error.contains("may still make the lease ours"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn after_a_release_the_next_one_leads_within_one_retry() {
    for seed in 0..20 {
        let server = LeaseServer::default();
        let mut a = Running::start(elector_with(server.good_link().0, "a", LeaseMetrics::default(), seed));
        a.until_leading().await;
        let mut b =
            Running::start(elector_with(server.good_link().0, "b", LeaseMetrics::default(), seed + 100));
        b.until(|now| matches!(now, Leadership::Standby { holder: Some(_) })).await;
        tokio::time::sleep(Duration::from_millis(30_000 + seed * 137)).await;
        let (mut a, _) = a.stop().await;
        a.release().await.unwrap();
        let took = b.until_leading().await;
        assert!(took <= Duration::from_millis(4_400), "{took:?}");
        b.stop().await;
    }
}

#[tokio::test(start_paused = true)]
async fn after_a_crash_the_next_one_leads_within_the_lease_and_two_retries() {
    for seed in 0..20 {
        let server = LeaseServer::default();
        let mut a = Running::start(elector_with(server.good_link().0, "a", LeaseMetrics::default(), seed));
        a.until_leading().await;
        let mut b =
            Running::start(elector_with(server.good_link().0, "b", LeaseMetrics::default(), seed + 100));
        tokio::time::sleep(Duration::from_millis(30_000 + seed * 137)).await;
        a.task.abort();
        let took = b.until_leading().await;
        assert!(a.fence.check().is_err(), "the dead leader's fence closed before");
        // The last renewal is seen up to one retry late, and the end of the lease likewise.
        assert!(took > 10 * SECOND && took <= Duration::from_millis(15_000 + 2 * 4_400), "{took:?}");
        b.stop().await;
    }
}
