//! A cluster is no more, and what it left is removed by the tags on it; what others have stays.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Purpose, ServiceView};
use http::Method;
use sim_openstack::{Fault, Rule, Service};

use super::stage::{Stage, annotated, id_of, service};
use crate::cleanup::{CleanupPlan, Done, Kind, Request, User, observe, perform};
use crate::loadbalancer::annotations::LOAD_BALANCER_ID;

const WEB: &str = "kube_service_kubernetes_default_web";

/// What is in the project, as three lists of names: load balancers, floating IPs, security groups of Services.
fn left(stage: &Stage) -> [Vec<String>; 3] {
    let mut lists = stage.simulation.look(|state| {
        let groups = state.network.security_groups.iter().map(|group| group.name.clone());
        [
            state.load_balancer.load_balancers.iter().map(|one| one.name.clone()).collect::<Vec<_>>(),
            state.network.floating_ips.iter().map(|one| one.description.clone()).collect(),
            groups.filter(|name| name.starts_with("lb-sg-")).collect(),
        ]
    });
    lists.iter_mut().for_each(|list| list.sort());
    lists
}

async fn serve(stage: &mut Stage, names: &[&str]) -> Vec<Arc<ServiceView>> {
    let mut services: Vec<_> = names.iter().map(|name| service(name, 1)).collect();
    stage.settle_all(&mut services, Purpose::Ensure).await;
    services
}

/// The Services of another cluster in the same project.
async fn serve_in(stage: &mut Stage, cluster: &'static str, uid: &'static str, names: &[&str]) {
    let before = (stage.cluster, stage.cluster_uid);
    (stage.cluster, stage.cluster_uid) = (cluster, uid);
    stage.restart();
    serve(stage, names).await;
    (stage.cluster, stage.cluster_uid) = before;
    stage.restart();
}

fn asked() -> Request {
    Request { cluster: "kubernetes".to_owned(), ..Request::default() }
}

async fn planned(stage: &Stage, request: &Request) -> CleanupPlan {
    CleanupPlan::of(request, &observe(&stage.simulation.client).await.unwrap()).unwrap()
}

/// Removes all of a plan.
async fn removed(stage: &Stage, plan: &CleanupPlan) {
    for removal in &plan.remove {
        let done = perform(&stage.simulation.client, removal).await.unwrap();
        assert_eq!(done, Done::Removed, "{removal:?}");
    }
}

fn why<'p>(plan: &'p CleanupPlan, name: &str) -> &'p str {
    let left = plan.left_alone.iter().find(|left| left.thing.name == name);
    &left.unwrap_or_else(|| panic!("{name} in {plan:#?}")).why
}

#[tokio::test(start_paused = true)]
async fn all_that_a_dead_cluster_left_goes_and_another_cluster_notices_nothing() {
    let mut stage = Stage::with_groups();
    serve(&mut stage, &["web", "api"]).await;
    serve_in(&mut stage, "harbour", "cluster-2", &["shop"]).await;
    stage.clear();
    let plan = planned(&stage, &asked()).await;
    assert_eq!(stage.mutating(), 0, "a plan changes nothing");
    let kinds: Vec<_> = plan.remove.iter().map(|removal| removal.thing.kind).collect();
    use Kind::{FloatingIp, LoadBalancer, SecurityGroup};
    let wanted = [FloatingIp, FloatingIp, SecurityGroup, SecurityGroup, LoadBalancer, LoadBalancer];
    assert_eq!(kinds, wanted, "what bears the proof goes last");
    for removal in &plan.remove {
        let services = &removal.thing.services;
        assert!(services == &["default/web"] || services == &["default/api"], "{removal:?}");
    }
    assert!(plan.left_alone.is_empty(), "{:?}", plan.left_alone);
    removed(&stage, &plan).await;
    let [balancers, floating, groups] = left(&stage);
    assert_eq!(balancers, ["kube_service_harbour_default_shop"]);
    assert_eq!(floating.len(), 1);
    assert!(floating[0].ends_with("default/shop from cluster harbour"));
    assert_eq!(groups, ["lb-sg-uid-of-shop-default-shop"]);
    stage.simulation.look(|state| {
        let ports = state.network.ports.iter().filter(|port| port.name.starts_with("octavia-lb-"));
        assert_eq!(ports.count(), 1, "no port is stranded");
    });
    assert_eq!(planned(&stage, &asked()).await, CleanupPlan::default(), "nothing is left");
}

