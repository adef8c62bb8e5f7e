//! What shall exist: the objects of a cloud-controller-manager, made from typed values. Pure; applies nothing, reads nothing.

mod agent;
mod config;
mod error;
mod facts;
#[cfg(test)]
pub(crate) mod fixture;
mod flags;
mod hardening;
mod metrics;
mod mode;
mod names;
mod object;
mod openshift;
mod openshift_rbac;
pub(crate) mod parts;
mod placement;
mod plain;
mod pod;
mod program;
mod rbac;
mod static_pod;
mod volumes;
mod workload;

pub use self::error::RenderError;
pub use self::facts::{ClusterFacts, RenderedConfig};
pub use self::mode::ManagerMode;
pub use self::names::{Naming, PREFIX, config_name, shadow_name, shadow_report_name};
pub use self::object::{Object, ObjectError};
pub use self::openshift::{MANAGED_NAMESPACE, OpenShiftInputs, openshift};
pub use self::plain::{ALWAYS_THERE, plain};
pub use self::pod::CONFIG_HASH;
pub use self::program::UPSTREAM_REPOSITORIES;
pub use self::rbac::STATIC_USER;
pub use self::static_pod::{FOLDER, KUBECONFIG, MANIFESTS, NODE_FOLDER, StaticPod, static_pod};
