//! A Service as providers and planners see it, and the status they give it.

use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::words::{IpFamily, IpFamilyPolicy, Protocol, ServiceType, SessionAffinity, TrafficPolicy};
use crate::{Finalizers, Pairs, Text};

/// What a Service carries from before its load balancer is asked for until nothing is left of it.
pub const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// Where a node answers on the health check node port.
pub const HEALTH_CHECK_PATH: &str = "/healthz";

/// `namespace/name` of a Service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ServiceKey {
    /// The namespace.
    pub namespace: String,
    /// The name.
    pub name: String,
}

impl fmt::Display for ServiceKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// The projection of a Kubernetes Service that is kept in memory. Strings stay as the user wrote them: parsing them
/// into an intent, with errors that name the field, is the provider's first step.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceView {
    /// The namespace.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// The UID: ownership of cloud objects goes by it (safety rail SR-8).
    pub uid: Text,
    /// All annotations: providers read their options from them.
    pub annotations: Pairs,
    /// All labels.
    pub labels: Pairs,
    /// `spec.type`.
    pub kind: ServiceType,
    /// `spec.loadBalancerClass`.
    pub load_balancer_class: Option<Box<str>>,
    /// `spec.loadBalancerIP`.
    pub load_balancer_ip: Option<Box<str>>,
    /// `spec.loadBalancerSourceRanges`, unparsed.
    pub source_ranges: Box<[Text]>,
    /// The ports, in order.
    pub ports: Vec<ServicePort>,
    /// `spec.sessionAffinity`.
    pub session_affinity: Option<SessionAffinity>,
    /// `spec.sessionAffinityConfig.clientIP.timeoutSeconds`.
    pub session_affinity_timeout_seconds: Option<i32>,
    /// `spec.externalIPs`.
    pub external_ips: Box<[Text]>,
    /// `spec.externalTrafficPolicy`.
    pub external_traffic_policy: Option<TrafficPolicy>,
    /// `spec.healthCheckNodePort`.
    pub health_check_node_port: Option<u16>,
    /// `spec.ipFamilies`, in order of preference.
    pub ip_families: Vec<IpFamily>,
    /// `spec.ipFamilyPolicy`.
    pub ip_family_policy: Option<IpFamilyPolicy>,
    /// `spec.allocateLoadBalancerNodePorts`.
    pub allocate_node_ports: Option<bool>,
    /// The finalizers.
    pub finalizers: Finalizers,
    /// The status as the API server has it.
    pub status: LoadBalancerStatus,
    /// What the framework last said about the load balancer in `status.conditions`. No wish of the user: nothing is planned
    /// from it.
    pub condition: Option<Box<ServiceCondition>>,
    /// When its deletion was asked for.
    pub deleted_at: Option<Timestamp>,
}

/// One port of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServicePort {
    /// The name; may be missing if there is only one port.
    pub name: Option<Text>,
    /// The protocol.
    pub protocol: Protocol,
    /// The port clients connect to.
    pub port: u16,
    /// The port on every node; missing when node ports are not allocated.
    pub node_port: Option<u16>,
    /// The port of the pods, a number or a name.
    pub target_port: Option<Text>,
    /// What is spoken on the port.
    pub app_protocol: Option<Box<str>>,
}

impl ServiceView {
    /// The key of this Service.
    #[must_use]
    pub fn key(&self) -> ServiceKey {
        ServiceKey { namespace: self.namespace.to_string(), name: self.name.to_string() }
    }

    /// Whether traffic must reach only nodes with a local endpoint, checked through the health check node port.
    #[must_use]
    pub fn only_local(&self) -> bool {
        matches!(self.kind, ServiceType::LoadBalancer | ServiceType::NodePort)
            && self.external_traffic_policy == Some(TrafficPolicy::Local)
    }

    /// Whether the load balancer has to ask each node, at [`HEALTH_CHECK_PATH`] on the health check node port, whether it
    /// has a pod of this Service.
    #[must_use]
    pub fn needs_health_check(&self) -> bool {
        self.kind == ServiceType::LoadBalancer && self.only_local()
    }

    /// The name upstream's framework proposes for a load balancer: `a` and the UID without dashes, 32 characters.
    #[must_use]
    pub fn default_load_balancer_name(&self) -> String {
        let uid = self.uid.chars().filter(|&c| c != '-');
        std::iter::once('a').chain(uid).take(32).collect()
    }
}

/// The status of a load balancer as Kubernetes shows it.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalancerStatus {
    /// The points of entry, in order.
    pub ingress: Vec<Ingress>,
}

