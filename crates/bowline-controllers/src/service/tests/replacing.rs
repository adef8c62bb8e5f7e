//! Safety rail SR-19 in the running controller: what the cloud calls broken is replaced only if it serves nobody.

use bowline_cloud::{RESYNC_AT, Traffic};
use serde_json::json;

use super::*;
use crate::rails::replacement::ALLOW_REPLACEMENT;

/// So many Services, all of which have their load balancer.
fn names(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("web-{n}")).collect()
}

/// The cloud calls these broken.
fn breaks(cloud: &FakeCloud, names: &[String], traffic: Traffic) {
    for name in names {
        cloud.state().balancers.get_mut(&format!("s-{name}")).unwrap().broken = Some(traffic);
    }
}

/// Something makes the controller look at a Service.
fn touch(cluster: &Cluster, name: &str) {
    let at = format!("{:?}", tokio::time::Instant::now());
    cluster.put(name, |service| service["metadata"]["annotations"][RESYNC_AT] = json!(at));
}

fn deletions(cloud: &FakeCloud) -> usize {
    cloud.changes().iter().filter(|change| change.starts_with("delete")).count()
}

fn held(cluster: &Cluster) -> usize {
    cluster.reasons().iter().filter(|reason| *reason == "LoadBalancerReplacementHeld").count()
}

#[tokio::test(start_paused = true)]
async fn sr19_a_broken_load_balancer_that_may_serve_is_kept() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a", "b"]), FakeCloud::default());
    cluster.put("web-0", |_| {});
    let meanwhile = async {
        seconds(30).await;
        breaks(&cloud, &names(1), Traffic::Possible);
        cluster.put_node("c");
        seconds(7200).await;
        assert_eq!((deletions(&cloud), held(&cluster)), (0, 1), "{:?}", cluster.reasons());
        let service = cluster.get("web-0").unwrap();
        assert_eq!(service["status"]["loadBalancer"]["ingress"][0]["ip"], "192.0.2.1", "its status stays");
        assert!(service["status"]["conditions"].to_string().contains("ReplacementHeld"), "{service}");
        let metrics = cloud.state().metrics.clone().unwrap();
        assert_eq!((metrics.load_balancers_broken.get(), metrics.times_held_back("replacement")), (1, 1));
        // Somebody repairs it: the work that was held goes on by itself.
        cloud.state().balancers.get_mut("s-web-0").unwrap().broken = None;
        seconds(80).await;
        assert_eq!(cloud.changes().last().unwrap(), "nodes s-web-0 a,b,c");
        assert_eq!(metrics.load_balancers_broken.get(), 0);
    };
    run(&cluster, &cloud, meanwhile).await;
}

