//! Checks of Services. Pure.

use std::sync::Arc;

use bowline_cloud::{ConditionStatus, ServiceView};
use bowline_controllers::service::desire::{is_paused, wants};
use bowline_controllers::service::nodes::{EXCLUDE_LABEL, select};
use bowline_openstack::loadbalancer::annotations::NODE_SELECTOR;
use bowline_openstack::loadbalancer::features::{ApiVersion, Features};
use bowline_openstack::loadbalancer::intent::unmonitored_local_traffic;

use super::facts::Facts;
use super::{Finding, Severity, some};
use crate::sight::serving;

/// Services of which the manager says that their load balancer is not as they ask.
#[must_use]
pub fn not_ready(facts: &Facts) -> Vec<Finding> {
    let said = |service: &&Arc<ServiceView>| {
        let condition = service.condition.as_ref();
        wants(service)
            && !is_paused(service)
            && condition.is_some_and(|one| one.status != ConditionStatus::True)
    };
    let unready: Vec<_> = facts.services.iter().filter(said).collect();
    let Some(first) = unready.first() else { return Vec::new() };
    let names: Vec<String> = unready
        .iter()
        .map(|service| {
            let reason = service.condition.as_ref().map(|one| one.reason.to_string()).unwrap_or_default();
            format!("{} ({reason})", service.key())
        })
        .collect();
    vec![Finding {
        id: "service-not-ready",
        severity: Severity::Warning,
        found: format!("the manager says that the load balancers of {} are not as they ask", some(&names)),
        why: "they may be out of date, or not there at all",
        remedy: format!("kubectl bowline explain -n {} svc/{}", first.namespace, first.name),
    }]
}

/// There are Services that want traffic, and no Node may get it, or none that they choose.
#[must_use]
pub fn no_nodes(facts: &Facts) -> Vec<Finding> {
    let unserved = |service: &&Arc<ServiceView>| {
        wants(service) && serving(service, &facts.config.balancing, &facts.nodes) == 0
    };
    let unserved: Vec<String> =
        facts.services.iter().filter(unserved).map(|service| service.key().to_string()).collect();
    if unserved.is_empty() || facts.nodes.is_empty() {
        return Vec::new();
    }
    let nodes = facts.nodes.len();
    let (found, remedy) = match select(&facts.nodes).is_empty() {
        true => (
            format!(
                "{} Services want load balancers, and none of {nodes} Nodes may get traffic",
                unserved.len()
            ),
            format!(
                "take the label {EXCLUDE_LABEL} off the Nodes that shall serve: kubectl label nodes --all {EXCLUDE_LABEL}-"
            ),
        ),
        false => (
            format!("none of {nodes} Nodes has the labels by which {} choose theirs", some(&unserved)),
            format!(
                "label the Nodes that shall serve, or correct the annotation {} of the Services or node-selector in cloud.conf",
                NODE_SELECTOR.key
            ),
        ),
    };
    let why = "load balancers without members answer nobody";
    vec![Finding { id: "no-nodes-for-traffic", severity: Severity::Error, found, why, remedy }]
}

/// Services with `externalTrafficPolicy: Local` whose load balancers do not ask which Nodes have a pod.
#[must_use]
pub fn local_traffic_unmonitored(facts: &Facts) -> Vec<Finding> {
    // Without the configuration nobody knows whether there are monitors.
    if facts.config.problem.is_some() {
        return Vec::new();
    }
    let config = &facts.config.balancing;
    let (major, minor) = facts.cloud.as_ref().and_then(|cloud| cloud.octavia).unwrap_or_default();
    let features = Features::of(&config.lb_provider, ApiVersion(major, minor));
    let found: Vec<(String, String)> = facts
        .services
        .iter()
        .filter(|service| wants(service))
        .filter_map(|service| {
            Some((service.key().to_string(), unmonitored_local_traffic(service, config, features)?))
        })
        .collect();
    let Some((_first, remedy)) = found.first() else { return Vec::new() };
    let names: Vec<&String> = found.iter().map(|(name, _remedy)| name).collect();
    vec![Finding {
        id: "local-traffic-unmonitored",
        severity: Severity::Warning,
        found: format!(
            "the load balancers of {} do not know which Nodes have a pod: externalTrafficPolicy is Local and there is no health monitor",
            some(&names)
        ),
        why: "kube-proxy drops connections that reach a Node without a pod of the Service, so a part of them fails",
        remedy: remedy.clone(),
    }]
}

