//! One elector: how it wins, keeps and loses.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::SeqCst},
};

use bowline_core::Fence;
use http::Method;
use serde_json::{Value, json};

use super::server::is_watch;
use super::{
    super::{Lost, News, announce},
    server::{Fate, LeaseServer, Loss},
    *,
};
use crate::{
    events::{EventMetrics, EventRecorder},
    scripted_api::{self, Answer},
};

fn number(lease: &Value, field: &str) -> i64 {
    lease["spec"][field].as_i64().unwrap()
}

#[tokio::test(start_paused = true)]
async fn the_first_candidate_creates_the_lease_and_leads() {
    let server = LeaseServer::default();
    let mut a = Running::start(elector(server.good_link().0, "a"));
    assert!(a.fence.check().is_err(), "closed until we win");
    assert_eq!(a.until_leading().await, Duration::ZERO);
    assert!(a.fence.check().is_ok());
    let lease = server.lease();
    assert_eq!(server.holder(), "a");
    assert_eq!((number(&lease, "leaseDurationSeconds"), number(&lease, "leaseTransitions")), (15, 0));
    assert_eq!(lease["spec"]["acquireTime"], "2026-11-02T08:00:00.000000Z");
    assert_eq!(lease["metadata"]["name"], "ccm");
    let stored = lease["metadata"]["uid"].as_str().unwrap();
    let uid =
        |now: &Leadership| matches!(now, Leadership::Leading { lease_uid: Some(uid), .. } if uid == stored);
    assert!(uid(&a.leadership.borrow()));
}

#[tokio::test(start_paused = true)]
async fn a_lease_without_spec_or_with_an_empty_holder_is_taken_at_once() {
    for spec in [json!({}), json!({"holderIdentity": "", "leaseDurationSeconds": 1, "leaseTransitions": 4})] {
        let server = LeaseServer::default();
        server.put_spec(&spec);
        let before = spec["leaseTransitions"].as_i64().unwrap_or(0);
        let mut a = Running::start(elector(server.good_link().0, "a"));
        assert_eq!(a.until_leading().await, Duration::ZERO);
        assert_eq!(number(&server.lease(), "leaseTransitions"), before + 1);
        assert_eq!(server.lease()["metadata"]["labels"]["team"], "infra", "labels of others stay");
    }
}

#[tokio::test(start_paused = true)]
async fn a_dead_holders_lease_is_taken_after_its_own_duration_counted_from_when_we_first_saw_it() {
    let server = LeaseServer::default();
    server.hold("gone", 40, 2);
    let mut a = Running::start(elector(server.good_link().0, "a"));
    a.until(|now| matches!(now, Leadership::Standby { holder: Some(holder) } if holder == "gone")).await;
    let took = a.until_leading().await;
    assert!(took >= 40 * SECOND && took <= Duration::from_millis(44_400), "{took:?}");
    assert_eq!(number(&server.lease(), "leaseTransitions"), 3);
    assert_eq!(number(&server.lease(), "leaseDurationSeconds"), 15);
}

#[tokio::test(start_paused = true)]
async fn a_live_lease_is_never_written_and_is_looked_at_every_2_to_4_4_seconds() {
    let server = LeaseServer::default();
    let (client, journal) = server.good_link();
    let a = Running::start(elector(client, "a"));
    // Before the elector first runs, "go" holds the lease, and from then on renews it every two seconds.
    let mut renewals = 0;
    server.hold("go", 15, 0);
    let start = Instant::now();
    while start.elapsed() < 600 * SECOND {
        tokio::time::sleep(2 * SECOND).await;
        renewals += 1;
        server.hold("go", 15, renewals);
    }
    assert!(
        matches!(&*a.leadership.borrow(), Leadership::Standby { holder: Some(holder) } if holder == "go")
    );
    let seen = journal.all();
    assert!(seen.iter().all(|seen| seen.method == Method::GET));
    let (watches, looks): (Vec<_>, Vec<_>) = seen.iter().partition(|seen| is_watch(seen));
    assert!(looks.len() > 600 / 5 && looks.len() <= 600 / 2 + 1, "{}", looks.len());
    assert!(watches.len() <= 10, "a refused watch is tried once a minute, not {} times", watches.len());
    assert!(a.fence.check().is_err());
    assert_eq!(a.health.check(), Ok(()), "a standby is healthy");
}

