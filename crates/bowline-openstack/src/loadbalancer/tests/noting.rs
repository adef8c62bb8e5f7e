//! What is noted on a Service.

use bowline_cloud::{LoadBalancers, Purpose};

use super::stage::{Stage, service};
use crate::loadbalancer::Observed;
use crate::loadbalancer::annotations::{FINGERPRINT, LOAD_BALANCER_ADDRESS, LOAD_BALANCER_ID};
use crate::loadbalancer::notes::notes;

#[tokio::test(start_paused = true)]
async fn the_load_balancer_is_noted_when_it_is_there_and_the_fingerprint_when_all_is_done() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    let (wanted, found) = stage.ensured(&web).await;
    assert!(notes(&wanted, &found, false).is_empty(), "there is nothing yet");
    let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
    let (wanted, found) = stage.ensured(&web).await;
    let keys = |settled: bool| {
        notes(&wanted, &found, settled).iter().map(|(key, _)| key.to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(keys(true), [FINGERPRINT.key, LOAD_BALANCER_ADDRESS.key, LOAD_BALANCER_ID.key]);
    assert_eq!(keys(false), [LOAD_BALANCER_ADDRESS.key, LOAD_BALANCER_ID.key]);
    let address = status.ingress[0].ip.unwrap().to_string();
    assert_eq!(web.annotations.get(LOAD_BALANCER_ADDRESS.key), Some(address.as_str()));
    // What stands there is what would be written: it is written once.
    assert!(notes(&wanted, &found, true).stand_in(&web.annotations));
    let request = stage.request(&web, Purpose::Remove);
    let removed = stage.balancers.notes(&request, None);
    assert_eq!(removed.iter().count(), 3);
    assert!(removed.iter().all(|(_, value)| value.is_none()), "all of them go: {removed:?}");
    let observed = Observed::Refused(bowline_cloud::Refusal { problems: Vec::new() });
    assert!(stage.balancers.notes(&request, Some(&observed)).is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_comes_back_is_told_again_and_what_stays_is_not() {
    let stage = Stage::new();
    let wrong = super::stage::annotated(&service("web", 1), "loadbalancer.openstack.org/flavour-id", "x");
    for web in [&wrong, &wrong, &service("web", 1), &wrong] {
        stage.ensured(web).await;
    }
    assert_eq!(stage.told(), ["LoadBalancerAnnotationIgnored", "LoadBalancerAnnotationIgnored"]);
}
