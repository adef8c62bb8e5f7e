//! All objects of a manager on OpenShift, as cluster-cloud-controller-manager-operator makes them: the same names, labels,
//! selectors and pods, so that a cluster that is taken over keeps what it has.
//!
//! ServiceAccounts and the roles that all platforms share are not among them: OpenShift's version operator has those.

mod aws;
mod azure;
mod common;
mod gcp;
mod ibm;
mod nutanix;
mod openstack;
mod operand;
mod policy;
mod script;
mod vsphere;

#[cfg(test)]
mod tests;

use self::operand::Cluster;
use super::error::RenderError;
use super::object::Object;
use crate::feature_gates::FeatureGates;
use crate::images::Images;
use crate::infrastructure::Infrastructure;
use crate::platform::{Platform, is_stack_hub};
use crate::proxy::ProxySettings;
use crate::tls::TlsConfig;

/// Where OpenShift's managers run.
pub const MANAGED_NAMESPACE: &str = "openshift-cloud-controller-manager";

/// What OpenShift says.
#[derive(Debug, Clone)]
pub struct OpenShiftInputs<'a> {
    /// `Infrastructure/cluster`.
    pub infrastructure: &'a Infrastructure,
    /// The status of `Proxy/cluster`; empty is none.
    pub proxy: &'a ProxySettings,
    /// The images of the release.
    pub images: &'a Images,
    /// The gates of the release.
    pub gates: &'a FeatureGates,
    /// What TLS the manager offers.
    pub tls: &'a TlsConfig,
    /// Where the manager runs: [`MANAGED_NAMESPACE`], but for tests.
    pub namespace: &'a str,
}

/// The objects that shall exist: those of the platform, then PodDisruptionBudget and Service. None for a platform without a
/// manager.
///
/// # Errors
///
/// If the cluster does not say what it runs on, or an image or a value of the platform is missing.
pub fn openshift(inputs: &OpenShiftInputs<'_>) -> Result<Vec<Object>, RenderError> {
    let status = inputs.infrastructure.platform_status()?;
    let cluster = Cluster { inputs, platform: &status.platform };
    let mut all = match &status.platform {
        Platform::Aws => aws::objects(&cluster)?,
        Platform::Azure if is_stack_hub(status) => azure::stack_hub_objects(&cluster)?,
        Platform::Azure => azure::objects(&cluster)?,
        Platform::Gcp => gcp::objects(&cluster)?,
        Platform::IbmCloud => ibm::objects(&cluster)?,
        Platform::PowerVs => ibm::power_vs_objects(&cluster)?,
        Platform::Nutanix => nutanix::objects(&cluster)?,
        Platform::OpenStack => openstack::objects(&cluster)?,
        Platform::VSphere => vsphere::objects(&cluster)?,
        _without_manager => return Ok(Vec::new()),
    };
    all.extend(common::objects(&cluster)?);
    Ok(all)
}
