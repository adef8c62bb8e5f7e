//! A new load balancer in place of an earlier one of the Service gets the address that clients know, if that can be had.

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Purpose, ServiceView};
use sim_openstack::Config;

use super::stage::{Stage, address_of, annotated, service};
use crate::config::{Source, decode};
use crate::loadbalancer::annotations::{
    HOSTNAME, INTERNAL, LOAD_BALANCER_ADDRESS, LOAD_BALANCER_ID, SUBNET_ID, VIP_ADDRESS,
};

fn internal(name: &str) -> Arc<ServiceView> {
    annotated(&service(name, 1), INTERNAL.key, "true")
}

fn network_of(stage: &Stage) -> String {
    let subnet = &stage.conf.load_balancer.subnet_id;
    stage.simulation.sim.with(|cloud| cloud.state().network.subnets.get(subnet).unwrap().network_id.clone())
}

/// Somebody deletes the load balancer of a Service behind our back.
async fn lose(stage: &Stage, service: &ServiceView) {
    let id = service.annotations.get(LOAD_BALANCER_ID.key).unwrap().parse().unwrap();
    stage.simulation.client.load_balancer().delete_load_balancer(&id, true).await.unwrap();
    tokio::time::sleep(Duration::from_secs(30)).await;
}

/// A load balancer in between takes the lowest free address.
async fn with_a_hole(stage: &mut Stage) -> Arc<ServiceView> {
    let mut first = internal("first");
    stage.drive(&mut first, Purpose::Ensure).await.settled();
    let mut web = internal("web");
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    stage.drive(&mut first, Purpose::Remove).await.settled();
    web
}

fn told(stage: &Stage) -> usize {
    stage.told().iter().filter(|reason| *reason == "LoadBalancerAddressNotKept").count()
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
        let mut web = with_a_hole(&mut stage).await;
        let before = address_of(&web);
        lose(&stage, &web).await;
        stage.restart("sim");
        stage.clear();
        let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
        assert_eq!(status.ingress[0].ip, Some(before), "by network: {with_network}");
        assert_eq!((creations(&stage), told(&stage)), (1, 0));

        stage.clear();
        stage.drive(&mut web, Purpose::Ensure).await.settled();
        assert_eq!(stage.mutating(), 0, "the address belongs to nothing that is compared");
        stage.restart("sim");
        stage.drive(&mut web, Purpose::Ensure).await.settled();
        assert_eq!(stage.mutating(), 0, "for the next leader as well");
    }
}

