//! The floating IP of a Service is not taken, moved or released by another one, also if an administrator made it or it is detached.

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{ErrorClass, LoadBalancers, Purpose, ServiceView, Unfenced};
use openstack_client::network::{FloatingIpCreate, PortCreate};
use openstack_client::{FloatingIpId, NetworkId};

use super::stage::{Stage, address_of, annotated, refused, service};
use crate::loadbalancer::annotations::{HOSTNAME, INTERNAL, KEEP_FLOATING_IP, LOAD_BALANCER_ID, PORT_ID};

/// A Service that asks for an address.
fn asking(namespace: &str, name: &str, address: IpAddr) -> Arc<ServiceView> {
    let mut view = (*service(name, 1)).clone();
    view.namespace = namespace.into();
    view.load_balancer_ip = Some(address.to_string().into());
    Arc::new(view)
}

/// A floating IP that an administrator made, with terraform for example.
async fn made_by_hand(stage: &Stage) -> IpAddr {
    let new = FloatingIpCreate {
        floating_network_id: stage.simulation.estate.external_network.parse().unwrap(),
        subnet_id: None,
        floating_ip_address: None,
        port_id: None,
        description: "terraform".to_owned(),
    };
    stage.simulation.client.network().create_floating_ip(&new).await.unwrap().floating_ip_address
}

pub(super) async fn port(stage: &Stage) -> String {
    let new = PortCreate {
        network_id: NetworkId::new(stage.simulation.estate.network.as_str()).unwrap(),
        name: String::new(),
        description: String::new(),
        fixed_ips: Vec::new(),
        security_groups: None,
    };
    stage.simulation.client.network().create_port(&new).await.unwrap().id.to_string()
}

/// Somebody deletes the load balancer of a Service behind our back.
async fn lose(stage: &Stage, service: &ServiceView) {
    let id = service.annotations.get(LOAD_BALANCER_ID.key).unwrap().parse().unwrap();
    stage.simulation.client.load_balancer().delete_load_balancer(&id, true).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
}

/// The floating IPs with their descriptions, and where they lead.
fn floating(stage: &Stage) -> Vec<(String, String, Option<String>)> {
    stage.simulation.sim.with(|cloud| {
        let all = cloud.state().network.floating_ips.iter();
        all.map(|one| (one.floating_ip_address.clone(), one.description.clone(), one.port_id.clone()))
            .collect()
    })
}

fn addresses(stage: &Stage) -> Vec<String> {
    floating(stage).into_iter().map(|(address, ..)| address).collect()
}

#[tokio::test(start_paused = true)]
async fn an_administrators_floating_ip_is_not_taken_while_the_load_balancer_of_its_service_is_away() {
    let mut stage = Stage::new();
    let address = made_by_hand(&stage).await;
    let mut owner = asking("default", "owner", address);
    let status = stage.drive(&mut owner, Purpose::Ensure).await.settled();
    assert_eq!(address_of(&owner), address);
    lose(&stage, &owner).await;
    stage.restart("sim");

    let mut thief = asking("attacker", "thief", address);
    let problem = refused(stage.drive(&mut thief, Purpose::Ensure).await);
    assert!(problem.contains("is the address of Service default/owner, which still exists"), "{problem}");
    stage.drive(&mut thief, Purpose::Remove).await.settled();
    assert_eq!(stage.drive(&mut owner, Purpose::Ensure).await.settled(), status);

    // Once the owner is gone it is free, and nobody deletes it.
    stage.drive(&mut owner, Purpose::Remove).await.settled();
    stage.drive(&mut thief, Purpose::Ensure).await.settled();
    assert_eq!(address_of(&thief), address);
    stage.drive(&mut thief, Purpose::Remove).await.settled();
    assert_eq!(addresses(&stage), [address.to_string()]);
}

