//! What nobody can say for sure is neither made twice nor taken away: load balancers whose creation was not answered, and floating
//! IPs that only look like one's own.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{LoadBalancers, Purpose, ServiceView, Unfenced};
use sim_openstack::{Fault, Rule, Service};

use super::stage::{Stage, annotated, service};
use crate::loadbalancer::annotations::KEEP_FLOATING_IP;

fn balancers(stage: &Stage) -> usize {
    stage.simulation.sim.with(|cloud| cloud.state().load_balancer.load_balancers.len())
}

fn floating(stage: &Stage) -> Vec<String> {
    let addresses = |state: &sim_openstack::State| {
        state.network.floating_ips.iter().map(|one| one.floating_ip_address.clone()).collect()
    };
    stage.simulation.sim.with(|cloud| addresses(cloud.state()))
}

/// The same Service, made anew.
fn successor(of: &Arc<ServiceView>) -> Arc<ServiceView> {
    let mut next = (*service(&of.name, 1)).clone();
    next.uid = "99999999-0000-0000-0000-000000000000".into();
    Arc::new(next)
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_not_asked_for_again_while_the_first_may_still_come() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    let step = stage.first_step(&web, Purpose::Ensure).await;
    let unheard = Rule::new(Fault::DisconnectBefore).on(Service::LoadBalancer).method(http::Method::POST);
    stage.simulation.fault(unheard.times(1));
    stage.balancers.execute(&step, &Unfenced).await.unwrap_err();
    let doubt = stage.drive(&mut web, Purpose::Ensure).await.unknown();
    assert!(doubt.why.contains("was lost") && doubt.retry_after.is_some(), "{doubt:?}");
    assert_eq!(balancers(&stage), 0);
    tokio::time::sleep(Duration::from_secs(181)).await;
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!(balancers(&stage), 1, "nothing came of the first, so it is made now");
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_a_namesake_kept_is_neither_used_nor_given_back() {
    let mut stage = Stage::new();
    let mut first = annotated(&service("web", 1), KEEP_FLOATING_IP.key, "true");
    stage.drive(&mut first, Purpose::Ensure).await.settled();
    stage.drive(&mut first, Purpose::Remove).await.settled();
    let kept = floating(&stage);
    assert_eq!(kept.len(), 1);
    let mut second = successor(&first);
    let status = stage.drive(&mut second, Purpose::Ensure).await.settled();
    assert_ne!(status.ingress[0].ip.unwrap().to_string(), kept[0]);
    stage.drive(&mut second, Purpose::Remove).await.settled();
    assert_eq!(floating(&stage), kept, "the kept one stays, the other one goes");
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_of_a_load_balancer_that_never_came_up_leads_to_the_next_one() {
    let mut stage = Stage::new();
    let fails = Rule::new(Fault::LoadBalancerError).on(Service::LoadBalancer).method(http::Method::POST);
    stage.simulation.fault(fails.times(1));
    let mut web = service("web", 1);
    let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!(floating(&stage), [status.ingress[0].ip.unwrap().to_string()], "there is one, and it is used");
    stage.drive(&mut web, Purpose::Remove).await.settled();
    assert_eq!((floating(&stage).len(), balancers(&stage)), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn octavia_that_says_itself_that_it_failed_is_asked_again_at_once() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    let step = stage.first_step(&web, Purpose::Ensure).await;
    let fails = Rule::new(Fault::status(http::StatusCode::INTERNAL_SERVER_ERROR)).on(Service::LoadBalancer);
    stage.simulation.fault(fails.method(http::Method::POST).times(1));
    stage.balancers.execute(&step, &Unfenced).await.unwrap_err();
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!(balancers(&stage), 1);
}

#[tokio::test(start_paused = true)]
async fn one_that_came_although_its_answer_was_lost_goes_at_once_when_it_shall() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    let step = stage.first_step(&web, Purpose::Ensure).await;
    let lost = Rule::new(Fault::DisconnectAfter).on(Service::LoadBalancer).method(http::Method::POST);
    stage.simulation.fault(lost.times(1));
    stage.balancers.execute(&step, &Unfenced).await.unwrap_err();
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    stage.drive(&mut web, Purpose::Remove).await.settled();
    assert_eq!((balancers(&stage), floating(&stage).len()), (0, 0));
}

/// A Service whose load balancer somebody may have asked for already.
fn begun(name: &str) -> Arc<ServiceView> {
    let mut service = (*service(name, 1)).clone();
    service.finalizers = ["service.kubernetes.io/load-balancer-cleanup"].into();
    Arc::new(service)
}

/// Somebody asked for a load balancer, and it came when his successor had asked for another one. The successor has gone on since.
async fn asked_for_twice(stage: &mut Stage, web: &mut Arc<ServiceView>) {
    let step = stage.first_step(web, Purpose::Ensure).await;
    let predecessor = stage.taken_over();
    stage.one_round(web, Purpose::Ensure).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    predecessor.execute(&step, &Unfenced).await.unwrap();
    assert_eq!(balancers(stage), 2);
}

#[tokio::test(start_paused = true)]
async fn one_that_a_predecessor_asked_for_unseen_does_not_stay_beside_our_own() {
    let mut stage = Stage::new();
    let mut web = begun("web");
    asked_for_twice(&mut stage, &mut web).await;
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((balancers(&stage), floating(&stage).len()), (1, 1));
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    stage.drive(&mut web, Purpose::Remove).await.settled();
    tokio::time::sleep(Duration::from_secs(60)).await;
    assert_eq!((balancers(&stage), floating(&stage).len()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn of_two_that_are_proven_our_own_one_stays_and_both_go_with_the_service() {
    for purpose in [Purpose::Ensure, Purpose::Remove] {
        let mut stage = Stage::new();
        let mut web = begun("web");
        asked_for_twice(&mut stage, &mut web).await;
        // What was noted on the Service is lost as well.
        web = begun("web");
        stage.restart("sim");
        tokio::time::sleep(Duration::from_secs(60)).await;
        stage.drive(&mut web, purpose).await.settled();
        tokio::time::sleep(Duration::from_secs(60)).await;
        let left = usize::from(purpose == Purpose::Ensure);
        assert_eq!((balancers(&stage), floating(&stage).len()), (left, left), "{purpose:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn who_begins_a_service_himself_looks_for_no_other() {
    let mut stage = Stage::new();
    let mut fresh = service("web", 1);
    stage.drive(&mut fresh, Purpose::Ensure).await.settled();
    let reads = stage.reads();
    let mut stage = Stage::new();
    let mut web = begun("web");
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!(stage.reads(), reads + 1, "one list more, where somebody else may have begun");
}
