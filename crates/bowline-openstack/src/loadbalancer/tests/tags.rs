//! Tags that a Service asks for on its load balancer, its listeners and its pools.

use std::collections::BTreeSet;
use std::sync::Arc;

use bowline_cloud::ServiceView;
use sim_openstack::Config;

use super::sharing::joining;
use super::stage::{Stage, annotated, id_of, service};
use crate::loadbalancer::annotations::{LISTENER_TAGS, LOAD_BALANCER_TAGS, POOL_TAGS};

const OWN: &str = "kube_service_kubernetes_default_web";

fn tagged(service: &Arc<ServiceView>, tags: [&str; 3]) -> Arc<ServiceView> {
    let keys = [LOAD_BALANCER_TAGS.key, LISTENER_TAGS.key, POOL_TAGS.key];
    keys.iter().zip(tags).fold(Arc::clone(service), |service, (key, value)| annotated(&service, key, value))
}

/// The tags of the load balancer, of all listeners and of all pools.
fn tags(stage: &Stage) -> [BTreeSet<String>; 3] {
    stage.simulation.look(|state| {
        let octavia = &state.load_balancer;
        [
            octavia.load_balancers.iter().flat_map(|one| one.tags.clone()).collect(),
            octavia.listeners.iter().flat_map(|one| one.tags.clone()).collect(),
            octavia.pools.iter().flat_map(|one| one.tags.clone()).collect(),
        ]
    })
}

fn set(tags: &[&str]) -> BTreeSet<String> {
    tags.iter().map(|tag| (*tag).to_owned()).collect()
}

const UIDS: [&str; 2] = ["bowline-cluster:cluster-1", "bowline-service:uid-of-web"];

#[tokio::test(start_paused = true)]
async fn tags_come_with_the_load_balancer_are_added_later_and_are_never_taken_away() {
    for provider in ["amphora", "ovn"] {
        let mut stage = Stage::with(Config::default(), |conf| {
            conf.load_balancer.lb_provider = provider.to_owned();
        });
        let bare = service("web", 2);
        let mut web = tagged(&bare, ["env=prod", "env=prod,team=a", "env=prod"]);
        stage.ensure(&mut web).await;
        assert_eq!(tags(&stage)[0], set(&[OWN, UIDS[0], UIDS[1], "env=prod"]), "{provider}");
        assert_eq!(tags(&stage)[1..], [set(&[OWN, "env=prod", "team=a"]), set(&["env=prod"])], "{provider}");

        stage.simulation.edit(|state| {
            for id in state.load_balancer.pools.iter().map(|pool| pool.id.clone()).collect::<Vec<_>>() {
                state.load_balancer.pools.update(&id, |pool| pool.tags.push("by-hand".to_owned())).unwrap();
            }
        });
        stage.edit_balancer(OWN, |balancer| balancer.tags.push("by-hand".to_owned()));
        stage.restart();
        stage.forget_fingerprints();
        let mut later = tagged(&web, ["team=b", "x", "y"]);
        stage.ensure(&mut later).await;
        let all = tags(&stage);
        assert_eq!(all[0], set(&[OWN, UIDS[0], UIDS[1], "env=prod", "by-hand", "team=b"]), "{provider}");
        assert_eq!(all[1..], [set(&[OWN, "env=prod", "team=a", "x"]), set(&["env=prod", "by-hand", "y"])]);

        stage.clear();
        stage.ensure(&mut later).await;
        stage.restart();
        stage.ensure(&mut later).await;
        let mut none = tagged(&later, ["", "", ""]);
        stage.ensure(&mut none).await;
        assert_eq!((stage.mutating(), tags(&stage)), (0, all), "{provider}");

        stage.remove(&mut later).await;
        assert_eq!(tags(&stage), [set(&[]), set(&[]), set(&[])], "they keep nothing from being deleted");
    }
}

#[tokio::test(start_paused = true)]
async fn a_tag_that_would_prove_ownership_is_refused_wherever_it_stands() {
    let stage = Stage::new();
    for key in [LOAD_BALANCER_TAGS.key, LISTENER_TAGS.key, POOL_TAGS.key] {
        for forged in ["kube_service_kubernetes_other_db", "a,bowline-cluster:c2", "Bowline-Service:s2"] {
            let refused = stage.observed_refusal(&annotated(&service("web", 1), key, forged)).await;
            assert!(refused.contains(key) && refused.contains("none that begins with"), "{refused}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_puts_no_tags_on_the_load_balancer_of_another_one() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    let id = id_of(&web);
    let mut tenant = tagged(&joining("tenant", 8080, &id), ["mine", "mine", "mine"]);
    stage.ensure(&mut tenant).await;
    assert!(!tags(&stage)[0].contains("mine"));
    assert!(
        tags(&stage)[1].contains("mine") && tags(&stage)[2].contains("mine"),
        "its own listener and pool"
    );
    let text = stage.events.text("LoadBalancerAnnotationIgnored");
    assert!(text.contains(LOAD_BALANCER_TAGS.key) && text.contains(&id), "{text}");
}

#[tokio::test(start_paused = true)]
async fn there_are_never_more_than_a_hundred_tags_on_one_thing() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    for round in 0..4 {
        let many: Vec<String> = (0..45).map(|n| format!("t-{round}-{n}")).collect();
        let many = many.join(",");
        web = tagged(&web, [&many, &many, &many]);
        stage.ensure(&mut web).await;
    }
    assert!(tags(&stage).iter().all(|tags| tags.len() <= 100 && tags.len() > 80));
    let told: Vec<_> =
        stage.told().into_iter().filter(|one| one == "LoadBalancerAnnotationIgnored").collect();
    assert!(told.len() >= 3, "{told:?}");
}
