//! Values that cannot be read: a Service that has a load balancer keeps it and follows its Nodes, any other one is refused.

use std::sync::Arc;

use bowline_cloud::{ObservedLoadBalancer, Purpose, ServiceView, ShortfallKind};

use super::sharing::{at_port, balancer, joining, on, pools_and_floating};
use super::stage::{Stage, annotated, id_of};
use crate::loadbalancer::annotations::{
    ANNOTATIONS, CLASS, CONNECTION_LIMIT, Fallback, INTERNAL, KEEP_FLOATING_IP, LB_METHOD, NODE_SELECTOR,
    RECREATE_ON_ERROR, TLS_CONTAINER_REF, VIP_ADDRESS,
};
use crate::loadbalancer::intent::tests::refusals::wrong_values;

const REASON: &str = "LoadBalancerInvalidValue";
const NAME: &str = "kube_service_kubernetes_default_web";

/// What is told of values that cannot be read.
async fn told(stage: &Stage, service: &Arc<ServiceView>) -> Vec<String> {
    let Ok(observed) = stage.look(service, Purpose::Ensure).await else { return Vec::new() };
    let invalid = observed.shortfalls().into_iter().filter(|one| one.kind == ShortfallKind::InvalidValue);
    invalid.map(|one| one.message).collect()
}

/// Listeners, pools and floating IPs, as text.
fn cloud(stage: &Stage) -> String {
    stage.simulation.look(|state| {
        let (octavia, network) = (&state.load_balancer, &state.network);
        let listeners: Vec<_> = octavia.listeners.iter().collect();
        let pools: Vec<_> = octavia.pools.iter().collect();
        let floating: Vec<_> = network.floating_ips.iter().collect();
        format!("{listeners:#?}\n{pools:#?}\n{floating:#?}")
    })
}

