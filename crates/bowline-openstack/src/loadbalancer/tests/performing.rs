//! Steps: performed once, in turn, and only on what was looked at.

use std::sync::Arc;

use bowline_cloud::{ErrorClass, LoadBalancers, Plan, Purpose, SetChange, Unfenced};
use bowline_testkit::fence::TestFence;
use futures::future::join;
use openstack_client::network::FloatingIpCreate;
use sim_openstack::load_balancer::LoadBalancerQuota;
use sim_openstack::network::{NewSubnet, add_subnet};
use sim_openstack::{Fault, Rule, Service};

use super::stage::{Stage, service};
use crate::loadbalancer::found::Children;
use crate::loadbalancer::step::{Action, CloudStep, Seen};
use crate::loadbalancer::{annotations, plan};

#[tokio::test(start_paused = true)]
async fn of_two_steps_that_were_planned_for_the_same_sight_one_is_performed() {
    let (mut stage, _noted) = Stage::serving(service("web", 2)).await;
    stage.restart();
    stage.forget_fingerprints();
    let web = service("web", 2);
    let (wanted, found) = stage.observed(&web).await;
    let at = found.balancer.unwrap();
    let Children::Known(tree) = at.children else { panic!("not read") };
    let step = |pool: usize| {
        let seen = Seen { id: at.balancer.id.clone(), version: at.version };
        let members = wanted.listeners[0].pool.members.each().take(2).collect();
        let change = SetChange { before: 3, removed: 1 };
        CloudStep::on(seen, Action::SetMembers { pool: tree.pools[pool].pool.id.clone(), members, change })
    };
    stage.clear();
    let (first, second) = (step(0), step(1));
    let (one, other) =
        join(stage.balancers.execute(&first, &Unfenced), stage.balancers.execute(&second, &Unfenced)).await;
    one.unwrap();
    let error = other.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Conflict);
    assert!(error.to_string().contains("meanwhile"), "{error}");
    assert_eq!(stage.mutating(), 1);
    // What was sent is known without being read: first as at work, then as it is.
    assert!(matches!(stage.observed(&web).await.1.balancer.unwrap().children, Children::Busy));
    tokio::time::sleep(std::time::Duration::from_secs(10)).await;
    stage.clear();
    let found = stage.observed(&web).await.1;
    let Children::Known(tree) = found.balancer.unwrap().children else { panic!("not known") };
    let mut members: Vec<_> = tree.pools.iter().map(|pool| pool.members.len()).collect();
    members.sort_unstable();
    assert_eq!(members, [2, 3]);
    assert_eq!(stage.simulation.calls(), 1, "the load balancer alone: {:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn behind_a_closed_fence_nothing_is_sent() {
    let mut stage = Stage::new();
    let web = service("web", 1);
    let step = stage.first_step(&web, Purpose::Ensure).await;
    stage.clear();
    let error = stage.balancers.execute(&step, &TestFence::closed()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Fenced);
    assert_eq!(stage.simulation.calls(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_quota_that_is_used_up_is_named() {
    let stage = Stage::new();
    let project = stage.simulation.estate.project.clone();
    stage.simulation.edit(|state| {
        let none = LoadBalancerQuota { load_balancer: 0, ..LoadBalancerQuota::default() };
        state.load_balancer.quotas.insert(project, none);
    });
    let step = stage.first_step(&service("web", 1), Purpose::Ensure).await;
    let error = stage.balancers.execute(&step, &Unfenced).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Forbidden);
    let text = error.to_string();
    assert!(text.contains("quota") && text.contains("Load Balancer"), "{text}");
}

#[tokio::test(start_paused = true)]
async fn what_the_cloud_does_not_take_is_told_with_where_it_was_said() {
    const NOWHERE: &str = "11111111-2222-3333-4444-555555555555";
    let stage = Stage::new();
    // It is refused without a call while it is not there; this one goes in the last moment.
    let port = stage.users_port().await;
    let rows = [
        (annotations::SUBNET_ID, NOWHERE, "subnet-id in cloud.conf"),
        (annotations::PORT_ID, &port, "Correct annotation loadbalancer.openstack.org/port-id"),
        (annotations::FLAVOR_ID, NOWHERE, "flavor-id in cloud.conf"),
        (annotations::MEMBER_SUBNET_ID, NOWHERE, "annotation loadbalancer.openstack.org/member-subnet-id"),
        (annotations::AVAILABILITY_ZONE, "nosuch", "availability-zone in cloud.conf"),
        (annotations::VIP_ADDRESS, "192.0.2.77", "spec.loadBalancerIP"),
    ];
    for (row, value, advice) in rows {
        let mut web = service("web", 1);
        Arc::make_mut(&mut web).annotations.insert(row.key.to_owned(), value.to_owned());
        let step = stage.first_step(&web, Purpose::Ensure).await;
        if row.key == annotations::PORT_ID.key {
            stage.simulation.client.network().delete_port(&port.parse().unwrap()).await.unwrap();
        }
        let text = stage.balancers.execute(&step, &Unfenced).await.unwrap_err().to_string();
        assert!(text.contains(advice), "{}: {text}", row.key);
    }
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_cannot_be_had_is_told_with_what_to_do() {
    const NOWHERE: &str = "11111111-2222-3333-4444-555555555555";
    let stage = Stage::new();
    let network = &stage.simulation.estate.external_network;
    for (network, address, class, advice) in [
        (NOWHERE, None, ErrorClass::Invalid, "floating-network-id in cloud.conf"),
        (network, Some("192.0.2.78"), ErrorClass::Forbidden, "openstack floating ip create"),
    ] {
        let new = FloatingIpCreate {
            floating_network_id: network.parse().unwrap(),
            subnet_id: None,
            floating_ip_address: address.map(|address| address.parse().unwrap()),
            port_id: None,
            description: "test".to_owned(),
        };
        let step = CloudStep::new(Action::CreateFloatingIp { new, subnets: Vec::new() });
        let error = stage.balancers.execute(&step, &Unfenced).await.unwrap_err();
        assert_eq!(error.class(), class);
        assert!(error.to_string().contains(advice), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn no_load_balancer_is_made_for_a_floating_ip_that_leads_elsewhere() {
    let (stage, first) = Stage::serving(service("first", 1)).await;
    let (_, found) = stage.observed(&first).await;
    let mut second = service("second", 1);
    Arc::make_mut(&mut second).load_balancer_ip =
        Some(found.floating.attached[0].floating_ip_address.to_string().into());
    let (wanted, found) = stage.observed(&second).await;
    let Plan::Refuse(refusal) = plan::ensure(&wanted, &found) else { panic!("not refused") };
    assert!(refusal.to_string().contains("detach it there or ask for another address"), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn deleting_what_is_gone_is_done() {
    let (stage, web) = Stage::serving(service("web", 1)).await;
    let (_, found) = stage.observed(&web).await;
    let id = found.floating.attached[0].id.clone();
    let step = CloudStep::new(Action::DeleteFloatingIp(id));
    for _again in 0..2 {
        stage.balancers.execute(&step, &Unfenced).await.unwrap();
    }
    let at = found.balancer.unwrap();
    let gone = Seen { id: "00000000-0000-4000-8000-00000000dead".parse().unwrap(), version: 0 };
    let step = CloudStep::on(gone, Action::DeleteBalancer { name: at.balancer.name, cascade: true });
    stage.balancers.execute(&step, &Unfenced).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_comes_from_the_first_subnet_that_has_an_address_left() {
    let mut stage = Stage::new();
    let estate = stage.simulation.estate.clone();
    let narrow = |name: &str, cidr: &str, last: &str| NewSubnet {
        name: name.to_owned(),
        network_id: estate.external_network.clone(),
        cidr: cidr.to_owned(),
        pool: Some((last.to_owned(), last.to_owned())),
    };
    let subnets: Vec<_> = stage.simulation.sim.with(|cloud| {
        let world = cloud.world();
        let all = [
            narrow("full", "198.51.100.0/24", "198.51.100.7"),
            narrow("free", "203.0.113.0/24", "203.0.113.7"),
        ];
        all.map(|new| add_subnet(world, &estate.admin_project, new).unwrap().parse().unwrap()).into()
    });
    let step = |subnets: &[openstack_client::SubnetId]| {
        let new = FloatingIpCreate {
            floating_network_id: estate.external_network.parse().unwrap(),
            subnet_id: None,
            floating_ip_address: None,
            port_id: None,
            description: "test".to_owned(),
        };
        CloudStep::new(Action::CreateFloatingIp { new, subnets: subnets.to_vec() })
    };
    stage.balancers.execute(&step(&subnets[..1]), &Unfenced).await.unwrap();
    stage.clear();
    stage.balancers.execute(&step(&subnets), &Unfenced).await.unwrap();
    assert_eq!(stage.mutating(), 2, "the first one refused");
    let addresses: Vec<String> = stage
        .simulation
        .look(|state| state.network.floating_ips.iter().map(|one| one.floating_ip_address.clone()).collect());
    assert!(addresses.contains(&"203.0.113.7".to_owned()), "{addresses:?}");
    let error = stage.balancers.execute(&step(&subnets), &Unfenced).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Forbidden);
    assert!(error.to_string().contains("used up"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_was_made_although_the_answer_got_lost_is_found_and_not_made_twice() {
    let mut stage = Stage::new();
    let lost = Rule::new(Fault::DisconnectAfter).on(Service::LoadBalancer).method(http::Method::POST);
    let mut web = service("web", 1);
    let step = stage.first_step(&web, Purpose::Ensure).await;
    stage.simulation.fault(lost.times(1));
    stage.balancers.execute(&step, &Unfenced).await.unwrap_err();
    stage.ensure(&mut web).await;
    assert_eq!(stage.balancer_count(), 1);
}
