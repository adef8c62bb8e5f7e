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
