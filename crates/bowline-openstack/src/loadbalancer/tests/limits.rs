//! What Services of unusual size cost.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bowline_cloud::{LoadBalancers, Purpose, ServiceView};

use super::stage::{Stage, annotated, edited, service};
use crate::loadbalancer::annotations::{CONNECTION_LIMIT, PREFIX};
use crate::loadbalancer::{Observation, Observed};

/// A Service with as many unknown annotations as fit into 256 KiB, and one that refuses it.
fn hostile(name: &str) -> Arc<ServiceView> {
    let many = (0..7_939).map(|n| (format!("{PREFIX}{n:03}"), "")).collect();
    annotated(&edited(&service(name, 1), |view| view.annotations = many), CONNECTION_LIMIT.key, "ten")
}

/// `/livez` is answered by the threads that handle a batch.
#[tokio::test(start_paused = true)]
async fn a_batch_of_services_with_thousands_of_annotations_lets_other_tasks_run() {
    let stage = Stage::new();
    stage.look(&hostile("first"), Purpose::Ensure).await.unwrap();
    let services: Vec<_> = (0..64).map(|n| hostile(&format!("web-{n}"))).collect();
    let requests: Vec<_> = services.iter().map(|web| stage.request(web, Purpose::Ensure)).collect();
    let turns = Arc::new(AtomicUsize::new(0));
    let counted = Arc::clone(&turns);
    let other = tokio::spawn(async move {
        loop {
            counted.fetch_add(1, Ordering::Relaxed);
            tokio::task::yield_now().await;
        }
    });
    let observed = LoadBalancers::observe(&stage.balancers, &requests).await;
    other.abort();
    let is_refused = |observed: &Observed| matches!(observed.observation, Observation::Refused(_));
    assert!(observed.iter().all(|one| one.as_ref().is_ok_and(is_refused)));
    let turns = turns.load(Ordering::Relaxed);
    assert!(turns >= 16, "another task ran {turns} times while 64 Services were read and judged");
}

#[tokio::test(start_paused = true)]
async fn all_listeners_of_a_service_and_the_requests_that_make_them_share_the_source_ranges() {
    let stage = Stage::new();
    let ranges = (0..50).map(|n| format!("10.0.{n}.0/24").into()).collect();
    let (wanted, _found) =
        stage.observed(&edited(&service("web", 20), |view| view.source_ranges = ranges)).await;
    let frame = wanted.new_balancer().frame;
    let in_requests = frame.listeners.iter().map(|listener| &listener.allowed_cidrs);
    let all: Vec<_> = wanted
        .listeners
        .iter()
        .map(|listener| &listener.allowed_cidrs)
        .chain(in_requests)
        .flatten()
        .collect();
    assert_eq!((all.len(), all[0].len()), (40, 50));
    assert!(all.iter().all(|ranges| Arc::ptr_eq(ranges, all[0])));
}
