//! What references come to, and what is said where they come to nothing.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{AddressKind, IpFamily, IpFamilyPolicy, NodeAddress, Purpose, ServiceView};
use sim_openstack::compute::{NewServer, boot};
use sim_openstack::network::{NewSubnet, add_network, add_subnet};
use sim_openstack::{Config, Fault, Rule, Service};

use super::stage::{Stage, annotated, service};
use super::transitions::estate::secret;
use crate::loadbalancer::annotations;
use crate::loadbalancer::wanted::{Wanted, WantedAddress};

fn bare() -> Stage {
    Stage::with(Config::default(), |conf| {
        conf.load_balancer.subnet_id = String::new();
        conf.load_balancer.floating_network_id = String::new();
    })
}

/// The subnets of the members of the first port, by Node.
fn subnets(wanted: &Wanted) -> BTreeMap<String, String> {
    let members = wanted.listeners[0].pool.members.to_vec();
    let subnet = |subnet: &Option<openstack_client::SubnetId>| subnet.as_ref().unwrap().to_string();
    members.iter().map(|member| (member.name.clone(), subnet(&member.subnet_id))).collect()
}

#[tokio::test(start_paused = true)]
async fn without_a_word_about_subnets_those_of_the_nodes_count_each_by_its_own() {
    let mut stage = bare();
    let estate = stage.simulation.estate.clone();
    let (other, server) = stage.simulation.sim.with(|cloud| {
        let world = cloud.world();
        let network = add_network(world, &estate.project, "other", false);
        let new = NewSubnet {
            name: "other".to_owned(),
            network_id: network.clone(),
            cidr: "10.20.0.0/24".to_owned(),
            pool: None,
        };
        let subnet = add_subnet(world, &estate.project, new).unwrap();
        let server = NewServer { networks: vec![network], ..estate.new_server("node-9") };
        (subnet, boot(world, server))
    });
    stage.change_nodes(|nodes| {
        let mut node = (**nodes.values().next().unwrap()).clone();
        node.name = "node-9".into();
        node.provider_id = Some(format!("openstack:///{server}").into());
        node.addresses = vec![NodeAddress::new(AddressKind::InternalIP, "10.20.0.0")];
        nodes.insert(node.name.clone(), Arc::new(node));
    });
    let address = stage.simulation.port(&server).unwrap().fixed_ips[0].ip_address.clone();
    stage.change_nodes(|nodes| {
        let node = Arc::make_mut(nodes.get_mut("node-9").unwrap());
        node.addresses = vec![NodeAddress::new(AddressKind::InternalIP, address)];
    });
    let (wanted, _) = stage.observed(&service("web", 1)).await;
    assert_eq!(wanted.balancer.vip.subnet.as_ref().unwrap().as_str(), estate.subnet);
    let found = subnets(&wanted);
    assert_eq!((&found["node-1"], &found["node-9"]), (&estate.subnet, &other));
}

#[tokio::test(start_paused = true)]
async fn where_no_node_tells_a_subnet_it_is_said_what_to_do() {
    let mut stage = bare();
    stage.change_nodes(BTreeMap::clear);
    let refusal = stage.observed_refusal(&service("web", 1)).await;
    assert!(refusal.contains("subnet-id"), "{refusal}");
    let mut stage = bare();
    stage.change_nodes(|nodes| {
        for node in nodes.values_mut() {
            Arc::make_mut(node).addresses = vec![NodeAddress::new(AddressKind::InternalIP, "192.0.2.77")];
        }
    });
    let doubt = stage.look(&service("web", 1), Purpose::Ensure).await.unwrap_err();
    assert!(doubt.why.contains("192.0.2.77") && doubt.why.contains("subnet-id"), "{doubt}");
}

#[tokio::test(start_paused = true)]
async fn a_node_with_several_addresses_is_reached_at_the_one_in_the_members_subnet() {
    let mut stage = Stage::new();
    let inside = stage.nodes.nodes["node-1"].addresses[0].clone();
    stage.change_nodes(|nodes| {
        let node = Arc::make_mut(nodes.get_mut("node-1").unwrap());
        node.addresses.insert(0, NodeAddress::new(AddressKind::InternalIP, "192.0.2.1"));
    });
    let (wanted, _) = stage.observed(&service("web", 1)).await;
    let members = wanted.listeners[0].pool.members.to_vec();
    let node = members.iter().find(|member| member.name == "node-1").unwrap();
    assert_eq!(node.address.to_string(), inside.address.as_str());
}