#[tokio::test(start_paused = true)]
async fn a_kept_floating_ip_that_another_service_uses_by_now_is_not_taken_from_it() {
    let mut stage = Stage::new();
    let mut keeper = annotated(&service("keeper", 1), KEEP_FLOATING_IP.key, "true");
    stage.drive(&mut keeper, Purpose::Ensure).await.settled();
    let kept = address_of(&keeper);
    stage.drive(&mut keeper, Purpose::Remove).await.settled();
    let mut user = asking("default", "user", kept);
    stage.drive(&mut user, Purpose::Ensure).await.settled();
    lose(&stage, &user).await;
    let mut thief = asking("attacker", "thief", kept);
    let problem = refused(stage.drive(&mut thief, Purpose::Ensure).await);
    assert!(problem.contains("is the address of Service default/user"), "{problem}");
    stage.drive(&mut user, Purpose::Ensure).await.settled();
    assert_eq!(address_of(&user), kept);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_was_given_a_kept_address_gets_it_back_although_its_first_service_exists_again() {
    let mut stage = Stage::new();
    let mut keeper = annotated(&service("keeper", 1), KEEP_FLOATING_IP.key, "true");
    stage.drive(&mut keeper, Purpose::Ensure).await.settled();
    let kept = address_of(&keeper);
    stage.drive(&mut keeper, Purpose::Remove).await.settled();
    let mut user = asking("default", "user", kept);
    stage.drive(&mut user, Purpose::Ensure).await.settled();
    let mut keeper = service("keeper", 1);
    stage.drive(&mut keeper, Purpose::Ensure).await.settled();
    assert_ne!(address_of(&keeper), kept);
    lose(&stage, &user).await;
    stage.restart("sim");
    stage.drive(&mut user, Purpose::Ensure).await.settled();
    assert_eq!(address_of(&user), kept);
}

#[tokio::test(start_paused = true)]
async fn a_service_that_shows_a_host_name_keeps_the_floating_ip_that_this_process_saw_at_it() {
    let mut stage = Stage::new();
    let address = made_by_hand(&stage).await;
    let mut owner = annotated(&asking("default", "owner", address), HOSTNAME.key, "web.example.org");
    stage.drive(&mut owner, Purpose::Ensure).await.settled();
    lose(&stage, &owner).await;
    let mut thief = asking("attacker", "thief", address);
    let problem = refused(stage.drive(&mut thief, Purpose::Ensure).await);
    assert!(problem.contains("default/owner"), "{problem}");
}

#[tokio::test(start_paused = true)]
async fn services_that_shared_an_address_do_not_keep_each_other_from_it() {
    let mut stage = Stage::new();
    let address = made_by_hand(&stage).await;
    let mut owner = asking("default", "owner", address);
    stage.drive(&mut owner, Purpose::Ensure).await.settled();
    let id = owner.annotations.get(LOAD_BALANCER_ID.key).unwrap().to_owned();
    let mut tenant = (*annotated(&asking("default", "tenant", address), LOAD_BALANCER_ID.key, &id)).clone();
    (tenant.ports[0].port, tenant.ports[0].node_port) = (8080, Some(30808));
    let mut tenant = Arc::new(tenant);
    stage.drive(&mut tenant, Purpose::Ensure).await.settled();
    assert_eq!(address_of(&tenant), address);
    lose(&stage, &owner).await;
    stage.restart("sim");
    stage.drive(&mut owner, Purpose::Ensure).await.settled();
    assert_eq!(address_of(&owner), address);
}

#[tokio::test(start_paused = true)]
async fn a_port_with_the_floating_ip_of_another_service_is_not_taken() {
    for (by_hand, internal) in [(true, false), (true, true), (false, false), (false, true)] {
        let mut stage = Stage::new();
        let port = port(&stage).await;
        let mut owner = match by_hand {
            true => asking("default", "owner", made_by_hand(&stage).await),
            false => service("owner", 1),
        };
        owner = annotated(&owner, PORT_ID.key, &port);
        let status = stage.drive(&mut owner, Purpose::Ensure).await.settled();
        lose(&stage, &owner).await;
        stage.restart("sim");
        let before = floating(&stage);
        assert_eq!(before[0].2.as_ref(), Some(&port), "a port that a user made keeps it");

        let mut thief = (*annotated(&service("thief", 1), PORT_ID.key, &port)).clone();
        thief.namespace = "attacker".into();
        let mut thief = annotated(&Arc::new(thief), INTERNAL.key, &internal.to_string());
        let problem = refused(stage.drive(&mut thief, Purpose::Ensure).await);
        assert!(problem.contains(&port) && problem.contains("Service default/owner"), "{problem}");
        assert_eq!(floating(&stage), before);
        stage.drive(&mut thief, Purpose::Remove).await.settled();
        assert_eq!(stage.drive(&mut owner, Purpose::Ensure).await.settled(), status);
    }
}

#[tokio::test(start_paused = true)]
async fn the_floating_ip_of_another_service_is_not_detached_when_a_service_becomes_internal() {
    let mut stage = Stage::new();
    let mut owner = service("owner", 1);
    stage.drive(&mut owner, Purpose::Ensure).await.settled();
    lose(&stage, &owner).await;
    // The administrator leads it to the load balancer of another Service for the time being.
    let mut helper = annotated(&service("helper", 1), INTERNAL.key, "true");
    stage.drive(&mut helper, Purpose::Ensure).await.settled();
    let (_, found) = stage.ensured(&helper).await;
    let port = found.balancer.unwrap().balancer.vip_port_id.unwrap();
    let floating_id: FloatingIpId = stage
        .simulation
        .sim
        .with(|cloud| cloud.state().network.floating_ips.iter().next().unwrap().id.parse().unwrap());
    let there =
        openstack_client::network::FloatingIpUpdate { port_id: Some(port.clone()), description: None };
    stage.simulation.client.network().update_floating_ip(&floating_id, &there, None).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(1200)).await;
    stage.drive(&mut helper, Purpose::Ensure).await.settled();
    assert_eq!(floating(&stage)[0].2.as_deref(), Some(port.as_str()));
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_of_the_same_service_in_another_cluster_is_not_deleted_with_the_one_that_used_it() {
    let mut stage = Stage::new();
    let mut victim = service("web", 1);
    let status = stage.drive(&mut victim, Purpose::Ensure).await.settled();
    let address = address_of(&victim);
    lose(&stage, &victim).await;

    // Another cluster of the same --cluster-name.
    stage.cluster_uid = "cluster-2";
    stage.restart("sim");
    let mut view = (*asking("default", "web", address)).clone();
    view.uid = "uid-of-web-in-cluster-2".into();
    let mut other = Arc::new(view);
    stage.drive(&mut other, Purpose::Ensure).await.settled();
    assert_eq!(address_of(&other), address, "a Service that asks for its address gets it");
    stage.restart("sim");
    stage.drive(&mut other, Purpose::Ensure).await.settled();
    stage.drive(&mut other, Purpose::Remove).await.settled();
    assert_eq!(addresses(&stage), [address.to_string()], "nothing proves that it was made for that Service");

    stage.cluster_uid = "cluster-1";
    stage.restart("sim");
    assert_eq!(
        stage.drive(&mut victim, Purpose::Ensure).await.settled(),
        status,
        "its status proves whose it is"
    );
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_was_made_for_the_service_is_deleted_with_it_although_it_asks_for_the_address() {
    let mut stage = Stage::new();
    let mut web = service("web", 1);
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    Arc::make_mut(&mut web).load_balancer_ip = Some(address_of(&web).to_string().into());
    lose(&stage, &web).await;
    stage.restart("sim");
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    stage.restart("sim");
    stage.drive(&mut web, Purpose::Remove).await.settled();
    assert_eq!(addresses(&stage), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_port_at_which_another_load_balancer_is_cannot_be_taken() {
    let mut stage = Stage::new();
    let mut first = annotated(&service("first", 1), INTERNAL.key, "true");
    stage.drive(&mut first, Purpose::Ensure).await.settled();
    let (_, found) = stage.ensured(&first).await;
    let port = found.balancer.unwrap().balancer.vip_port_id.unwrap();
    let internal = annotated(&service("second", 1), INTERNAL.key, "true");
    let mut second = annotated(&internal, PORT_ID.key, port.as_str());
    let why = refused(stage.drive(&mut second, Purpose::Ensure).await);
    assert!(why.contains("is used by load balancer"), "{why}");
    let balancers = stage.simulation.sim.with(|cloud| cloud.state().load_balancer.load_balancers.len());
    assert_eq!(balancers, 1);
}

#[tokio::test(start_paused = true)]
async fn of_two_services_that_saw_the_same_free_floating_ip_one_gets_it() {
    let mut stage = Stage::new();
    let address = made_by_hand(&stage).await;
    let mut steps = Vec::new();
    for name in ["one", "two"] {
        let mut internal = annotated(&service(name, 1), INTERNAL.key, "true");
        stage.drive(&mut internal, Purpose::Ensure).await.settled();
        let mut public = (*internal).clone();
        public.annotations.remove(INTERNAL.key);
        public.load_balancer_ip = Some(address.to_string().into());
        steps.push(stage.first_step(&Arc::new(public), Purpose::Ensure).await);
    }
    stage.balancers.execute(&steps[0], &Unfenced).await.unwrap();
    let attached = floating(&stage);
    assert!(attached[0].2.is_some());
    let error = stage.balancers.execute(&steps[1], &Unfenced).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict, "{error}");
    assert_eq!(floating(&stage), attached);
}
