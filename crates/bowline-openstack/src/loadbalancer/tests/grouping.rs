//! Security groups of Services, looked at and made as the other things.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::service::FINALIZER;
use bowline_cloud::{
    Doubt, ErrorClass, LoadBalancers, ObservedLoadBalancer, Plan, Purpose, ServiceView, Unfenced,
};
use futures::future::join_all;
use http::Method;
use jiff::Timestamp;
use sim_openstack::{Config, Fault, Rule, Service};

use super::stage::{Stage, annotated, service, services};
use crate::loadbalancer::Observed;
use crate::loadbalancer::step::CloudStep;

/// The groups of Services, and at how many ports each is.
pub(super) fn groups(stage: &Stage) -> Vec<(String, usize)> {
    stage.simulation.look(|state| {
        let network = &state.network;
        let ours = network.security_groups.iter().filter(|group| group.name.starts_with("lb-sg-"));
        let ports =
            |id: &String| network.ports.iter().filter(|port| port.security_groups.contains(id)).count();
        ours.map(|group| (group.name.clone(), ports(&group.id))).collect()
    })
}

#[tokio::test(start_paused = true)]
async fn a_managed_group_comes_with_the_service_and_goes_with_it() {
    let mut stage = Stage::with_groups();
    let mut services = services(0..6);
    stage.settle_all(&mut services, Purpose::Ensure).await;
    let made = groups(&stage);
    assert_eq!(made.len(), 6);
    assert!(made.iter().all(|(_name, ports)| *ports == 3), "every Node has each of them: {made:?}");
    stage.restart();
    stage.clear();
    stage.settle_all(&mut services, Purpose::Ensure).await;
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    stage.settle_all(&mut services, Purpose::Remove).await;
    assert_eq!(groups(&stage), []);
}

