//! A floating IP follows its Service from one port to another, and nothing that a person uses is taken.

use std::sync::Arc;

use bowline_cloud::ServiceView;

use super::stage::{Stage, annotated, service};
use crate::loadbalancer::annotations::PORT_ID;

/// A Service on a port of its own whose load balancer somebody deletes, and the port that it shall have then.
async fn bereft(stage: &mut Stage) -> (Arc<ServiceView>, String, String) {
    let (old, new) = (stage.users_port().await, stage.users_port().await);
    let mut web = annotated(&service("web", 1), PORT_ID.key, &old);
    stage.ensure(&mut web).await;
    stage.lose(&web).await;
    assert_eq!(floating(stage), [(web.status.ingress[0].ip.unwrap().to_string(), Some(old.clone()))]);
    (annotated(&web, PORT_ID.key, &new), old, new)
}

/// The floating IPs, and where they lead.
fn floating(stage: &Stage) -> Vec<(String, Option<String>)> {
    stage.simulation.look(|state| {
        let all = state.network.floating_ips.iter();
        all.map(|one| (one.floating_ip_address.clone(), one.port_id.clone())).collect()
    })
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_on_the_port_of_a_load_balancer_that_is_gone_follows_to_the_new_port() {
    let mut stage = Stage::new();
    let (mut web, _old, new) = bereft(&mut stage).await;
    let before = web.status.clone();
    assert_eq!(stage.ensure(&mut web).await, before);
    assert_eq!(floating(&stage), [(before.ingress[0].ip.unwrap().to_string(), Some(new))]);
}

#[tokio::test(start_paused = true)]
async fn one_that_leads_to_a_port_in_use_stays_there() {
    let mut stage = Stage::new();
    let (mut web, old, _new) = bereft(&mut stage).await;
    stage.simulation.edit(|state| {
        state.network.ports.update(&old, |port| port.device_owner = "compute:nova".to_owned()).unwrap();
    });
    stage.ensure(&mut web).await;
    let all = floating(&stage);
    assert!(all.len() == 2 && all.iter().any(|(_address, port)| port.as_ref() == Some(&old)), "{all:?}");
}
