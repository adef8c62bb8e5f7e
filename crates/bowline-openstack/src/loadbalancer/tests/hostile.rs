//! What a user of a namespace can write must not change, take or delete what belongs to another Service, namespace or cluster.
//!
//! Each test is an attack that worked once.

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::ServiceView;

use super::sharing::{at_port, balancer, foreign_listener, joining, on, users_own};
use super::stage::{Stage, address_of, annotated, edited, id_of, service};
use crate::config::TenancySection;
use crate::loadbalancer::annotations::{INTERNAL, KEEP_FLOATING_IP, LOAD_BALANCER_ADDRESS, LOAD_BALANCER_ID};

/// The same Service in another cluster.
fn elsewhere(service: &Arc<ServiceView>) -> Arc<ServiceView> {
    edited(service, |view| view.uid = "uid-elsewhere".into())
}

/// A Service of another namespace that asks for an address.
fn asking(name: &str, address: IpAddr) -> Arc<ServiceView> {
    edited(&service(name, 1), |view| {
        (view.namespace, view.load_balancer_ip) = ("attacker".into(), Some(address.to_string().into()));
    })
}

/// Everything in the cloud, as text.
fn cloud(stage: &Stage) -> String {
    stage.simulation.look(|state| {
        let (octavia, network) = (&state.load_balancer, &state.network);
        let balancers: Vec<_> = octavia.load_balancers.iter().collect();
        let listeners: Vec<_> = octavia.listeners.iter().collect();
        let pools: Vec<_> = octavia.pools.iter().collect();
        let members: Vec<_> = octavia.members.iter().collect();
        let floating: Vec<_> = network.floating_ips.iter().collect();
        format!("{balancers:#?}\n{listeners:#?}\n{pools:#?}\n{members:#?}\n{floating:#?}")
    })
}