/// Found by the simulation (seed 22292): the answer to the making was lost, the group was found, and the next list was older.
#[tokio::test(start_paused = true)]
async fn a_group_that_was_seen_is_not_made_again_because_of_an_old_list() {
    let mut stage = Stage::with_groups();
    let unheard = Rule::new(Fault::DisconnectAfter).on(Service::Network).method(Method::POST);
    let unheard = unheard.path("/network/v2.0/security-groups");
    stage.simulation.fault(unheard.times(1));
    let mut web = service("web", 1);
    while groups(&stage).is_empty() {
        stage.drive(&mut web, Purpose::Ensure).await;
    }
    stage.ensure(&mut web).await;
    let old = Rule::new(Fault::Stale(Duration::from_secs(50))).on(Service::Network).method(Method::GET);
    stage.simulation.fault(old.path("/network/v2.0/security-groups").times(1));
    web = annotated(&web, "loadbalancer.openstack.org/connection-limit", "300");
    stage.drive(&mut web, Purpose::Ensure).await;
    assert_eq!(groups(&stage).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_group_that_is_left_when_groups_are_no_longer_managed_goes() {
    let mut stage = Stage::with_groups();
    let mut web = service("web", 1);
    stage.ensure(&mut web).await;
    assert_eq!(groups(&stage).len(), 1);
    stage.conf.load_balancer.manage_security_groups = false;
    stage.restart();
    stage.ensure(&mut web).await;
    assert_eq!(groups(&stage), []);
}

/// Found by the simulation (seeds 14319 and 18222).
#[tokio::test(start_paused = true)]
async fn a_new_leader_makes_no_group_again_because_a_list_of_all_was_cut_short() {
    let mut stage = Stage::with_groups();
    let mut services = services(0..6);
    stage.settle_all(&mut services, Purpose::Ensure).await;
    for service in &mut services {
        Arc::make_mut(service).finalizers = [FINALIZER].into();
    }
    stage.restart();
    stage.clear();
    let cut = Rule::new(Fault::TruncateList { keep: 1 }).on(Service::Network).method(Method::GET);
    let cut = cut.path("/v2.0/security-groups").times(1);
    let rule = stage.simulation.sim.with(|cloud| cloud.faults().add(cut));
    stage.settle_all(&mut services, Purpose::Ensure).await;
    assert_eq!(stage.simulation.sim.with(|cloud| cloud.faults().acted(rule)), Some(1));
    assert_eq!((groups(&stage).len(), stage.mutating()), (6, 0), "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn groups_that_come_and_go_with_many_services_are_not_asked_for_one_by_one() {
    let mut stage = Stage::with_groups();
    let mut services = services(0..6);
    for service in &mut services {
        Arc::make_mut(service).finalizers = [FINALIZER].into();
    }
    for purpose in [Purpose::Ensure, Purpose::Remove] {
        stage.settle_all(&mut services, purpose).await;
    }
    let by_name: Vec<_> =
        stage.targets(Service::Network).into_iter().filter(|target| target.contains("name=lb-sg-")).collect();
    assert_eq!((groups(&stage).len(), by_name), (0, Vec::new()));
}

/// The next step of each Service that has one.
async fn next_steps(stage: &Stage, services: &[Arc<ServiceView>]) -> Vec<CloudStep> {
    let requests: Vec<_> = services.iter().map(|one| stage.request(one, Purpose::Ensure)).collect();
    let observed = LoadBalancers::observe(&stage.balancers, &requests).await;
    let step = |observed: Result<Observed, Doubt>| match observed.unwrap().plan(Timestamp::UNIX_EPOCH) {
        Plan::Act(mut steps) => Some(steps.remove(0).step),
        Plan::Settled(_) => None,
        other => panic!("{other:?}"),
    };
    observed.into_iter().filter_map(step).collect()
}

/// Made as a cluster has them whose groups were not managed before.
async fn fifty_on_ten_nodes() -> (Stage, Vec<Arc<ServiceView>>) {
    let mut stage = Stage::of_size(10, Config::default(), |_conf| {});
    let mut services = services(0..50);
    stage.settle_all(&mut services, Purpose::Ensure).await;
    stage.conf.load_balancer.manage_security_groups = true;
    stage.restart();
    stage.clear();
    (stage, services)
}

#[tokio::test(start_paused = true)]
async fn fifty_services_that_get_their_groups_at_once_write_each_port_once_for_each() {
    let (stage, services) = fifty_on_ten_nodes().await;
    // All answers take a while, so that all steps are on their way at the same time.
    stage.simulation.fault(Rule::new(Fault::Slow(Duration::from_millis(200))).on(Service::Network));
    let mut rounds = 0;
    loop {
        let steps = next_steps(&stage, &services).await;
        if steps.is_empty() {
            break;
        }
        rounds += 1;
        for done in join_all(steps.iter().map(|step| stage.balancers.execute(step, &Unfenced))).await {
            done.unwrap();
        }
    }
    let made = groups(&stage);
    assert_eq!((made.len(), made.iter().filter(|(_name, ports)| *ports == 10).count()), (50, 50));
    let calls = |method: &str, path: &str| -> usize {
        let end = format!(" {method} {path}");
        let counts = stage.counts();
        let count = counts.iter().find_map(|line| line.strip_suffix(end.as_str()));
        count.map_or(0, |count| count.parse().unwrap())
    };
    let (writes, fresh) = (calls("PUT", "/v2.0/ports/{id}"), calls("GET", "/v2.0/ports/{id}"));
    assert!((500..=550).contains(&writes) && fresh <= 550, "{writes} writes, {fresh} reads of ports");
    // A group, its rules, two that go, and ten ports.
    assert_eq!(rounds, 14);
    assert!(calls("GET", "/v2.0/security-groups") <= rounds + 1, "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn a_group_that_neutrons_lists_do_not_show_yet_is_not_made_twice() {
    let mut stage = Stage::with_groups();
    let mut services = services(0..6);
    // The lists of groups lag behind by most of a minute.
    let behind = Rule::new(Fault::Stale(Duration::from_secs(50))).on(Service::Network).method(Method::GET);
    let rule = stage.simulation.sim.with(|cloud| cloud.faults().add(behind.path("/v2.0/security-groups")));
    let (few, many) = services.split_at_mut(1);
    stage.settle_all(few, Purpose::Ensure).await;
    stage.settle_all(many, Purpose::Ensure).await;
    let made = groups(&stage);
    assert!(made.len() == 6 && made.iter().all(|(_name, ports)| *ports == 3), "{made:?}");
    assert!(stage.simulation.sim.with(|cloud| cloud.faults().acted(rule)) > Some(0));
}

#[tokio::test(start_paused = true)]
async fn while_a_new_group_is_shown_nowhere_nothing_is_made_and_after_a_minute_it_is_believed() {
    let mut stage = Stage::with_groups();
    let mut web = service("web", 1);
    let made = loop {
        stage.perform_first(&web, Purpose::Ensure).await.unwrap();
        let made = groups(&stage);
        if !made.is_empty() {
            break made;
        }
        tokio::time::sleep(Duration::from_secs(5)).await;
    };
    let gone = stage.simulation.look(|state| {
        let groups = &state.network.security_groups;
        groups.iter().find(|group| group.name == made[0].0).unwrap().id.clone()
    });
    stage.simulation.edit(|state| drop(state.network.security_groups.remove(&gone)));
    // What Neutron answered when it was made is believed for a moment.
    tokio::time::sleep(Duration::from_secs(5)).await;
    let doubt = stage.look(&web, Purpose::Ensure).await.unwrap_err();
    assert_eq!(doubt.class, ErrorClass::Transient);
    assert!(doubt.to_string().contains(&gone), "{doubt}");
    assert_eq!(groups(&stage), []);
    tokio::time::sleep(Duration::from_secs(61)).await;
    stage.ensure(&mut web).await;
    assert_eq!(groups(&stage).len(), 1);
}
