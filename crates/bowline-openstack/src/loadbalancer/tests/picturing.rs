//! What people are shown of a load balancer, on the simulated OpenStack.

use std::sync::Arc;

use bowline_cloud::picture::{BalancerPicture, Detail};
use bowline_cloud::{ObservedLoadBalancer, Purpose, ServiceView};

use super::stage::{Stage, service};

async fn picture(stage: &Stage, service: &Arc<ServiceView>, purpose: Purpose) -> Option<BalancerPicture> {
    stage.look(service, purpose).await.ok()?.picture()
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_is_shown_with_its_listeners_pools_members_and_whose_it_is() {
    let mut stage =
        Stage::with(sim_openstack::Config::default(), |conf| conf.load_balancer.create_monitor = true);
    let mut web = service("web", 2);
    assert_eq!(picture(&stage, &web, Purpose::Ensure).await, None, "nothing is there yet");
    let status = stage.ensure(&mut web).await;
    stage.restart();
    stage.forget_fingerprints();
    let shown = picture(&stage, &web, Purpose::Ensure).await.unwrap();

    assert_eq!(shown.name, "kube_service_kubernetes_default_web");
    assert_eq!((shown.status.provisioning.as_str(), shown.detail), ("ACTIVE", Detail::Read));
    assert_eq!(shown.public_addresses, status.ingress.iter().filter_map(|one| one.ip).collect::<Vec<_>>());
    assert_eq!(shown.addresses.len(), 1);
    assert!(shown.owner.own && shown.owner.sharers.is_empty());
    assert_eq!(shown.owner.clusters, ["cluster-1"]);
    let ports: Vec<_> = shown.frontends.iter().map(|one| (one.protocol.as_str(), one.port)).collect();
    assert_eq!(ports, web.ports.iter().map(|port| ("TCP", port.port)).collect::<Vec<_>>());
    for (frontend, port) in shown.frontends.iter().zip(&web.ports) {
        let [pool] = frontend.pools.as_slice() else { panic!("{frontend:?}") };
        assert!(frontend.id.is_some() && pool.id.is_some());
        assert_eq!(pool.monitor.as_deref(), Some("TCP"));
        let nodes: Vec<_> = stage.nodes.nodes.keys().map(ToString::to_string).collect();
        let members: Vec<_> = pool.members.iter().map(|member| member.name.clone()).collect();
        assert_eq!(members, nodes);
        assert!(pool.members.iter().all(|member| Some(member.port) == port.node_port));
        assert!(pool.members.iter().all(|member| !member.status.operating.is_empty()));
    }
    assert_eq!(shown.members().count(), 6);
    let json = serde_json::to_value(&shown).unwrap();
    assert_eq!(json["frontends"][0]["pools"][0]["members"][0]["name"], "node-1", "{json}");
    assert_eq!(serde_json::from_value::<BalancerPicture>(json).unwrap(), shown);
}

#[tokio::test(start_paused = true)]
async fn what_was_not_read_is_shown_as_the_wish_without_ids_or_health_and_what_is_busy_is_not_shown() {
    let (mut stage, web) = Stage::serving(service("web", 1)).await;
    stage.restart();
    let shown = picture(&stage, &web, Purpose::Ensure).await.unwrap();
    assert_eq!(shown.detail, Detail::AsWanted);
    let [frontend] = shown.frontends.as_slice() else { panic!("{shown:?}") };
    assert_eq!((frontend.id.as_deref(), frontend.status.operating.as_str()), (None, ""));
    assert_eq!(shown.members().count(), 3);
    assert!(shown.members().all(|member| member.status.operating.is_empty()));

    stage.edit_balancer(&shown.name, |balancer| balancer.provisioning_status = "PENDING_UPDATE".to_owned());
    let busy = picture(&stage, &web, Purpose::Ensure).await.unwrap();
    assert_eq!((busy.detail, busy.frontends.len()), (Detail::Busy, 0));
    assert_eq!(busy.status.provisioning, "PENDING_UPDATE");
    let going = picture(&stage, &web, Purpose::Remove).await.unwrap();
    assert_eq!((going.id, going.detail), (busy.id, Detail::Busy));
}
