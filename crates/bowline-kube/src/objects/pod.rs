//! Pods and their containers. Only what is read.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1 as core;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::api::ObjectMeta;
use serde::{Deserialize, Deserializer};

use super::Volume;

/// A pod.
#[derive(Debug, Clone, Default, Deserialize, kube::Resource)]
#[resource(inherit = core::Pod)]
#[serde(default)]
pub struct Pod {
    /// Who it is.
    pub metadata: ObjectMeta,
    /// What it shall be.
    pub spec: Option<PodSpec>,
    /// What its kubelet says of it.
    pub status: Option<PodStatus>,
}

/// What a pod shall be.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// Where it runs, once that is decided.
    pub node_name: Option<String>,
    /// Where it may run.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// As whom it runs.
    pub service_account_name: Option<String>,
    /// What it runs. API servers write `null` for none.
    #[serde(deserialize_with = "null_is_none")]
    pub containers: Vec<Container>,
    /// What it runs before.
    pub init_containers: Option<Vec<Container>>,
    /// What its containers can mount.
    pub volumes: Option<Vec<Volume>>,
}

/// A program of a pod.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Its name within the pod.
    pub name: String,
    /// Its image.
    pub image: Option<String>,
    /// What is run instead of what the image would run.
    pub command: Option<Vec<String>>,
    /// With which arguments.
    pub args: Option<Vec<String>>,
    /// Its variables.
    pub env: Option<Vec<EnvVar>>,
    /// Where more of them come from.
    pub env_from: Option<Vec<EnvFromSource>>,
    /// What it mounts.
    pub volume_mounts: Option<Vec<VolumeMount>>,
}

/// A variable of a container.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    /// Where its value comes from, if it does not stand here.
    pub value_from: Option<EnvVarSource>,
}

/// Where the value of a variable comes from.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVarSource {
    /// A ConfigMap.
    pub config_map_key_ref: Option<Reference>,
    /// A Secret.
    pub secret_key_ref: Option<Reference>,
}

/// Where several variables come from.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvFromSource {
    /// A ConfigMap.
    pub config_map_ref: Option<Reference>,
    /// A Secret.
    pub secret_ref: Option<Reference>,
}

/// An object of the pod's namespace, by its name.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct Reference {
    /// The name.
    pub name: String,
}

/// Where a container sees a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// The volume.
    pub name: String,
    /// The folder, or the file, in the container.
    pub mount_path: String,
    /// The one file of the volume that it sees.
    pub sub_path: Option<String>,
}

/// What a kubelet says of a pod.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: Option<String>,
    /// When the kubelet took it up.
    pub start_time: Option<Time>,
    /// How it is.
    pub conditions: Option<Vec<PodCondition>>,
    /// How its containers are.
    pub container_statuses: Option<Vec<ContainerStatus>>,
}

/// How a pod is, in one respect.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodCondition {
    /// In which.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// How a container is.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// Which.
    pub name: String,
    /// Whether it is ready.
    pub ready: bool,
    /// How often it was started again.
    pub restart_count: i32,
    /// What it does.
    pub state: Option<ContainerState>,
}

/// What a container does.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// It runs.
    pub running: Option<ContainerStateRunning>,
}

/// Of a container that runs.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateRunning {
    /// Since when.
    pub started_at: Option<Time>,
}

/// Go writes an empty list that must be there as `null`.
fn null_is_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Container>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