#[tokio::test(start_paused = true)]
async fn what_only_has_the_name_is_told_of_and_stays() {
    let mut stage = Stage::with_groups();
    serve(&mut stage, &["web", "old"]).await;
    stage.untag("kube_service_kubernetes_default_old");
    let plan = planned(&stage, &asked()).await;
    assert!(why(&plan, "kube_service_kubernetes_default_old").starts_with("no tag"));
    assert!(why(&plan, "lb-sg-uid-of-old-default-old").starts_with("no tag"));
    let floating = "Floating IP for Kubernetes external service default/old from cluster kubernetes";
    assert!(why(&plan, floating).starts_with("no tag"));
    removed(&stage, &plan).await;
    let [balancers, floating, groups] = left(&stage);
    assert_eq!((balancers.len(), floating.len(), groups.len()), (1, 1, 1));
}

#[tokio::test(start_paused = true)]
async fn occms_tags_count_only_when_asked_for_and_never_against_those_of_another_cluster() {
    let mut stage = Stage::with_groups();
    serve(&mut stage, &["old"]).await;
    serve_in(&mut stage, "kubernetes", "cluster-2", &["shop"]).await;
    serve_in(&mut stage, "harbour", "cluster-3", &["quay"]).await;
    for name in ["kube_service_kubernetes_default_old", "kube_service_harbour_default_quay"] {
        stage.untag(name);
    }
    let careful = Request { cluster_uid: Some("cluster-1".to_owned()), ..asked() };
    let plan = planned(&stage, &careful).await;
    assert!(plan.remove.is_empty(), "{plan:#?}");
    assert!(why(&plan, "kube_service_kubernetes_default_old").contains("--include-occm-tags"));
    let user = User { uid: "uid-of-old".to_owned(), ..User::default() };
    let living = Request { occm_tags: true, users: vec![user], ..careful.clone() };
    let plan = planned(&stage, &living).await;
    assert!(why(&plan, "lb-sg-uid-of-old-default-old").starts_with("no tag"), "its Service lives");
    let plan = planned(&stage, &Request { occm_tags: true, ..careful }).await;
    let kinds: Vec<_> = plan.remove.iter().map(|removal| removal.thing.kind).collect();
    assert_eq!(kinds, [Kind::FloatingIp, Kind::SecurityGroup, Kind::LoadBalancer], "{plan:#?}");
    removed(&stage, &plan).await;
    let [balancers, floating, groups] = left(&stage);
    assert_eq!(balancers, ["kube_service_harbour_default_quay", "kube_service_kubernetes_default_shop"]);
    assert_eq!((floating.len(), groups.len()), (2, 2));
}

