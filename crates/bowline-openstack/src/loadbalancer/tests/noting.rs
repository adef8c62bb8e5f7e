//! What is noted on a Service.

use bowline_cloud::{LoadBalancers, ObservedLoadBalancer, Purpose};

use super::stage::{Stage, service};
use crate::loadbalancer::annotations::{LOAD_BALANCER_ADDRESS, LOAD_BALANCER_ID};
use crate::loadbalancer::notes::notes;
use crate::loadbalancer::{Observation, Observed};

#[tokio::test(start_paused = true)]
async fn the_load_balancer_is_noted_when_it_is_there() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    let (wanted, found) = stage.observed(&web).await;
    assert!(notes(&wanted, &found, false).is_empty(), "there is nothing yet");
    let status = stage.ensure(&mut web).await;
    let (wanted, found) = stage.observed(&web).await;
    let notes_now = notes(&wanted, &found, false);
    let keys: Vec<_> = notes_now.iter().map(|(key, _)| key).collect();
    assert_eq!(keys, [LOAD_BALANCER_ADDRESS.key, LOAD_BALANCER_ID.key]);
    let address = status.ingress[0].ip.unwrap().to_string();
    assert_eq!(web.annotations.get(LOAD_BALANCER_ADDRESS.key), Some(address.as_str()));
    // What stands there is what would be written: it is written once.
    assert!(notes_now.stand_in(&web.annotations));
    let request = stage.request(&web, Purpose::Remove);
    let removed = stage.balancers.policy().annotations_after_removal();
    assert_eq!(removed.iter().count(), 2);
    assert!(removed.iter().all(|(_, value)| value.is_none()), "all of them go: {removed:?}");
    assert_eq!(Observed::of(&request, Observation::Gone).annotations(), removed);
    let refused = Observation::Refused(bowline_cloud::Refusal { problems: Vec::new() });
    assert!(Observed::of(&request, refused).annotations().is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_is_told_again_and_what_stays_is_not() {
    let stage = Stage::new();
    let wrong = super::stage::annotated(&service("web", 1), "loadbalancer.openstack.org/flavour-id", "x");
    for web in [&wrong, &wrong, &service("web", 1), &wrong] {
        stage.observed(web).await;
    }
    assert_eq!(stage.told(), ["LoadBalancerAnnotationIgnored", "LoadBalancerAnnotationIgnored"]);
}

/// Found by the simulation (seed 3021): the floating IP was deleted before the Service showed it, and it was shown all the same.
#[tokio::test(start_paused = true)]
async fn what_a_service_shows_first_was_read_a_moment_ago() {
    let (mut stage, mut web) = Stage::serving(service("web", 1)).await;
    // What was to be shown could not be written.
    std::sync::Arc::make_mut(&mut web).status = bowline_cloud::LoadBalancerStatus::default();
    stage.ensure(&mut web).await;
    std::sync::Arc::make_mut(&mut web).status = bowline_cloud::LoadBalancerStatus::default();
    let ids: Vec<String> =
        stage.simulation.look(|state| state.network.floating_ips.iter().map(|one| one.id.clone()).collect());
    stage.simulation.edit(|state| ids.iter().for_each(|id| drop(state.network.floating_ips.remove(id))));
    tokio::time::sleep(std::time::Duration::from_secs(60)).await;
    web = super::stage::annotated(&web, "loadbalancer.openstack.org/connection-limit", "300");
    let status = stage.ensure(&mut web).await;
    let shown = status.ingress[0].ip.unwrap().to_string();
    assert!(stage.floating_ips().contains(&shown), "{shown} leads nowhere");
}
