//! Services that go: nothing of theirs stays behind, and nothing of others goes with it.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Broken, LoadBalancers, ObservedLoadBalancer, Purpose, ServiceView, Traffic, Unfenced};
use http::Method;
use sim_openstack::{Fault, Rule, Service};

use super::grouping::groups;
use super::sharing::{
    at_port, balancer, foreign_listener, joining, on, owner_and_tenant, pools_and_floating, shared_by,
    users_own,
};
use super::stage::{Stage, annotated, id_of, service};
use crate::loadbalancer::annotations::{LOAD_BALANCER_ID, LOAD_BALANCER_TAGS};
use crate::loadbalancer::step::Action;

/// An owner that asks for a tag of its own, and a tenant of the same namespace on its load balancer.
async fn shared_with_tags() -> (Stage, Arc<ServiceView>, Arc<ServiceView>, String) {
    let owner = annotated(&at_port("one", 80), LOAD_BALANCER_TAGS.key, "env=prod");
    let (stage, owner, tenant, id) = shared_by(Stage::new(), owner).await;
    assert!(balancer(&stage, &id).unwrap().tags.contains(&"env=prod".to_owned()));
    (stage, owner, tenant, id)
}

#[tokio::test(start_paused = true)]
async fn tags_that_an_owner_asked_for_do_not_keep_its_load_balancer_after_the_last_tenant() {
    let (mut stage, mut owner, mut tenant, id) = shared_with_tags().await;
    stage.remove(&mut owner).await;
    stage.restart();
    stage.remove(&mut tenant).await;
    assert!(balancer(&stage, &id).is_none());
    assert_eq!(pools_and_floating(&stage), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_stays_after_its_last_service_keeps_no_floating_ip_and_is_told_of() {
    let (mut stage, mut owner, mut tenant, id) = shared_with_tags().await;
    stage.remove(&mut owner).await;
    stage.untag("kube_service_kubernetes_default_one");
    stage.restart();
    stage.remove(&mut tenant).await;
    assert_eq!(balancer(&stage, &id).unwrap().tags, ["env=prod"]);
    assert_eq!((on(&stage, &id).1, pools_and_floating(&stage)), (vec![], (0, 0)));
    let text = stage.events.text("LoadBalancerNotDeleted");
    assert!(text.contains(&id) && text.contains("tags of unknown origin"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn a_service_whose_annotation_was_changed_to_another_load_balancer_leaves_neither_behind() {
    for (joined, restarted) in [(false, false), (false, true), (true, false), (true, true)] {
        let mut stage = Stage::new();
        let users = users_own(&stage).await;
        let mut web = at_port("web", 8080);
        stage.ensure(&mut web).await;
        let own = id_of(&web);
        let mut web = annotated(&web, LOAD_BALANCER_ID.key, &users);
        if joined {
            stage.ensure(&mut web).await;
            assert_eq!(on(&stage, &users).1, [80, 8080]);
        }
        if restarted {
            stage.restart();
        }
        stage.remove(&mut web).await;
        assert!(balancer(&stage, &own).is_none(), "joined: {joined}, restarted: {restarted}");
        assert_eq!(on(&stage, &users), (Vec::new(), vec![80]), "the user's load balancer is as it was");
        assert_eq!(pools_and_floating(&stage), (1, 1), "joined: {joined}, restarted: {restarted}");
    }
}

/// Found by the simulation (seed 12854): the own load balancer stayed, and with it a floating IP for which another Service waited.
#[tokio::test(start_paused = true)]
async fn a_service_that_names_what_its_namesake_in_another_cluster_uses_leaves_no_load_balancer_behind() {
    let mut stage = Stage::new();
    let users = users_own(&stage).await;
    stage.restart_with_uid("cluster-2");
    let namesake = ServiceView { uid: "uid-elsewhere".into(), ..(*joining("web", 8080, &users)).clone() };
    stage.ensure(&mut Arc::new(namesake)).await;
    let before = (on(&stage, &users), pools_and_floating(&stage));

    stage.restart_with_uid("cluster-1");
    let mut web = at_port("web", 8080);
    stage.ensure(&mut web).await;
    let own = id_of(&web);
    let mut web = annotated(&web, LOAD_BALANCER_ID.key, &users);
    let refusal = stage.refusal(&mut web).await;
    assert!(refusal.contains("cluster-2"), "{refusal}");
    stage.remove(&mut web).await;
    assert!(balancer(&stage, &own).is_none());
    assert_eq!((on(&stage, &users), pools_and_floating(&stage)), before);
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_leaves_costs_one_read_more_to_see_that_it_has_no_load_balancer_of_its_own() {
    let (mut stage, _owner, mut tenant, _id) = owner_and_tenant().await;
    stage.clear();
    stage.remove(&mut tenant).await;
    let own = "name=kube_service_kubernetes_default_two";
    let targets = stage.targets(Service::LoadBalancer);
    let asked = targets.iter().filter(|target| target.contains(own)).count();
    assert_eq!(asked, 1, "{targets:#?}");
    assert_eq!(stage.mutating(), 3, "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_in_error_with_a_listener_of_somebody_else_is_not_replaced() {
    let (mut stage, mut web) = Stage::serving(at_port("web", 80)).await;
    let id = id_of(&web);
    foreign_listener(&stage, &id, vec!["team-a".to_owned()]).await;
    stage.fail_balancer("kube_service_kubernetes_default_web", "ERROR");
    stage.restart();
    stage.clear();
    let refusal = stage.refusal(&mut web).await;
    assert!(refusal.contains("not made for this Service") && refusal.contains("failover"), "{refusal}");
    assert_eq!((stage.mutating(), on(&stage, &id).1), (0, vec![80, 9000]));
}

/// What the framework hears of a broken load balancer of a Service.
async fn broken(stage: &Stage, service: &Arc<ServiceView>) -> Option<Broken> {
    stage.look(service, Purpose::Ensure).await.unwrap().broken()
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_in_error_counts_for_services_that_use_it_and_not_for_those_that_only_name_it() {
    let (mut stage, owner, tenant, id) = owner_and_tenant().await;
    stage.fail_balancer("kube_service_kubernetes_default_one", "ONLINE");
    stage.restart();
    let expected = Some(Broken { id: id.clone(), traffic: Traffic::Possible });
    assert_eq!(broken(&stage, &owner).await, expected);
    assert_eq!(broken(&stage, &tenant).await, expected);
    assert_eq!(broken(&stage, &joining("three", 8081, &id)).await, None);
}

/// Performs steps until Octavia has accepted the deletion of a listener, which ends in ERROR. The operator of the cloud repairs the load
/// balancer before anybody reads it.
async fn listener_deletion_fails(stage: &Stage, service: &Arc<ServiceView>, purpose: Purpose, name: &str) {
    let fails = Rule::new(Fault::LoadBalancerError).on(Service::LoadBalancer).method(Method::DELETE);
    stage.simulation.fault(fails.path("*/listeners/*").times(1));
    let mut is_accepted = false;
    while !is_accepted {
        let step = stage.first_step(service, purpose).await;
        stage.balancers.execute(&step, &Unfenced).await.unwrap();
        is_accepted = matches!(step.action, Action::DeleteListener(_));
        tokio::time::sleep(Duration::from_secs(30)).await;
    }
    stage.edit_balancer(name, |one| {
        assert_eq!(one.provisioning_status, "ERROR");
        one.provisioning_status = "ACTIVE".to_owned();
        one.updated_at = Some("2030-01-01T00:00:00".to_owned());
    });
}

/// Found by the simulation (seed 6816).
#[tokio::test(start_paused = true)]
async fn a_service_does_not_leave_a_load_balancer_before_its_listener_is_seen_to_be_gone() {
    let mut stage = Stage::new();
    let users = users_own(&stage).await;
    let mut web = joining("web", 8080, &users);
    stage.ensure(&mut web).await;
    listener_deletion_fails(&stage, &web, Purpose::Remove, "users").await;
    stage.remove(&mut web).await;
    assert_eq!(on(&stage, &users), (Vec::new(), vec![80]));
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_is_no_longer_wanted_is_deleted_again_when_its_deletion_ended_in_error() {
    let (mut stage, mut web) = Stage::serving(service("web", 2)).await;
    Arc::make_mut(&mut web).ports.truncate(1);
    let name = "kube_service_kubernetes_default_web";
    listener_deletion_fails(&stage, &web, Purpose::Ensure, name).await;
    stage.ensure(&mut web).await;
    assert_eq!(on(&stage, &id_of(&web)).1, [80]);
}

/// Found by the simulation (seed 12553): the answer that the load balancer is not there was a lie, and the load balancer of another
/// cluster, which has the name of the Service, was taken for the one to remove.
#[tokio::test(start_paused = true)]
async fn one_answer_that_a_named_load_balancer_is_not_there_leaves_no_part_of_the_service_on_it() {
    let mut stage = Stage::new();
    stage.restart_with_uid("cluster-2");
    let mut other = at_port("web", 8080);
    Arc::make_mut(&mut other).uid = "uid-in-cluster-2".into();
    stage.ensure(&mut other).await;
    stage.restart_with_uid("cluster-1");
    let users = users_own(&stage).await;
    let mut web = joining("web", 8080, &users);
    stage.ensure(&mut web).await;
    tokio::time::sleep(Duration::from_secs(60)).await;
    let lie = Rule::new(Fault::not_found_lie()).on(Service::LoadBalancer).method(Method::GET);
    stage.simulation.fault(lie.path("*/loadbalancers/*").times(1));
    let doubt = stage.drive(&mut web, Purpose::Remove).await.unknown();
    assert!(doubt.why.contains(&users), "{doubt:?}");
    stage.remove(&mut web).await;
    assert_eq!(on(&stage, &users), (Vec::new(), vec![80]));
    assert_eq!(on(&stage, &id_of(&other)).1, [8080], "another cluster's");
}

/// Found by the simulation (seeds 10611 and 15781): Octavia was still at work on the last change of the load balancer, and the group was
/// not looked for any more.
#[tokio::test(start_paused = true)]
async fn a_security_group_whose_deletion_failed_goes_also_after_its_service_has_left_the_load_balancer() {
    let mut stage = Stage::with_groups();
    let users = users_own(&stage).await;
    let mut web = joining("web", 8080, &users);
    stage.ensure(&mut web).await;
    assert_eq!(groups(&stage).len(), 1);
    let fails = Rule::new(Fault::conflict()).on(Service::Network).method(Method::DELETE);
    let fails = fails.path("/v2.0/security-groups/*").times(1);
    let rule = stage.simulation.sim.with(|cloud| cloud.faults().add(fails));
    stage.remove(&mut web).await;
    assert_eq!(stage.simulation.sim.with(|cloud| cloud.faults().acted(rule)), Some(1));
    assert_eq!((groups(&stage).len(), on(&stage, &users)), (0, (Vec::new(), vec![80])));
}