fn place(wanted: &Wanted) -> Option<(String, Vec<String>)> {
    let WantedAddress::Floating { place, .. } = &wanted.address else { return None };
    let place = place.as_ref()?;
    Some((place.network.to_string(), place.subnets.iter().map(ToString::to_string).collect()))
}

#[tokio::test(start_paused = true)]
async fn an_external_network_is_looked_for_where_none_is_named() {
    let stage = bare();
    let estate = stage.simulation.estate.clone();
    let (wanted, _) = stage.observed(&service("web", 1)).await;
    assert_eq!(place(&wanted), Some((estate.external_network.clone(), vec![])));
    assert_eq!(stage.told(), Vec::<String>::new());

    let mut stage = bare();
    stage.simulation.edit(|state| {
        state.network.networks.update(&estate.external_network, |network| network.external = false).unwrap();
    });
    for _look in 0..3 {
        let (wanted, _) = stage.observed(&service("web", 1)).await;
        assert_eq!(place(&wanted), None);
    }
    assert_eq!(stage.told(), ["LoadBalancerExternalNetworkSearchFailed"], "told once");
    stage.drive(&mut service("web", 1), Purpose::Ensure).await;
    assert!(stage.told().contains(&"LoadBalancerForcedInternal".to_owned()), "{:?}", stage.told());
}

#[tokio::test(start_paused = true)]
async fn a_floating_subnet_is_one_of_the_external_network_by_id_or_by_name() {
    let mut stage = Stage::new();
    let estate = stage.simulation.estate.clone();
    let by = |row: &str, value: &str| annotated(&service("web", 1), row, value);
    let by_id = |id: &str| by(annotations::FLOATING_SUBNET_ID.key, id);
    let by_name = |name: &str| by(annotations::FLOATING_SUBNET.key, name);
    let subnet = Some((estate.external_network.clone(), vec![estate.external_subnet.clone()]));
    assert_eq!(place(&stage.observed(&by_id(&estate.external_subnet)).await.0), subnet);
    assert_eq!(place(&stage.observed(&by_name("public-*")).await.0), subnet);
    for (wrong, said) in [
        (by_id(&estate.subnet), estate.network.as_str()),
        (by_id("00000000-0000-4000-8000-000000000001"), "not there"),
        (by_name("private-*"), "fits"),
    ] {
        let refusal = stage.observed_refusal(&wrong).await;
        assert!(refusal.contains(said), "{refusal}");
    }
    // Where a floating IP is attached nothing of this is asked any more.
    let mut web = service("web", 1);
    stage.drive(&mut web, Purpose::Ensure).await;
    let wrong = annotated(&web, annotations::FLOATING_SUBNET_ID.key, &estate.subnet);
    assert_eq!(place(&stage.observed(&wrong).await.0), None);
}

#[tokio::test(start_paused = true)]
async fn an_address_that_is_asked_for_needs_no_subnet_that_fits_a_pattern() {
    let mut stage = Stage::new();
    let odd = annotated(&service("web", 1), annotations::FLOATING_SUBNET.key, "nothing-*");
    assert!(stage.observed_refusal(&odd).await.contains("no subnet of external network"));

    let address = stage.users_floating_ip().await;
    let mut asking = odd;
    Arc::make_mut(&mut asking).load_balancer_ip = Some(address.to_string().into());
    let status = stage.ensure(&mut asking).await;
    assert_eq!(status.ingress[0].ip, Some(address));
}

fn with_certificate(kind: &str, id: &str) -> Arc<ServiceView> {
    let reference = format!("http://openstack.sim/key-manager/v1/{kind}/{id}");
    annotated(&service("web", 1), annotations::TLS_CONTAINER_REF.key, &reference)
}

