//! What kubelet, kube-controller-manager and kube-apiserver must be started with, by platform, version and mode, each flag
//! with its reason; and what a person does to get there, by distribution. Nothing is started or changed here.

mod compare;
mod component;
mod openshift;
mod requirement;
mod steps;

#[cfg(test)]
mod tests;

pub(crate) use self::compare::value_of;
pub use self::compare::{Difference, differences};
pub use self::component::{Component, Mode};
pub use self::openshift::{OwnershipError, openshift_cloud_provider, owns_cloud_controllers};
pub use self::requirement::{FlagsError, Level, Requirement, Want, requirements};
pub use self::steps::{Action, Change, Distribution, Step, render, steps};
