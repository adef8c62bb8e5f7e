//! Kubernetes objects as far as operator and command line read them: the API's own names and shapes, and of hundreds of fields the few that count.
//!
//! What is not here is not even parsed, so none of this may be written back: objects are made of k8s-openapi's types, and changed by patches. The
//! informers of the controllers have projections of their own, made to be kept.

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
