//! What OpenShift's own operators have started components with, release by release, and what a running configuration says
//! of who owns the cloud's controllers. For clusters that are looked at, not for those that we configure.

#[cfg(test)]
mod tests;

use serde_json::Value;

use super::Component;
use crate::feature_gates::FeatureGates;
use crate::infrastructure::PlatformStatus;
use crate::platform::{ExternalError, Platform, is_external_at};

/// The value of `--cloud-provider` in OpenShift 4.`minor`; `None` is: not given.
///
/// # Errors
///
/// If the platform or the gates that decide are not known, for the control plane. A kubelet was configured all the same,
/// as if nothing ran outside.
pub fn openshift_cloud_provider(
    component: Component,
    status: Option<&PlatformStatus>,
    minor: u32,
    gates: Option<&FeatureGates>,
) -> Result<Option<&'static str>, ExternalError> {
    let is_external = is_external_at(status, minor, gates);
    if component == Component::Kubelet {
        // Until 4.8, no kubelet was external.
        let is_external = minor >= 9 && is_external.unwrap_or(false);
        return Ok(if is_external { Some("external") } else { inside(status, minor) });
    }
    let is_external = is_external?;
    Ok(match minor {
        // The flags of the control plane are gone.
        16.. => None,
        _ if is_external => Some("external"),
        _ => inside(status, minor),
    })
}

/// The provider inside Kubernetes, as long as OpenShift used any.
fn inside(status: Option<&PlatformStatus>, minor: u32) -> Option<&'static str> {
    let platform = &status?.platform;
    let is_used = minor < 16 && (*platform != Platform::OpenStack || minor < 13);
    platform.in_tree_name().filter(|_| is_used)
}

/// A configuration of kube-controller-manager that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OwnershipError {
    /// Not JSON.
    #[error("the configuration of kube-controller-manager is not JSON: line {line}, column {column}")]
    NotJson {
        /// Where.
        line: usize,
        /// Where in the line.
        column: usize,
    },
    /// Not a list of texts.
    #[error(
        "the configuration of kube-controller-manager has an extendedArguments.cloud-provider that is no list of texts"
    )]
    NotAList,
}

/// Whether a configuration of kube-controller-manager (`config.yaml`, which is JSON) makes it run the cloud's controllers.
///
/// # Errors
///
/// If it cannot be read; then nobody knows, and nothing must be started.
pub fn owns_cloud_controllers(config: &str) -> Result<bool, OwnershipError> {
    let config: Value = serde_json::from_str(config)
        .map_err(|error| OwnershipError::NotJson { line: error.line(), column: error.column() })?;
    let arguments = match config.get("extendedArguments") {
        None | Some(Value::Null) => return Ok(false),
        Some(Value::Object(arguments)) => arguments,
        Some(_) => return Err(OwnershipError::NotAList),
    };
    let values = match arguments.get("cloud-provider") {
        None | Some(Value::Null) => return Ok(false),
        Some(Value::Array(values)) => values,
        Some(_) => return Err(OwnershipError::NotAList),
    };
    let texts: Option<Vec<&str>> = values.iter().map(Value::as_str).collect();
    let texts = texts.ok_or(OwnershipError::NotAList)?;
    Ok(!matches!(texts.as_slice(), ["external"] | [""]))
}
