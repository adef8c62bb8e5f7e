//! What a user of a namespace can write must not change, take or delete what belongs to another Service, namespace or cluster.
//!
//! Each test is an attack that worked once.

use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::{Purpose, ServiceView};
use openstack_client::load_balancer::{ListenerCreate, Protocol};

use super::sharing::{at_port, balancer, id_of, joining, on, users_own};
use super::stage::{Stage, address_of, annotated, refused, service};
use crate::config::TenancySection;
use crate::loadbalancer::annotations::{INTERNAL, KEEP_FLOATING_IP, LOAD_BALANCER_ADDRESS, LOAD_BALANCER_ID};

/// A Service of another namespace that asks for an address.
fn asking(name: &str, address: IpAddr) -> Arc<ServiceView> {
    let mut view = (*service(name, 1)).clone();
    view.namespace = "attacker".into();
    view.load_balancer_ip = Some(address.to_string().into());
    Arc::new(view)
}

/// Everything in the cloud, as text.
fn cloud(stage: &Stage) -> String {
    stage.simulation.sim.with(|cloud| {
        let (octavia, network) = (&cloud.state().load_balancer, &cloud.state().network);
        let balancers: Vec<_> = octavia.load_balancers.iter().collect();
        let listeners: Vec<_> = octavia.listeners.iter().collect();
        let pools: Vec<_> = octavia.pools.iter().collect();
        let members: Vec<_> = octavia.members.iter().collect();
        let floating: Vec<_> = network.floating_ips.iter().collect();
        format!("{balancers:#?}\n{listeners:#?}\n{pools:#?}\n{members:#?}\n{floating:#?}")
    })
}

fn floating_ips(stage: &Stage) -> Vec<String> {
    stage.simulation.sim.with(|cloud| {
        cloud.state().network.floating_ips.iter().map(|one| one.floating_ip_address.clone()).collect()
    })
}

/// Somebody deletes a load balancer behind our back: the floating IP is detached.
fn lose(stage: &Stage, id: &str) {
    stage.simulation.edit(|state| {
        state.load_balancer.load_balancers.remove(id).unwrap();
        let ids: Vec<_> = state.network.floating_ips.iter().map(|one| one.id.clone()).collect();
        for id in ids {
            let detach = |one: &mut sim_openstack::network::FloatingIp| {
                (one.port_id, one.fixed_ip_address, one.router_id) = (None, None, None);
            };
            state.network.floating_ips.update(&id, detach).unwrap();
        }
    });
}

#[tokio::test(start_paused = true)]
async fn a_floating_ip_that_another_service_kept_is_not_deleted_by_the_one_that_used_it() {
    let mut stage = Stage::new();
    let mut keeper = annotated(&service("keeper", 1), KEEP_FLOATING_IP.key, "true");
    stage.drive(&mut keeper, Purpose::Ensure).await.settled();
    let kept = address_of(&keeper);
    stage.drive(&mut keeper, Purpose::Remove).await.settled();
    assert_eq!(floating_ips(&stage), [kept.to_string()]);

    let mut other = asking("other", kept);
    stage.drive(&mut other, Purpose::Ensure).await.settled();
    assert_eq!(address_of(&other), kept, "nobody has it any more, so it may be used");
    stage.drive(&mut other, Purpose::Remove).await.settled();
    assert_eq!(floating_ips(&stage), [kept.to_string()], "it was not made for the Service that is deleted");
}

#[tokio::test(start_paused = true)]
async fn the_floating_ip_of_a_service_whose_load_balancer_is_away_cannot_be_taken() {
    let mut stage = Stage::new();
    let mut owner = service("owner", 1);
    let status = stage.drive(&mut owner, Purpose::Ensure).await.settled();
    let address = address_of(&owner);
    lose(&stage, &id_of(&owner));
    let mut thief = asking("thief", address);
    let problem = refused(stage.drive(&mut thief, Purpose::Ensure).await);
    assert!(problem.contains("default/owner, which still exists"), "{problem}");
    stage.drive(&mut thief, Purpose::Remove).await.settled();
    assert_eq!(
        stage.drive(&mut owner, Purpose::Ensure).await.settled(),
        status,
        "the owner has its address again"
    );
}

