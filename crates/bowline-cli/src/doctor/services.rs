//! Checks of Services. Pure.

use bowline_cloud::ConditionStatus;
use bowline_controllers::service::desire::{is_paused, wants};
use bowline_controllers::service::nodes::select;

use super::facts::Facts;
use super::{Finding, Severity, some};

/// Services of which the manager says that their load balancer is not as they ask.
#[must_use]
pub fn not_ready(facts: &Facts) -> Vec<Finding> {
    let said = |service: &&std::sync::Arc<bowline_cloud::ServiceView>| {
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

/// No Node can get traffic, and there are Services that want some.
#[must_use]
pub fn no_nodes(facts: &Facts) -> Vec<Finding> {
    let wanting = facts.services.iter().filter(|service| wants(service)).count();
    if wanting == 0 || facts.nodes.is_empty() || !select(&facts.nodes).is_empty() {
        return Vec::new();
    }
    vec![Finding {
        id: "no-nodes-for-traffic",
        severity: Severity::Error,
        found: format!("{wanting} Services want load balancers, and none of {} Nodes may get traffic", facts.nodes.len()),
        why: "load balancers without members answer nobody",
        remedy: "take the label node.kubernetes.io/exclude-from-external-load-balancers off the Nodes that shall serve: kubectl label nodes --all node.kubernetes.io/exclude-from-external-load-balancers-".to_owned(),
    }]
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use bowline_cloud::{PAUSED, ServiceCondition, ServiceView};

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
    fn services_without_any_node_are_told_of() {
        let mut facts = well();
        facts.services.push(Arc::new(service(ConditionStatus::True)));
        assert!(no_nodes(&facts).is_empty());
        for node in &mut facts.nodes {
            Arc::make_mut(node)
                .labels
                .insert(bowline_controllers::service::nodes::EXCLUDE_LABEL.into(), String::new());
        }
        assert_eq!(no_nodes(&facts)[0].id, "no-nodes-for-traffic");
    }
}