/// The framework's own condition of a Service. Its time is left to the API server's copy: nobody here decides by it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceCondition {
    /// Whether the load balancer is as the Service asks.
    pub status: ConditionStatus,
    /// Why, as a CamelCase word.
    pub reason: Text,
    /// Why, in words for a person. Not kept when all is well: every Service would have the same.
    pub message: Box<str>,
}

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ConditionStatus {
    /// It is so.
    True,
    /// It is not so.
    False,
    /// Nobody can say.
    Unknown,
}

/// One point of entry: an address, a host name, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ingress {
    /// The address.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpAddr>,
    /// The host name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Box<str>>,
    /// How traffic arrives; the API server reads a missing mode as `VIP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_mode: Option<IpMode>,
    /// What is known of single ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortStatus>,
}

/// How traffic that was sent to the address arrives at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpMode {
    /// With the load balancer's address as destination: kube-proxy may short-circuit it.
    #[serde(rename = "VIP")]
    Vip,
    /// Through a proxy: in-cluster traffic must leave the cluster to get what the proxy adds.
    Proxy,
}

/// The state of one port of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStatus {
    /// The port.
    pub port: u16,
    /// The protocol.
    pub protocol: Protocol,
    /// The error, as a CamelCase reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub error: Option<Text>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_name_is_a_and_the_uid_cut_at_32_characters() {
        let service =
            ServiceView { uid: "eb83ac2c-2c6f-4a40-9a6c-0123456789ab".into(), ..ServiceView::default() };
        assert_eq!(service.default_load_balancer_name(), "aeb83ac2c2c6f4a409a6c0123456789a");
    }

    #[test]
    fn requests_only_local_traffic_and_needs_health_check() {
        use ServiceType::{ClusterIp, LoadBalancer, NodePort, Unknown};
        use TrafficPolicy::{Cluster, Local};
        for (kind, policy, only_local, health_check) in [
            (Unknown, None, false, false),
            (ClusterIp, None, false, false),
            (NodePort, None, false, false),
            (NodePort, Some(Cluster), false, false),
            (NodePort, Some(Local), true, false),
            (LoadBalancer, Some(Cluster), false, false),
            (LoadBalancer, Some(Local), true, true),
        ] {
            let service = ServiceView { kind, external_traffic_policy: policy, ..ServiceView::default() };
            let found = (service.only_local(), service.needs_health_check());
            assert_eq!(found, (only_local, health_check), "{kind} {policy:?}");
        }
    }

    #[test]
    fn load_balancer_status_equal() {
        let status = |ip: &str, ip_mode: Option<IpMode>, ports: &[(u16, &str)]| {
            let ports = ports.iter().map(|(port, protocol)| PortStatus {
                port: *port,
                protocol: (*protocol).into(),
                error: None,
            });
            let ip = Some(ip.parse().unwrap());
            LoadBalancerStatus {
                ingress: vec![Ingress { ip, ip_mode, ports: ports.collect(), hostname: None }],
            }
        };
        let (one, two) = ("192.0.2.1", "192.0.2.2");
        let (vip, proxy) = (Some(IpMode::Vip), Some(IpMode::Proxy));
        for (row, left, right, equal) in [
            ("empty", LoadBalancerStatus::default(), LoadBalancerStatus::default(), true),
            ("same ip", status(one, None, &[]), status(one, None, &[]), true),
            ("different ip", status(one, None, &[]), status(two, None, &[]), false),
            ("same ipmode", status(one, vip, &[]), status(one, vip, &[]), true),
            ("only one ipmode set", status(one, None, &[]), status(one, vip, &[]), false),
            ("different ipmode", status(one, vip, &[]), status(one, proxy, &[]), false),
            ("same ports", status(one, vip, &[(80, "TCP")]), status(one, vip, &[(80, "TCP")]), true),
            ("different protocol", status(one, vip, &[(80, "TCP")]), status(one, vip, &[(80, "UDP")]), false),
            ("only one port", status(one, vip, &[]), status(one, vip, &[(80, "TCP")]), false),
            ("another port", status(one, vip, &[(80, "TCP")]), status(one, vip, &[(443, "TCP")]), false),
        ] {
            assert_eq!(left == right, equal, "{row}");
        }
    }

    #[test]
    fn a_status_is_written_as_kubernetes_writes_it() {
        let ingress = Ingress {
            ip: Some(IpAddr::from([203, 0, 113, 7])),
            ip_mode: Some(IpMode::Vip),
            ..Ingress::default()
        };
        let written = serde_json::to_string(&LoadBalancerStatus { ingress: vec![ingress] }).unwrap();
        assert_eq!(written, r#"{"ingress":[{"ip":"203.0.113.7","ipMode":"VIP"}]}"#);
    }
}
