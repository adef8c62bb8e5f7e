//! Load balancers that several Services, clusters or people use.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{ErrorClass, LoadBalancers, Purpose, ServiceView, Unfenced};
use openstack_client::load_balancer::{Algorithm, ListenerCreate, LoadBalancerCreate, PoolCreate, Protocol};
use openstack_client::network::FloatingIpCreate;
use sim_openstack::load_balancer::LoadBalancer;
use sim_openstack::{Config, Fault, Rule, Service};

use super::stage::{Stage, annotated, edited, id_of, service};
use crate::config::TenancySection;
use crate::loadbalancer::annotations::{LOAD_BALANCER_ADDRESS, LOAD_BALANCER_ID};
use crate::loadbalancer::step::Action;

/// A Service with one port.
pub(super) fn at_port(name: &str, port: u16) -> Arc<ServiceView> {
    edited(&service(name, 1), |view| {
        (view.ports[0].port, view.ports[0].node_port) = (port, Some(30000 + port));
    })
}

/// A Service with one port that names a load balancer.
pub(super) fn joining(name: &str, port: u16, id: &str) -> Arc<ServiceView> {
    annotated(&at_port(name, port), LOAD_BALANCER_ID.key, id)
}

pub(super) fn balancer(stage: &Stage, id: &str) -> Option<LoadBalancer> {
    stage.simulation.look(|state| state.load_balancer.load_balancers.get(id).cloned())
}

/// The Services that are on a load balancer by its tags, and the ports of its listeners.
pub(super) fn on(stage: &Stage, id: &str) -> (Vec<String>, Vec<u16>) {
    let tags = balancer(stage, id).unwrap().tags;
    let name = |tag: &String| Some(tag.strip_prefix("kube_service_kubernetes_default_")?.to_owned());
    let mut names: Vec<String> = tags.iter().filter_map(name).collect();
    names.sort();
    let mut ports: Vec<u16> = stage.simulation.look(|state| {
        let listeners = state.load_balancer.listeners.find("loadbalancer_id", id);
        listeners.map(|listener| listener.protocol_port).collect()
    });
    ports.sort_unstable();
    (names, ports)
}

fn names(names: &[&str]) -> Vec<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// An owner on port 80, a tenant of its load balancer on port 8080, and the id of that.
pub(super) async fn owner_and_tenant() -> (Stage, Arc<ServiceView>, Arc<ServiceView>, String) {
    shared_by(Stage::new(), at_port("one", 80)).await
}

/// The same with this owner, on this cloud.
pub(super) async fn shared_by(
    mut stage: Stage,
    mut owner: Arc<ServiceView>,
) -> (Stage, Arc<ServiceView>, Arc<ServiceView>, String) {
    stage.ensure(&mut owner).await;
    let id = id_of(&owner);
    let mut tenant = joining("two", 8080, &id);
    stage.ensure(&mut tenant).await;
    (stage, owner, tenant, id)
}

pub(super) fn pools_and_floating(stage: &Stage) -> (usize, usize) {
    stage.simulation.look(|state| (state.load_balancer.pools.len(), state.network.floating_ips.len()))
}

