//! Several Services that name one port (`port-id`): one load balancer is created there, also if all of them were observed while it was free.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{ErrorClass, LoadBalancers, Purpose, ServiceView, Unfenced};
use sim_openstack::{Fault, Rule, Service};

use super::stage::{Stage, annotated, edited, service};
use crate::loadbalancer::annotations::{INTERNAL, PORT_ID};

/// Two internal Services of different namespaces that name this port.
fn rivals(port: &str) -> [Arc<ServiceView>; 2] {
    ["one", "two"].map(|name| {
        let named = edited(&service(name, 1), |view| view.namespace = name.into());
        annotated(&annotated(&named, PORT_ID.key, port), INTERNAL.key, "true")
    })
}

/// The names of the load balancers at a port.
fn at(stage: &Stage, port: &str) -> Vec<String> {
    stage.simulation.look(|state| {
        let all = state.load_balancer.load_balancers.iter();
        all.filter(|one| one.vip_port_id == port).map(|one| one.name.clone()).collect()
    })
}

#[tokio::test(start_paused = true)]
async fn of_two_services_that_saw_the_same_free_port_one_gets_a_load_balancer() {
    let mut stage = Stage::new();
    let port = stage.users_port().await;
    let [mut first, mut second] = rivals(&port);
    let steps =
        [stage.first_step(&first, Purpose::Ensure).await, stage.first_step(&second, Purpose::Ensure).await];
    stage.balancers.execute(&steps[0], &Unfenced).await.unwrap();
    let error = stage.balancers.execute(&steps[1], &Unfenced).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict, "{error}");

    // A list that is older than the first load balancer does not show it.
    let stale = Rule::new(Fault::Stale(Duration::from_secs(30))).on(Service::LoadBalancer);
    stage.simulation.fault(stale.method(http::Method::GET).path("*/lbaas/loadbalancers").times(2));
    let why = stage.refusal(&mut second).await;
    assert!(why.contains(&port) && why.contains("is used by another load balancer"), "{why}");
    stage.ensure(&mut first).await;
    assert_eq!(at(&stage, &port), ["kube_service_kubernetes_one_one"]);

    stage.remove(&mut first).await;
    stage.ensure(&mut second).await;
    assert_eq!(at(&stage, &port), ["kube_service_kubernetes_two_two"], "the port is free again");
}

#[tokio::test(start_paused = true)]
async fn a_port_stays_reserved_only_if_octavia_may_have_created_the_load_balancer() {
    for (fault, is_free) in [(Fault::forbidden(), true), (Fault::DisconnectBefore, false)] {
        let stage = Stage::new();
        let port = stage.users_port().await;
        let [first, second] = rivals(&port);
        let steps = [
            stage.first_step(&first, Purpose::Ensure).await,
            stage.first_step(&second, Purpose::Ensure).await,
        ];
        let fails = Rule::new(fault).on(Service::LoadBalancer).method(http::Method::POST);
        stage.simulation.fault(fails.times(1));
        stage.balancers.execute(&steps[0], &Unfenced).await.unwrap_err();
        let result = stage.balancers.execute(&steps[1], &Unfenced).await;
        assert_eq!(result.is_ok(), is_free, "{result:?}");
        tokio::time::sleep(Duration::from_secs(181)).await;
        if !is_free {
            stage.balancers.execute(&steps[1], &Unfenced).await.unwrap();
        }
        assert_eq!(at(&stage, &port), ["kube_service_kubernetes_two_two"]);
    }
}