#[tokio::test(start_paused = true)]
async fn a_lease_that_is_ours_already_is_renewed_and_keeps_its_history() {
    let server = LeaseServer::default();
    server.hold("a", 15, 5);
    let metrics = LeaseMetrics::default();
    let mut a = Running::start(elector_with(server.good_link().0, "a", metrics.clone(), 1));
    assert_eq!(a.until_leading().await, Duration::ZERO);
    assert_eq!(number(&server.lease(), "leaseTransitions"), 5);
    assert_eq!(server.lease()["spec"]["acquireTime"], "2026-01-01T00:00:00.000000Z");
    assert_eq!(metrics.slow_path("ccm"), 1);
}

#[tokio::test(start_paused = true)]
async fn a_leader_renews_every_two_seconds_with_one_put_and_no_get() {
    let server = LeaseServer::default();
    let (client, journal) = server.good_link();
    let metrics = LeaseMetrics::default();
    let mut a = Running::start(elector_with(client, "a", metrics.clone(), 1));
    a.until_leading().await;
    let before = journal.count();
    tokio::time::sleep(Duration::from_millis(60_500)).await;
    let renewals = &journal.all()[before..];
    assert_eq!(renewals.len(), 30);
    assert!(renewals.iter().all(|seen| seen.method == Method::PUT));
    assert_eq!(server.lease()["spec"]["renewTime"], "2026-11-02T08:01:00.000000Z");
    assert_eq!(server.lease()["spec"]["acquireTime"], "2026-11-02T08:00:00.000000Z");
    assert_eq!(metrics.slow_path("ccm"), 0);
    assert_eq!(a.health.check(), Ok(()));
}

