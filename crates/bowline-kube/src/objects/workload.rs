//! Deployments and DaemonSets. Only what is read.

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
    /// Who it is.
    pub metadata: ObjectMeta,
    /// What it shall be.
    pub spec: Option<DeploymentSpec>,
    /// What its controller says of it.
    pub status: Option<DeploymentStatus>,
}

/// What a Deployment shall be.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeploymentSpec {
    /// How many pods; 1 where it does not say.
    pub replicas: Option<i32>,
    /// Which pods are its own.
    pub selector: LabelSelector,
    /// What they are made from.
    pub template: PodTemplateSpec,
}

/// What the controller of a Deployment says of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DeploymentStatus {
    /// Which specification it has seen.
    pub observed_generation: Option<i64>,
    /// How many pods are ready.
    pub ready_replicas: Option<i32>,
    /// How it is.
    pub conditions: Option<Vec<DeploymentCondition>>,
}

/// How a Deployment is, in one respect.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DeploymentCondition {
    /// In which.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
    /// Why, in one word.
    pub reason: Option<String>,
    /// Why, in words.
    pub message: Option<String>,
}

/// A DaemonSet.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = apps::DaemonSet)]
#[serde(default)]
pub struct DaemonSet {
    /// Who it is.
    pub metadata: ObjectMeta,
    /// What it shall be.
    pub spec: Option<DaemonSetSpec>,
    /// What its controller says of it.
    pub status: Option<DaemonSetStatus>,
}

/// What a DaemonSet shall be.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct DaemonSetSpec {
    /// Which pods are its own.
    pub selector: LabelSelector,
    /// What they are made from.
    pub template: PodTemplateSpec,
}

/// What the controller of a DaemonSet says of it.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct DaemonSetStatus {
    /// Which specification it has seen.
    pub observed_generation: Option<i64>,
    /// How many nodes have a pod of it and shall have one.
    pub current_number_scheduled: i32,
    /// How many nodes shall have a pod of it.
    pub desired_number_scheduled: i32,
    /// How many nodes have one that is ready.
    pub number_ready: i32,
    /// How many nodes have one of the latest specification.
    pub updated_number_scheduled: Option<i32>,
}

/// What pods are made from.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct PodTemplateSpec {
    /// Their labels and annotations.
    pub metadata: Option<ObjectMeta>,
    /// What they shall be.
    pub spec: Option<PodSpec>,
}

/// Which pods belong to a workload, by their labels. Expressions are not read.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct LabelSelector {
    /// The labels that they all have.
    pub match_labels: Option<BTreeMap<String, String>>,
}
