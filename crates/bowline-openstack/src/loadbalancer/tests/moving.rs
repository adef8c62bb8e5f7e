//! A floating IP follows its Service from one port to another, and nothing that a person uses is taken.

use std::sync::Arc;

use bowline_cloud::{Purpose, ServiceView};
use openstack_client::NetworkId;
use openstack_client::network::PortCreate;

use super::stage::{Stage, annotated, service};
use crate::loadbalancer::annotations::PORT_ID;

/// A port that belongs to nothing.
async fn port(stage: &Stage) -> String {
    let new = PortCreate {
        network_id: NetworkId::new(stage.simulation.estate.network.as_str()).unwrap(),
        name: String::new(),
        description: String::new(),
        fixed_ips: Vec::new(),
        security_groups: None,
    };
    stage.simulation.client.network().create_port(&new).await.unwrap().id.to_string()
}

/// A Service on a port of its own whose load balancer somebody deletes, and the port that it shall have then.
async fn bereft(stage: &mut Stage) -> (Arc<ServiceView>, String, String) {
    let (old, new) = (port(stage).await, port(stage).await);
    let mut web = annotated(&service("web", 1), PORT_ID.key, &old);
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    let id =
        web.annotations.get(crate::loadbalancer::annotations::LOAD_BALANCER_ID.key).unwrap().parse().unwrap();
    stage.simulation.client.load_balancer().delete_load_balancer(&id, true).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_secs(120)).await;
    assert_eq!(floating(stage), [(web.status.ingress[0].ip.unwrap().to_string(), Some(old.clone()))]);
    (annotated(&web, PORT_ID.key, &new), old, new)
}

/// The floating IPs, and where they lead.
fn floating(stage: &Stage) -> Vec<(String, Option<String>)> {
    stage.simulation.sim.with(|cloud| {
        let all = cloud.state().network.floating_ips.iter();
        all.map(|one| (one.floating_ip_address.clone(), one.port_id.clone())).collect()
    })
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_on_the_port_of_a_load_balancer_that_is_gone_follows_to_the_new_port() {
    let mut stage = Stage::new();
    let (mut web, _old, new) = bereft(&mut stage).await;
    let before = web.status.clone();
    assert_eq!(stage.drive(&mut web, Purpose::Ensure).await.settled(), before);
    assert_eq!(floating(&stage), [(before.ingress[0].ip.unwrap().to_string(), Some(new))]);
}

#[tokio::test(start_paused = true)]
async fn one_that_leads_to_a_port_in_use_stays_there() {
    let mut stage = Stage::new();
    let (mut web, old, _new) = bereft(&mut stage).await;
    stage.simulation.edit(|state| {
        state.network.ports.update(&old, |port| port.device_owner = "compute:nova".to_owned()).unwrap();
    });
    stage.drive(&mut web, Purpose::Ensure).await.settled();
    let all = floating(&stage);
    assert!(all.len() == 2 && all.iter().any(|(_address, port)| port.as_ref() == Some(&old)), "{all:?}");
}