#[tokio::test(start_paused = true)]
async fn a_refused_renewal_looks_first_and_goes_on() {
    let server = LeaseServer::default();
    let (client, journal) = server.good_link();
    let metrics = LeaseMetrics::default();
    let mut a = Running::start(elector_with(client, "a", metrics.clone(), 1));
    a.until_leading().await;
    server.touch();
    let before = journal.count();
    tokio::time::sleep(Duration::from_millis(2_500)).await;
    let methods: Vec<_> = journal.all()[before..].iter().map(|seen| seen.method.to_string()).collect();
    assert_eq!(methods, ["PUT", "GET", "PUT"]);
    assert_eq!(metrics.slow_path("ccm"), 1);
    assert!(a.fence.check().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_lost_answer_to_a_renewal_or_to_the_first_write_does_no_harm() {
    let server = LeaseServer::default();
    let lost = Arc::new(AtomicBool::new(true));
    let lose = Arc::clone(&lost);
    let (client, _) = server.link(move |seen| {
        let lose = seen.method != Method::GET && lose.swap(false, SeqCst);
        if lose { Loss::Reply.into() } else { Fate::default() }
    });
    let mut a = Running::start(elector(client, "a"));
    a.until_leading().await;
    assert_eq!(number(&server.lease(), "leaseTransitions"), 0, "we found ourselves in the lease");
    lost.store(true, SeqCst);
    for _ in 0..200 {
        tokio::time::sleep(SECOND / 10).await;
        assert!(a.fence.check().is_ok());
    }
}

#[tokio::test(start_paused = true)]
async fn server_errors_shorter_than_the_renew_deadline_are_survived() {
    let server = LeaseServer::default();
    let failing = Arc::new(AtomicBool::new(false));
    let fail = Arc::clone(&failing);
    let (client, _) =
        server.link(move |_| if fail.load(SeqCst) { Loss::Failure(500).into() } else { Fate::default() });
    let mut a = Running::start(elector(client, "a"));
    a.until_leading().await;
    failing.store(true, SeqCst);
    tokio::time::sleep(8 * SECOND).await;
    failing.store(false, SeqCst);
    tokio::time::sleep(60 * SECOND).await;
    assert!(a.fence.check().is_ok());
    assert_eq!(a.stop().await.1, Ended::Cancelled);
}

#[tokio::test(start_paused = true)]
async fn a_partitioned_leader_gives_up_at_the_renew_deadline_and_never_comes_back() {
    let server = LeaseServer::default();
    let down = Arc::new(AtomicBool::new(false));
    let cut = Arc::clone(&down);
    let (client, journal) =
        server.link(move |_| if cut.load(SeqCst) { Loss::Request.into() } else { Fate::default() });
    let mut a = Running::start(elector(client, "a"));
    a.until_leading().await;
    tokio::time::sleep(20 * SECOND + SECOND / 2).await;
    let renewed = Instant::now() - SECOND / 2;
    down.store(true, SeqCst);
    a.until(|now| matches!(now, Leadership::Lost { .. })).await;
    assert_eq!(renewed.elapsed(), 10 * SECOND);
    let why = a.fence.check().unwrap_err().why;
    assert!(why.contains("could not be renewed within 10s"), "{why}");
    down.store(false, SeqCst);
    let (mut elector, ended) = a.task.await.unwrap();
    assert!(matches!(ended, Ended::Lost(Lost::RenewDeadline { .. })));
    let before = journal.count();
    assert!(matches!(elector.run(&CancellationToken::new()).await, Ended::Lost(_)));
    assert_eq!(journal.count(), before, "who lost does not try again");
}

#[tokio::test(start_paused = true)]
async fn a_leader_whose_lease_was_taken_stops_at_its_next_renewal() {
    let server = LeaseServer::default();
    let mut a = Running::start(elector(server.good_link().0, "a"));
    a.until_leading().await;
    server.hold("thief", 1, 9);
    let took =
        a.until(|now| matches!(now, Leadership::Lost { why: Lost::TakenBy(by) } if by == "thief")).await;
    assert_eq!(took, 2 * SECOND);
    assert!(a.fence.check().is_err());
    assert_eq!(server.holder(), "thief", "and leaves it to the thief");
}

#[tokio::test(start_paused = true)]
async fn a_deleted_lease_is_created_again_by_its_leader() {
    let server = LeaseServer::default();
    let mut a = Running::start(elector(server.good_link().0, "a"));
    a.until_leading().await;
    server.delete();
    tokio::time::sleep(3 * SECOND).await;
    assert_eq!(server.holder(), "a");
    assert!(a.fence.check().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_asked_again_after_the_call_timeout() {
    let server = LeaseServer::default();
    let (client, journal) = server.link(|_| Loss::Request.into());
    let a = Running::start(elector(client, "a"));
    tokio::time::sleep(Duration::from_millis(4_999)).await;
    assert_eq!(journal.count(), 1);
    tokio::time::sleep(Duration::from_millis(4_402)).await;
    let looks = journal.all().iter().filter(|seen| !is_watch(seen)).count();
    assert_eq!(looks, 2, "5 s for the call, 2 to 4.4 s of pause");
    assert_eq!(*a.leadership.borrow(), Leadership::Standby { holder: None });
}

#[tokio::test(start_paused = true)]
async fn errors_of_every_call_are_retried_until_the_server_recovers() {
    for method in [Method::GET, Method::POST, Method::PUT] {
        let server = LeaseServer::default();
        if method == Method::PUT {
            server.hold("", 1, 0);
        }
        let failing = Arc::new(AtomicBool::new(true));
        let fail = Arc::clone(&failing);
        let (client, _) = server.link(move |seen| {
            if seen.method == method && fail.load(SeqCst) {
                Loss::Failure(503).into()
            } else {
                Fate::default()
            }
        });
        let mut a = Running::start(elector(client, "a"));
        tokio::time::sleep(60 * SECOND).await;
        assert!(a.fence.check().is_err());
        failing.store(false, SeqCst);
        assert!(a.until_leading().await <= Duration::from_millis(4_400));
    }
}

#[tokio::test(start_paused = true)]
async fn cancelling_during_any_call_returns_at_once() {
    for stuck in [Method::GET, Method::POST, Method::PUT] {
        let server = LeaseServer::default();
        let (client, _) = server
            .link(move |seen| if seen.method == stuck { Loss::Request.into() } else { Fate::default() });
        let a = Running::start(elector(client, "a"));
        tokio::time::sleep(Duration::from_millis(2_100)).await;
        let start = Instant::now();
        assert_eq!(a.stop().await.1, Ended::Cancelled);
        assert_eq!(start.elapsed(), Duration::ZERO);
    }
}

#[tokio::test(start_paused = true)]
async fn the_gauge_shows_who_leads() {
    let mut registry = prometheus_client::registry::Registry::default();
    let metrics = LeaseMetrics::register(&mut registry);
    let shown = |registry| {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, registry).unwrap();
        text
    };
    let server = LeaseServer::default();
    let mut a = elector_with(server.good_link().0, "a", metrics, 1);
    assert!(shown(&registry).contains(r#"leader_election_master_status{name="ccm"} 0"#));
    assert_eq!(tokio::time::timeout(3 * SECOND, a.run(&CancellationToken::new())).await.ok(), None);
    assert!(shown(&registry).contains(r#"leader_election_master_status{name="ccm"} 1"#));
    server.touch();
    assert_eq!(tokio::time::timeout(3 * SECOND, a.run(&CancellationToken::new())).await.ok(), None);
    assert!(shown(&registry).contains(r#"leader_election_slowpath_total{name="ccm"} 1"#));
    a.release().await.unwrap();
    assert!(shown(&registry).contains(r#"leader_election_master_status{name="ccm"} 0"#));
}

#[tokio::test(start_paused = true)]
async fn a_change_of_leader_is_an_event_on_the_lease() {
    let (client, journal) = scripted_api::client(|asked| Answer::ok(asked.body.clone()));
    let recorder = EventRecorder::new(client, "ccm", "", Clock::system(), EventMetrics::default());
    announce(&recorder, &config("host_1"), Some("lease-uid"), News::BecameLeader);
    announce(&recorder, &config("host_1"), Some("lease-uid"), News::StoppedLeading);
    recorder.flush(SECOND).await.unwrap();
    let seen = journal.all();
    assert_eq!(seen[0].path, "/api/v1/namespaces/kube-system/events");
    assert_eq!(seen[0].body["reason"], "LeaderElection");
    assert_eq!(seen[0].body["message"], "host_1 became leader");
    assert_eq!(seen[1].body["message"], "host_1 stopped leading");
    assert_eq!(seen[0].body["involvedObject"]["kind"], "Lease");
    assert_eq!(seen[0].body["involvedObject"]["uid"], "lease-uid");
}

#[tokio::test(start_paused = true)]
async fn the_fence_counts_from_when_a_renewal_was_sent_not_from_its_slow_answer() {
    let server = LeaseServer::default();
    let (client, _) = server.link(|seen| {
        let back = if seen.method == Method::POST { 4 * SECOND } else { Duration::ZERO };
        Fate { back, ..Fate::default() }
    });
    let mut a = Running::start(elector(client, "a"));
    assert_eq!(a.until_leading().await, 4 * SECOND);
    // A crash: nobody renews, and nobody is there to shut the fence.
    a.task.abort();
    tokio::time::sleep(Duration::from_millis(13_400 - 4_000)).await;
    assert!(a.fence.check().is_ok());
    tokio::time::sleep(Duration::from_millis(100)).await;
    assert!(a.fence.check().is_err(), "13.5 s after the request, though only 9.5 s after its answer");
}
