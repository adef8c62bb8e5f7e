//! Kubernetes objects as the operator and the CLI read them: with the names and structure of the API, and only the fields that they use.
//!
//! Other fields are not even parsed, so these types must never be written back: create objects with k8s-openapi's types, and change them
//! with patches. The informers of the controllers use projections of their own, which are made to be cached.

mod node;
mod pod;
mod service;
#[cfg(test)]
mod tests;
mod volume;
mod workload;

pub use self::node::{Node, NodeAddress, NodeCondition, NodeSpec, NodeStatus, NodeSystemInfo};
pub use self::pod::{
    Container, ContainerState, ContainerStateRunning, ContainerStatus, EnvFromSource, EnvVar, EnvVarSource,
    Pod, PodCondition, PodSpec, PodStatus, Reference, VolumeMount,
};
pub use self::service::{LoadBalancerIngress, LoadBalancerStatus, Service, ServiceSpec, ServiceStatus};
pub use self::volume::{
    CSIVolumeSource, ConfigMapVolumeSource, KeyToPath, ProjectedVolumeSource, SecretVolumeSource, Volume,
    VolumeProjection,
};
pub use self::workload::{
    DaemonSet, DaemonSetSpec, DaemonSetStatus, Deployment, DeploymentCondition, DeploymentSpec,
    DeploymentStatus, LabelSelector, PodTemplateSpec,
};
