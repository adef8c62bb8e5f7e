//! Whether a platform's cloud controllers run in a manager of their own. One table for OpenShift's releases, one for the
//! versions of Kubernetes; nobody else may know such numbers.

use super::Platform;
use crate::feature_gates::FeatureGates;
use crate::infrastructure::PlatformStatus;

/// The gate that let a cluster choose, in OpenShift 4.8 to 4.15.
pub const GATE: &str = "ExternalCloudProvider";
const GATE_AZURE: &str = "ExternalCloudProviderAzure";
const GATE_EXTERNAL: &str = "ExternalCloudProviderExternal";
const GATE_GCP: &str = "ExternalCloudProviderGCP";

/// What a release of OpenShift says of a platform.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rule {
    /// The controllers run in kube-controller-manager, or nowhere.
    Never,
    /// They run outside if one of these gates is on.
    Gated(&'static [&'static str]),
    /// They run outside if the platform says that it brings a manager, and one of these gates is on (if any is named).
    ByState(&'static [&'static str]),
    /// They run outside.
    Always,
}

/// Why the question has no answer.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ExternalError {
    /// The cluster does not say what it runs on.
    #[error("platformStatus is required")]
    NoPlatformStatus,
    /// The gates decide, and are not known yet.
    #[error("featureGates have not been read yet")]
    NoFeatureGates,
}

/// What OpenShift 4.`minor` says of a platform.
#[must_use]
pub fn rule(status: &PlatformStatus, minor: u32) -> Rule {
    use Platform as P;
    const ONE: Rule = Rule::Gated(&[GATE]);
    match (&status.platform, minor) {
        (P::Azure, 9..) if is_stack_hub(status) => Rule::Always,
        (P::Aws, 8..=13) | (P::OpenStack, 8..=11) | (P::Azure, 9..=13) => ONE,
        (P::Gcp, 10..=13) | (P::VSphere, 10..=12) => ONE,
        (P::Gcp, 14..=15) => Rule::Gated(&[GATE, GATE_GCP]),
        (P::Azure, 14..=15) => Rule::Gated(&[GATE, GATE_AZURE]),
        (P::External, 14..=15) => Rule::ByState(&[GATE_EXTERNAL]),
        (P::External, 16..) => Rule::ByState(&[]),
        (P::IbmCloud | P::AlibabaCloud | P::PowerVs, 10..)
        | (P::OpenStack | P::KubeVirt, 12..)
        | (P::VSphere | P::Nutanix, 13..)
        | (P::Aws, 14..)
        | (P::Gcp | P::Azure, 16..) => Rule::Always,
        _ => Rule::Never,
    }
}

/// Whether OpenShift 4.`minor` runs the cloud controllers of a platform outside. `None` for gates is: not known yet.
///
/// # Errors
///
/// If the platform is not known; from 4.14 on, if gates decide and are not known. Before, unknown gates were off.
pub fn is_external_at(
    status: Option<&PlatformStatus>,
    minor: u32,
    gates: Option<&FeatureGates>,
) -> Result<bool, ExternalError> {
    let status = status.ok_or(ExternalError::NoPlatformStatus)?;
    let any = |names: &[&str]| match gates {
        None if minor >= 14 => Err(ExternalError::NoFeatureGates),
        None => Ok(false),
        Some(gates) => Ok(names.iter().any(|name| {
            // An explicit "no" won as long as feature sets were looked up.
            gates.is_on(name) && (minor >= 14 || !gates.disabled.contains(*name))
        })),
    };
    match rule(status, minor) {
        Rule::Never => Ok(false),
        Rule::Always => Ok(true),
        Rule::Gated(names) => any(names),
        Rule::ByState([]) => Ok(brings_manager(status)),
        Rule::ByState(names) => Ok(any(names)? && brings_manager(status)),
    }
}

/// Whether today's OpenShift (4.16 and later) runs the cloud controllers of a platform outside.
///
/// # Errors
///
/// If the platform is not known.
pub fn is_external(status: Option<&PlatformStatus>) -> Result<bool, ExternalError> {
    is_external_at(status, u32::MAX, None)
}

fn brings_manager(status: &PlatformStatus) -> bool {
    status.external.as_ref().is_some_and(|external| external.cloud_controller_manager.state == "External")
}

/// Whether this Azure is one that a customer runs.
#[must_use]
pub fn is_stack_hub(status: &PlatformStatus) -> bool {
    status.azure.as_ref().is_some_and(|azure| azure.cloud_name == "AzureStackCloud")
}

/// Whether a version of Kubernetes has a provider inside.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InTree {
    /// It has, and uses it when told to.
    Usable,
    /// It has, but only with the gates `DisableCloudProviders` and `DisableKubeletCloudCredentialProviders` off.
    SwitchedOff,
    /// It has not.
    Gone,
}

/// Whether Kubernetes 1.`minor` has a platform's provider inside.
#[must_use]
pub fn in_tree(platform: &Platform, minor: u32) -> InTree {
    let gone_from = match platform {
        Platform::OpenStack => 26,
        Platform::Aws => 27,
        Platform::Azure | Platform::Gcp | Platform::VSphere => 31,
        _ => 0,
    };
    match minor {
        minor if minor >= gone_from => InTree::Gone,
        29.. => InTree::SwitchedOff,
        _ => InTree::Usable,
    }
}
