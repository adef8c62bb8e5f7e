//! Services that go: nothing of theirs stays behind, and nothing of others goes with it.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Broken, Evidence, LoadBalancers, Purpose, ServiceView, Traffic};
use openstack_client::load_balancer::{ListenerCreate, Protocol};

use super::sharing::{at_port, balancer, id_of, joining, on, pools_and_floating, refused, users_own};
use super::stage::{Stage, annotated};
use crate::loadbalancer::annotations::{LOAD_BALANCER_ID, LOAD_BALANCER_TAGS};

/// An owner that asks for a tag of its own, and a tenant of the same namespace on its load balancer.
async fn shared_with_tags(stage: &mut Stage) -> (Arc<ServiceView>, Arc<ServiceView>, String) {
    let mut owner = annotated(&at_port("one", 80), LOAD_BALANCER_TAGS.key, "env=prod");
    stage.drive(&mut owner, Purpose::Ensure).await.settled();
    let id = id_of(&owner);
    let mut tenant = joining("two", 8080, &id);
    stage.drive(&mut tenant, Purpose::Ensure).await.settled();
    assert!(balancer(stage, &id).unwrap().tags.contains(&"env=prod".to_owned()));
    (owner, tenant, id)
}

#[tokio::test(start_paused = true)]
async fn tags_that_an_owner_asked_for_do_not_keep_its_load_balancer_after_the_last_tenant() {
    let mut stage = Stage::new();
    let (mut owner, mut tenant, id) = shared_with_tags(&mut stage).await;
    stage.drive(&mut owner, Purpose::Remove).await.settled();
    stage.restart("sim");
    stage.drive(&mut tenant, Purpose::Remove).await.settled();
    assert!(balancer(&stage, &id).is_none());
    assert_eq!(pools_and_floating(&stage), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_stays_after_its_last_service_keeps_no_floating_ip_and_is_told_of() {
    let mut stage = Stage::new();
    let (mut owner, mut tenant, id) = shared_with_tags(&mut stage).await;
    stage.drive(&mut owner, Purpose::Remove).await.settled();
    // As OCCM leaves it: no tag tells the cluster.
    stage.edit_balancer("kube_service_kubernetes_default_one", |one| {
        one.tags.retain(|tag| !tag.starts_with("bowline-"));
    });
    stage.restart("sim");
    stage.drive(&mut tenant, Purpose::Remove).await.settled();
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
        stage.drive(&mut web, Purpose::Ensure).await.settled();
        let own = id_of(&web);
        let mut web = annotated(&web, LOAD_BALANCER_ID.key, &users);
        if joined {
            stage.drive(&mut web, Purpose::Ensure).await.settled();
            assert_eq!(on(&stage, &users).1, [80, 8080]);
        }
        if restarted {
            stage.restart("sim");
        }
        stage.drive(&mut web, Purpose::Remove).await.settled();
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
    stage.cluster_uid = "cluster-2";
    stage.restart("sim");
    let namesake = ServiceView { uid: "uid-elsewhere".into(), ..(*joining("web", 8080, &users)).clone() };
    stage.drive(&mut Arc::new(namesake), Purpose::Ensure).await.settled();
    let before = (on(&stage, &users), pools_and_floating(&stage));

    stage.cluster_uid = "cluster-1";
    stage.restart("sim");
    let mut web = at_port("web", 8080);
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    let own = id_of(&web);
    let mut web = annotated(&web, LOAD_BALANCER_ID.key, &users);
    let refusal = refused(stage.drive(&mut web, Purpose::Ensure).await);
    assert!(refusal.contains("cluster-2"), "{refusal}");
    stage.drive(&mut web, Purpose::Remove).await.settled();
    assert!(balancer(&stage, &own).is_none());
    assert_eq!((on(&stage, &users), pools_and_floating(&stage)), before);
}

#[tokio::test(start_paused = true)]
async fn a_tenant_that_leaves_costs_one_read_more_to_see_that_it_has_no_load_balancer_of_its_own() {
    let mut stage = Stage::new();
    let mut owner = at_port("one", 80);
    stage.drive(&mut owner, Purpose::Ensure).await.settled();
    let mut tenant = joining("two", 8080, &id_of(&owner));
    stage.drive(&mut tenant, Purpose::Ensure).await.settled();
    stage.clear();
    stage.drive(&mut tenant, Purpose::Remove).await.settled();
    let own = "name=kube_service_kubernetes_default_two";
    let targets = stage.targets(sim_openstack::Service::LoadBalancer);
    let asked = targets.iter().filter(|target| target.contains(own)).count();
    assert_eq!(asked, 1, "{targets:#?}");
    assert_eq!(stage.mutating(), 3, "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_in_error_with_a_listener_of_somebody_else_is_not_replaced() {
    let mut stage = Stage::new();
    let mut web = at_port("web", 80);
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    let id = id_of(&web);
    let new = ListenerCreate {
        name: "mine".to_owned(),
        protocol: Protocol::Tcp,
        protocol_port: 9000,
        loadbalancer_id: id.parse().ok(),
        tags: vec!["team-a".to_owned()],
        ..ListenerCreate::default()
    };
    stage.simulation.client.load_balancer().create_listener(&new).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
    stage.fail_balancer("kube_service_kubernetes_default_web", "ERROR");
    stage.restart("sim");
    stage.clear();
    let refusal = refused(stage.drive(&mut web, Purpose::Ensure).await);
    assert!(refusal.contains("not made for this Service") && refusal.contains("failover"), "{refusal}");
    assert_eq!((stage.mutating(), on(&stage, &id).1), (0, vec![80, 9000]));
}

/// What the framework hears of a broken load balancer of a Service.
async fn broken(stage: &Stage, service: &Arc<ServiceView>) -> Option<Broken> {
    let request = stage.request(service, Purpose::Ensure);
    let Evidence::Present(observed) = stage.look(service, Purpose::Ensure).await else {
        panic!("it is there")
    };
    LoadBalancers::broken(&stage.balancers, &request, Some(&observed))
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_in_error_counts_for_services_that_use_it_and_not_for_those_that_only_name_it() {
    let mut stage = Stage::new();
    let mut owner = at_port("one", 80);
    stage.drive(&mut owner, Purpose::Ensure).await.settled();
    let mut tenant = joining("two", 8080, &id_of(&owner));
    stage.drive(&mut tenant, Purpose::Ensure).await.settled();
    stage.fail_balancer("kube_service_kubernetes_default_one", "ONLINE");
    stage.restart("sim");
    let expected = Some(Broken { id: id_of(&owner), traffic: Traffic::Possible });
    assert_eq!(broken(&stage, &owner).await, expected);
    assert_eq!(broken(&stage, &tenant).await, expected);
    assert_eq!(broken(&stage, &joining("three", 8081, &id_of(&owner))).await, None);
}