#[cfg(test)]
mod tests {
    use bowline_cloud::{PAUSED, ServiceCondition, TrafficPolicy};

    use super::*;
    use crate::doctor::fixture::well;

    fn service(status: ConditionStatus) -> ServiceView {
        let condition = ServiceCondition { status, reason: "Refused".into(), message: "why".into() };
        ServiceView {
            namespace: "shop".into(),
            name: "web".into(),
            kind: "LoadBalancer".into(),
            condition: Some(Box::new(condition)),
            ..ServiceView::default()
        }
    }

    #[test]
    fn a_service_that_is_not_ready_is_told_with_the_command_that_explains_it() {
        let found = |service: ServiceView| {
            let mut facts = well();
            facts.services.push(Arc::new(service));
            not_ready(&facts)
        };
        let told = found(service(ConditionStatus::False));
        assert_eq!(told[0].remedy, "kubectl bowline explain -n shop svc/web");
        assert!(told[0].found.contains("shop/web (Refused)"));
        assert!(found(service(ConditionStatus::True)).is_empty());
        let mut paused = service(ConditionStatus::False);
        paused.annotations.insert(PAUSED.into(), "true".into());
        assert!(found(paused).is_empty(), "its owner knows");
    }

    #[test]
    fn local_traffic_without_a_health_monitor_is_found() {
        let mut facts = well();
        let mut web = service(ConditionStatus::True);
        facts.services.push(Arc::new(web.clone()));
        assert!(local_traffic_unmonitored(&facts).is_empty(), "its traffic may go to every Node");
        web.external_traffic_policy = Some(TrafficPolicy::Local);
        facts.services.push(Arc::new(ServiceView { name: "local".into(), ..web }));
        let found = local_traffic_unmonitored(&facts);
        let [finding] = found.as_slice() else { panic!("{found:?}") };
        assert!(finding.found.contains("of shop/local do not know"), "{finding:?}");
        assert!(finding.remedy.contains("create-monitor in cloud.conf is false"), "{finding:?}");
        facts.config.balancing.create_monitor = true;
        assert!(local_traffic_unmonitored(&facts).is_empty());
        facts.config.balancing.create_monitor = false;
        facts.config.problem = Some("not readable".to_owned());
        assert!(local_traffic_unmonitored(&facts).is_empty(), "nothing is concluded from what is not known");
    }

    #[test]
    fn services_without_any_node_are_told_of() {
        let mut facts = well();
        facts.services.push(Arc::new(service(ConditionStatus::True)));
        assert!(no_nodes(&facts).is_empty());
        facts.config.balancing.node_selector = "pool=edge".to_owned();
        let found = no_nodes(&facts);
        assert!(
            found[0].found.contains("none of 1 Nodes has the labels by which shop/web choose"),
            "{found:?}"
        );
        assert!(found[0].remedy.contains("node-selector"), "{found:?}");
        for node in &mut facts.nodes {
            Arc::make_mut(node).labels.insert("pool".into(), "edge".into());
        }
        assert!(no_nodes(&facts).is_empty());
        for node in &mut facts.nodes {
            Arc::make_mut(node).labels.insert(EXCLUDE_LABEL.into(), String::new());
        }
        assert!(no_nodes(&facts)[0].remedy.contains(EXCLUDE_LABEL));
    }
}
