//! The VIP and the port of another Service are not taken while its load balancer is away, and ports of machines never. A Service that only
//! names a load balancer changes nothing that is known of it.

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{Purpose, RESYNC_AT, ServiceView};
use openstack_client::network::FloatingIpUpdate;
use sim_openstack::{Fault, Rule};

use super::stage::{Stage, address_of, annotated, edited, id_of, service};
use crate::config::{Source, decode};
use crate::loadbalancer::annotations::{
    FLOATING_IP, HOSTNAME, INTERNAL, LOAD_BALANCER_ADDRESS, LOAD_BALANCER_ID, PORT_ID, SUBNET_ID, VIP_ADDRESS,
};
use crate::loadbalancer::found::Children;

fn internal(name: &str) -> Arc<ServiceView> {
    annotated(&service(name, 1), INTERNAL.key, "true")
}

/// A Service of another namespace.
fn attacker(service: &Arc<ServiceView>) -> Arc<ServiceView> {
    edited(service, |view| view.namespace = "attacker".into())
}

/// What has to stay as it is: floating IPs, and ports with their security groups.
fn network(stage: &Stage) -> String {
    stage.simulation.look(|state| {
        let floating: Vec<_> = state.network.floating_ips.iter().collect();
        let ports: Vec<_> = state.network.ports.iter().collect();
        format!("{floating:#?} {ports:#?}")
    })
}

#[tokio::test(start_paused = true)]
async fn the_vip_of_an_internal_service_is_not_taken_while_its_load_balancer_is_away() {
    for by_annotation in [true, false] {
        let (mut stage, mut owner) = Stage::serving(internal("owner")).await;
        let vip = address_of(&owner);
        stage.lose_and_restart(&owner).await;

        let mut thief = attacker(&match by_annotation {
            true => annotated(&internal("thief"), VIP_ADDRESS.key, &vip.to_string()),
            false => edited(&internal("thief"), |view| view.load_balancer_ip = Some(vip.to_string().into())),
        });
        let problem = stage.refusal(&mut thief).await;
        assert!(
            problem.contains(&format!("address {vip} is the address of Service default/owner")),
            "{problem}"
        );
        assert_eq!(stage.balancer_count(), 0);
        stage.ensure(&mut owner).await;
        assert_eq!(address_of(&owner), vip);

        // Once the owner is gone the address is free.
        stage.remove(&mut owner).await;
        stage.ensure(&mut thief).await;
        assert_eq!(address_of(&thief), vip);
    }
}

