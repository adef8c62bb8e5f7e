//! Services. Only what is read.

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use kube::api::ObjectMeta;
use serde::Deserialize;

/// A Service.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = core::Service)]
#[serde(default)]
pub struct Service {
    /// Who it is.
    pub metadata: ObjectMeta,
    /// What it shall be.
    pub spec: Option<ServiceSpec>,
    /// What its manager says of it.
    pub status: Option<ServiceStatus>,
}

/// What a Service shall be.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceSpec {
    /// `LoadBalancer`, `ClusterIP` …
    #[serde(rename = "type")]
    pub type_: Option<String>,
    /// Who makes its load balancer, if not the manager of the cloud.
    pub load_balancer_class: Option<String>,
}

/// What its manager says of a Service.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceStatus {
    /// Its load balancer.
    pub load_balancer: Option<LoadBalancerStatus>,
    /// How it is.
    pub conditions: Option<Vec<Condition>>,
}

/// The load balancer of a Service.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LoadBalancerStatus {
    /// Where it is reached.
    pub ingress: Option<Vec<LoadBalancerIngress>>,
}

/// Where a load balancer is reached.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct LoadBalancerIngress {
    /// By an address.
    pub ip: Option<String>,
    /// By a name.
    pub hostname: Option<String>,
}
