//! A scene: what a Service wants, and what a cloud has for it. Much of it fits together; any part of it may be missing, broken,
//! at work, doubled or somebody else's.

mod cloud;
mod wish;

pub(crate) use self::wish::removal;
#[cfg(test)]
pub(crate) use self::wish::{ownership, service};

use super::Choices;
use crate::loadbalancer::found::Found;
use crate::loadbalancer::names::Names;
use crate::loadbalancer::wanted::Wanted;

/// The Service's own tag and name, those of another Service of the cluster, and both from when the cluster had another name.
pub(crate) const OWN: &str = "kube_service_held_default_web";
pub(crate) const OTHER: &str = "kube_service_held_default_other";
pub(crate) const FORMER: &str = "kube_service_before_default_web";
pub(crate) const FORMER_OTHER: &str = "kube_service_before_default_other";
/// The name that Kubernetes' own provider would have given.
pub(crate) const LEGACY: &str = "a1111111122223333444455555555555";
/// The port of the load balancer.
pub(crate) const VIP_PORT: &str = "vip-port";

/// Addresses of floating IPs.
const ADDRESSES: [&str; 4] = ["192.0.2.1", "192.0.2.77", "192.0.2.78", "192.0.2.9"];

/// What a Service wants, and what there is.
#[derive(Debug, Clone)]
pub(crate) struct Scene {
    pub(crate) wanted: Wanted,
    pub(crate) found: Found,
}

impl Scene {
    /// The scene that these decisions make.
    pub(crate) fn of(choices: &mut Choices<'_>) -> Self {
        let wanted = wish::wanted(choices);
        let found = cloud::found(choices, &wanted);
        Self { wanted, found }
    }

    pub(crate) fn names(&self) -> &Names {
        &self.wanted.names
    }
}
