//! Projects a Service to [`ServiceView`].

use std::collections::BTreeMap;

use bowline_cloud::{
    ConditionStatus, Ingress, IpFamily, IpFamilyPolicy, IpMode, LoadBalancerStatus, Pairs, PortStatus,
    Protocol, ServiceCondition, ServicePort, ServiceType, ServiceView, SessionAffinity, Text, TrafficPolicy,
};
use k8s_openapi::api::core::v1::Service;
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use kube::api::ObjectMeta;
use serde::Deserialize;

use super::{exactly, metadata};

const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// The type of the only condition that is cached: the service controller's own.
pub const SERVICE_CONDITION: &str = "bowline.dev/LoadBalancerReady";

/// A Service with the fields that [`ServiceView`] needs.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = Service)]
pub struct SlimService {
    #[serde(deserialize_with = "metadata::slim")]
    metadata: ObjectMeta,
    #[serde(default)]
    spec: SlimSpec,
    #[serde(default)]
    status: SlimStatus,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimSpec {
    r#type: ServiceType,
    load_balancer_class: Option<Box<str>>,
    #[serde(rename = "loadBalancerIP")]
    load_balancer_ip: Option<Box<str>>,
    load_balancer_source_ranges: Box<[Text]>,
    ports: Vec<SlimPort>,
    session_affinity: Option<SessionAffinity>,
    session_affinity_config: SlimAffinity,
    #[serde(rename = "externalIPs")]
    external_ips: Box<[Text]>,
    external_traffic_policy: Option<TrafficPolicy>,
    health_check_node_port: u16,
    ip_families: Vec<IpFamily>,
    ip_family_policy: Option<IpFamilyPolicy>,
    allocate_load_balancer_node_ports: Option<bool>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimPort {
    name: Option<Text>,
    protocol: Protocol,
    port: u16,
    node_port: u16,
    target_port: Option<IntOrString>,
    app_protocol: Option<Box<str>>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SlimAffinity {
    #[serde(rename = "clientIP")]
    client_ip: SlimClientIp,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimClientIp {
    timeout_seconds: Option<i32>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimStatus {
    load_balancer: SlimLoadBalancer,
    conditions: Vec<SlimCondition>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SlimCondition {
    r#type: Text,
    status: Text,
    reason: Text,
    message: Box<str>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
struct SlimLoadBalancer {
    ingress: Vec<SlimIngress>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct SlimIngress {
    ip: Option<Text>,
    hostname: Option<Box<str>>,
    ip_mode: Option<Text>,
    ports: Vec<PortStatus>,
}

/// Projects a Service. Never fails: an invalid ingress IP is dropped.
#[must_use]
pub fn service_view(service: SlimService) -> ServiceView {
    let SlimService { metadata, spec, status } = service;
    ServiceView {
        namespace: metadata.namespace.unwrap_or_default().into(),
        name: metadata.name.unwrap_or_default().into(),
        uid: metadata.uid.unwrap_or_default().into(),
        annotations: kept_annotations(metadata.annotations),
        labels: metadata.labels.unwrap_or_default().into(),
        kind: spec.r#type,
        load_balancer_class: spec.load_balancer_class,
        load_balancer_ip: spec.load_balancer_ip.filter(|ip| !ip.is_empty()),
        source_ranges: spec.load_balancer_source_ranges,
        ports: exactly(spec.ports.into_iter().map(port)),
        session_affinity: spec.session_affinity,
        session_affinity_timeout_seconds: spec.session_affinity_config.client_ip.timeout_seconds,
        external_ips: spec.external_ips,
        external_traffic_policy: spec
            .external_traffic_policy
            .filter(|policy| *policy != TrafficPolicy::Unknown),
        health_check_node_port: some_port(spec.health_check_node_port),
        ip_families: exactly(spec.ip_families),
        ip_family_policy: spec.ip_family_policy,
        allocate_node_ports: spec.allocate_load_balancer_node_ports,
        finalizers: metadata.finalizers.unwrap_or_default().into_iter().collect(),
        status: LoadBalancerStatus {
            ingress: exactly(status.load_balancer.ingress.into_iter().map(ingress)),
        },
        condition: status.conditions.into_iter().find_map(own_condition),
        deleted_at: metadata.deletion_timestamp.map(|time| time.0),
    }
}

/// Drops the last applied configuration of `kubectl apply`: it is as long as the Service, and no option.
fn kept_annotations(annotations: Option<BTreeMap<String, String>>) -> Pairs {
    let mut annotations = annotations.unwrap_or_default();
    annotations.retain(|key, _| keeps_service_annotation(key));
    annotations.into()
}

/// Whether [`ServiceView`] has an annotation of a Service.
#[must_use]
pub fn keeps_service_annotation(key: &str) -> bool {
    key != LAST_APPLIED
}

/// The condition that the service controller wrote. Conditions of other types are dropped.
fn own_condition(condition: SlimCondition) -> Option<Box<ServiceCondition>> {
    let SlimCondition { r#type, status, reason, message } = condition;
    let status = match status.as_str() {
        "True" => ConditionStatus::True,
        "False" => ConditionStatus::False,
        _unknown => ConditionStatus::Unknown,
    };
    // Not needed, and the same on every Service.
    let message = if status == ConditionStatus::True { Box::default() } else { message };
    (r#type == SERVICE_CONDITION).then(|| Box::new(ServiceCondition { status, reason, message }))
}

/// Go encodes an unset port as 0 or leaves it out.
fn some_port(port: u16) -> Option<u16> {
    (port != 0).then_some(port)
}

fn port(port: SlimPort) -> ServicePort {
    let target_port = port.target_port.map(|target| match target {
        IntOrString::Int(number) => number.to_string().into(),
        IntOrString::String(name) => name.into(),
    });
    ServicePort {
        name: port.name.filter(|name| !name.is_empty()),
        protocol: port.protocol,
        port: port.port,
        node_port: some_port(port.node_port),
        target_port,
        app_protocol: port.app_protocol,
    }
}

fn ingress(ingress: SlimIngress) -> Ingress {
    let ip_mode = ingress.ip_mode.as_deref().and_then(|mode| match mode {
        "VIP" => Some(IpMode::Vip),
        "Proxy" => Some(IpMode::Proxy),
        _unknown => None,
    });
    Ingress {
        ip: ingress.ip.and_then(|ip| ip.parse().ok()),
        hostname: ingress.hostname.filter(|name| !name.is_empty()),
        ip_mode,
        ports: ingress.ports,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_balancer_service_is_projected_with_all_a_provider_reads() {
        let service: SlimService = serde_json::from_value(serde_json::json!({
            "metadata": {"namespace": "shop", "name": "web", "uid": "s-1", "resourceVersion": "7",
                         "annotations": {"a": "b"}, "finalizers": ["service.kubernetes.io/load-balancer-cleanup"]},
            "spec": {
                "type": "LoadBalancer", "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9"], "selector": {"app": "web"},
                "ports": [{"name": "http", "protocol": "TCP", "port": 80, "targetPort": "http", "nodePort": 30080},
                          {"name": "dns", "protocol": "UDP", "port": 53, "targetPort": 5353}],
                "sessionAffinity": "ClientIP", "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 600}},
                "externalTrafficPolicy": "Local", "healthCheckNodePort": 31000, "ipFamilies": ["IPv4"],
                "ipFamilyPolicy": "SingleStack", "allocateLoadBalancerNodePorts": true,
                "loadBalancerSourceRanges": ["192.0.2.0/24"]
            },
            "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.5", "ipMode": "Proxy"}, {"hostname": "lb.example"}]},
                       "conditions": [{"type": "example.org/Foreign", "status": "True", "reason": "A", "message": "b"},
                                      {"type": SERVICE_CONDITION, "status": "False", "reason": "C", "message": "d",
                                       "lastTransitionTime": "2026-11-02T08:00:00Z"}]}
        }))
        .unwrap();
        let view = service_view(service);
        assert_eq!(view.key().to_string(), "shop/web");
        assert!(view.only_local());
        assert_eq!(view.ports[0].node_port, Some(30080));
        assert_eq!(view.ports[0].target_port.as_deref(), Some("http"));
        assert_eq!((view.ports[1].node_port, view.ports[1].target_port.as_deref()), (None, Some("5353")));
        assert_eq!(view.session_affinity_timeout_seconds, Some(600));
        assert_eq!(view.health_check_node_port, Some(31000));
        assert_eq!(view.status.ingress[0].ip_mode, Some(IpMode::Proxy));
        assert_eq!(view.status.ingress[1].hostname.as_deref(), Some("lb.example"));
        assert_eq!(view.load_balancer_class, None);
        let said =
            ServiceCondition { status: ConditionStatus::False, reason: "C".into(), message: "d".into() };
        assert_eq!(view.condition, Some(Box::new(said)), "ours, not somebody else's");
    }

    #[test]
    fn fields_that_are_left_out_are_left_out() {
        let service: SlimService =
            serde_json::from_str(r#"{"metadata": {"name": "x"}, "spec": {"type": "ClusterIP"}}"#).unwrap();
        let view = service_view(service);
        assert_eq!(
            view,
            ServiceView { name: "x".into(), kind: "ClusterIP".into(), ..ServiceView::default() }
        );
    }
}