/// Somebody deletes a load balancer behind our back: the floating IP is detached.
fn lose(stage: &Stage, id: &str) {
    stage.simulation.edit(|state| state.load_balancer.load_balancers.remove(id).unwrap());
    stage.detach_floating_ips();
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_another_service_kept_is_not_deleted_by_the_one_that_used_it() {
    let (mut stage, mut keeper) =
        Stage::serving(annotated(&service("keeper", 1), KEEP_FLOATING_IP.key, "true")).await;
    let kept = address_of(&keeper);
    stage.remove(&mut keeper).await;
    assert_eq!(stage.floating_ips(), [kept.to_string()]);

    let mut other = asking("other", kept);
    stage.ensure(&mut other).await;
    assert_eq!(address_of(&other), kept, "nobody has it any more, so it may be used");
    stage.remove(&mut other).await;
    assert_eq!(stage.floating_ips(), [kept.to_string()], "it was not made for the Service that is deleted");
}

#[tokio::test(start_paused = true)]
async fn the_floating_ip_of_a_service_whose_load_balancer_is_away_cannot_be_taken() {
    let (mut stage, mut owner) = Stage::serving(service("owner", 1)).await;
    let status = owner.status.clone();
    let address = address_of(&owner);
    lose(&stage, &id_of(&owner));
    let mut thief = asking("thief", address);
    let problem = stage.refusal(&mut thief).await;
    assert!(problem.contains("default/owner, which still exists"), "{problem}");
    stage.remove(&mut thief).await;
    assert_eq!(stage.ensure(&mut owner).await, status, "the owner has its address again");
}

#[tokio::test(start_paused = true)]
async fn annotations_do_not_make_the_load_balancer_of_another_cluster_ours() {
    let mut stage = Stage::new();
    stage.cluster = "victim";
    let mut victim = service("web", 1);
    stage.ensure(&mut victim).await;
    let id = id_of(&victim);
    stage.untag("kube_service_victim_default_web");
    let before = cloud(&stage);

    // The same namespace and name in another cluster of the project.
    stage.restart_with_name("attacker");
    let named = annotated(&service("web", 1), LOAD_BALANCER_ID.key, &id);
    let mut attacker = annotated(&named, LOAD_BALANCER_ADDRESS.key, &address_of(&victim).to_string());
    let problem = stage.refusal(&mut attacker).await;
    assert!(problem.contains("kube_service_victim_default_web"), "{problem}");
    assert_eq!(cloud(&stage), before, "nothing was renamed, tagged or replaced");
    stage.remove(&mut attacker).await;
    assert_eq!(cloud(&stage), before, "nothing was deleted");
}

/// The status shows the VIP of the attacker's own load balancer, which is the same address in another network.
#[tokio::test(start_paused = true)]
async fn an_equal_address_in_another_network_does_not_make_a_load_balancer_ours() {
    let mut stage = Stage::new();
    stage.cluster = "victim";
    let mut victim = service("web", 1);
    stage.ensure(&mut victim).await;
    let id = id_of(&victim);
    stage.restart_with_name("attacker");
    let mut attacker = service("web", 1);
    stage.ensure(&mut attacker).await;
    stage.untag("kube_service_victim_default_web");
    let before = cloud(&stage);
    let mut attacker = annotated(&attacker, LOAD_BALANCER_ID.key, &id);
    Arc::make_mut(&mut attacker).status = victim.status.clone();
    stage.refusal(&mut attacker).await;
    assert_eq!(cloud(&stage), before);
}

/// An internal Service whose cluster was renamed: its status shows the VIP, and an administrator says nothing.
#[tokio::test(start_paused = true)]
async fn a_vip_proves_whose_a_load_balancer_is_only_if_no_other_network_has_that_address() {
    for overlapping in [false, true] {
        let (mut stage, mut web) = Stage::serving(annotated(&service("web", 1), INTERNAL.key, "true")).await;
        if overlapping {
            // In the other network a user may have chosen the VIP of this load balancer for a Service of the same name.
            let subnet = stage.simulation.estate.subnet.clone();
            stage.simulation.edit(|state| {
                let mut other = state.network.subnets.get(&subnet).unwrap().clone();
                (other.id, other.network_id) = ("overlapping".to_owned(), "other-network".to_owned());
                state.network.subnets.insert(other);
            });
        }
        stage.restart_with_name("renamed");
        let before = cloud(&stage);
        if overlapping {
            let problem = stage.refusal(&mut web).await;
            assert!(problem.contains("kube_service_kubernetes_default_web"), "{problem}");
            stage.remove(&mut web).await;
            assert_eq!(cloud(&stage), before);
        } else {
            stage.ensure(&mut web).await;
            stage.remove(&mut web).await;
            assert!(!cloud(&stage).contains("kube_service_"), "{}", cloud(&stage));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_of_another_cluster_with_the_same_name_takes_no_part_of_a_users_load_balancer() {
    let mut stage = Stage::new();
    let id = users_own(&stage).await;
    let mut victim = joining("web", 8080, &id);
    stage.ensure(&mut victim).await;
    let before = cloud(&stage);

    stage.restart_with_uid("cluster-2");
    for port in [8080, 9090] {
        let mut attacker = elsewhere(&joining("web", port, &id));
        let problem = stage.refusal(&mut attacker).await;
        assert!(problem.contains("cluster-1") && problem.contains("--cluster-name"), "{problem}");
        stage.remove(&mut attacker).await;
        assert_eq!(cloud(&stage), before, "port {port}");
    }
    // Services of other names may use it in both clusters, and the tags of both are on it.
    let mut other = joining("other", 9090, &id);
    stage.ensure(&mut other).await;
    assert_eq!(on(&stage, &id).1, [80, 8080, 9090]);

    stage.restart_with_uid("cluster-1");
    stage.clear();
    stage.ensure(&mut victim).await;
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    stage.remove(&mut victim).await;
    assert_eq!(on(&stage, &id).1, [80, 9090]);
}

#[tokio::test(start_paused = true)]
async fn a_namesake_in_another_cluster_does_not_delete_the_floating_ip_that_it_only_saw() {
    let (mut stage, victim) = Stage::serving(service("web", 1)).await;
    stage.restart_with_uid("cluster-2");
    let mut attacker = elsewhere(&service("web", 1));
    stage.refusal(&mut attacker).await;
    lose(&stage, &id_of(&victim));
    stage.remove(&mut attacker).await;
    assert_eq!(stage.floating_ips(), [address_of(&victim).to_string()]);
}

/// A Service of the second cluster may join, and then the tags of both clusters are on the load balancer.
#[tokio::test(start_paused = true)]
async fn the_namesake_of_an_owner_does_not_own_what_another_service_of_its_cluster_joined() {
    let (mut stage, mut victim) = Stage::serving(at_port("web", 80)).await;
    let id = id_of(&victim);
    let rule = TenancySection { join_other_clusters: Some(true), ..TenancySection::default() };
    stage.cluster_uid = "cluster-2";
    stage.reconfigure(|conf| drop(conf.tenancy.0.insert("default".to_owned(), rule)));
    stage.restart();
    let mut tenant = joining("tenant", 8080, &id);
    stage.ensure(&mut tenant).await;
    let before = cloud(&stage);

    let mut attacker = elsewhere(&at_port("web", 80));
    let problem = stage.refusal(&mut attacker).await;
    assert!(problem.contains("cluster-1"), "{problem}");
    stage.remove(&mut attacker).await;
    assert_eq!(cloud(&stage), before);
    stage.reconfigure(|conf| conf.tenancy.0.clear());
    let problem = stage.refusal(&mut joining("late", 9090, &id)).await;
    assert!(problem.contains("join-other-clusters"), "{problem}");

    stage.remove(&mut tenant).await;
    stage.restart_with_uid("cluster-1");
    stage.ensure(&mut victim).await;
    stage.remove(&mut victim).await;
    assert!(balancer(&stage, &id).is_none(), "the tag of the other cluster alone keeps nothing");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_leaves_a_load_balancer_without_tags_takes_only_its_own_listeners() {
    let (mut stage, owner) = Stage::serving(service("owner", 1)).await;
    let id = id_of(&owner);
    stage.simulation.edit(|state| {
        state.load_balancer.load_balancers.update(&id, |one| one.tags.clear()).unwrap();
        let listener = state.load_balancer.listeners.iter().next().unwrap().id.clone();
        state.load_balancer.listeners.update(&listener, |one| one.tags.clear()).unwrap();
    });
    let mut visitor = joining("visitor", 8080, &id);
    stage.ensure(&mut visitor).await;
    assert_eq!(on(&stage, &id).1.len(), 2);
    stage.remove(&mut visitor).await;
    assert_eq!(on(&stage, &id).1, [80], "the load balancer and the owner's listener are there");
    assert_eq!(stage.floating_ips().len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_somebody_else_made_keeps_a_load_balancer_and_the_service_is_told() {
    // Octavia's command line and Horizon give no tags.
    for tags in [vec!["team-a".to_owned()], Vec::new()] {
        let (mut stage, mut owner) = Stage::serving(service("owner", 1)).await;
        let id = id_of(&owner);
        foreign_listener(&stage, &id, tags).await;
        stage.restart();
        stage.ensure(&mut owner).await;
        assert_eq!(
            on(&stage, &id).1,
            [80, 9000],
            "the Service does not want it, and it is not the Service's"
        );
        stage.remove(&mut owner).await;
        assert_eq!(on(&stage, &id).1, [9000]);
        assert!(stage.told().contains(&"LoadBalancerNotDeleted".to_owned()), "{:?}", stage.told());
    }
}
