//! Namespaces that share a load balancer or a cloud, and rules that say what they may use.

use std::sync::Arc;

use bowline_cloud::{NodeSet, ServiceView};
use sim_openstack::Config;

use super::sharing::{at_port, balancer, joining, on, pools_and_floating, users_own};
use super::stage::{Stage, annotated, edited, id_of};
use crate::config::{CloudConf, Source, Tenancy, decode};
use crate::loadbalancer::annotations::{FLAVOR_ID, FLOATING_IP, KEEP_FLOATING_IP, TLS_CONTAINER_REF};

pub(super) fn rules(text: &str) -> Tenancy {
    decode(&[Source::new("cloud.conf", text)]).unwrap().conf.tenancy
}

fn with_rules(text: &str) -> Stage {
    Stage::with(Config::default(), |conf: &mut CloudConf| conf.tenancy = rules(text))
}

/// The same Service in another namespace.
fn of_namespace(namespace: &str, service: &Arc<ServiceView>) -> Arc<ServiceView> {
    edited(service, |view| {
        view.uid = format!("uid-of-{namespace}-{}", view.name).into();
        view.namespace = namespace.into();
    })
}

const ALLOWED: &str = "[Tenancy \"stranger\"]\njoin-namespace = default\n";

/// An owner in `default` and a tenant in `stranger`, as OCCM or an earlier rule left them: the rule is gone.
async fn shared_across() -> (Stage, Arc<ServiceView>, Arc<ServiceView>, String) {
    let mut stage = with_rules(ALLOWED);
    let mut owner = at_port("one", 80);
    stage.ensure(&mut owner).await;
    let id = id_of(&owner);
    let mut tenant = of_namespace("stranger", &joining("two", 8080, &id));
    let status = stage.ensure(&mut tenant).await;
    assert_eq!((status, on(&stage, &id).1), (owner.status.clone(), vec![80, 8080]));
    stage.reconfigure(|conf| conf.tenancy = Tenancy::default());
    (stage, owner, tenant, id)
}