#[tokio::test(start_paused = true)]
async fn the_same_address_in_another_network_is_not_refused_while_its_service_has_its_load_balancer() {
    let (mut stage, mut owner) = Stage::serving(internal("owner")).await;
    let vip = address_of(&owner);
    let (here, there) = (stage.conf.load_balancer.subnet_id.clone(), "00000000-0000-4000-8000-0000000000aa");
    stage.simulation.edit(|state| {
        let mut subnet = state.network.subnets.get(&here).unwrap().clone();
        let mut network = state.network.networks.get(&subnet.network_id).unwrap().clone();
        (network.id, network.name) = ("00000000-0000-4000-8000-0000000000bb".to_owned(), "twin".to_owned());
        (subnet.id, subnet.network_id) = (there.to_owned(), network.id.clone());
        state.network.networks.insert(network);
        state.network.subnets.insert(subnet);
    });
    stage.restart();
    let asking = annotated(&attacker(&internal("neighbour")), SUBNET_ID.key, there);
    let mut neighbour = annotated(&asking, VIP_ADDRESS.key, &vip.to_string());
    stage.ensure(&mut neighbour).await;
    assert_eq!((address_of(&neighbour), stage.balancer_count()), (vip, 2));

    // While one of them is away nobody can tell whose the address is, so only who shows it gets it.
    stage.lose(&owner).await;
    let mut late = annotated(&attacker(&internal("late")), VIP_ADDRESS.key, &vip.to_string());
    let problem = stage.refusal(&mut late).await;
    assert!(problem.contains("is the address of Service"), "{problem}");
    stage.ensure(&mut owner).await;
    assert_eq!(address_of(&owner), vip);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_a_user_noted_is_not_requested_if_another_service_shows_it() {
    let (mut stage, mut owner) = Stage::serving(internal("owner")).await;
    let vip = address_of(&owner);
    let mut thief = attacker(&annotated(&internal("thief"), HOSTNAME.key, "web.example.org"));
    stage.ensure(&mut thief).await;
    stage.lose(&owner).await;
    stage.lose_and_restart(&thief).await;
    thief = annotated(&thief, LOAD_BALANCER_ADDRESS.key, &vip.to_string());
    stage.ensure(&mut thief).await;
    stage.ensure(&mut owner).await;
    assert_eq!(address_of(&owner), vip);
}

#[tokio::test(start_paused = true)]
async fn the_port_of_an_internal_service_is_not_taken_while_its_load_balancer_is_away() {
    let mut stage = Stage::new();
    let port = stage.users_port().await;
    let mut owner = annotated(&internal("owner"), PORT_ID.key, &port);
    let status = stage.ensure(&mut owner).await;
    stage.lose_and_restart(&owner).await;
    let mut thief = attacker(&annotated(&internal("thief"), PORT_ID.key, &port));
    let problem = stage.refusal(&mut thief).await;
    assert!(problem.contains("is the address of Service default/owner"), "{problem}");
    stage.remove(&mut thief).await;
    assert_eq!(stage.ensure(&mut owner).await, status);
}

#[tokio::test(start_paused = true)]
async fn the_port_of_a_machine_is_not_taken_and_its_floating_ip_and_groups_stay() {
    let mut stage = Stage::new();
    let server = stage.simulation.estate.servers[0].clone();
    let port = stage.simulation.port(&server).unwrap().id;
    let bastion = stage.users_floating_ip().await;
    let id = stage.simulation.look(|state| state.network.floating_ips.iter().next().unwrap().id.clone());
    let there = FloatingIpUpdate { port_id: Some(port.parse().unwrap()), description: None };
    let network_client = stage.simulation.client.network();
    network_client.update_floating_ip(&id.parse().unwrap(), &there, None).await.unwrap();
    let before = network(&stage);
    for internal in ["false", "true"] {
        let thief = annotated(&service("thief", 1), INTERNAL.key, internal);
        let mut thief = attacker(&annotated(&thief, PORT_ID.key, &port));
        let problem = stage.refusal(&mut thief).await;
        assert!(problem.contains(&format!("port {port} belongs to a machine or a router")), "{problem}");
        assert!(!problem.contains(&bastion.to_string()) && !problem.contains(&id), "{problem}");
        stage.remove(&mut thief).await;
        assert_eq!(network(&stage), before);
    }
}

#[tokio::test(start_paused = true)]
async fn a_port_that_seems_not_to_be_there_is_not_left_to_octavia() {
    let mut stage = Stage::new();
    let port = stage.simulation.port(&stage.simulation.estate.servers[0]).unwrap().id;
    let lie = Rule::new(Fault::not_found_lie()).on(sim_openstack::Service::Network);
    stage.simulation.fault(lie.method(http::Method::GET).path("*/ports/*"));
    let problem = stage.refusal(&mut annotated(&service("web", 1), PORT_ID.key, &port)).await;
    assert!(problem.contains("correct annotation loadbalancer.openstack.org/port-id"), "{problem}");
    assert_eq!(stage.balancer_count(), 0);
}

#[tokio::test(start_paused = true)]
async fn refusals_name_no_port_and_no_load_balancer_that_the_service_did_not_name() {
    let (mut stage, owner) = Stage::serving(service("owner", 1)).await;
    let (_, found) = stage.observed(&owner).await;
    let port = found.balancer.unwrap().balancer.vip_port_id.unwrap().to_string();
    let address = address_of(&owner).to_string();
    let mut thief = attacker(&annotated(&service("thief", 1), FLOATING_IP.key, &address));
    let problem = stage.refusal(&mut thief).await;
    assert!(!problem.contains(&port) && !problem.contains(&id_of(&owner)), "{problem}");
    let mut thief = attacker(&annotated(&internal("thief"), PORT_ID.key, &port));
    let problem = stage.refusal(&mut thief).await;
    assert!(problem.contains("is used by another load balancer"), "{problem}");
    assert!(!problem.contains(&id_of(&owner)) && !problem.contains(&address), "{problem}");
}

/// A Service that an administrator gave this address, and that shows a host name.
fn named(name: &str, address: IpAddr) -> Arc<ServiceView> {
    let asking = edited(&service(name, 1), |view| view.load_balancer_ip = Some(address.to_string().into()));
    annotated(&asking, HOSTNAME.key, "web.example.org")
}

#[tokio::test(start_paused = true)]
async fn a_service_that_names_a_load_balancer_in_vain_does_not_get_its_floating_ip_when_that_is_lost() {
    let mut stage = Stage::new();
    let address = stage.users_floating_ip().await;
    let mut owner = named("owner", address);
    stage.ensure(&mut owner).await;
    let mut thief = attacker(&annotated(&service("thief", 1), LOAD_BALANCER_ID.key, &id_of(&owner)));
    stage.refusal(&mut thief).await;
    stage.lose(&owner).await;
    let mut thief = attacker(&annotated(&service("thief", 1), FLOATING_IP.key, &address.to_string()));
    let problem = stage.refusal(&mut thief).await;
    assert!(problem.contains("default/owner"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_shows_a_host_name_keeps_its_floating_ip_although_a_stranger_named_its_load_balancer()
{
    let mut stage = Stage::new();
    let rules = "[Tenancy \"*\"]\nfloating-ip = none\n";
    stage
        .reconfigure(|conf| conf.tenancy = decode(&[Source::new("cloud.conf", rules)]).unwrap().conf.tenancy);
    let mut owner = annotated(&service("owner", 1), HOSTNAME.key, "web.example.org");
    stage.ensure(&mut owner).await;
    let before = stage.floating_ips();
    let thief = attacker(&annotated(&service("thief", 1), LOAD_BALANCER_ID.key, &id_of(&owner)));
    stage.refusal(&mut thief.clone()).await;
    stage.lose(&owner).await;
    stage.ensure(&mut owner).await;
    assert_eq!(stage.floating_ips(), before);
}

#[tokio::test(start_paused = true)]
async fn a_tenant_does_not_take_over_the_floating_ip_of_the_owner_that_shows_a_host_name() {
    let mut stage = Stage::new();
    let address = stage.users_floating_ip().await;
    let mut owner = named("owner", address);
    stage.ensure(&mut owner).await;
    let tenant = annotated(&service("tenant", 1), LOAD_BALANCER_ID.key, &id_of(&owner));
    let mut tenant =
        edited(&tenant, |view| (view.ports[0].port, view.ports[0].node_port) = (8080, Some(30808)));
    stage.ensure(&mut tenant).await;
    stage.ensure(&mut owner).await;
    stage.ensure(&mut tenant).await;
    stage.lose(&owner).await;
    let mut thief = annotated(&service("thief", 1), FLOATING_IP.key, &address.to_string());
    let problem = stage.refusal(&mut thief).await;
    assert!(problem.contains("default/owner"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn a_person_is_heard_who_asks_for_a_look_after_a_stranger_wrote_a_later_time() {
    let (mut stage, owner) = Stage::serving(service("owner", 1)).await;
    let thief = attacker(&annotated(&service("thief", 1), LOAD_BALANCER_ID.key, &id_of(&owner)));
    stage.refusal(&mut annotated(&thief, RESYNC_AT, "zzzz")).await;
    let asked = annotated(&owner, RESYNC_AT, "2026-11-16T10:00:00Z");
    let (_, found) = stage.observed(&asked).await;
    assert!(matches!(found.balancer.unwrap().children, Children::Known(_)), "it was read");
    let purpose = Purpose::Ensure;
    stage.clear();
    stage.look(&asked, purpose).await.unwrap();
    assert_eq!(stage.simulation.calls(), 2, "once: {:?}", stage.counts());
}
