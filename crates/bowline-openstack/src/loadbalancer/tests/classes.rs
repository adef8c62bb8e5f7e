//! Classes that a rule forbids, of Services that have a load balancer.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bowline_cloud::ServiceView;
use sim_openstack::Config;
use sim_openstack::network::{NewSubnet, add_subnet};

use super::sharing::{at_port, joining, on, users_own};
use super::stage::{Stage, annotated, id_of};
use super::tenancy::rules;
use crate::config::{LoadBalancerClass, Tenancy};
use crate::loadbalancer::annotations::{CLASS, INTERNAL, MEMBER_SUBNET_ID, NODE_SELECTOR, TLS_CONTAINER_REF};
use crate::loadbalancer::wanted::{Wanted, WantedAddress};

const FORBIDDEN: &str = "LoadBalancerValueForbidden";

/// A cloud whose configuration says nothing about subnets of load balancers, and a second subnet in the network of the Nodes.
fn stage(of_class: impl FnOnce(&mut LoadBalancerClass, &str)) -> (Stage, String) {
    let mut stage = Stage::with(Config::default(), |conf| conf.load_balancer.subnet_id.clear());
    let estate = stage.simulation.estate.clone();
    let new = NewSubnet {
        name: "second".to_owned(),
        network_id: estate.network.clone(),
        cidr: "10.99.0.0/24".to_owned(),
        pool: None,
    };
    let second = stage.simulation.sim.with(|cloud| add_subnet(cloud.world(), &estate.project, new).unwrap());
    let mut class = LoadBalancerClass::default();
    of_class(&mut class, &second);
    stage.reconfigure(|conf| conf.classes = BTreeMap::from([("dmz".to_owned(), class)]));
    (stage, second)
}

fn forbid(stage: &mut Stage) {
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\nclass = none\n"));
}

fn in_class(service: &Arc<ServiceView>) -> Arc<ServiceView> {
    annotated(service, CLASS.key, "dmz")
}

async fn served(stage: &mut Stage, mut web: Arc<ServiceView>) -> Arc<ServiceView> {
    stage.ensure(&mut web).await;
    web
}

fn floating_network(wanted: &Wanted) -> Option<String> {
    let WantedAddress::Floating { place, .. } = &wanted.address else { return None };
    Some(place.as_ref()?.network.to_string())
}