#[tokio::test(start_paused = true)]
async fn a_service_does_not_join_the_load_balancer_of_another_namespace() {
    let (mut stage, owner) = Stage::serving(at_port("one", 8443)).await;
    let id = id_of(&owner);
    let before = balancer(&stage, &id);
    stage.clear();
    let mut stranger = of_namespace("stranger", &joining("two", 80, &id));
    let refusal = stage.refusal(&mut stranger).await;
    for part in [id.as_str(), "namespace default", "join-namespace = default in [Tenancy \"stranger\"]"] {
        assert!(refusal.contains(part), "{part}: {refusal}");
    }
    stage.remove(&mut stranger).await;
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    assert_eq!((balancer(&stage, &id), on(&stage, &id).1), (before, vec![8443]));
    // A Service of its own namespace does, as before.
    stage.ensure(&mut joining("three", 80, &id)).await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_allows_to_join_and_another_one_forbids_it_in_ones_own_namespace() {
    let mut stage = with_rules(
        "[Tenancy \"str*\"]\njoin-namespace = def*\n[Tenancy \"default\"]\nshare-load-balancers = no\n",
    );
    let mut owner = at_port("one", 80);
    stage.ensure(&mut owner).await;
    let id = id_of(&owner);
    let refusal = stage.refusal(&mut joining("three", 81, &id)).await;
    assert!(refusal.contains("[Tenancy \"default\"] share-load-balancers is no"), "{refusal}");
    let mut tenant = of_namespace("stranger", &joining("two", 8080, &id));
    stage.ensure(&mut tenant).await;
    assert_eq!(stage.told(), [""; 0]);
    // What is allowed is inherited too.
    stage.remove(&mut owner).await;
    assert_eq!(stage.ensure(&mut tenant).await, tenant.status);
    assert_eq!(pools_and_floating(&stage), (1, 1));
}

#[tokio::test(start_paused = true)]
async fn a_sharing_that_exists_goes_on_with_a_warning_and_without_further_ports() {
    let (mut stage, mut owner, mut tenant, id) = shared_across().await;
    let status = tenant.status.clone();
    assert_eq!(stage.ensure(&mut tenant).await, status);
    stage.ensure(&mut owner).await;
    assert_eq!(stage.told(), ["LoadBalancerSharingForbidden"]);
    // Its members follow the Nodes.
    stage.nodes = NodeSet { epoch: 9, ..stage.nodes.clone() };
    stage.change_nodes(|nodes| drop(nodes.pop_first()));
    stage.ensure(&mut tenant).await;
    // Another port of the stranger's address it does not get.
    let mut second = tenant.ports[0].clone();
    (second.port, second.node_port, second.name) = (443, Some(30443), Some("more".into()));
    let mut two_ports = edited(&tenant, |view| view.ports.push(second));
    let refusal = stage.refusal(&mut two_ports).await;
    assert!(refusal.contains("port 443/TCP is not added") && refusal.contains("join-namespace"), "{refusal}");
    assert_eq!(on(&stage, &id).1, [80, 8080]);
}

#[tokio::test(start_paused = true)]
async fn a_sharing_across_namespaces_ends_with_the_owner_who_takes_its_address_along() {
    for kept in [false, true] {
        let (mut stage, owner, mut tenant, id) = shared_across().await;
        let mut owner = if kept { annotated(&owner, KEEP_FLOATING_IP.key, "true") } else { owner };
        stage.remove(&mut owner).await;
        assert_eq!(on(&stage, &id).1, [8080], "a rule deletes nothing of the tenant");
        let leading = stage.simulation.look(|state| {
            let floating = state.network.floating_ips.iter();
            floating.map(|one| one.port_id.is_some()).collect::<Vec<_>>()
        });
        assert_eq!(leading, if kept { vec![false] } else { vec![] }, "kept: {kept}");
        stage.clear();
        let refusal = stage.refusal(&mut tenant).await;
        assert!(refusal.contains("is gone") && refusal.contains("join-namespace"), "{refusal}");
        assert_eq!(stage.mutating(), 0, "no floating IP is made or led there: {:?}", stage.counts());
        stage.remove(&mut tenant).await;
        assert!(balancer(&stage, &id).is_none());
        assert_eq!(pools_and_floating(&stage), (0, usize::from(kept)));
    }
}

#[tokio::test(start_paused = true)]
async fn a_tenant_of_the_owners_namespace_inherits_before_a_stranger_of_an_earlier_name() {
    let mut stage = with_rules("[Tenancy \"a-stranger\"]\njoin-namespace = default\n");
    stage.reconfigure(|conf| conf.load_balancer.max_shared_lb = 3);
    let mut owner = at_port("one", 80);
    let status = stage.ensure(&mut owner).await;
    let id = id_of(&owner);
    let mut stranger = of_namespace("a-stranger", &joining("two", 8080, &id));
    stage.ensure(&mut stranger).await;
    let mut three = joining("three", 8081, &id);
    stage.ensure(&mut three).await;
    stage.reconfigure(|conf| conf.tenancy = Tenancy::default());
    stage.remove(&mut owner).await;
    assert_eq!(stage.ensure(&mut three).await, status, "it inherits the address");
    assert_eq!(pools_and_floating(&stage), (2, 1));
    assert!(stage.refusal(&mut stranger).await.contains("is gone"));
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_that_no_service_made_can_be_joined_unless_a_rule_forbids_it() {
    let mut stage = Stage::new();
    let id = users_own(&stage).await;
    let mut web = of_namespace("stranger", &joining("web", 8080, &id));
    stage.ensure(&mut web).await;
    assert_eq!(stage.told(), [""; 0]);
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\njoin-unmanaged = no\n"));
    let refusal = stage.refusal(&mut joining("other", 8081, &id)).await;
    assert!(refusal.contains("[Tenancy] join-unmanaged is no"), "{refusal}");
    stage.ensure(&mut web).await;
    assert_eq!(stage.told(), ["LoadBalancerSharingForbidden"], "who is on it stays");
}

#[tokio::test(start_paused = true)]
async fn a_new_service_with_a_forbidden_value_is_refused_and_nothing_is_made() {
    let mut stage = with_rules("[Tenancy \"default\"]\nflavor-id = small\nfloating-ip = none\n");
    let web = annotated(&at_port("web", 80), FLAVOR_ID.key, "large");
    let mut web = annotated(&web, FLOATING_IP.key, "172.24.4.200");
    let refusal = stage.refusal(&mut web).await;
    for rule in ["[Tenancy \"default\"] flavor-id", "[Tenancy \"default\"] floating-ip"] {
        assert!(refusal.contains(rule), "{rule}: {refusal}");
    }
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    stage.remove(&mut web).await;
}

#[tokio::test(start_paused = true)]
async fn a_rule_takes_nothing_from_a_service_that_is_served() {
    let mut stage = Stage::new();
    let (first, second) =
        (stage.users_floating_ip().await.to_string(), stage.users_floating_ip().await.to_string());
    let mut web = annotated(&at_port("web", 80), FLOATING_IP.key, &first);
    let status = stage.ensure(&mut web).await;
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\nfloating-ip = none\nflavor-id = none\n"));
    stage.clear();
    assert_eq!(stage.ensure(&mut web).await, status);
    assert_eq!((stage.mutating(), stage.told()), (0, vec!["LoadBalancerValueForbidden".to_owned()]));
    // Another forbidden value is not given; all else is.
    let mut other = annotated(&web, FLOATING_IP.key, &second);
    stage.change_nodes(|nodes| drop(nodes.pop_first()));
    stage.clear();
    let refusal = stage.refusal(&mut other).await;
    assert!(refusal.contains(&second) && refusal.contains("[Tenancy] floating-ip"), "{refusal}");
    assert!(stage.mutating() > 0, "its members follow the Nodes");
    let leading: Vec<String> = stage.simulation.look(|state| {
        let floating = state.network.floating_ips.iter().filter(|one| one.port_id.is_some());
        floating.map(|one| one.floating_ip_address.clone()).collect()
    });
    assert_eq!(leading, [first]);
    stage.remove(&mut other).await;
    assert_eq!(pools_and_floating(&stage), (0, 2), "they were not made for it");
}

#[tokio::test(start_paused = true)]
async fn a_load_balancer_in_error_is_not_deleted_when_a_rule_forbids_to_make_it_anew() {
    let mut stage = Stage::new();
    let address = stage.users_floating_ip().await.to_string();
    let mut web = annotated(&at_port("web", 80), FLOATING_IP.key, &address);
    stage.ensure(&mut web).await;
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\nfloating-ip = none\n"));
    stage.edit_balancer("kube_service_kubernetes_default_web", |one| {
        one.provisioning_status = "ERROR".to_owned();
    });
    stage.clear();
    let refusal = stage.refusal(&mut web).await;
    assert!(refusal.contains("[Tenancy] floating-ip"), "{refusal}");
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
}

#[tokio::test(start_paused = true)]
async fn a_certificate_that_becomes_forbidden_does_not_take_the_listener_of_another_protocol_away() {
    let mut stage = with_rules("[Tenancy]\ndefault-tls-container-ref = none\n");
    stage.reconfigure(|conf| conf.load_balancer.container_store = "external".to_owned());
    let mut web = at_port("web", 80);
    stage.ensure(&mut web).await;
    let mut tls = annotated(&web, TLS_CONTAINER_REF.key, "https://keys/v1/containers/c1");
    stage.clear();
    let refusal = stage.refusal(&mut tls).await;
    assert!(refusal.contains("[Tenancy] default-tls-container-ref"), "{refusal}");
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    // One that has it keeps it.
    stage.reconfigure(|conf| conf.tenancy = Tenancy::default());
    stage.ensure(&mut tls).await;
    stage.reconfigure(|conf| conf.tenancy = rules("[Tenancy]\ndefault-tls-container-ref = none\n"));
    stage.clear();
    stage.ensure(&mut tls).await;
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
}
