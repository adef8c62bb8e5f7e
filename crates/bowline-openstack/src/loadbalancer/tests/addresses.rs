//! A new load balancer in place of an earlier one of the Service gets the address that clients know, if that can be had.

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{Ingress, ServiceView};
use sim_openstack::Config;

use super::stage::{Stage, address_of, annotated, service};
use crate::config::{Source, decode};
use crate::loadbalancer::annotations::{HOSTNAME, INTERNAL, LOAD_BALANCER_ADDRESS, SUBNET_ID, VIP_ADDRESS};

fn internal(name: &str) -> Arc<ServiceView> {
    annotated(&service(name, 1), INTERNAL.key, "true")
}

fn network_of(stage: &Stage) -> String {
    let subnet = &stage.conf.load_balancer.subnet_id;
    stage.simulation.look(|state| state.network.subnets.get(subnet).unwrap().network_id.clone())
}

/// A load balancer in between takes the lowest free address.
async fn with_a_hole(mut stage: Stage) -> (Stage, Arc<ServiceView>) {
    let (mut first, mut web) = (internal("first"), internal("web"));
    stage.ensure(&mut first).await;
    stage.ensure(&mut web).await;
    stage.remove(&mut first).await;
    (stage, web)
}

fn told_of(stage: &Stage, reason: &str) -> usize {
    stage.told().iter().filter(|told| *told == reason).count()
}

fn told(stage: &Stage) -> usize {
    told_of(stage, "LoadBalancerAddressNotKept")
}

fn creations(stage: &Stage) -> usize {
    let all = stage.targets(sim_openstack::Service::LoadBalancer);
    all.iter().filter(|target| target.starts_with("POST") && target.ends_with("/loadbalancers")).count()
}

#[tokio::test(start_paused = true)]
async fn an_internal_service_keeps_its_address_when_its_load_balancer_is_created_again() {
    for with_network in [false, true] {
        let mut stage = Stage::new();
        if with_network {
            let network = network_of(&stage);
            stage.reconfigure(|conf| {
                conf.load_balancer.subnet_id.clear();
                conf.load_balancer.network_id = network;
            });
        }
        let (mut stage, mut web) = with_a_hole(stage).await;
        let before = address_of(&web);
        stage.lose_and_restart(&web).await;
        stage.clear();
        let status = stage.ensure(&mut web).await;
        assert_eq!(status.ingress[0].ip, Some(before), "by network: {with_network}");
        assert_eq!((creations(&stage), told(&stage)), (1, 0));

        stage.clear();
        stage.ensure(&mut web).await;
        assert_eq!(stage.mutating(), 0, "the address belongs to nothing that is compared");
        stage.restart();
        stage.ensure(&mut web).await;
        assert_eq!(stage.mutating(), 0, "for the next leader as well");
    }
}