/// What OCCM does with a value that it cannot read, and what counts here for a Service that has a load balancer.
///
/// OCCM has two ways: "ensure" when the Service changes and "update" when the Nodes do. A Service that only fails in the first still
/// follows its Nodes.
const TABLE: &[(&str, &str, Fallback)] = &[
    // OCCM takes false, and makes an internal Service public.
    ("service.beta.kubernetes.io/openstack-internal-load-balancer", "default", Fallback::Shown),
    ("loadbalancer.openstack.org/load-balancer-id", "fails", Fallback::Refusal),
    ("loadbalancer.openstack.org/load-balancer-address", "is never read", Fallback::Unset),
    ("loadbalancer.openstack.org/hostname", "any text", Fallback::Unset),
    ("loadbalancer.openstack.org/class", "fails", Fallback::Refusal),
    ("loadbalancer.openstack.org/floating-network-id", "counts at creation", Fallback::Unset),
    ("loadbalancer.openstack.org/floating-subnet-id", "fails in ensure", Fallback::Unset),
    ("loadbalancer.openstack.org/floating-subnet", "fails in ensure", Fallback::Unset),
    ("loadbalancer.openstack.org/floating-subnet-tags", "fails in ensure", Fallback::Unset),
    // OCCM takes false, and deletes the address.
    ("loadbalancer.openstack.org/keep-floatingip", "default", Fallback::Value("true")),
    ("loadbalancer.openstack.org/port-id", "counts at creation", Fallback::Unset),
    // It is that of the members, too.
    ("loadbalancer.openstack.org/subnet-id", "fails", Fallback::Refusal),
    ("loadbalancer.openstack.org/network-id", "counts at creation", Fallback::Unset),
    ("loadbalancer.openstack.org/member-subnet-id", "fails", Fallback::Refusal),
    ("loadbalancer.openstack.org/lb-method", "goes on with what the pool has", Fallback::InForce),
    ("loadbalancer.openstack.org/proxy-protocol", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/x-forwarded-for", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/default-tls-container-ref", "fails in ensure", Fallback::InForce),
    ("loadbalancer.openstack.org/connection-limit", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/timeout-client-data", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/timeout-member-connect", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/timeout-member-data", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/timeout-tcp-inspect", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/flavor-id", "counts at creation", Fallback::Unset),
    ("loadbalancer.openstack.org/availability-zone", "any text", Fallback::Unset),
    ("loadbalancer.openstack.org/enable-health-monitor", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/health-monitor-delay", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/health-monitor-timeout", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/health-monitor-max-retries", "default", Fallback::Unset),
    ("loadbalancer.openstack.org/health-monitor-max-retries-down", "default", Fallback::Unset),
    // OCCM finds no Node with a label of no name, and takes all members out.
    ("loadbalancer.openstack.org/node-selector", "no Node fits", Fallback::Unset),
    // Tags are only added, so those that are there stay.
    ("loadbalancer.openstack.org/load-balancer-tags", "any text", Fallback::Unset),
    ("loadbalancer.openstack.org/listener-tags", "any text", Fallback::Unset),
    ("loadbalancer.openstack.org/pool-tags", "any text", Fallback::Unset),
    ("loadbalancer.bowline.dev/floating-ip", "does not know it", Fallback::Unset),
    ("loadbalancer.bowline.dev/vip-address", "does not know it", Fallback::Unset),
    ("loadbalancer.bowline.dev/recreate-on-error", "does not know it", Fallback::Value("false")),
    ("loadbalancer.bowline.dev/drain", "does not know it", Fallback::Unset),
    ("service.beta.kubernetes.io/load-balancer-source-ranges", "fails", Fallback::Refusal),
];

#[tokio::test(start_paused = true)]
async fn every_annotation_that_cannot_be_read_is_served_as_the_table_says_and_refused_for_a_new_service() {
    for row in ANNOTATIONS {
        let known = TABLE.iter().find(|(key, ..)| *key == row.key);
        let (_key, _occm, fallback) = known.unwrap_or_else(|| panic!("{} is not in the table", row.key));
        assert_eq!(row.fallback, *fallback, "{}", row.key);
        let Some(value) = wrong_values(row).first() else { continue };
        let (mut stage, mut web) = Stage::serving(at_port("web", 80)).await;
        stage.change_nodes(|nodes| drop(nodes.pop_first()));
        let mut odd = annotated(&web, row.key, value);
        stage.clear();
        let end = stage.drive(&mut odd, Purpose::Ensure).await;
        if *fallback == Fallback::Refusal {
            assert!(end.refused().contains(row.key), "{}", row.key);
            assert_eq!(stage.mutating(), 0, "{}: {:?}", row.key, stage.counts());
        } else {
            assert_eq!(end.settled(), web.status, "{}: its address stays", row.key);
            let members = stage.simulation.look(|state| state.load_balancer.members.iter().count());
            assert_eq!(members, 2, "{}: its members follow the Nodes", row.key);
            let told = told(&stage, &odd).await;
            let [message] = told.as_slice() else { panic!("{}: {told:?}", row.key) };
            for part in [row.key, &format!("is {value:?}"), "accepted: ", "keeps its load balancer"] {
                assert!(message.contains(part), "{part}: {message}");
            }
            // Once, and without a call more than any other Service costs.
            stage.clear();
            stage.ensure(&mut odd).await;
            let cost = stage.counts();
            assert_eq!((stage.mutating(), stage.told()), (0, vec![REASON.to_owned()]), "{}", row.key);
            stage.ensure(&mut web).await;
            stage.clear();
            stage.ensure(&mut web).await;
            assert_eq!(cost, stage.counts(), "{}", row.key);
        }
        let mut new = annotated(&at_port("new", 81), row.key, value);
        stage.clear();
        assert!(stage.refusal(&mut new).await.contains(row.key), "{}", row.key);
        assert_eq!(stage.mutating(), 0, "{}: {:?}", row.key, stage.counts());
    }
    assert_eq!(TABLE.len(), ANNOTATIONS.len());
}

#[tokio::test(start_paused = true)]
async fn all_values_that_cannot_be_read_are_told_and_one_that_occm_refuses_refuses_the_service() {
    let (mut stage, web) = Stage::serving(at_port("web", 80)).await;
    let mut odd = annotated(&annotated(&web, CONNECTION_LIMIT.key, "ten"), NODE_SELECTOR.key, "=x");
    Arc::make_mut(&mut odd).load_balancer_ip = Some("nowhere".into());
    stage.clear();
    stage.ensure(&mut odd).await;
    assert_eq!((stage.mutating(), stage.told()), (0, vec![REASON.to_owned(); 3]));
    let told = told(&stage, &odd).await.join("\n");
    assert!(told.contains("spec.loadBalancerIP is \"nowhere\""), "{told}");
    let mut refusing = annotated(&odd, CLASS.key, "none-such");
    let text = stage.refusal(&mut refusing).await;
    assert!(text.contains("none-such") && text.contains("\"ten\""), "{text}");
    // Another process concludes the same.
    stage.restart();
    stage.clear();
    stage.ensure(&mut odd).await;
    assert_eq!(stage.mutating(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_value_of_many_kilobytes_is_not_told_whole() {
    let (stage, web) = Stage::serving(at_port("web", 80)).await;
    let odd = annotated(&web, CONNECTION_LIMIT.key, &"\u{fc}".repeat(100_000));
    let told = told(&stage, &odd).await;
    assert!(told[0].len() < 512, "{}", told[0].len());
}

#[tokio::test(start_paused = true)]
async fn a_method_or_a_certificate_that_cannot_be_read_leaves_what_is_in_force() {
    let certificate = "https://keys/v1/containers/c1";
    for (row, good) in [(LB_METHOD, "SOURCE_IP"), (TLS_CONTAINER_REF, certificate)] {
        let mut stage = Stage::new();
        stage.reconfigure(|conf| conf.load_balancer.container_store = "external".to_owned());
        let mut web = annotated(&at_port("web", 80), row.key, good);
        stage.ensure(&mut web).await;
        stage.reconfigure(|conf| conf.load_balancer.container_store = "barbican".to_owned());
        let before = cloud(&stage);
        for restarts in [false, true] {
            if restarts {
                stage.restart();
            }
            let mut odd = annotated(&web, row.key, "nonsense");
            stage.clear();
            stage.ensure(&mut odd).await;
            assert_eq!((stage.mutating(), cloud(&stage)), (0, before.clone()), "{}", row.key);
            let told = told(&stage, &odd).await.join("\n");
            assert!(told.contains(&format!("{good:?} counts")), "{told}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn whether_it_is_internal_stays_as_the_service_shows_it() {
    for (good, floating) in [("true", 0), ("false", 1)] {
        let (mut stage, web) = Stage::serving(annotated(&at_port("web", 80), INTERNAL.key, good)).await;
        let status = web.status.clone();
        let mut odd = annotated(&web, INTERNAL.key, "True");
        stage.clear();
        assert_eq!(stage.ensure(&mut odd).await, status);
        assert_eq!((stage.mutating(), pools_and_floating(&stage).1), (0, floating), "{good}");
    }
}

#[tokio::test(start_paused = true)]
async fn what_cannot_be_read_leads_to_no_removal() {
    // Of the address.
    let (mut stage, web) = Stage::serving(at_port("web", 80)).await;
    let mut internal = annotated(&annotated(&web, KEEP_FLOATING_IP.key, "no"), INTERNAL.key, "true");
    stage.ensure(&mut internal).await;
    assert_eq!(pools_and_floating(&stage).1, 1, "it is kept");
    // Of the load balancer.
    for (key, value) in [(RECREATE_ON_ERROR.key, "no"), (CONNECTION_LIMIT.key, "ten")] {
        let (mut stage, web) = Stage::serving(at_port("web", 80)).await;
        stage.fail_balancer(NAME, "ERROR");
        let mut odd = annotated(&web, key, value);
        stage.clear();
        let text = stage.refusal(&mut odd).await;
        assert!(text.contains("failover"), "{text}");
        assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_has_lost_its_load_balancer_is_refused_until_the_value_is_corrected() {
    let (mut stage, web) = Stage::serving(at_port("web", 80)).await;
    stage.edit_balancer(NAME, |one| one.provisioning_status = "DELETED".to_owned());
    let mut odd = annotated(&web, VIP_ADDRESS.key, "nowhere");
    stage.clear();
    assert!(stage.refusal(&mut odd).await.contains("nowhere"));
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
}

/// A status and annotations prove nothing.
#[tokio::test(start_paused = true)]
async fn a_service_that_names_the_load_balancer_of_another_is_not_served_by_it() {
    let (mut stage, web) = Stage::serving(at_port("web", 80)).await;
    let id = id_of(&web);
    let before = (balancer(&stage, &id), on(&stage, &id));
    let mut stranger = annotated(&joining("two", 8080, &id), CONNECTION_LIMIT.key, "ten");
    Arc::make_mut(&mut stranger).status = web.status.clone();
    stage.clear();
    assert!(stage.refusal(&mut stranger).await.contains("\"ten\""));
    assert_eq!((balancer(&stage, &id), on(&stage, &id)), before);
    assert_eq!(stage.mutating(), 0, "{:?}", stage.counts());
}