/// Found on a real API server: a Service was deleted while another one joined its load balancer.
#[tokio::test(start_paused = true)]
async fn who_leaves_does_not_take_the_address_of_somebody_who_has_just_come() {
    let (mut stage, mut one) = Stage::serving(at_port("one", 80)).await;
    let status = one.status.clone();
    let mut two = joining("two", 8080, &id_of(&one));
    let leaves = stage.first_step(&one, Purpose::Remove).await;
    assert!(matches!(leaves.action, Action::DeleteFloatingIp(_)), "{leaves}");
    stage.perform_first(&two, Purpose::Ensure).await.unwrap();
    let error = stage.balancers.execute(&leaves, &Unfenced).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict, "{error}");
    stage.remove(&mut one).await;
    assert_eq!(stage.ensure(&mut two).await, status, "the same address");
    assert_eq!(pools_and_floating(&stage), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn services_come_to_a_shared_load_balancer_and_leave_it_as_upstream_tries_it() {
    let mut stage = Stage::with(Config::default(), |conf| conf.load_balancer.create_monitor = true);
    let mut one = at_port("one", 80);
    stage.ensure(&mut one).await;
    let id = id_of(&one);
    let mut two = joining("two", 8080, &id);
    let status = stage.ensure(&mut two).await;
    assert_eq!((id_of(&two), &status), (id.clone(), &one.status));
    assert_eq!(on(&stage, &id), (names(&["one", "two"]), vec![80, 8080]));
    // Another port: the listener before goes.
    Arc::make_mut(&mut two).ports[0].port = 8081;
    stage.ensure(&mut two).await;
    assert_eq!(on(&stage, &id), (names(&["one", "two"]), vec![80, 8081]));
    // A third is more than max-shared-lb.
    let refusal = stage.refusal(&mut joining("third", 90, &id)).await;
    assert!(refusal.contains("max-shared-lb"), "{refusal}");
    stage.remove(&mut two).await;
    assert_eq!(on(&stage, &id), (names(&["one"]), vec![80]));
    assert_eq!(pools_and_floating(&stage), (1, 1));

    stage.conf.load_balancer.max_shared_lb = 9;
    stage.restart();
    let mut three = joining("three", 8080, &id);
    stage.ensure(&mut three).await;
    let mut four = joining("four", 8080, &id);
    let refusal = stage.refusal(&mut four).await;
    assert!(refusal.contains("8080") && refusal.contains("default_three"), "{refusal}");
    assert_eq!(on(&stage, &id), (names(&["one", "three"]), vec![80, 8080]));
    stage.remove(&mut four).await;
    assert_eq!(on(&stage, &id), (names(&["one", "three"]), vec![80, 8080]));
    // The owner goes first: the load balancer and its address stay for the other.
    stage.remove(&mut one).await;
    assert_eq!(on(&stage, &id), (names(&["three"]), vec![8080]));
    stage.restart();
    stage.clear();
    assert_eq!(stage.ensure(&mut three).await, status);
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    stage.remove(&mut three).await;
    assert!(balancer(&stage, &id).is_none());
    assert_eq!(pools_and_floating(&stage), (0, 0));
}

/// Found by the simulation (seed 4573): the owner still had its finalizer, and the last Service on the load balancer left it and its
/// floating IP behind.
#[tokio::test(start_paused = true)]
async fn an_owner_and_a_tenant_that_are_deleted_together_leave_nothing() {
    for restarted in [false, true] {
        let (mut stage, mut one, mut two, id) = owner_and_tenant().await;
        stage.remove(&mut one).await;
        stage.still_exists(&one);
        if restarted {
            stage.restart();
        }
        stage.remove(&mut two).await;
        assert!(balancer(&stage, &id).is_none(), "restarted: {restarted}");
        assert_eq!(pools_and_floating(&stage), (0, 0), "restarted: {restarted}");
    }
}

/// Found by the runs there and back with OCCM: the owner handed its floating IP over to a tenant that left before it, and nobody deleted it.
#[tokio::test(start_paused = true)]
async fn an_owner_hands_its_floating_ip_over_to_no_service_that_is_about_to_leave() {
    for owner_first in [true, false] {
        let (mut stage, mut one, mut two, id) = owner_and_tenant().await;
        // Both are deleted at once.
        stage.still_exists(&one);
        stage.still_exists(&two);
        let (first, last) = if owner_first { (&mut one, &mut two) } else { (&mut two, &mut one) };
        stage.remove(first).await;
        stage.still_exists(first);
        stage.remove(last).await;
        assert!(balancer(&stage, &id).is_none(), "owner first: {owner_first}");
        assert_eq!(pools_and_floating(&stage), (0, 0), "owner first: {owner_first}");
    }
}

/// The tenant is deleted, too, after the floating IP was handed over to it, and leaves before the owner has left.
#[tokio::test(start_paused = true)]
async fn a_tenant_that_leaves_takes_the_floating_ip_that_was_handed_over_to_it() {
    let (mut stage, mut one, mut two, id) = owner_and_tenant().await;
    stage.simulation.edit(|state| {
        let id = state.network.floating_ips.iter().next().unwrap().id.clone();
        let handed_over = |one: &mut sim_openstack::network::FloatingIp| {
            one.description = one.description.replace("/one ", "/two ");
        };
        state.network.floating_ips.update(&id, handed_over).unwrap();
    });
    stage.restart();
    stage.still_exists(&one);
    stage.remove(&mut two).await;
    stage.still_exists(&two);
    stage.remove(&mut one).await;
    assert!(balancer(&stage, &id).is_none());
    assert_eq!(pools_and_floating(&stage), (0, 0));
}

/// Found by the simulation (seed 5173): the floating IP was detached while the owner of the load balancer was deleted, and nobody led it
/// there again.
#[tokio::test(start_paused = true)]
async fn who_stays_on_a_load_balancer_whose_owner_is_gone_sees_to_its_address() {
    let (mut stage, mut one, mut two, _id) = owner_and_tenant().await;
    let status = one.status.clone();
    stage.detach_floating_ips();
    stage.restart();
    assert!(stage.refusal(&mut two).await.contains("only the Service that owns it"));
    stage.ensure(&mut one).await;
    stage.remove(&mut one).await;
    stage.detach_floating_ips();
    stage.restart();
    assert_eq!(stage.ensure(&mut two).await, status, "the same address leads there again");
    assert_eq!(pools_and_floating(&stage), (1, 1));
    stage.remove(&mut two).await;
    assert_eq!(pools_and_floating(&stage), (0, 0), "with the last one all goes");
}

/// Found by the simulation (seed 7367): one answer that it is not there was believed, and a second one was made for the guest.
#[tokio::test(start_paused = true)]
async fn one_lie_does_not_part_a_service_from_the_load_balancer_that_it_shares() {
    for purpose in [Purpose::Ensure, Purpose::Remove] {
        let (mut stage, _one, mut two, id) = owner_and_tenant().await;
        stage.restart();
        stage.clear();
        let lie = Rule::new(Fault::not_found_lie()).on(Service::LoadBalancer).method(http::Method::GET);
        stage.simulation.fault(lie.path(&format!("/v2.0/lbaas/loadbalancers/{id}")).times(1));
        let doubt = stage.drive(&mut two, purpose).await.unknown();
        assert!(doubt.why.contains("and lists it"), "{doubt:?}");
        assert_eq!(stage.mutating(), 0, "{purpose:?}: {:?}", stage.counts());
        stage.drive(&mut two, purpose).await.settled();
        let on_it = if purpose == Purpose::Ensure { vec![80, 8080] } else { vec![80] };
        assert_eq!(on(&stage, &id).1, on_it);
    }
}

/// Found by the simulation (seed 22282): who was refused had the address of the other noted, and got a load balancer of its own when that
/// one was gone.
#[tokio::test(start_paused = true)]
async fn of_a_load_balancer_that_a_service_may_not_use_nothing_is_noted() {
    let mut stage = Stage::with(Config::default(), |conf| conf.load_balancer.max_shared_lb = 1);
    let mut one = at_port("one", 80);
    stage.ensure(&mut one).await;
    let mut two = joining("two", 8080, &id_of(&one));
    assert!(stage.refusal(&mut two).await.contains("max-shared-lb"));
    assert_eq!(two.annotations.get(LOAD_BALANCER_ADDRESS.key), None);
    stage.remove(&mut one).await;
    assert!(stage.refusal(&mut two).await.contains("which is not there"));
}

/// A load balancer that a user made, with a listener for HTTP on port 80 and a floating IP.
pub(super) async fn users_own(stage: &Stage) -> String {
    let (octavia, estate) = (stage.simulation.client.load_balancer(), &stage.simulation.estate);
    let lb_algorithm = Algorithm::RoundRobin;
    let pool = PoolCreate { protocol: Protocol::Http, lb_algorithm, ..PoolCreate::default() };
    let listener = ListenerCreate {
        name: "users".to_owned(),
        protocol: Protocol::Http,
        protocol_port: 80,
        default_pool: Some(pool),
        ..ListenerCreate::default()
    };
    let new = LoadBalancerCreate {
        name: "users".to_owned(),
        vip_subnet_id: Some(estate.subnet.parse().unwrap()),
        listeners: vec![listener],
        ..LoadBalancerCreate::default()
    };
    let made = octavia.create_load_balancer(&new).await.unwrap();
    let floating = FloatingIpCreate {
        floating_network_id: estate.external_network.parse().unwrap(),
        subnet_id: None,
        floating_ip_address: None,
        port_id: made.vip_port_id.clone(),
        description: "users".to_owned(),
    };
    stage.simulation.client.network().create_floating_ip(&floating).await.unwrap();
    tokio::time::sleep(Duration::from_secs(120)).await;
    made.id.to_string()
}

/// A listener on port 9000 that somebody else adds to a load balancer.
pub(super) async fn foreign_listener(stage: &Stage, id: &str, tags: Vec<String>) {
    let new = ListenerCreate {
        name: "mine".to_owned(),
        protocol: Protocol::Tcp,
        protocol_port: 9000,
        loadbalancer_id: id.parse().ok(),
        tags,
        ..ListenerCreate::default()
    };
    stage.simulation.client.load_balancer().create_listener(&new).await.unwrap();
    tokio::time::sleep(Duration::from_secs(60)).await;
}

#[tokio::test(start_paused = true)]
async fn a_service_joins_a_users_load_balancer_and_leaves_it_to_the_user() {
    let mut stage = Stage::new();
    let id = users_own(&stage).await;
    let mut web = joining("web", 8080, &id);
    let status = stage.ensure(&mut web).await;
    assert!(status.ingress[0].ip.unwrap().to_string().starts_with("172.24."), "{status:?}");
    assert_eq!(on(&stage, &id), (names(&["web"]), vec![80, 8080]));
    // What the user has at port 80 is not for us.
    let refusal = stage.refusal(&mut joining("other", 80, &id)).await;
    assert!(refusal.contains("80"), "{refusal}");
    stage.remove(&mut web).await;
    assert_eq!(on(&stage, &id), (names(&[]), vec![80]));
    assert_eq!(pools_and_floating(&stage), (1, 1));
    let tags = balancer(&stage, &id).unwrap().tags;
    assert!(!tags.iter().any(|tag| tag.contains("uid-of-web")), "{tags:?}");
}

#[tokio::test(start_paused = true)]
async fn two_clusters_of_one_name_in_one_project_leave_each_others_load_balancers_alone() {
    let mut stage = Stage::with_groups();
    let mut web = service("web", 1);
    stage.ensure(&mut web).await;
    let id = id_of(&web);
    let before = balancer(&stage, &id);
    stage.restart_with_uid("cluster-2");
    let mut namesake = edited(&service("web", 1), |view| view.uid = "uid-elsewhere".into());
    stage.clear();
    let refusal = stage.refusal(&mut namesake).await;
    assert!(refusal.contains("cluster-1") && refusal.contains("--cluster-name"), "{refusal}");
    stage.remove(&mut namesake).await;
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    assert_eq!((balancer(&stage, &id), pools_and_floating(&stage)), (before, (1, 1)));
    // It can be shared between them if an administrator allows it.
    let mut other = joining("other", 8080, &id);
    let refusal = stage.refusal(&mut other).await;
    assert!(refusal.contains("join-other-clusters"), "{refusal}");
    let rule = TenancySection { join_other_clusters: Some(true), ..TenancySection::default() };
    stage.reconfigure(|conf| drop(conf.tenancy.0.insert("default".to_owned(), rule)));
    stage.ensure(&mut other).await;
    assert_eq!(on(&stage, &id), (names(&["other", "web"]), vec![80, 8080]));
    stage.remove(&mut other).await;
    assert_eq!(on(&stage, &id), (names(&["web"]), vec![80]));
    stage.restart_with_uid("cluster-1");
    stage.remove(&mut web).await;
    assert_eq!(pools_and_floating(&stage), (0, 0));
}

/// All names and tags of load balancers and of what hangs on them.
fn all_names(stage: &Stage) -> Vec<String> {
    stage.simulation.look(|state| {
        let octavia = &state.load_balancer;
        let balancers = octavia.load_balancers.iter().flat_map(|one| one.tags.iter().chain([&one.name]));
        let listeners = octavia.listeners.iter().flat_map(|one| one.tags.iter().chain([&one.name]));
        let pools = octavia.pools.iter().map(|one| &one.name);
        let monitors = octavia.monitors.iter().map(|one| &one.name);
        let all = balancers.chain(listeners).chain(pools).chain(monitors);
        let mut all: Vec<String> = all.filter(|name| name.contains("kube_service")).cloned().collect();
        all.sort();
        all
    })
}

#[tokio::test(start_paused = true)]
async fn after_a_change_of_the_clusters_name_all_of_it_is_renamed_and_nothing_is_made_anew() {
    let mut stage = Stage::with(Config::default(), |conf| conf.load_balancer.create_monitor = true);
    let mut web = service("web", 2);
    let status = stage.ensure(&mut web).await;
    let (id, before) = (id_of(&web), all_names(&stage));
    stage.restart_with_name("renamed");
    assert_eq!(stage.ensure(&mut web).await, status);
    let expected: Vec<String> = before.iter().map(|name| name.replace("kubernetes", "renamed")).collect();
    assert_eq!((all_names(&stage), id_of(&web)), (expected, id));
    stage.restart();
    stage.clear();
    stage.ensure(&mut web).await;
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    stage.remove(&mut web).await;
    assert_eq!(pools_and_floating(&stage), (0, 0), "what was made under the old name goes as well");
}

#[tokio::test(start_paused = true)]
async fn of_a_shared_load_balancer_only_the_owner_changes_the_name_whoever_looks_first() {
    for owner_first in [true, false] {
        let stage = Stage::with(Config::default(), |conf| conf.load_balancer.create_monitor = true);
        let (mut stage, mut one, mut two, id) = shared_by(stage, at_port("one", 80)).await;
        stage.restart_with_name("renamed");
        if !owner_first {
            // Until the owner has done so, the other is not known on it, and leaves it as it is.
            stage.refusal(&mut two).await;
            assert_eq!(balancer(&stage, &id).unwrap().name, "kube_service_kubernetes_default_one");
        }
        for service in [&mut one, &mut two] {
            stage.ensure(service).await;
        }
        let is = balancer(&stage, &id).unwrap();
        assert_eq!(is.name, "kube_service_renamed_default_one", "owner first: {owner_first}");
        let mut tags: Vec<_> = is.tags.iter().filter(|tag| tag.starts_with("kube_")).cloned().collect();
        tags.sort();
        assert_eq!(
            tags,
            ["kube_service_renamed_default_one", "kube_service_renamed_default_two"],
            "owner first: {owner_first}"
        );
        for service in [&mut one, &mut two] {
            stage.remove(service).await;
        }
        assert!(balancer(&stage, &id).is_none());
        assert_eq!(pools_and_floating(&stage), (0, 0), "owner first: {owner_first}");
    }
}
