//! How load balancers are found, and what is not believed.

use std::sync::Arc;

use bowline_cloud::{ErrorClass, LoadBalancers, ObservedLoadBalancer, Purpose};
use http::StatusCode;
use sim_openstack::{Config, Fault, Latencies, Rule, Service};

use super::stage::{Stage, annotated, reached, service, services};
use crate::loadbalancer::Observation;
use crate::loadbalancer::annotations;
use crate::loadbalancer::found::{Found, FoundBy};

const ID: &str = annotations::LOAD_BALANCER_ID.key;

fn found_id(found: &Found) -> String {
    found.balancer.as_ref().unwrap().balancer.id.to_string()
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_found_by_id_by_name_and_by_the_name_of_kubernetes_own_provider() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    let id = web.annotations.get(ID).unwrap().to_owned();
    stage.restart();
    let (_, found) = stage.observed(&web).await;
    assert_eq!((found_id(&found), found.balancer.unwrap().by), (id.clone(), FoundBy::Id));

    stage.restart();
    let bare = service("web", 1);
    let (_, found) = stage.observed(&bare).await;
    assert_eq!((found_id(&found), found.balancer.unwrap().by), (id.clone(), FoundBy::Name));

    stage.edit_balancer("kube_service_kubernetes_default_web", |balancer| {
        balancer.name = bare.default_load_balancer_name();
    });
    stage.restart();
    let (_, found) = stage.observed(&bare).await;
    assert!(found.balancer.is_none(), "it never had an address, so nothing of another provider is there");
    let (_, found) = stage.observed(&reached(&bare)).await;
    assert_eq!((found_id(&found), found.balancer.unwrap().by), (id, FoundBy::LegacyName));
}

#[tokio::test(start_paused = true)]
async fn an_id_that_is_gone_is_told_and_the_name_is_looked_for() {
    let mut stage = Stage::new();
    let stale = "00000000-0000-4000-8000-000000000001";
    let (_, found) = stage.observed(&annotated(&service("web", 1), ID, stale)).await;
    assert!(found.named_is_gone && found.balancer.is_none());
    let mut web = service("web", 1);
    stage.drive(&mut web, Purpose::Ensure).await;
    let (_, found) = stage.observed(&annotated(&service("web", 1), ID, stale)).await;
    assert!(found.named_is_gone);
    assert_eq!(found_id(&found), web.annotations.get(ID).unwrap());
}