#[tokio::test(start_paused = true)]
async fn two_clusters_of_one_name_are_told_apart_by_uid_or_not_at_all() {
    let mut stage = Stage::new();
    serve(&mut stage, &["web"]).await;
    serve_in(&mut stage, "kubernetes", "cluster-2", &["shop"]).await;
    let found = observe(&stage.simulation.client).await.unwrap();
    let refused = CleanupPlan::of(&asked(), &found).unwrap_err();
    assert_eq!(refused.uids, ["cluster-1", "cluster-2"]);
    let second = Request { cluster_uid: Some("cluster-2".to_owned()), ..asked() };
    let plan = CleanupPlan::of(&second, &found).unwrap();
    assert!(why(&plan, WEB).contains("another cluster, with UID cluster-1"), "{plan:#?}");
    removed(&stage, &plan).await;
    assert_eq!(left(&stage)[0], [WEB]);
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_of_several_owners_goes_only_if_all_are_of_the_cluster() {
    let mut stage = Stage::new();
    let services = serve(&mut stage, &["web"]).await;
    let id = services[0].annotations.get(LOAD_BALANCER_ID.key).unwrap().to_owned();
    let mut sharer = annotated(&service("api", 1), LOAD_BALANCER_ID.key, &id);
    Arc::make_mut(&mut sharer).ports[0].port = 443;
    stage.ensure(&mut sharer).await;
    let plan = planned(&stage, &asked()).await;
    let balancer = plan.remove.iter().find(|removal| removal.thing.kind == Kind::LoadBalancer).unwrap();
    assert_eq!(balancer.thing.services, ["default/web", "default/api"]);
    for foreign in ["bowline-cluster:cluster-2", "kube_service_harbour_default_shop"] {
        stage.edit_balancer(WEB, |one| one.tags.push(foreign.to_owned()));
        let request = Request { cluster_uid: Some("cluster-1".to_owned()), ..asked() };
        let plan = planned(&stage, &request).await;
        assert!(why(&plan, WEB).contains("shared with"), "{plan:#?}");
        assert!(plan.remove.is_empty(), "{plan:#?}");
        stage.edit_balancer(WEB, |one| one.tags.retain(|tag| tag != foreign));
    }
    stage.edit_balancer(WEB, |one| one.name = "by-hand".to_owned());
    let plan = planned(&stage, &asked()).await;
    assert!(why(&plan, "by-hand").contains("a person may have made it") && plan.remove.is_empty());
}

#[tokio::test(start_paused = true)]
async fn what_a_living_service_uses_stays() {
    let mut stage = Stage::with_groups();
    let services = serve(&mut stage, &["web", "api"]).await;
    let web = &services[0];
    let address = web.status.ingress[0].ip.unwrap();
    let by_uid = User { service: "default/web".to_owned(), uid: web.uid.to_string(), ..User::default() };
    let id = id_of(web);
    let stranger = || User { service: "default/web".to_owned(), uid: "other".to_owned(), ..User::default() };
    let by_id = User { load_balancer: Some(id), ..stranger() };
    let by_address = User { addresses: vec![address], ..stranger() };
    for user in [by_uid, by_id, by_address] {
        let request = Request { users: vec![user], ..asked() };
        let plan = planned(&stage, &request).await;
        assert!(why(&plan, WEB).contains("Service default/web"), "{plan:#?}");
        assert!(plan.remove.iter().all(|removal| removal.thing.services == ["default/api"]), "{plan:#?}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_is_busy_slow_or_loses_its_answers_is_asked_until_all_is_gone() {
    let octavia = |fault: Fault| Rule::new(fault).on(Service::LoadBalancer).method(Method::DELETE);
    let neutron = |fault: Fault| Rule::new(fault).on(Service::Network).method(Method::DELETE);
    for rules in [
        [octavia(Fault::conflict()).times(2), neutron(Fault::conflict()).times(2)],
        [octavia(Fault::too_many_requests(30)).times(2), neutron(Fault::too_many_requests(30)).times(2)],
        [octavia(Fault::DisconnectAfter).times(2), neutron(Fault::DisconnectAfter).times(2)],
        [octavia(Fault::SilenceAfter).times(1), neutron(Fault::SilenceAfter).times(1)],
    ] {
        let mut stage = Stage::with_groups();
        serve(&mut stage, &["web", "api"]).await;
        let plan = planned(&stage, &asked()).await;
        rules.into_iter().for_each(|rule| stage.simulation.fault(rule));
        let ports = Rule::new(Fault::too_many_requests(10)).on(Service::Network).method(Method::PUT);
        stage.simulation.fault(ports.times(2));
        removed(&stage, &plan).await;
        assert_eq!(left(&stage), <[Vec<String>; 3]>::default());
    }
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_octavia_is_at_work_on_is_waited_for() {
    let mut stage = Stage::new();
    serve(&mut stage, &["web"]).await;
    let plan = planned(&stage, &asked()).await;
    stage.edit_balancer(WEB, |one| one.provisioning_status = "PENDING_UPDATE".to_owned());
    let rest = async {
        tokio::time::sleep(Duration::from_secs(120)).await;
        assert_eq!(left(&stage)[0], [WEB], "immutable");
        stage.edit_balancer(WEB, |one| one.provisioning_status = "ACTIVE".to_owned());
    };
    tokio::join!(removed(&stage, &plan), rest);
    assert_eq!(left(&stage), <[Vec<String>; 3]>::default());
}

#[tokio::test(start_paused = true)]
async fn what_is_interrupted_is_finished_by_the_next_run_and_what_changed_meanwhile_stays() {
    let mut stage = Stage::with_groups();
    serve(&mut stage, &["web", "api"]).await;
    let plan = planned(&stage, &asked()).await;
    for done in 0..plan.remove.len() {
        let again = planned(&stage, &asked()).await;
        assert_eq!(again.remove.len(), plan.remove.len() - done);
        assert!(again.left_alone.is_empty(), "{again:#?}");
        perform(&stage.simulation.client, &again.remove[0]).await.unwrap();
    }
    assert_eq!(left(&stage), <[Vec<String>; 3]>::default());
    serve(&mut stage, &["web"]).await;
    let plan = planned(&stage, &asked()).await;
    stage.edit_balancer(WEB, |one| one.tags.push("bowline-cluster:cluster-2".to_owned()));
    let done = perform(&stage.simulation.client, plan.remove.last().unwrap()).await.unwrap();
    assert!(matches!(done, Done::LeftAlone(_)), "{done:?}");
    assert_eq!(left(&stage)[0], [WEB]);
}
