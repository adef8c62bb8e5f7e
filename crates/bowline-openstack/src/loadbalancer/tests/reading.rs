//! When what hangs on a load balancer is read, and when it need not be.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Doubt, LoadBalancers, Purpose, ServiceView};
use sim_openstack::{Fault, Rule, Service};

use super::stage::{Stage, annotated, edited, service};
use crate::loadbalancer::found::Children;
use crate::loadbalancer::{Observation, Observed};

const NAME: &str = "kube_service_kubernetes_default_web";

async fn children(stage: &Stage, service: &Arc<ServiceView>) -> &'static str {
    match stage.observed(service).await.1.balancer.unwrap().children {
        Children::Known(_) => "known",
        Children::AsWanted => "as wanted",
        Children::Busy => "busy",
    }
}

#[tokio::test(start_paused = true)]
async fn one_load_balancer_is_read_by_itself_and_not_again_while_it_does_not_change() {
    let mut stage =
        Stage::with(sim_openstack::Config::default(), |conf| conf.load_balancer.create_monitor = true);
    let mut web = service("web", 2);
    stage.drive(&mut web, Purpose::Ensure).await;
    stage.forget_fingerprints();
    stage.restart();
    stage.clear();
    let (wanted, found) = stage.observed(&web).await;
    let Children::Known(tree) = found.balancer.unwrap().children else { panic!("not read") };
    assert_eq!((tree.listeners.len(), tree.pools.len()), (2, 2));
    for (pool, listener) in tree.pools.iter().zip(&wanted.listeners) {
        assert_eq!(pool.members.len(), listener.pool.members.len());
        assert!(pool.monitor.is_some());
    }
    // The load balancer, two lists, members and monitor of each pool; nothing of the project.
    let octavia = stage.targets(Service::LoadBalancer);
    assert_eq!(octavia.iter().filter(|target| target.contains("/lbaas/")).count(), 7, "{octavia:?}");
    stage.clear();
    assert_eq!(children(&stage, &web).await, "known");
    assert_eq!(stage.simulation.calls(), 2, "the load balancer and its floating IP: {:?}", stage.counts());

    stage.edit_balancer(NAME, |balancer| balancer.updated_at = Some("2026-11-15T09:30:00".to_owned()));
    stage.clear();
    assert_eq!(children(&stage, &web).await, "known");
    assert!(stage.simulation.calls() > 6, "{:?}", stage.counts());
    // Things change in ways that leave no trace.
    tokio::time::advance(Duration::from_secs(6 * 60 * 60)).await;
    stage.clear();
    assert_eq!(children(&stage, &web).await, "known");
    assert!(stage.simulation.calls() > 6, "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn who_asks_for_comparisons_more_often_than_twice_a_day_gets_them() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    stage.restart_comparing_every(Duration::from_secs(60));
    assert_eq!(children(&stage, &web).await, "as wanted");
    // What comes in between, as an edit does, need not read all.
    tokio::time::advance(Duration::from_secs(29)).await;
    assert_eq!(children(&stage, &web).await, "as wanted");
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(children(&stage, &web).await, "known", "it is read");
}

#[tokio::test(start_paused = true)]
async fn a_fingerprint_that_still_fits_is_believed_for_some_hours_and_no_other_is() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    stage.restart();
    assert_eq!(children(&stage, &web).await, "as wanted");
    tokio::time::advance(Duration::from_secs(5 * 60 * 60)).await;
    assert_eq!(children(&stage, &web).await, "as wanted");
    tokio::time::advance(Duration::from_secs(60 * 60)).await;
    assert_eq!(children(&stage, &web).await, "known", "it is read now and then");

    stage.restart();
    let other = edited(&web, |view| view.ports[0].node_port = Some(31000));
    assert_eq!(children(&stage, &other).await, "known", "the wish is another one");
    stage.restart();
    stage.edit_balancer(NAME, |balancer| balancer.updated_at = Some("2026-11-15T09:30:00".to_owned()));
    assert_eq!(children(&stage, &web).await, "known", "somebody has changed it");
}

#[tokio::test(start_paused = true)]
async fn what_octavia_is_at_work_on_is_not_read() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    stage.restart();
    stage.edit_balancer(NAME, |balancer| balancer.provisioning_status = "PENDING_UPDATE".to_owned());
    assert_eq!(children(&stage, &web).await, "busy");
}

#[tokio::test(start_paused = true)]
async fn many_are_read_in_lists_of_the_project_and_a_list_that_is_cut_short_makes_no_tree() {
    let mut stage = Stage::new();
    let mut services: Vec<_> = (0..10).map(|number| service(&format!("web-{number}"), 2)).collect();
    stage.drive_all(&mut services, Purpose::Ensure).await;
    stage.forget_fingerprints();
    let requests: Vec<_> = services.iter().map(|one| stage.request(one, Purpose::Ensure)).collect();
    stage.restart();
    stage.clear();
    let trees = |observed: Vec<Result<Observed, Doubt>>| {
        let whole = |observed: Result<Observed, Doubt>| {
            let Observation::Ensure { found, .. } = observed.ok()?.observation else { return None };
            let Children::Known(tree) = found.balancer?.children else { return None };
            Some((tree.listeners.len(), tree.pools.len()))
        };
        observed.into_iter().map(whole).collect::<Vec<_>>()
    };
    let observed = stage.balancers.observe(&requests).await;
    assert_eq!(trees(observed), vec![Some((2, 2)); 10]);
    let list = |target: &str| target.contains("/lbaas/") && !target.contains("/members");
    let lists = stage.targets(Service::LoadBalancer).iter().filter(|target| list(target)).count();
    assert_eq!(lists, 4, "{:?}", stage.targets(Service::LoadBalancer));

    // Cut short once: they are read one by one. Cut short always: nothing is known of those that are not whole.
    stage.restart();
    let cut = || Rule::new(Fault::TruncateList { keep: 1 }).path("*/listeners");
    stage.simulation.fault(cut().times(1));
    assert_eq!(trees(stage.balancers.observe(&requests).await), vec![Some((2, 2)); 10]);
    stage.restart();
    stage.simulation.fault(cut());
    assert_eq!(trees(stage.balancers.observe(&requests).await), vec![None; 10]);
}

#[tokio::test(start_paused = true)]
async fn a_person_who_asks_for_a_look_gets_one_and_only_once() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    assert_eq!(children(&stage, &web).await, "as wanted");
    let asked = |at: &str| annotated(&web, bowline_cloud::RESYNC_AT, at);
    let (first, second) = (asked("2026-11-16T10:00:00Z"), asked("2026-11-16T10:05:00.5Z"));
    stage.clear();
    assert_eq!(children(&stage, &first).await, "known");
    assert!(stage.simulation.calls() > 4, "it was read: {:?}", stage.counts());
    stage.clear();
    children(&stage, &first).await;
    assert_eq!(stage.simulation.calls(), 2, "not again: {:?}", stage.counts());
    children(&stage, &second).await;
    assert!(stage.simulation.calls() > 6, "asked again: {:?}", stage.counts());
    stage.clear();
    // Another Service on the same load balancer that was asked about before.
    children(&stage, &first).await;
    assert_eq!(stage.simulation.calls(), 2, "{:?}", stage.counts());
    let mut second = second;
    stage.drive(&mut second, Purpose::Ensure).await;
    stage.restart();
    assert_eq!(children(&stage, &second).await, "as wanted", "another process has nothing to forget");
}
