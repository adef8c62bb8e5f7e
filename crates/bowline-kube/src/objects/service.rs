//! Services, with only the fields that are read.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ObjectMeta;
use serde::Deserialize;

/// A Service.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = core::Service)]
#[serde(default)]
pub struct Service {
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: Option<ServiceSpec>,
    /// The status.
    pub status: Option<ServiceStatus>,
}

/// The desired state of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceSpec {
    /// `LoadBalancer`, `ClusterIP` …
    #[serde(rename = "type")]
    pub type_: Option<String>,
    /// The class of the load balancer implementation; `None` selects the default one of the cloud provider.
    pub load_balancer_class: Option<String>,
}

/// The status of a Service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceStatus {
    /// The status of the load balancer.
    pub load_balancer: Option<LoadBalancerStatus>,
    /// The conditions of the Service.
    pub conditions: Option<Vec<Condition>>,
}

/// The status of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LoadBalancerStatus {
    /// The addresses of the load balancer.
    pub ingress: Option<Vec<LoadBalancerIngress>>,
}

/// One address of a load balancer.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LoadBalancerIngress {
    /// The IP address.
    pub ip: Option<String>,
    /// The host name.
    pub hostname: Option<String>,
}