#[tokio::test(start_paused = true)]
async fn a_certificate_is_checked_before_a_listener_gets_it_and_not_afterwards() {
    let mut stage = Stage::new();
    let id = "00000000-0000-4000-8000-000000000007";
    let refusal = stage.observed_refusal(&with_certificate("secrets", id)).await;
    assert!(refusal.contains(id) && refusal.contains("secret"), "{refusal}");
    let estate = stage.simulation.estate.clone();
    stage.simulation.edit(|state| {
        state.key_manager.secrets.insert(secret(&estate, id));
    });
    // Mended: it is not remembered as missing.
    let mut web = with_certificate("secrets", id);
    stage.drive(&mut web, Purpose::Ensure).await;
    stage.clear();
    stage.observed(&web).await;
    assert_eq!(stage.targets(Service::KeyManager), Vec::<String>::new());
}

#[tokio::test(start_paused = true)]
async fn a_certificate_cannot_be_had_from_a_cloud_without_a_key_manager() {
    let mut config = Config::default();
    config.regions[0].endpoints.remove(&Service::KeyManager);
    let stage = Stage::with(config, |_conf| {});
    let refusal = stage.observed_refusal(&with_certificate("containers", "c-1")).await;
    assert!(refusal.contains("key manager"), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn a_service_of_two_families_gets_an_address_of_each_where_the_cloud_can() {
    let two = |policy: IpFamilyPolicy| {
        let mut service = (*service("web", 1)).clone();
        service.ip_families = vec![IpFamily::V4, IpFamily::V6];
        service.ip_family_policy = Some(policy);
        Arc::new(service)
    };
    let stage = Stage::new();
    let refusal = stage.observed_refusal(&two(IpFamilyPolicy::RequireDualStack)).await;
    assert!(refusal.contains("RequireDualStack") && refusal.contains("IPv6"), "{refusal}");
    let (wanted, _) = stage.observed(&two(IpFamilyPolicy::PreferDualStack)).await;
    assert!(wanted.balancer.additional_vips.is_empty());
    assert_eq!(stage.told(), ["LoadBalancerSingleFamily"]);

    let stage = Stage::new();
    let estate = stage.simulation.estate.clone();
    let second = stage.simulation.sim.with(|cloud| {
        let new = NewSubnet {
            name: "six".to_owned(),
            network_id: estate.network.clone(),
            cidr: "2001:db8:7::/64".to_owned(),
            pool: None,
        };
        add_subnet(cloud.world(), &estate.project, new).unwrap()
    });
    for policy in [IpFamilyPolicy::RequireDualStack, IpFamilyPolicy::PreferDualStack] {
        let (wanted, _) = stage.observed(&two(policy)).await;
        let subnets: Vec<_> =
            wanted.balancer.additional_vips.iter().map(|vip| vip.subnet_id.to_string()).collect();
        assert_eq!(subnets, std::slice::from_ref(&second));
    }
    let config = Config { load_balancer_minor_version: 25, ..Config::default() };
    let refusal =
        Stage::with(config, |_conf| {}).observed_refusal(&two(IpFamilyPolicy::RequireDualStack)).await;
    assert!(refusal.contains("2.26"), "{refusal}");
}

#[tokio::test(start_paused = true)]
async fn a_cloud_that_does_not_answer_leaves_a_doubt_and_no_refusal() {
    let stage = bare();
    stage.simulation.fault(Rule::new(Fault::status(http::StatusCode::BAD_GATEWAY)).on(Service::Network));
    stage.look(&service("web", 1), Purpose::Ensure).await.unwrap_err();
}

#[tokio::test(start_paused = true)]
async fn what_is_wrong_with_a_service_itself_is_refused_again_and_again_without_a_question() {
    let mut stage = Stage::with_groups();
    let web = annotated(&service("web", 1), annotations::KEEP_FLOATING_IP.key, "perhaps");
    assert!(stage.observed_refusal(&web).await.contains("perhaps"));
    stage.clear();
    for _ in 0..3 {
        stage.observed_refusal(&web).await;
    }
    assert_eq!(stage.simulation.calls(), 0, "{:?}", stage.counts());
}