/// Found on a real cloud: the members of a repaired load balancer did not follow the Nodes for up to half an hour.
#[tokio::test(start_paused = true)]
async fn sr19_what_is_refused_because_it_is_broken_is_observed_each_minute_and_many_are_each_second_at_most()
{
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let names = names(300);
    names.iter().for_each(|name| cluster.put(name, |_| {}));
    let meanwhile = async {
        seconds(120).await;
        breaks(&cloud, &names[..1], Traffic::Possible);
        cloud.state().refusal = Some("the load balancer is in ERROR");
        touch(&cluster, "web-0");
        seconds(1).await;
        let observations = |cloud: &FakeCloud| cloud.state().looks.iter().sum::<usize>();
        let before = observations(&cloud);
        seconds(1800).await;
        let one = observations(&cloud) - before;
        assert!((24..=40).contains(&one), "each minute, a quarter more or less: {one}");
        breaks(&cloud, &names, Traffic::Possible);
        names.iter().for_each(|name| touch(&cluster, name));
        // Each was told of as the first of a few, or of many.
        seconds(400).await;
        let before = observations(&cloud);
        seconds(1800).await;
        let many = observations(&cloud) - before;
        assert!((1400..=2400).contains(&many), "one each second: {many}");
        // All are repaired.
        cloud.state().refusal = None;
        cloud.state().balancers.values_mut().for_each(|one| one.broken = None);
        cluster.put_node("b");
        seconds(400).await;
        let nodes = ["a".to_owned(), "b".to_owned()].into();
        assert!(cloud.state().balancers.values().all(|one| one.nodes == nodes));
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn sr19_a_provider_that_refuses_to_replace_one_that_may_serve_is_told_of_as_the_rail() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web-0", |_| {});
    let meanwhile = async {
        seconds(30).await;
        breaks(&cloud, &names(1), Traffic::Possible);
        cloud.state().refusal = Some("lb-1 may still carry traffic; fail it over");
        touch(&cluster, "web-0");
        seconds(600).await;
        assert_eq!(held(&cluster), 1, "{:?}", cluster.reasons());
        assert!(!cluster.reasons().contains(&"SyncLoadBalancerFailed".to_owned()), "{:?}", cluster.reasons());
        let conditions = cluster.get("web-0").unwrap()["status"]["conditions"].to_string();
        assert!(
            conditions.contains("ReplacementHeld") && conditions.contains("fail it over"),
            "{conditions}"
        );
        let metrics = cloud.state().metrics.clone().unwrap();
        assert_eq!(metrics.times_held_back("replacement"), 1);
        // It serves nobody now, and is refused for another reason.
        breaks(&cloud, &names(1), Traffic::None);
        cloud.state().refusal = Some("lb-1 is shared");
        touch(&cluster, "web-0");
        seconds(120).await;
        let conditions = cluster.get("web-0").unwrap()["status"]["conditions"].to_string();
        assert!(conditions.contains("Refused") && conditions.contains("lb-1 is shared"), "{conditions}");
        assert!(cluster.reasons().contains(&"SyncLoadBalancerFailed".to_owned()), "{:?}", cluster.reasons());
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(deletions(&cloud), 0);
}

#[tokio::test(start_paused = true)]
async fn sr19_one_that_serves_nobody_is_replaced_after_a_second_observation() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web-0", |_| {});
    let meanwhile = async {
        seconds(30).await;
        breaks(&cloud, &names(1), Traffic::None);
        touch(&cluster, "web-0");
        seconds(55).await;
        assert_eq!((deletions(&cloud), held(&cluster)), (0, 1));
        seconds(10).await;
        assert_eq!(deletions(&cloud), 1, "{:?}", cloud.changes());
        assert_eq!(cloud.changes().last().unwrap(), "nodes s-web-0 a", "and made anew");
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn sr19_a_second_observation_that_shows_traffic_begins_anew() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web-0", |_| {});
    let meanwhile = async {
        seconds(30).await;
        for traffic in [Traffic::None, Traffic::Possible, Traffic::None, Traffic::Possible] {
            breaks(&cloud, &names(1), traffic);
            touch(&cluster, "web-0");
            seconds(50).await;
        }
        seconds(3600).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(deletions(&cloud), 0, "{:?}", cloud.changes());
}

#[tokio::test(start_paused = true)]
async fn sr19_one_that_never_served_is_replaced_at_once() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    cluster.put("web-0", |_| {});
    let meanwhile = async {
        seconds(30).await;
        breaks(&cloud, &names(1), Traffic::Never);
        touch(&cluster, "web-0");
        seconds(5).await;
        assert_eq!((deletions(&cloud), held(&cluster)), (1, 0));
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn sr19_when_many_are_broken_at_once_none_is_replaced() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let all = names(12);
    all.iter().for_each(|name| cluster.put(name, |_| {}));
    let meanwhile = async {
        seconds(60).await;
        breaks(&cloud, &all[..4], Traffic::None);
        // Only one of them is looked at: the others are looked at because of it.
        touch(&cluster, "web-0");
        seconds(1800).await;
        assert_eq!(deletions(&cloud), 0, "{:?}", cloud.changes());
        let metrics = cloud.state().metrics.clone().unwrap();
        assert_eq!((metrics.load_balancer_breaker_open.get(), metrics.load_balancers_broken.get()), (1, 4));
        assert!(cluster.get("web-0").unwrap()["status"]["conditions"].to_string().contains("4 of 12"));
        // A person says that this one may go.
        cluster.put("web-1", |service| {
            service["metadata"]["annotations"][ALLOW_REPLACEMENT] = json!("s-web-1");
        });
        seconds(120).await;
        assert_eq!(deletions(&cloud), 1, "{:?}", cloud.changes());
        // Another one is repaired: few are left, and after a while they are replaced.
        cloud.state().balancers.get_mut("s-web-2").unwrap().broken = None;
        touch(&cluster, "web-2");
        seconds(1800).await;
        assert_eq!((deletions(&cloud), metrics.load_balancer_breaker_open.get()), (3, 0));
    };
    run(&cluster, &cloud, meanwhile).await;
}

#[tokio::test(start_paused = true)]
async fn sr19_a_broken_load_balancer_goes_with_its_service() {
    let (cluster, cloud) = (Cluster::with_nodes(&["a"]), FakeCloud::default());
    let all = names(5);
    all.iter().for_each(|name| cluster.put(name, |_| {}));
    let meanwhile = async {
        seconds(60).await;
        breaks(&cloud, &all, Traffic::Possible);
        all.iter().for_each(|name| cluster.delete(name));
        seconds(30).await;
    };
    run(&cluster, &cloud, meanwhile).await;
    assert_eq!(deletions(&cloud), 5);
}
