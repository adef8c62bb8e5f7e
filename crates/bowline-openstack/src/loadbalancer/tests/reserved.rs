//! The floating IP of a Service is not taken, moved or released by another one, also if an administrator made it or it is detached.

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{ErrorClass, LoadBalancers, Purpose, ServiceView, Unfenced};
use openstack_client::FloatingIpId;

use super::stage::{Stage, address_of, annotated, edited, id_of, service};
use crate::loadbalancer::annotations::{HOSTNAME, INTERNAL, KEEP_FLOATING_IP, LOAD_BALANCER_ID, PORT_ID};

/// A Service that asks for an address.
fn asking(namespace: &str, name: &str, address: IpAddr) -> Arc<ServiceView> {
    edited(&service(name, 1), |view| {
        (view.namespace, view.load_balancer_ip) = (namespace.into(), Some(address.to_string().into()));
    })
}

/// The floating IPs with their descriptions, and where they lead.
fn floating(stage: &Stage) -> Vec<(String, String, Option<String>)> {
    stage.simulation.look(|state| {
        let all = state.network.floating_ips.iter();
        all.map(|one| (one.floating_ip_address.clone(), one.description.clone(), one.port_id.clone()))
            .collect()
    })
}

#[tokio::test(start_paused = true)]
async fn an_administrators_floating_ip_is_not_taken_while_the_load_balancer_of_its_service_is_away() {
    let mut stage = Stage::new();
    let address = stage.users_floating_ip().await;
    let mut owner = asking("default", "owner", address);
    let status = stage.ensure(&mut owner).await;
    assert_eq!(address_of(&owner), address);
    stage.lose_and_restart(&owner).await;

    let mut thief = asking("attacker", "thief", address);
    let problem = stage.refusal(&mut thief).await;
    assert!(problem.contains("is the address of Service default/owner, which still exists"), "{problem}");
    stage.remove(&mut thief).await;
    assert_eq!(stage.ensure(&mut owner).await, status);

    // Once the owner is gone it is free, and nobody deletes it.
    stage.remove(&mut owner).await;
    stage.ensure(&mut thief).await;
    assert_eq!(address_of(&thief), address);
    stage.remove(&mut thief).await;
    assert_eq!(stage.floating_ips(), [address.to_string()]);
}