#[tokio::test(start_paused = true)]
async fn an_earlier_address_that_is_taken_is_given_up_with_one_warning_and_one_more_call() {
    for provider in ["amphora", "ovn"] {
        let mut stage = Stage::with(Config::default(), |conf| {
            conf.load_balancer.lb_provider = provider.to_owned();
        });
        let mut web = with_a_hole(&mut stage).await;
        let before = address_of(&web);
        lose(&stage, &web).await;
        // Another machine got it meanwhile.
        let mut thief = annotated(&internal("thief"), VIP_ADDRESS.key, &before.to_string());
        stage.drive(&mut thief, Purpose::Ensure).await.settled();
        stage.clear();
        let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
        let now = status.ingress[0].ip.unwrap();
        assert_ne!(now, before);
        assert_eq!((creations(&stage), told(&stage)), (2, 1), "{provider}");
        let text = stage.events.text("LoadBalancerAddressNotKept");
        assert!(text.contains(&before.to_string()) && text.contains(&now.to_string()), "{text}");
        for _ in 0..2 {
            stage.drive(&mut web, Purpose::Ensure).await.settled();
        }
        assert_eq!((creations(&stage), told(&stage)), (2, 1), "{provider}");

        // The next time it is another story.
        lose(&stage, &web).await;
        let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
        assert_eq!((status.ingress[0].ip, told(&stage)), (Some(now), 1), "{provider}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_the_service_asks_for_goes_before_its_earlier_address() {
    let mut stage = Stage::new();
    let mut web = with_a_hole(&mut stage).await;
    let before = address_of(&web);
    let chosen = match before {
        IpAddr::V4(address) => IpAddr::from((u32::from(address) + 40).to_be_bytes()),
        IpAddr::V6(_) => panic!("{before}"),
    };
    lose(&stage, &web).await;
    web = annotated(&web, VIP_ADDRESS.key, &chosen.to_string());
    let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!((status.ingress[0].ip, told(&stage)), (Some(chosen), 0));

    lose(&stage, &web).await;
    let mut view = (*web).clone();
    view.annotations.remove(VIP_ADDRESS.key);
    view.load_balancer_ip = Some(before.to_string().into());
    let mut web = Arc::new(view);
    let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!(status.ingress[0].ip, Some(before));

    // What is not asked for any more is the earlier address by now.
    lose(&stage, &web).await;
    Arc::make_mut(&mut web).load_balancer_ip = None;
    let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!((status.ingress[0].ip, told(&stage)), (Some(before), 0));
}

#[tokio::test(start_paused = true)]
async fn an_address_outside_of_the_subnet_and_a_floating_ip_are_not_asked_for() {
    let mut stage = Stage::new();
    let mut web = with_a_hole(&mut stage).await;
    lose(&stage, &web).await;
    // Whatever the status says: users normally cannot write it.
    let elsewhere: IpAddr = "198.51.100.77".parse().unwrap();
    Arc::make_mut(&mut web).status.ingress[0].ip = Some(elsewhere);
    stage.clear();
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!((creations(&stage), told(&stage)), (1, 0));
    assert_ne!(address_of(&web), elsewhere);

    // A floating IP is found by its description, and is no address of a load balancer.
    let mut public = service("public", 1);
    stage.drive(&mut public, Purpose::Ensure).await.settled();
    let before = address_of(&public);
    lose(&stage, &public).await;
    stage.clear();
    stage.drive(&mut public, Purpose::Ensure).await.settled();
    assert_eq!((creations(&stage), told(&stage), address_of(&public)), (1, 0, before));
}

#[tokio::test(start_paused = true)]
async fn a_rule_about_chosen_addresses_neither_keeps_the_earlier_one_away_nor_refuses_the_service() {
    let mut stage = Stage::new();
    let mut web = with_a_hole(&mut stage).await;
    let before = address_of(&web);
    let rules = "[Tenancy \"*\"]\nvip-address = none\n";
    stage
        .reconfigure(|conf| conf.tenancy = decode(&[Source::new("cloud.conf", rules)]).unwrap().conf.tenancy);
    lose(&stage, &web).await;
    let status = stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!((status.ingress[0].ip, told(&stage)), (Some(before), 0));
    // Another Service cannot choose it.
    let other = annotated(&internal("other"), VIP_ADDRESS.key, "10.0.0.99");
    assert!(stage.refused(&other).await.contains("vip-address"));
}

#[tokio::test(start_paused = true)]
async fn a_service_that_moves_to_another_subnet_does_not_ask_for_its_earlier_address() {
    let mut stage = Stage::new();
    let mut web = with_a_hole(&mut stage).await;
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
    lose(&stage, &web).await;
    web = annotated(&web, SUBNET_ID.key, other);
    stage.clear();
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_eq!((creations(&stage), told(&stage)), (1, 0));
}

/// The messages of the events that an address behind a host name changed.
fn changes_told(stage: &Stage) -> usize {
    stage.told().iter().filter(|reason| *reason == "LoadBalancerAddressChanged").count()
}

#[tokio::test(start_paused = true)]
async fn a_service_that_shows_a_host_name_keeps_its_address_or_is_told_that_it_changed() {
    for taken in [false, true] {
        let mut stage = Stage::new();
        let mut web = with_a_hole(&mut stage).await;
        let before = address_of(&web);
        web = annotated(&web, HOSTNAME.key, "web.example.org");
        stage.drive(&mut web, Purpose::Ensure).await.settled();
        assert_eq!((web.status.ingress[0].ip, noted(&web)), (None, Some(before)));
        lose(&stage, &web).await;
        if taken {
            let mut thief = annotated(&internal("thief"), VIP_ADDRESS.key, &before.to_string());
            stage.drive(&mut thief, Purpose::Ensure).await.settled();
        }
        stage.restart("sim");
        for _ in 0..3 {
            stage.drive(&mut web, Purpose::Ensure).await.settled();
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
    let mut stage = Stage::new();
    let mut web = annotated(&service("web", 1), HOSTNAME.key, "web.example.org");
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    let before = noted(&web).unwrap();
    // Twice: what was found by the annotation is found by it again.
    for _ in 0..2 {
        lose(&stage, &web).await;
        stage.restart("sim");
        stage.drive(&mut web, Purpose::Ensure).await.settled();
        assert_eq!((noted(&web), changes_told(&stage)), (Some(before), 0));
        assert_eq!(stage.simulation.sim.with(|cloud| cloud.state().network.floating_ips.len()), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn what_users_can_write_neither_chooses_an_address_that_a_rule_forbids_nor_deletes_a_floating_ip() {
    let mut stage = Stage::new();
    let mut web = with_a_hole(&mut stage).await;
    web = annotated(&web, HOSTNAME.key, "web.example.org");
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    let rules = "[Tenancy \"*\"]\nvip-address = none\nfloating-ip = none\n";
    stage
        .reconfigure(|conf| conf.tenancy = decode(&[Source::new("cloud.conf", rules)]).unwrap().conf.tenancy);
    lose(&stage, &web).await;
    let chosen: IpAddr = match noted(&web).unwrap() {
        IpAddr::V4(address) => IpAddr::from((u32::from(address) + 40).to_be_bytes()),
        IpAddr::V6(address) => panic!("{address}"),
    };
    web = annotated(&web, LOAD_BALANCER_ADDRESS.key, &chosen.to_string());
    stage.restart("sim");
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    assert_ne!(noted(&web), Some(chosen));

    // The Service of this name in another cluster, whose load balancer is away.
    let mut stage = Stage::new();
    let mut victim = service("web", 1);
    stage.drive(&mut victim, Purpose::Ensure).await.settled();
    let address = address_of(&victim);
    lose(&stage, &victim).await;
    stage.cluster_uid = "cluster-2";
    stage.restart("sim");
    let mut attacker = (*annotated(&service("web", 1), HOSTNAME.key, "web.example.org")).clone();
    attacker.uid = "uid-in-cluster-2".into();
    attacker.annotations.insert(LOAD_BALANCER_ADDRESS.key.to_owned(), address.to_string());
    attacker.status.ingress =
        vec![bowline_cloud::Ingress { hostname: Some("web.example.org".into()), ..Default::default() }];
    let mut attacker = Arc::new(attacker);
    stage.drive(&mut attacker, Purpose::Ensure).await.settled();
    stage.drive(&mut attacker, Purpose::Remove).await.settled();
    let all = stage.simulation.sim.with(|cloud| {
        cloud
            .state()
            .network
            .floating_ips
            .iter()
            .map(|one| one.floating_ip_address.clone())
            .collect::<Vec<_>>()
    });
    assert_eq!(all, [address.to_string()]);
}