#[tokio::test(start_paused = true)]
async fn an_earlier_address_that_is_taken_is_given_up_with_one_warning_and_one_more_call() {
    for provider in ["amphora", "ovn"] {
        let stage = Stage::with(Config::default(), |conf| {
            conf.load_balancer.lb_provider = provider.to_owned();
        });
        let (mut stage, mut web) = with_a_hole(stage).await;
        let before = address_of(&web);
        stage.lose(&web).await;
        // Another machine got it meanwhile. Another Service would be refused.
        stage.users_port_at(before).await;
        stage.clear();
        let status = stage.ensure(&mut web).await;
        let now = status.ingress[0].ip.unwrap();
        assert_ne!(now, before);
        assert_eq!((creations(&stage), told(&stage)), (2, 1), "{provider}");
        let text = stage.events.text("LoadBalancerAddressNotKept");
        assert!(text.contains(&before.to_string()) && text.contains(&now.to_string()), "{text}");
        for _ in 0..2 {
            stage.ensure(&mut web).await;
        }
        assert_eq!((creations(&stage), told(&stage)), (2, 1), "{provider}");

        // The next time it is another story.
        stage.lose(&web).await;
        let status = stage.ensure(&mut web).await;
        assert_eq!((status.ingress[0].ip, told(&stage)), (Some(now), 1), "{provider}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_service_asks_for_goes_before_its_earlier_address() {
    let (mut stage, mut web) = with_a_hole(Stage::new()).await;
    let before = address_of(&web);
    let chosen = match before {
        IpAddr::V4(address) => IpAddr::from((u32::from(address) + 40).to_be_bytes()),
        IpAddr::V6(_) => panic!("{before}"),
    };
    stage.lose(&web).await;
    web = annotated(&web, VIP_ADDRESS.key, &chosen.to_string());
    let status = stage.ensure(&mut web).await;
    assert_eq!((status.ingress[0].ip, told(&stage)), (Some(chosen), 0));

    stage.lose(&web).await;
    let view = Arc::make_mut(&mut web);
    view.annotations.remove(VIP_ADDRESS.key);
    view.load_balancer_ip = Some(before.to_string().into());
    let status = stage.ensure(&mut web).await;
    assert_eq!(status.ingress[0].ip, Some(before));

    // What is not asked for any more is the earlier address by now.
    stage.lose(&web).await;
    Arc::make_mut(&mut web).load_balancer_ip = None;
    let status = stage.ensure(&mut web).await;
    assert_eq!((status.ingress[0].ip, told(&stage)), (Some(before), 0));
}

#[tokio::test(start_paused = true)]
async fn an_address_outside_of_the_subnet_and_a_floating_ip_are_not_asked_for() {
    let (mut stage, mut web) = with_a_hole(Stage::new()).await;
    stage.lose(&web).await;
    // Whatever the status says: users normally cannot write it.
    let elsewhere: IpAddr = "198.51.100.77".parse().unwrap();
    Arc::make_mut(&mut web).status.ingress[0].ip = Some(elsewhere);
    stage.clear();
    stage.ensure(&mut web).await;
    assert_eq!((creations(&stage), told(&stage)), (1, 0));
    assert_ne!(address_of(&web), elsewhere);

    // A floating IP is found by its description, and is no address of a load balancer.
    let mut public = service("public", 1);
    stage.ensure(&mut public).await;
    let before = address_of(&public);
    stage.lose(&public).await;
    stage.clear();
    stage.ensure(&mut public).await;
    assert_eq!((creations(&stage), told(&stage), address_of(&public)), (1, 0, before));
}

#[tokio::test(start_paused = true)]
async fn a_rule_about_chosen_addresses_neither_keeps_the_earlier_one_away_nor_refuses_the_service() {
    let (mut stage, mut web) = with_a_hole(Stage::new()).await;
    let before = address_of(&web);
    let rules = "[Tenancy \"*\"]\nvip-address = none\n";
    stage
        .reconfigure(|conf| conf.tenancy = decode(&[Source::new("cloud.conf", rules)]).unwrap().conf.tenancy);
    stage.lose(&web).await;
    let status = stage.ensure(&mut web).await;
    assert_eq!((status.ingress[0].ip, told(&stage)), (Some(before), 0));
    // Another Service cannot choose it.
    let other = annotated(&internal("other"), VIP_ADDRESS.key, "10.0.0.99");
    assert!(stage.observed_refusal(&other).await.contains("vip-address"));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_moves_to_another_subnet_does_not_ask_for_its_earlier_address() {
    let (mut stage, mut web) = with_a_hole(Stage::new()).await;
    let known = stage.conf.load_balancer.subnet_id.clone();
    let other = "00000000-0000-4000-8000-0000000000aa";
    stage.simulation.edit(|state| {
        let mut subnet = state.network.subnets.get(&known).unwrap().clone();
        (subnet.id, subnet.cidr) = (other.to_owned(), "10.99.0.0/24".to_owned());
        for pool in &mut subnet.allocation_pools {
            (pool.start, pool.end) = ("10.99.0.10".to_owned(), "10.99.0.99".to_owned());
        }
        state.network.subnets.insert(subnet);
    });
    stage.lose(&web).await;
    web = annotated(&web, SUBNET_ID.key, other);
    stage.clear();
    stage.ensure(&mut web).await;
    assert_eq!((creations(&stage), told(&stage)), (1, 0));
}

/// The messages of the events that an address behind a host name changed.
fn changes_told(stage: &Stage) -> usize {
    told_of(stage, "LoadBalancerAddressChanged")
}

#[tokio::test(start_paused = true)]
async fn a_service_that_shows_a_host_name_keeps_its_address_or_is_told_that_it_changed() {
    for taken in [false, true] {
        let (mut stage, mut web) = with_a_hole(Stage::new()).await;
        let before = address_of(&web);
        web = annotated(&web, HOSTNAME.key, "web.example.org");
        stage.ensure(&mut web).await;
        assert_eq!((web.status.ingress[0].ip, noted(&web)), (None, Some(before)));
        stage.lose(&web).await;
        if taken {
            stage.users_port_at(before).await;
        }
        stage.restart();
        for _ in 0..3 {
            stage.ensure(&mut web).await;
        }
        let count = usize::from(taken);
        assert_eq!((told(&stage), changes_told(&stage)), (count, count));
        assert_eq!(noted(&web) == Some(before), !taken);
        if taken {
            let text = stage.events.text("LoadBalancerAddressChanged");
            assert!(text.contains("web.example.org") && text.contains(&before.to_string()), "{text}");
        }
    }
}

fn noted(service: &ServiceView) -> Option<IpAddr> {
    service.annotations.get(LOAD_BALANCER_ADDRESS.key)?.parse().ok()
}

#[tokio::test(start_paused = true)]
async fn a_service_that_shows_a_host_name_gets_its_floating_ip_back_after_a_restart() {
    let (mut stage, mut web) =
        Stage::serving(annotated(&service("web", 1), HOSTNAME.key, "web.example.org")).await;
    let before = noted(&web).unwrap();
    // Twice: what was found by the annotation is found by it again.
    for _ in 0..2 {
        stage.lose_and_restart(&web).await;
        stage.ensure(&mut web).await;
        assert_eq!((noted(&web), changes_told(&stage)), (Some(before), 0));
        assert_eq!(stage.floating_ips().len(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_users_can_write_neither_chooses_an_address_that_a_rule_forbids_nor_deletes_a_floating_ip() {
    let (mut stage, mut web) = with_a_hole(Stage::new()).await;
    web = annotated(&web, HOSTNAME.key, "web.example.org");
    stage.ensure(&mut web).await;
    let rules = "[Tenancy \"*\"]\nvip-address = none\nfloating-ip = none\n";
    stage
        .reconfigure(|conf| conf.tenancy = decode(&[Source::new("cloud.conf", rules)]).unwrap().conf.tenancy);
    stage.lose(&web).await;
    let chosen: IpAddr = match noted(&web).unwrap() {
        IpAddr::V4(address) => IpAddr::from((u32::from(address) + 40).to_be_bytes()),
        IpAddr::V6(address) => panic!("{address}"),
    };
    web = annotated(&web, LOAD_BALANCER_ADDRESS.key, &chosen.to_string());
    stage.restart();
    stage.ensure(&mut web).await;
    assert_ne!(noted(&web), Some(chosen));

    // The Service of this name in another cluster, whose load balancer is away.
    let (mut stage, victim) = Stage::serving(service("web", 1)).await;
    let address = address_of(&victim);
    stage.lose(&victim).await;
    stage.restart_with_uid("cluster-2");
    let attacker = annotated(&service("web", 1), HOSTNAME.key, "web.example.org");
    let mut attacker = annotated(&attacker, LOAD_BALANCER_ADDRESS.key, &address.to_string());
    let shown = Ingress { hostname: Some("web.example.org".into()), ..Ingress::default() };
    let view = Arc::make_mut(&mut attacker);
    (view.uid, view.status.ingress) = ("uid-in-cluster-2".into(), vec![shown]);
    stage.ensure(&mut attacker).await;
    stage.remove(&mut attacker).await;
    assert_eq!(stage.floating_ips(), [address.to_string()]);
}