#[tokio::test(start_paused = true)]
async fn annotations_do_not_make_the_load_balancer_of_another_cluster_ours() {
    let mut stage = Stage::new();
    stage.cluster = "victim";
    let mut victim = service("web", 1);
    stage.drive(&mut victim, Purpose::Ensure).await.settled();
    let id = victim.annotations.get(LOAD_BALANCER_ID.key).unwrap().to_owned();
    // As OCCM leaves it: without the tags of the cluster and of the Service.
    stage.simulation.edit(|state| {
        let untag = |one: &mut sim_openstack::load_balancer::LoadBalancer| {
            one.tags.retain(|tag| !tag.starts_with("bowline-"));
        };
        state.load_balancer.load_balancers.update(&id, untag).unwrap();
    });
    let before = cloud(&stage);

    // The same namespace and name in another cluster of the project.
    stage.cluster = "attacker";
    stage.restart("sim");
    let named = annotated(&service("web", 1), LOAD_BALANCER_ID.key, &id);
    let mut attacker = annotated(&named, LOAD_BALANCER_ADDRESS.key, &address_of(&victim).to_string());
    let problem = refused(stage.drive(&mut attacker, Purpose::Ensure).await);
    assert!(problem.contains("kube_service_victim_default_web"), "{problem}");
    assert_eq!(cloud(&stage), before, "nothing was renamed, tagged or replaced");
    stage.drive(&mut attacker, Purpose::Remove).await.settled();
    assert_eq!(cloud(&stage), before, "nothing was deleted");
}

/// The status shows the VIP of the attacker's own load balancer, which is the same address in another network.
#[tokio::test(start_paused = true)]
async fn an_equal_address_in_another_network_does_not_make_a_load_balancer_ours() {
    let mut stage = Stage::new();
    stage.cluster = "victim";
    let mut victim = service("web", 1);
    stage.drive(&mut victim, Purpose::Ensure).await.settled();
    let id = victim.annotations.get(LOAD_BALANCER_ID.key).unwrap().to_owned();
    stage.cluster = "attacker";
    stage.restart("sim");
    let mut attacker = service("web", 1);
    stage.drive(&mut attacker, Purpose::Ensure).await.settled();
    stage.simulation.edit(|state| {
        let untag = |one: &mut sim_openstack::load_balancer::LoadBalancer| {
            one.tags.retain(|tag| !tag.starts_with("bowline-"));
        };
        state.load_balancer.load_balancers.update(&id, untag).unwrap();
    });
    let before = cloud(&stage);
    let mut attacker = annotated(&attacker, LOAD_BALANCER_ID.key, &id);
    Arc::make_mut(&mut attacker).status = victim.status.clone();
    refused(stage.drive(&mut attacker, Purpose::Ensure).await);
    assert_eq!(cloud(&stage), before);
}