#[tokio::test(start_paused = true)]
async fn two_of_one_name_are_told_and_neither_is_chosen() {
    let mut stage = Stage::new();
    for name in ["web", "other"] {
        stage.drive(&mut service(name, 1), Purpose::Ensure).await;
    }
    stage.edit_balancer("kube_service_kubernetes_default_other", |balancer| {
        balancer.name = "kube_service_kubernetes_default_web".to_owned();
    });
    // One of them says by its tag that it is the Service's own.
    stage.restart();
    let (_, found) = stage.observed(&service("web", 1)).await;
    assert!(found.namesakes.is_empty() && found.balancer.unwrap().balancer.tags.contains(&tag_of("web")));
    for tags in [vec![], vec![tag_of("web")]] {
        stage.simulation.edit(|state| {
            let all = &mut state.load_balancer.load_balancers;
            for id in all.find_ids("name", "kube_service_kubernetes_default_web") {
                all.update(&id, |one| one.tags = tags.clone()).unwrap();
            }
        });
        stage.restart();
        let (_, found) = stage.observed(&service("web", 1)).await;
        assert_eq!((found.namesakes.len(), found.balancer.is_none()), (2, true), "{tags:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_goes_leaves_a_namesake_of_its_load_balancer_alone() {
    let (mut stage, mut web) = Stage::serving(service("web", 1)).await;
    stage.drive(&mut service("other", 1), Purpose::Ensure).await;
    stage.edit_balancer("kube_service_kubernetes_default_other", |balancer| {
        balancer.name = "kube_service_kubernetes_default_web".to_owned();
        balancer.tags.clear();
    });
    stage.remove(&mut web).await;
    assert_eq!(stage.balancer_count(), 1);
}

fn tag_of(name: &str) -> String {
    format!("bowline-service:uid-of-{name}")
}

#[tokio::test(start_paused = true)]
async fn services_whose_names_are_cut_to_the_same_have_a_load_balancer_each() {
    let mut stage = Stage::new();
    stage.cluster = "a-cluster-with-a-name-that-is-far-too-long-".repeat(6).leak();
    let mut services = [service("one", 1), service("two", 1)];
    for service in &mut services {
        stage.ensure(service).await;
    }
    let ids = services.clone().map(|service| service.annotations.get(ID).unwrap().to_owned());
    assert_ne!(ids[0], ids[1]);
    // Without their notes, as if they could not be written.
    stage.restart();
    for (name, id) in [("one", &ids[0]), ("two", &ids[1])] {
        assert_eq!(found_id(&stage.observed(&service(name, 1)).await.1), *id);
    }
    let removal = stage.look(&service("three", 1), Purpose::Remove).await;
    assert!(removal.is_ok_and(|removal| !removal.is_there()), "a third has none");
    stage.remove(&mut services[0]).await;
    assert_eq!(found_id(&stage.observed(&services[1]).await.1), ids[1]);
}

#[tokio::test(start_paused = true)]
async fn one_that_octavia_was_told_to_delete_is_not_deleted_twice_although_it_looks_as_before() {
    let latencies = Latencies { amphora_delete: std::time::Duration::from_secs(600), ..Latencies::default() };
    let mut stage = Stage::with(Config { latencies, ..Config::default() }, |_conf| {});
    let mut web = service("web", 1);
    stage.ensure(&mut web).await;
    let shown = stage.simulation.look(|state| state.load_balancer.load_balancers.iter().next().cloned());
    while stage
        .simulation
        .sim
        .with(|cloud| cloud.log().count(Service::LoadBalancer, &http::Method::DELETE, DELETE))
        == 0
    {
        assert!(stage.one_round(&mut web, Purpose::Remove).await.is_some());
    }
    // As one API server of Octavia that lags behind the other.
    let status = shown.unwrap().provisioning_status;
    stage.edit_balancer("kube_service_kubernetes_default_web", |one| one.provisioning_status = status);
    tokio::time::advance(std::time::Duration::from_secs(5)).await;
    stage.clear();
    assert!(stage.one_round(&mut web, Purpose::Remove).await.is_none(), "it waits");
    assert_eq!(stage.mutating(), 0);
    tokio::time::advance(std::time::Duration::from_secs(60)).await;
    assert!(stage.one_round(&mut web, Purpose::Remove).await.is_some(), "the order was lost");
    assert_eq!(stage.mutating(), 1);
}

/// How the log calls the deletion of a load balancer.
const DELETE: &str = "/v2.0/lbaas/loadbalancers/{id}";

#[tokio::test(start_paused = true)]
async fn what_a_list_does_not_show_is_asked_for_directly() {
    let mut stage = Stage::new();
    let mut services = services(0..12);
    stage.drive_all(&mut services, Purpose::Ensure).await;
    // Half of them with their id, half by name.
    let bare = services.iter().enumerate().map(|(number, noted)| {
        if number % 2 == 0 { service(&format!("web-{number}"), 1) } else { Arc::clone(noted) }
    });
    let requests: Vec<_> = bare.map(|one| stage.request(&one, Purpose::Ensure)).collect();
    stage.restart();
    let cut = Rule::new(Fault::TruncateList { keep: 1 }).on(Service::LoadBalancer).path("*/loadbalancers");
    stage.simulation.fault(cut.times(1));
    for observed in stage.balancers.observe(&requests).await {
        let Observation::Ensure { found, .. } = observed.unwrap().observation else { panic!("a refusal") };
        assert!(found.balancer.is_some() && !found.named_is_gone);
    }
    // The same for their removal: nothing is gone because a list is short.
    let requests: Vec<_> = services.iter().map(|one| stage.request(one, Purpose::Remove)).collect();
    stage.restart();
    for list in ["*/loadbalancers", "*/floatingips"] {
        stage.simulation.fault(Rule::new(Fault::TruncateList { keep: 0 }).path(list).times(1));
    }
    for observed in stage.balancers.observe(&requests).await {
        let Observation::Remove { found, .. } = observed.unwrap().observation else { panic!("nothing") };
        assert!(found.balancer.is_some());
    }
}

#[tokio::test(start_paused = true)]
async fn a_list_that_does_not_show_what_is_known_to_be_there_proves_nothing() {
    let mut stage = Stage::new();
    let mut services = services(0..8);
    stage.drive_all(&mut services, Purpose::Ensure).await;
    // Somebody made load balancers of these names, of which their Services know nothing.
    let mut others: Vec<_> = (8..16).map(|number| service(&format!("web-{number}"), 1)).collect();
    stage.taken_over();
    stage.drive_all(&mut others, Purpose::Ensure).await;
    stage.restart();
    for known in &services {
        stage.observed(known).await;
    }
    let bare: Vec<_> = (8..16).map(|number| service(&format!("web-{number}"), 1)).collect();
    let requests: Vec<_> = bare.iter().map(|one| stage.request(one, Purpose::Ensure)).collect();
    let cut = Rule::new(Fault::TruncateList { keep: 3 }).on(Service::LoadBalancer).path("*/loadbalancers");
    stage.simulation.fault(cut.times(1));
    for observed in stage.balancers.observe(&requests).await {
        let Observation::Ensure { found, .. } = observed.unwrap().observation else { panic!("a refusal") };
        assert!(found.balancer.is_some(), "a second one would be made");
    }
}

#[tokio::test(start_paused = true)]
async fn what_belongs_to_another_project_is_not_found_by_name_and_refused_by_id() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    // An administrator sees the load balancers of all projects.
    stage.restart_as("sim-admin");
    let (_, found) = stage.observed(&service("web", 1)).await;
    assert!(found.balancer.is_none());
    let refusal = stage.observed_refusal(&web).await;
    assert!(refusal.contains(&stage.simulation.estate.project) && refusal.contains(ID), "{refusal}");
    let many: Vec<_> = (0..6).map(|_| stage.request(&service("web", 1), Purpose::Ensure)).collect();
    for observed in stage.balancers.observe(&many).await {
        let Observation::Ensure { found, .. } = observed.unwrap().observation else { panic!("a refusal") };
        assert!(found.balancer.is_none());
    }
}

#[tokio::test(start_paused = true)]
async fn one_that_is_being_deleted_counts_by_its_id_and_for_who_wants_it_gone() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    stage.edit_balancer("kube_service_kubernetes_default_web", |balancer| {
        balancer.provisioning_status = "PENDING_DELETE".to_owned();
    });
    stage.restart();
    let bare = service("web", 1);
    assert!(stage.observed(&bare).await.1.balancer.is_none(), "a new one can be made beside it");
    assert!(stage.observed(&web).await.1.balancer.is_some());
    let removal = stage.look(&bare, Purpose::Remove).await;
    assert!(removal.is_ok_and(|removal| removal.is_there()));
}

#[tokio::test(start_paused = true)]
async fn while_octavia_is_down_nothing_is_known_and_nobody_else_is_asked() {
    let (mut stage, mut web) = Stage::serving(service("web", 1)).await;
    for known in [true, false] {
        if !known {
            stage.restart();
        }
        stage.clear();
        let down = Rule::new(Fault::status(StatusCode::BAD_GATEWAY)).on(Service::LoadBalancer);
        stage.simulation.fault(down);
        for purpose in [Purpose::Ensure, Purpose::Remove] {
            let doubt = stage.look(&web, purpose).await.unwrap_err();
            assert_eq!(doubt.class, ErrorClass::Transient);
            stage.drive(&mut web, purpose).await.unknown();
        }
        assert_eq!(stage.targets(Service::Network), Vec::<String>::new());
        assert_eq!(stage.mutating(), 0);
        stage.simulation.sim.with(|cloud| cloud.faults().clear());
    }
}