/// The subnets that the members name.
fn subnets(stage: &Stage) -> BTreeSet<String> {
    stage.simulation.look(|state| {
        let members = state.load_balancer.members.iter();
        members.filter_map(|member| member.subnet_id.clone()).collect()
    })
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_class_brings_no_floating_ip_of_its_network_to_a_service_that_is_served() {
    let (mut stage, _second) = stage(|class, _second| class.floating_network_id = "dmz-network".to_owned());
    let internal = served(&mut stage, annotated(&at_port("web", 80), INTERNAL.key, "true")).await;
    forbid(&mut stage);
    let public = in_class(&annotated(&internal, INTERNAL.key, "false"));
    let (wanted, _found) = stage.observed(&public).await;
    assert_eq!(floating_network(&wanted), Some(stage.simulation.estate.external_network.clone()));
    assert_eq!(wanted.withheld, [""; 0]);
    assert_eq!(stage.told(), [FORBIDDEN]);
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_class_with_floating_keys_only_is_told_and_a_served_service_keeps_its_address() {
    let (mut stage, _second) = stage(|_class, _second| {});
    let external = stage.simulation.estate.external_network.clone();
    stage.reconfigure(|conf| {
        conf.classes.get_mut("dmz").unwrap().floating_network_id = external;
        conf.load_balancer.floating_network_id = "none-such".to_owned();
    });
    let mut web = served(&mut stage, in_class(&at_port("web", 80))).await;
    forbid(&mut stage);
    stage.clear();
    assert_eq!(stage.ensure(&mut web).await, web.status);
    assert_eq!((stage.mutating(), stage.told()), (0, vec![FORBIDDEN.to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_forbidden_class_does_not_move_the_members_into_its_subnet() {
    let (mut stage, second) = stage(|class, second| class.member_subnet_id = second.to_owned());
    let web = served(&mut stage, at_port("web", 80)).await;
    forbid(&mut stage);
    stage.clear();
    let refusal = stage.refusal(&mut in_class(&web)).await;
    assert!(refusal.contains("[Tenancy] class"), "{refusal}");
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    assert!(!subnets(&stage).contains(&second));
}

/// A value that is withheld itself uncovers the class behind it.
#[tokio::test(start_paused = true)]
async fn a_forbidden_class_behind_a_forbidden_annotation_is_not_in_force() {
    let (mut stage, second) = stage(|class, second| class.member_subnet_id = second.to_owned());
    let web = served(&mut stage, at_port("web", 80)).await;
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\nclass = none\nmember-subnet-id = none\n"));
    let mut both = in_class(&annotated(&web, MEMBER_SUBNET_ID.key, "another"));
    stage.clear();
    let refusal = stage.refusal(&mut both).await;
    assert!(
        refusal.contains("[Tenancy] class") && refusal.contains("[Tenancy] member-subnet-id"),
        "{refusal}"
    );
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    assert!(!subnets(&stage).contains(&second));
}

#[tokio::test(start_paused = true)]
async fn a_class_that_is_in_force_when_the_rule_comes_stays_in_force_for_the_members() {
    let of_members = |class: &mut LoadBalancerClass, second: &str| class.member_subnet_id = second.to_owned();
    let of_both = |class: &mut LoadBalancerClass, second: &str| class.subnet_id = second.to_owned();
    for of_class in [of_members as fn(&mut LoadBalancerClass, &str), of_both] {
        let (mut stage, second) = stage(of_class);
        // No router leads from the second subnet to the external network.
        let internal = annotated(&at_port("web", 80), INTERNAL.key, "true");
        let mut web = served(&mut stage, in_class(&internal)).await;
        assert_eq!(subnets(&stage), BTreeSet::from([second.clone()]));
        forbid(&mut stage);
        stage.clear();
        assert_eq!(stage.ensure(&mut web).await, web.status);
        assert_eq!((stage.mutating(), stage.told()), (0, vec![FORBIDDEN.to_owned()]));
        stage.change_nodes(|nodes| drop(nodes.pop_first()));
        stage.ensure(&mut web).await;
        assert_eq!(subnets(&stage), BTreeSet::from([second]));
    }
}

/// A load balancer that a user made, which ends TLS on port 443 with this certificate.
async fn with_tls(stage: &Stage, certificate: &str) -> String {
    let id = users_own(stage).await;
    stage.simulation.edit(|state| {
        let listeners = &mut state.load_balancer.listeners;
        let listener = listeners.find_ids("loadbalancer_id", &id).pop().unwrap();
        let tls = listeners.update(&listener, |one| {
            (one.protocol, one.protocol_port) = ("TERMINATED_HTTPS".to_owned(), 443);
            one.default_tls_container_ref = Some(certificate.to_owned());
        });
        tls.unwrap();
    });
    id
}

const CERTIFICATE: &str = "https://keys/v1/containers/c1";

#[tokio::test(start_paused = true)]
async fn a_certificate_of_a_listener_that_is_not_the_services_is_not_in_force_for_it() {
    let mut stage = Stage::new();
    stage.reconfigure(|conf| conf.load_balancer.container_store = "external".to_owned());
    let id = with_tls(&stage, CERTIFICATE).await;
    let web = served(&mut stage, joining("web", 8080, &id)).await;
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\ndefault-tls-container-ref = none\n"));
    stage.clear();
    let mut tls = annotated(&web, TLS_CONTAINER_REF.key, CERTIFICATE);
    let refusal = stage.refusal(&mut tls).await;
    assert!(refusal.contains("[Tenancy] default-tls-container-ref"), "{refusal}");
    assert_eq!((stage.mutating(), on(&stage, &id).1), (0, vec![443, 8080]));
    // Its own certificate it keeps.
    stage.reconfigure(|conf| conf.tenancy = Tenancy::default());
    stage.ensure(&mut tls).await;
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\ndefault-tls-container-ref = none\n"));
    stage.clear();
    stage.ensure(&mut tls).await;
    assert_eq!((stage.mutating(), stage.told()), (0, vec![FORBIDDEN.to_owned()]));
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_cannot_be_read_is_not_replaced_by_that_of_a_foreign_listener() {
    let mut stage = Stage::new();
    let id = with_tls(&stage, CERTIFICATE).await;
    let mut web = joining("web", 8080, &id);
    let mut datagrams = web.ports[0].clone();
    (datagrams.port, datagrams.node_port, datagrams.name) = (443, Some(30443), Some("udp".into()));
    datagrams.protocol = bowline_cloud::Protocol::Udp;
    Arc::make_mut(&mut web).ports.push(datagrams);
    let web = served(&mut stage, web).await;
    stage.clear();
    let mut odd = annotated(&web, TLS_CONTAINER_REF.key, "nonsense");
    stage.ensure(&mut odd).await;
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn the_subnet_of_other_members_is_not_in_force_for_a_service() {
    let (mut stage, second) = stage(|_class, _second| {});
    let owner = served(&mut stage, annotated(&at_port("one", 80), MEMBER_SUBNET_ID.key, &second)).await;
    let two = served(&mut stage, joining("two", 8080, &id_of(&owner))).await;
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\nmember-subnet-id = none\n"));
    stage.clear();
    let mut two = annotated(&two, MEMBER_SUBNET_ID.key, &second);
    let refusal = stage.refusal(&mut two).await;
    assert!(refusal.contains("[Tenancy] member-subnet-id"), "{refusal}");
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    // Without members nothing is proven.
    let mut owner = annotated(&owner, NODE_SELECTOR.key, "none=such");
    assert!(stage.refusal(&mut owner).await.contains("member-subnet-id"));
}
