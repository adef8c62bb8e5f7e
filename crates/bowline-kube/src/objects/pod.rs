//! Pods and their containers, with only the fields that are read.

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
    /// The object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    pub spec: Option<PodSpec>,
    /// The status, as reported by the kubelet.
    pub status: Option<PodStatus>,
}

/// The desired state of a pod.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodSpec {
    /// The name of its Node; `None` until it is scheduled.
    pub node_name: Option<String>,
    /// The labels that its Node must have.
    pub node_selector: Option<BTreeMap<String, String>>,
    /// The ServiceAccount that it runs as.
    pub service_account_name: Option<String>,
    /// The containers. API servers write `null` for an empty list.
    #[serde(deserialize_with = "null_is_none")]
    pub containers: Vec<Container>,
    /// The containers that run before the others.
    pub init_containers: Option<Vec<Container>>,
    /// The volumes that its containers can mount.
    pub volumes: Option<Vec<Volume>>,
}

/// A container of a pod.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Container {
    /// Its name within the pod.
    pub name: String,
    /// The container image.
    pub image: Option<String>,
    /// The command; `None` runs that of the image.
    pub command: Option<Vec<String>>,
    /// The arguments of the command.
    pub args: Option<Vec<String>>,
    /// The environment variables.
    pub env: Option<Vec<EnvVar>>,
    /// The sources of further environment variables.
    pub env_from: Option<Vec<EnvFromSource>>,
    /// The mounted volumes.
    pub volume_mounts: Option<Vec<VolumeMount>>,
}

/// An environment variable of a container.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVar {
    /// The source of the value; `None` if the value is given directly.
    pub value_from: Option<EnvVarSource>,
}

/// The source of the value of an environment variable.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct EnvVarSource {
    /// A ConfigMap.
    pub config_map_key_ref: Option<Reference>,
    /// A Secret.
    pub secret_key_ref: Option<Reference>,
}

/// The source of several environment variables.
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

/// A volume that is mounted into a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeMount {
    /// The name of the volume.
    pub name: String,
    /// The path of the directory or file in the container.
    pub mount_path: String,
    /// The path within the volume; `None` mounts the whole volume.
    pub sub_path: Option<String>,
}

/// The status of a pod.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct PodStatus {
    /// `Pending`, `Running`, `Succeeded`, `Failed` or `Unknown`.
    pub phase: Option<String>,
    /// When the kubelet acknowledged the pod.
    pub start_time: Option<Time>,
    /// The conditions of the pod.
    pub conditions: Option<Vec<PodCondition>>,
    /// The statuses of its containers.
    pub container_statuses: Option<Vec<ContainerStatus>>,
}

/// One condition of a pod.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct PodCondition {
    /// The type, such as `Ready`.
    #[serde(rename = "type")]
    pub type_: String,
    /// `True`, `False` or `Unknown`.
    pub status: String,
}

/// The status of a container.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStatus {
    /// The name of the container.
    pub name: String,
    /// Whether it is ready.
    pub ready: bool,
    /// How often the container was restarted.
    pub restart_count: i32,
    /// The state of the container.
    pub state: Option<ContainerState>,
}

/// The state of a container.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct ContainerState {
    /// Set if the container is running.
    pub running: Option<ContainerStateRunning>,
}

/// The details of a running container.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ContainerStateRunning {
    /// When the container was started.
    pub started_at: Option<Time>,
}

/// Go writes an empty list in a required field as `null`.
fn null_is_none<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Container>, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}