/// An internal Service whose cluster was renamed: its status shows the VIP, and an administrator says nothing.
#[tokio::test(start_paused = true)]
async fn a_vip_proves_whose_a_load_balancer_is_only_if_no_other_network_has_that_address() {
    for overlapping in [false, true] {
        let mut stage = Stage::new();
        let mut web = annotated(&service("web", 1), INTERNAL.key, "true");
        stage.drive(&mut web, Purpose::Ensure).await.settled();
        if overlapping {
            // In the other network a user may have chosen the VIP of this load balancer for a Service of the same name.
            let subnet = stage.simulation.estate.subnet.clone();
            stage.simulation.edit(|state| {
                let mut other = state.network.subnets.get(&subnet).unwrap().clone();
                (other.id, other.network_id) = ("overlapping".to_owned(), "other-network".to_owned());
                state.network.subnets.insert(other);
            });
        }
        stage.cluster = "renamed";
        stage.restart("sim");
        let before = cloud(&stage);
        if overlapping {
            let problem = refused(stage.drive(&mut web, Purpose::Ensure).await);
            assert!(problem.contains("kube_service_kubernetes_default_web"), "{problem}");
            stage.drive(&mut web, Purpose::Remove).await.settled();
            assert_eq!(cloud(&stage), before);
        } else {
            stage.drive(&mut web, Purpose::Ensure).await.settled();
            stage.drive(&mut web, Purpose::Remove).await.settled();
            assert!(!cloud(&stage).contains("kube_service_"), "{}", cloud(&stage));
        }
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_of_another_cluster_with_the_same_name_takes_no_part_of_a_users_load_balancer() {
    let mut stage = Stage::new();
    let id = users_own(&stage).await;
    let mut victim = joining("web", 8080, &id);
    stage.drive(&mut victim, Purpose::Ensure).await.settled();
    let before = cloud(&stage);

    stage.cluster_uid = "cluster-2";
    stage.restart("sim");
    for port in [8080, 9090] {
        let mut view = (*joining("web", port, &id)).clone();
        view.uid = "uid-elsewhere".into();
        let mut attacker = Arc::new(view);
        let problem = refused(stage.drive(&mut attacker, Purpose::Ensure).await);
        assert!(problem.contains("cluster-1") && problem.contains("--cluster-name"), "{problem}");
        stage.drive(&mut attacker, Purpose::Remove).await.settled();
        assert_eq!(cloud(&stage), before, "port {port}");
    }
    // Services of other names may use it in both clusters, and the tags of both are on it.
    let mut other = joining("other", 9090, &id);
    stage.drive(&mut other, Purpose::Ensure).await.settled();
    assert_eq!(on(&stage, &id).1, [80, 8080, 9090]);

    stage.cluster_uid = "cluster-1";
    stage.restart("sim");
    stage.clear();
    stage.drive(&mut victim, Purpose::Ensure).await.settled();
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    stage.drive(&mut victim, Purpose::Remove).await.settled();
    assert_eq!(on(&stage, &id).1, [80, 9090]);
}

#[tokio::test(start_paused = true)]
async fn a_namesake_in_another_cluster_does_not_delete_the_floating_ip_that_it_only_saw() {
    let mut stage = Stage::new();
    let mut victim = service("web", 1);
    stage.drive(&mut victim, Purpose::Ensure).await.settled();
    stage.cluster_uid = "cluster-2";
    stage.restart("sim");
    let mut view = (*service("web", 1)).clone();
    view.uid = "uid-elsewhere".into();
    let mut attacker = Arc::new(view);
    refused(stage.drive(&mut attacker, Purpose::Ensure).await);
    lose(&stage, &id_of(&victim));
    stage.drive(&mut attacker, Purpose::Remove).await.settled();
    assert_eq!(floating_ips(&stage), [address_of(&victim).to_string()]);
}

/// A Service of the second cluster may join, and then the tags of both clusters are on the load balancer.
#[tokio::test(start_paused = true)]
async fn the_namesake_of_an_owner_does_not_own_what_another_service_of_its_cluster_joined() {
    let mut stage = Stage::new();
    let mut victim = at_port("web", 80);
    stage.drive(&mut victim, Purpose::Ensure).await.settled();
    let id = id_of(&victim);
    let rule = TenancySection { join_other_clusters: Some(true), ..TenancySection::default() };
    stage.cluster_uid = "cluster-2";
    stage.reconfigure(|conf| drop(conf.tenancy.0.insert("default".to_owned(), rule)));
    stage.restart("sim");
    let mut tenant = joining("tenant", 8080, &id);
    stage.drive(&mut tenant, Purpose::Ensure).await.settled();
    let before = cloud(&stage);

    let mut view = (*at_port("web", 80)).clone();
    view.uid = "uid-elsewhere".into();
    let mut attacker = Arc::new(view);
    let problem = refused(stage.drive(&mut attacker, Purpose::Ensure).await);
    assert!(problem.contains("cluster-1"), "{problem}");
    stage.drive(&mut attacker, Purpose::Remove).await.settled();
    assert_eq!(cloud(&stage), before);
    stage.reconfigure(|conf| conf.tenancy.0.clear());
    let problem = refused(stage.drive(&mut joining("late", 9090, &id), Purpose::Ensure).await);
    assert!(problem.contains("join-other-clusters"), "{problem}");

    stage.drive(&mut tenant, Purpose::Remove).await.settled();
    stage.cluster_uid = "cluster-1";
    stage.restart("sim");
    stage.drive(&mut victim, Purpose::Ensure).await.settled();
    stage.drive(&mut victim, Purpose::Remove).await.settled();
    assert!(balancer(&stage, &id).is_none(), "the tag of the other cluster alone keeps nothing");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_leaves_a_load_balancer_without_tags_takes_only_its_own_listeners() {
    let mut stage = Stage::new();
    let mut owner = service("owner", 1);
    stage.drive(&mut owner, Purpose::Ensure).await.settled();
    let id = owner.annotations.get(LOAD_BALANCER_ID.key).unwrap().to_owned();
    stage.simulation.edit(|state| {
        let untag = |one: &mut sim_openstack::load_balancer::LoadBalancer| one.tags.clear();
        state.load_balancer.load_balancers.update(&id, untag).unwrap();
        let listener = state.load_balancer.listeners.iter().next().unwrap().id.clone();
        state.load_balancer.listeners.update(&listener, |one| one.tags.clear()).unwrap();
    });
    let listeners = |stage: &Stage| {
        stage.simulation.sim.with(|cloud| {
            let of = cloud.state().load_balancer.listeners.find("loadbalancer_id", &id);
            of.map(|one| one.protocol_port).collect::<Vec<_>>()
        })
    };
    let mut view = (*service("visitor", 1)).clone();
    (view.ports[0].port, view.ports[0].node_port) = (8080, Some(30808));
    let mut visitor = annotated(&Arc::new(view), LOAD_BALANCER_ID.key, &id);
    stage.drive(&mut visitor, Purpose::Ensure).await.settled();
    assert_eq!(listeners(&stage).len(), 2);
    stage.drive(&mut visitor, Purpose::Remove).await.settled();
    assert_eq!(listeners(&stage), [80], "the load balancer and the owner's listener are there");
    assert_eq!(floating_ips(&stage).len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_listener_that_somebody_else_made_keeps_a_load_balancer_and_the_service_is_told() {
    // Octavia's command line and Horizon give no tags.
    for tags in [vec!["team-a".to_owned()], Vec::new()] {
        let mut stage = Stage::new();
        let mut owner = service("owner", 1);
        stage.drive(&mut owner, Purpose::Ensure).await.settled();
        let id = owner.annotations.get(LOAD_BALANCER_ID.key).unwrap().to_owned();
        let octavia = stage.simulation.client.load_balancer();
        let new = ListenerCreate {
            name: "mine".to_owned(),
            protocol: Protocol::Tcp,
            protocol_port: 9000,
            loadbalancer_id: id.parse().ok(),
            tags,
            ..ListenerCreate::default()
        };
        octavia.create_listener(&new).await.unwrap();
        tokio::time::sleep(std::time::Duration::from_secs(60)).await;
        stage.restart("sim");
        stage.drive(&mut owner, Purpose::Ensure).await.settled();
        assert_eq!(
            on(&stage, &id).1,
            [80, 9000],
            "the Service does not want it, and it is not the Service's"
        );
        stage.drive(&mut owner, Purpose::Remove).await.settled();
        assert_eq!(on(&stage, &id).1, [9000]);
        assert!(stage.told().contains(&"LoadBalancerNotDeleted".to_owned()), "{:?}", stage.told());
    }
}
