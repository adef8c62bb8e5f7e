//! Deployments and DaemonSets, with only the fields that are read.

use std::collections::BTreeMap;

use k8s_openapi::api::apps::v1 as apps;
use kube::api::ObjectMeta;
use serde::Deserialize;

use super::PodSpec;

/// A Deployment.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = apps::Deployment)]
#[serde(default)]
pub struct Deployment {
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: Option<DeploymentSpec>,
    /// The status.
    pub status: Option<DeploymentStatus>,
}

/// The desired state of a Deployment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeploymentSpec {
    /// The number of pods; `None` means 1.
    pub replicas: Option<i32>,
    /// Selects its pods.
    pub selector: LabelSelector,
    /// The template of its pods.
    pub template: PodTemplateSpec,
}

/// The status of a Deployment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    /// The generation that the controller has observed.
    pub observed_generation: Option<i64>,
    /// The number of ready pods.
    pub ready_replicas: Option<i32>,
    /// The conditions of the Deployment.
    pub conditions: Option<Vec<DeploymentCondition>>,
}

/// One condition of a Deployment.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeploymentCondition {
    /// The type, such as `Available`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// The reason: one word in `CamelCase`.
    pub reason: Option<String>,
    /// The message.
    pub message: Option<String>,
}

/// A DaemonSet.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = apps::DaemonSet)]
#[serde(default)]
pub struct DaemonSet {
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: Option<DaemonSetSpec>,
    /// The status.
    pub status: Option<DaemonSetStatus>,
}

/// The desired state of a DaemonSet.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DaemonSetSpec {
    /// Selects its pods.
    pub selector: LabelSelector,
    /// The template of its pods.
    pub template: PodTemplateSpec,
}

/// The status of a DaemonSet.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetStatus {
    /// The generation that the controller has observed.
    pub observed_generation: Option<i64>,
    /// The number of nodes that run a pod of it and should.
    pub current_number_scheduled: i32,
    /// The number of nodes that should run a pod of it.
    pub desired_number_scheduled: i32,
    /// The number of nodes with a ready pod of it.
    pub number_ready: i32,
    /// The number of nodes with a pod of the latest template.
    pub updated_number_scheduled: Option<i32>,
}

/// The template of pods.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PodTemplateSpec {
    /// The labels and annotations of the pods.
    pub metadata: Option<ObjectMeta>,
    /// The desired state of the pods.
    pub spec: Option<PodSpec>,
}

/// Selects pods by their labels. Expressions are not read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// The labels that all selected pods have.
    pub match_labels: Option<BTreeMap<String, String>>,
}