#[tokio::test(start_paused = true)]
async fn a_kept_floating_ip_that_another_service_uses_by_now_is_not_taken_from_it() {
    let (mut stage, mut keeper) =
        Stage::serving(annotated(&service("keeper", 1), KEEP_FLOATING_IP.key, "true")).await;
    let kept = address_of(&keeper);
    stage.remove(&mut keeper).await;
    let mut user = asking("default", "user", kept);
    stage.ensure(&mut user).await;
    stage.lose(&user).await;
    let mut thief = asking("attacker", "thief", kept);
    let problem = stage.refusal(&mut thief).await;
    assert!(problem.contains("is the address of Service default/user"), "{problem}");
    stage.ensure(&mut user).await;
    assert_eq!(address_of(&user), kept);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_was_given_a_kept_address_gets_it_back_although_its_first_service_exists_again() {
    let (mut stage, mut keeper) =
        Stage::serving(annotated(&service("keeper", 1), KEEP_FLOATING_IP.key, "true")).await;
    let kept = address_of(&keeper);
    stage.remove(&mut keeper).await;
    let mut user = asking("default", "user", kept);
    stage.ensure(&mut user).await;
    let mut keeper = service("keeper", 1);
    stage.ensure(&mut keeper).await;
    assert_ne!(address_of(&keeper), kept);
    stage.lose_and_restart(&user).await;
    stage.ensure(&mut user).await;
    assert_eq!(address_of(&user), kept);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_shows_a_host_name_keeps_the_floating_ip_that_this_process_saw_at_it() {
    let mut stage = Stage::new();
    let address = stage.users_floating_ip().await;
    let mut owner = annotated(&asking("default", "owner", address), HOSTNAME.key, "web.example.org");
    stage.ensure(&mut owner).await;
    stage.lose(&owner).await;
    let mut thief = asking("attacker", "thief", address);
    let problem = stage.refusal(&mut thief).await;
    assert!(problem.contains("default/owner"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn services_that_shared_an_address_do_not_keep_each_other_from_it() {
    let mut stage = Stage::new();
    let address = stage.users_floating_ip().await;
    let mut owner = asking("default", "owner", address);
    stage.ensure(&mut owner).await;
    let id = id_of(&owner);
    let mut tenant = annotated(&asking("default", "tenant", address), LOAD_BALANCER_ID.key, &id);
    let port = &mut Arc::make_mut(&mut tenant).ports[0];
    (port.port, port.node_port) = (8080, Some(30808));
    stage.ensure(&mut tenant).await;
    assert_eq!(address_of(&tenant), address);
    stage.lose_and_restart(&owner).await;
    stage.ensure(&mut owner).await;
    assert_eq!(address_of(&owner), address);
}

#[tokio::test(start_paused = true)]
async fn a_port_with_the_floating_ip_of_another_service_is_not_taken() {
    for (by_hand, internal) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut stage = Stage::new();
        let port = stage.users_port().await;
        let mut owner = match by_hand {
            true => asking("default", "owner", stage.users_floating_ip().await),
            false => service("owner", 1),
        };
        owner = annotated(&owner, PORT_ID.key, &port);
        let status = stage.ensure(&mut owner).await;
        stage.lose_and_restart(&owner).await;
        let before = floating(&stage);
        assert_eq!(before[0].2.as_ref(), Some(&port), "a port that a user made keeps it");

        let thief = edited(&service("thief", 1), |view| view.namespace = "attacker".into());
        let thief = annotated(&thief, PORT_ID.key, &port);
        let mut thief = annotated(&thief, INTERNAL.key, &internal.to_string());
        let problem = stage.refusal(&mut thief).await;
        assert!(problem.contains(&port) && problem.contains("Service default/owner"), "{problem}");
        assert_eq!(floating(&stage), before);
        stage.remove(&mut thief).await;
        assert_eq!(stage.ensure(&mut owner).await, status);
    }
}

#[tokio::test(start_paused = true)]
async fn the_floating_ip_of_another_service_is_not_detached_when_a_service_becomes_internal() {
    let (mut stage, owner) = Stage::serving(service("owner", 1)).await;
    stage.lose(&owner).await;
    // The administrator leads it to the load balancer of another Service for the time being.
    let mut helper = annotated(&service("helper", 1), INTERNAL.key, "true");
    stage.ensure(&mut helper).await;
    let (_, found) = stage.observed(&helper).await;
    let port = found.balancer.unwrap().balancer.vip_port_id.unwrap();
    let floating_id: FloatingIpId =
        stage.simulation.look(|state| state.network.floating_ips.iter().next().unwrap().id.parse().unwrap());
    let there =
        openstack_client::network::FloatingIpUpdate { port_id: Some(port.clone()), description: None };
    stage.simulation.client.network().update_floating_ip(&floating_id, &there, None).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1200)).await;
    stage.ensure(&mut helper).await;
    assert_eq!(floating(&stage)[0].2.as_deref(), Some(port.as_str()));
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_of_the_same_service_in_another_cluster_is_not_deleted_with_the_one_that_used_it() {
    let (mut stage, mut victim) = Stage::serving(service("web", 1)).await;
    let status = victim.status.clone();
    let address = address_of(&victim);
    stage.lose(&victim).await;

    // Another cluster of the same --cluster-name.
    stage.restart_with_uid("cluster-2");
    let mut other = asking("default", "web", address);
    Arc::make_mut(&mut other).uid = "uid-of-web-in-cluster-2".into();
    stage.ensure(&mut other).await;
    assert_eq!(address_of(&other), address, "a Service that asks for its address gets it");
    stage.restart();
    stage.ensure(&mut other).await;
    stage.remove(&mut other).await;
    assert_eq!(
        stage.floating_ips(),
        [address.to_string()],
        "nothing proves that it was made for that Service"
    );

    stage.restart_with_uid("cluster-1");
    assert_eq!(stage.ensure(&mut victim).await, status, "its status proves whose it is");
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_was_made_for_the_service_is_deleted_with_it_although_it_asks_for_the_address() {
    let (mut stage, mut web) = Stage::serving(service("web", 1)).await;
    Arc::make_mut(&mut web).load_balancer_ip = Some(address_of(&web).to_string().into());
    stage.lose_and_restart(&web).await;
    stage.ensure(&mut web).await;
    stage.restart();
    stage.remove(&mut web).await;
    assert_eq!(stage.floating_ips(), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_port_at_which_another_load_balancer_is_cannot_be_taken() {
    let (mut stage, first) = Stage::serving(annotated(&service("first", 1), INTERNAL.key, "true")).await;
    let (_, found) = stage.observed(&first).await;
    let port = found.balancer.unwrap().balancer.vip_port_id.unwrap();
    let internal = annotated(&service("second", 1), INTERNAL.key, "true");
    let mut second = annotated(&internal, PORT_ID.key, port.as_str());
    let why = stage.refusal(&mut second).await;
    assert!(why.contains("is used by another load balancer"), "{why}");
    assert_eq!(stage.balancer_count(), 1);
}

#[tokio::test(start_paused = true)]
async fn of_two_services_that_saw_the_same_free_floating_ip_one_gets_it() {
    let mut stage = Stage::new();
    let address = stage.users_floating_ip().await;
    let mut steps = Vec::new();
    for name in ["one", "two"] {
        let mut internal = annotated(&service(name, 1), INTERNAL.key, "true");
        stage.ensure(&mut internal).await;
        let view = Arc::make_mut(&mut internal);
        view.annotations.remove(INTERNAL.key);
        view.load_balancer_ip = Some(address.to_string().into());
        steps.push(stage.first_step(&internal, Purpose::Ensure).await);
    }
    stage.balancers.execute(&steps[0], &Unfenced).await.unwrap();
    let attached = floating(&stage);
    assert!(attached[0].2.is_some());
    let error = stage.balancers.execute(&steps[1], &Unfenced).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict, "{error}");
    assert_eq!(floating(&stage), attached);
}
