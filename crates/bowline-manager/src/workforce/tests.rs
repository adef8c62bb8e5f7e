//! The start and the end of work, under virtual time.

use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bowline_cloud::Unfenced;
use bowline_controllers::controller::Stopped;
use bowline_controllers::registry::ControllerName;

use super::fixture::{flaky, tools};
use super::*;
use crate::serving::health::{Endpoint, HealthQuery};

/// A controller with one piece of work under way that takes this long.
struct Busy {
    name: ControllerName,
    takes: Duration,
    began: AtomicBool,
    finished: AtomicBool,
}

impl Busy {
    fn new(takes: Duration) -> Arc<Self> {
        let name = ControllerName::new("busy-controller", "busy", "busy", "busy");
        Arc::new(Self { name, takes, began: AtomicBool::new(false), finished: AtomicBool::new(false) })
    }
}

#[async_trait]
impl Controller for Busy {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, _: ControllerContext, _cancel: CancellationToken) -> Result<(), Stopped> {
        self.began.store(true, Ordering::Relaxed);
        sleep(self.takes).await;
        self.finished.store(true, Ordering::Relaxed);
        Ok(())
    }
}

async fn end_while_busy(takes: Duration, grace: Duration) -> (bool, Duration) {
    let (tools, _registry) = tools(flaky(0));
    let workforce = Workforce::new(tools).expect("a workforce");
    let busy = Busy::new(takes);
    workforce.start(vec![busy.clone()], Arc::new(Unfenced)).await;
    while !busy.began.load(Ordering::Relaxed) {
        tokio::task::yield_now().await;
    }
    let began = Instant::now();
    workforce.end(grace).await;
    (busy.finished.load(Ordering::Relaxed), began.elapsed())
}

#[tokio::test(start_paused = true)]
async fn skipped_node_deletion_is_a_line_of_readyz_that_does_not_fail() {
    let (tools, _registry) = tools(flaky(0));
    let health = tools.health.clone();
    let ready = || health.respond(Endpoint::Readyz, &HealthQuery { verbose: true, ..HealthQuery::default() });
    let workforce = Workforce::new(tools).expect("a workforce");
    assert!(!ready().body.contains("node-deletion "), "{}", ready().body);
    let before = ready().ok;
    workforce.show_skipped_deletions();
    assert!(ready().body.contains("[!]node-deletion degraded"), "{}", ready().body);
    assert_eq!(ready().ok, before);
}

#[tokio::test(start_paused = true)]
async fn work_under_way_is_finished_within_the_grace_period() {
    let (finished, took) = end_while_busy(Duration::from_secs(1), Duration::from_secs(2)).await;
    assert!(finished);
    assert!(took < Duration::from_secs(2), "no longer than the work takes, but it took {took:?}");
}

#[tokio::test(start_paused = true)]
async fn work_that_takes_longer_is_cut_so_that_the_lease_can_be_given_back() {
    let (finished, took) = end_while_busy(Duration::from_secs(60), Duration::from_secs(2)).await;
    assert!(!finished);
    assert!(took < Duration::from_secs(3), "it took {took:?}");
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_cannot_be_initialized_is_reported_and_tried_again() {
    let (tools, _registry) = tools(flaky(3));
    let health = tools.health.clone();
    let ready = move || {
        let query = HealthQuery { verbose: true, reasons: true, ..HealthQuery::default() };
        health.respond(Endpoint::Readyz, &query).body
    };
    let workforce = Workforce::new(tools).expect("a workforce");
    let context = CloudContext::new("c");
    let began = Instant::now();
    let look = async {
        sleep(Duration::from_secs(2)).await;
        assert!(ready().contains("[!]cloud degraded: the identity service does not answer"), "{}", ready());
    };
    tokio::join!(workforce.initialize_cloud(&context), look);
    assert_eq!(began.elapsed(), Duration::from_secs(1 + 2 + 4));
    assert!(ready().contains("[+]cloud ok"), "{}", ready());
}

#[tokio::test(start_paused = true)]
async fn an_open_breaker_is_a_line_of_readyz_that_does_not_fail() {
    let (tools, _registry) = tools(flaky(0));
    let metrics = &tools.metrics.controllers;
    let breakers = [
        ("node-deletion-breaker", metrics.node_deletion.breaker_open.clone()),
        ("load-balancer-breaker", metrics.load_balancer_breaker_open.clone()),
    ];
    let health = tools.health.clone();
    let ready =
        move || health.respond(Endpoint::Readyz, &HealthQuery { verbose: true, ..HealthQuery::default() });
    Workforce::new(tools).expect("a workforce").show_breakers();
    for (check, open) in breakers {
        assert!(ready().body.contains(&format!("[+]{check} ok")), "{}", ready().body);
        open.set(1);
        assert!(ready().ok && ready().body.contains(&format!("[!]{check} degraded")), "{}", ready().body);
    }
}

#[tokio::test(start_paused = true)]
async fn an_informer_that_ends_or_panics_breaks_the_workforce_and_a_cut_one_does_not() {
    for (panics, cut_before, breaks) in [(false, false, true), (true, false, true), (false, true, false)] {
        let (cut, broken) = (CancellationToken::new(), CancellationToken::new());
        if cut_before {
            cut.cancel();
        }
        guard(async move { assert!(!panics, "a projection panics") }, cut, broken.clone()).await;
        assert_eq!(broken.is_cancelled(), breaks, "panics: {panics}, cut: {cut_before}");
    }
}
