//! The projection of a Service that providers and planners use, and the status that they return.

use std::fmt;
use std::net::IpAddr;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::words::{IpFamily, IpFamilyPolicy, Protocol, ServiceType, SessionAffinity, TrafficPolicy};
use crate::{Finalizers, Pairs, Text};

/// The finalizer that the framework adds to a Service before it requests a load balancer and removes once nothing of it is left.
pub const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// The path at which a node answers on the health check node port.
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

/// The fields of a Kubernetes Service that the informer keeps in memory. Strings are as the user wrote them: the provider parses them and
/// reports errors that name the field.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServiceView {
    /// The namespace.
    pub namespace: Text,
    /// The name.
    pub name: Text,
    /// The UID, which decides about the ownership of cloud objects (safety rail SR-8).
    pub uid: Text,
    /// The annotations without `kubectl.kubernetes.io/last-applied-configuration`. Providers read their options from them.
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
    /// The status as stored in the API server.
    pub status: LoadBalancerStatus,
    /// The framework's own condition in `status.conditions`, as last written; `None` if there is none. It is output only: no plan depends
    /// on it.
    pub condition: Option<Box<ServiceCondition>>,
    /// The `deletionTimestamp`.
    pub deleted_at: Option<Timestamp>,
}

/// One port of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServicePort {
    /// The name; may be `None` if there is only one port.
    pub name: Option<Text>,
    /// The protocol.
    pub protocol: Protocol,
    /// The port that clients connect to.
    pub port: u16,
    /// The port on every node; `None` if node ports are not allocated.
    pub node_port: Option<u16>,
    /// The port of the pods: a number or a name.
    pub target_port: Option<Text>,
    /// The application protocol, `appProtocol`.
    pub app_protocol: Option<Box<str>>,
}

impl ServiceView {
    /// The key of this Service.
    #[must_use]
    pub fn key(&self) -> ServiceKey {
        ServiceKey { namespace: self.namespace.to_string(), name: self.name.to_string() }
    }

    /// Whether traffic may only reach nodes with a local endpoint, which the health check node port reports.
    #[must_use]
    pub fn only_local(&self) -> bool {
        matches!(self.kind, ServiceType::LoadBalancer | ServiceType::NodePort)
            && self.external_traffic_policy == Some(TrafficPolicy::Local)
    }

    /// Whether the load balancer has to check each node for pods of this Service, with requests to [`HEALTH_CHECK_PATH`] on the health
    /// check node port.
    #[must_use]
    pub fn needs_health_check(&self) -> bool {
        self.kind == ServiceType::LoadBalancer && self.only_local()
    }

    /// The default name of the upstream cloud provider framework: `a` and the UID without dashes, truncated to 32 characters.
    #[must_use]
    pub fn default_load_balancer_name(&self) -> String {
        let uid = self.uid.chars().filter(|&c| c != '-');
        std::iter::once('a').chain(uid).take(32).collect()
    }
}

/// The status of a load balancer as in `status.loadBalancer`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LoadBalancerStatus {
    /// The addresses and host names, in order.
    pub ingress: Vec<Ingress>,
}

/// The framework's own condition of a Service, without its transition time, because no decision depends on it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ServiceCondition {
    /// Whether the load balancer matches the Service.
    pub status: ConditionStatus,
    /// Why, as a CamelCase word.
    pub reason: Text,
    /// Why, as a message for people. Empty if the condition is `True`, to save memory: the message is then the same on every Service.
    pub message: Box<str>,
}

/// The status of a condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub enum ConditionStatus {
    /// The condition holds.
    True,
    /// The condition does not hold.
    False,
    /// It is unknown whether the condition holds.
    Unknown,
}

/// One entry of the status: an address, a host name, or both.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Ingress {
    /// The address; `None` if the entry has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip: Option<IpAddr>,
    /// The host name; `None` if the entry has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub hostname: Option<Box<str>>,
    /// How traffic arrives; the API server reads a missing mode as `VIP`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ip_mode: Option<IpMode>,
    /// The state of single ports.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub ports: Vec<PortStatus>,
}

/// How traffic that was sent to the address arrives at a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum IpMode {
    /// With the address of the load balancer as destination. kube-proxy may then short-circuit traffic from inside the cluster.
    #[serde(rename = "VIP")]
    Vip,
    /// Through a proxy. Traffic from inside the cluster has to go through the load balancer to get what the proxy adds.
    Proxy,
}

/// The state of one port of a load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PortStatus {
    /// The port.
    pub port: u16,
    /// The protocol.
    pub protocol: Protocol,
    /// The error as a CamelCase reason; `None` if there is none.
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
