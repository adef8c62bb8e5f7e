//! Annotations that count only when a load balancer is created, edited when it is there.

use std::sync::Arc;

use bowline_cloud::{ObservedLoadBalancer, Purpose, ServiceView, Shortfall, ShortfallKind};

use super::sharing::{at_port, balancer, joining, users_own};
use super::stage::{Stage, annotated, id_of};
use crate::config::LoadBalancerClass;
use crate::loadbalancer::annotations::{
    ANNOTATIONS, AVAILABILITY_ZONE, CLASS, Effect, FLAVOR_ID, Kind, NETWORK_ID, PORT_ID, SUBNET_ID,
    VIP_ADDRESS,
};

const REASON: &str = "LoadBalancerRecreationNeeded";

async fn shortfalls(stage: &Stage, service: &Arc<ServiceView>) -> Vec<Shortfall> {
    stage.look(service, Purpose::Ensure).await.map(|observed| observed.shortfalls()).unwrap_or_default()
}

/// A cloud whose configuration does not say where load balancers are.
fn open_stage() -> Stage {
    Stage::with(sim_openstack::Config::default(), |conf| conf.load_balancer.subnet_id.clear())
}

#[tokio::test(start_paused = true)]
async fn every_annotation_that_counts_at_creation_is_compared_with_what_is_there() {
    let rows = ANNOTATIONS.iter().filter(|row| row.effect == Effect::Creation);
    let mut compared = 0;
    for row in rows {
        let mut stage = open_stage();
        let mut web = at_port("web", 80);
        stage.ensure(&mut web).await;
        let name = "kube_service_kubernetes_default_web";
        stage.edit_balancer(name, |one| {
            one.flavor_id = Some("flavor-1".to_owned());
            one.availability_zone = Some("zone-1".to_owned());
        });
        let found = stage.observed(&web).await.1.balancer.unwrap().balancer;
        let there = match row.key {
            key if key == PORT_ID.key => found.vip_port_id.unwrap().to_string(),
            key if key == SUBNET_ID.key => found.vip_subnet_id.unwrap().to_string(),
            key if key == NETWORK_ID.key => found.vip_network_id.unwrap().to_string(),
            key if key == VIP_ADDRESS.key => found.vip_address.unwrap().to_string(),
            key if key == FLAVOR_ID.key => "flavor-1".to_owned(),
            key if key == AVAILABILITY_ZONE.key => "zone-1".to_owned(),
            other => panic!("{other} counts at creation and is not compared"),
        };
        let asked = if row.kind == Kind::Address { "10.9.9.9" } else { "another" };
        let other = annotated(&web, row.key, asked);
        let found = shortfalls(&stage, &other).await;
        let [Shortfall { kind: ShortfallKind::RecreationNeeded, message }] = found.as_slice() else {
            panic!("{}: {found:?}", row.key)
        };
        for part in [row.key, asked, there.as_str(), "spec.type"] {
            assert!(message.contains(part), "{part}: {message}");
        }
        assert_eq!(shortfalls(&stage, &annotated(&web, row.key, &there)).await, [], "{}", row.key);
        assert_eq!(shortfalls(&stage, &annotated(&web, row.key, &there.to_uppercase())).await.len(), {
            usize::from(row.key == AVAILABILITY_ZONE.key)
        });
        compared += 1;
    }
    assert_eq!(compared, 6);
}

#[tokio::test(start_paused = true)]
async fn an_edit_of_what_counts_at_creation_is_told_once_and_costs_nothing() {
    let (mut stage, mut web) = Stage::serving(at_port("web", 80)).await;
    let status = web.status.clone();
    stage.ensure(&mut web).await;
    stage.clear();
    stage.ensure(&mut web).await;
    let steady = stage.counts();
    let mut asked = annotated(&web, FLAVOR_ID.key, "large");
    for round in 0..3 {
        stage.clear();
        assert_eq!(stage.ensure(&mut asked).await, status);
        assert_eq!(stage.mutating(), 0);
        assert!(round == 0 || stage.counts() == steady, "an edit is looked at once: {:?}", stage.counts());
    }
    assert_eq!(stage.told(), [REASON]);
    // Corrected, and edited again.
    stage.ensure(&mut web).await;
    assert_eq!(shortfalls(&stage, &web).await, []);
    stage.ensure(&mut asked).await;
    let mut third = annotated(&web, FLAVOR_ID.key, "small");
    stage.ensure(&mut third).await;
    assert_eq!(stage.told(), [REASON; 3]);
}

#[tokio::test(start_paused = true)]
async fn what_the_service_does_not_say_itself_or_what_has_no_effect_is_not_told() {
    let (mut stage, web) = Stage::serving(at_port("web", 80)).await;
    // An administrator changes defaults.
    stage.reconfigure(|conf| {
        conf.load_balancer.flavor_id = "large".to_owned();
        conf.load_balancer.availability_zone = "zone-2".to_owned();
        let class = LoadBalancerClass { subnet_id: "of-class".to_owned(), ..LoadBalancerClass::default() };
        conf.classes.insert("gold".to_owned(), class);
    });
    assert_eq!(shortfalls(&stage, &web).await, []);
    // The class goes before the annotation, and a subnet before the network.
    let classed = annotated(&annotated(&web, CLASS.key, "gold"), SUBNET_ID.key, "another");
    assert_eq!(shortfalls(&stage, &classed).await, []);
    assert_eq!(shortfalls(&stage, &annotated(&web, NETWORK_ID.key, "another")).await, []);
    assert_eq!(shortfalls(&stage, &annotated(&web, SUBNET_ID.key, "")).await, [], "as if it were not there");
    // Nobody can have it here.
    stage.reconfigure(|conf| conf.load_balancer.lb_provider = "ovn".to_owned());
    let name = "kube_service_kubernetes_default_web";
    stage.edit_balancer(name, |one| one.provider = "ovn".to_owned());
    let found = shortfalls(&stage, &annotated(&web, FLAVOR_ID.key, "large")).await;
    assert_eq!(found, []);
}

#[tokio::test(start_paused = true)]
async fn who_shares_a_load_balancer_is_not_told_to_create_it_again() {
    let mut stage = Stage::new();
    let id = users_own(&stage).await;
    let joins = annotated(&joining("web", 8080, &id), FLAVOR_ID.key, "large");
    assert_eq!(shortfalls(&stage, &joins).await, [], "it is not on it yet");
    let mut joins = joins;
    stage.ensure(&mut joins).await;
    let found = shortfalls(&stage, &joins).await;
    let [one] = found.as_slice() else { panic!("{found:?}") };
    assert!(one.message.contains("it is shared") && !one.message.contains("spec.type"), "{one:?}");
    assert!(balancer(&stage, &id).is_some() && id_of(&joins) == id);
}
