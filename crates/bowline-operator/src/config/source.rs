//! Which text is the configuration, and what its ConfigMap becomes. The keys beside it are carried through.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use super::openstack::OpenStackOptions;
use super::problem::{Change, ConfigError, Problem, Transformed};
use super::vsphere::MINIMAL_VSPHERE;
use super::{
    transform_aws, transform_azure, transform_azure_stack_hub, transform_openstack, transform_vsphere,
};
use crate::feature_gates::FeatureGates;
use crate::infrastructure::{ClusterNetwork, Infrastructure};
use crate::platform::{Platform, is_stack_hub};

/// The key that managers read.
pub const CLOUD_CONF: &str = "cloud.conf";
/// The gate behind which we own the managed configuration of vSphere.
const MULTI_VCENTER_GATE: &str = "VSphereMultiVCenterDay2";

/// Where a ConfigMap came from, for messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", self.namespace, self.name)
    }
}

/// What transformations look at beside the text.
#[derive(Debug, Clone, Copy)]
pub struct Inputs<'a> {
    /// The cluster's infrastructure.
    pub infrastructure: &'a Infrastructure,
    /// Its networks.
    pub network: &'a ClusterNetwork,
    /// Its feature gates.
    pub gates: &'a FeatureGates,
}

/// Whether the manager of a platform has a configuration at all.
#[must_use]
pub fn needs_sync(platform: &Platform) -> bool {
    use Platform as P;
    matches!(
        platform,
        P::Aws | P::Azure | P::Gcp | P::VSphere | P::IbmCloud | P::PowerVs | P::OpenStack | P::Nutanix
    )
}

/// Whether the ConfigMap that cluster-config-operator made is taken rather than the administrator's.
#[must_use]
pub fn prefers_managed(platform: &Platform) -> bool {
    matches!(platform, Platform::Aws | Platform::Azure)
}

/// The data of a ConfigMap with the configuration under the one key that managers read.
///
/// # Errors
///
/// If the cluster names a key that is not there.
pub fn normalise(
    mut data: BTreeMap<String, String>,
    origin: &Origin,
    key: &str,
) -> Result<BTreeMap<String, String>, ConfigError> {
    if data.contains_key(CLOUD_CONF) {
        return Ok(data);
    }
    let text = match key {
        "" => String::new(),
        key => data
            .remove(key)
            .ok_or_else(|| ConfigError::NoSuchKey { key: key.to_owned(), origin: origin.to_string() })?,
    };
    data.insert(CLOUD_CONF.to_owned(), text);
    Ok(data)
}

/// Makes a platform's configuration of a text.
///
/// # Errors
///
/// If the platform is not known or not one that has a configuration, or as its transformation says.
pub fn transform(text: &str, inputs: Inputs<'_>) -> Result<Transformed, ConfigError> {
    let status = inputs.infrastructure.status.platform_status.as_ref().ok_or(ConfigError::NoPlatform)?;
    match &status.platform {
        Platform::OpenStack => transform_openstack(text, &status.platform, &OpenStackOptions::default()),
        Platform::Aws => transform_aws(text, inputs.gates),
        Platform::Azure if is_stack_hub(status) => transform_azure_stack_hub(text, status),
        Platform::Azure => transform_azure(text, status),
        Platform::VSphere => {
            let spec = inputs.infrastructure.spec.platform_spec.vsphere.as_ref();
            transform_vsphere(text, status, spec, inputs.network)
        }
        Platform::Gcp | Platform::IbmCloud | Platform::PowerVs | Platform::Nutanix => {
            Ok(Transformed::unchanged(text))
        }
        _ => Err(ConfigError::WrongPlatform { expected: "one whose manager has a configuration" }),
    }
}

/// The data that the managers' ConfigMap must have. May hold secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Synced {
    /// All keys.
    pub data: BTreeMap<String, String>,
    /// How the configuration differs from its source.
    pub changes: Vec<Change>,
    /// What a person should look at.
    pub warnings: Vec<Problem>,
}

impl fmt::Debug for Synced {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Synced")
            .field("keys", &self.data.keys())
            .field("changes", &self.changes)
            .field("warnings", &self.warnings)
            .finish_non_exhaustive()
    }
}

/// Makes the data of the managers' ConfigMap of that of its source; `None` is a source that does not exist, which is an
/// empty configuration where the platform can live with one.
///
/// # Errors
///
/// As [`normalise`] and [`transform`].
pub fn sync(
    source: Option<BTreeMap<String, String>>,
    origin: &Origin,
    inputs: Inputs<'_>,
) -> Result<Synced, ConfigError> {
    let is_missing = source.is_none();
    let mut data = match source {
        Some(data) => normalise(data, origin, &inputs.infrastructure.spec.cloud_config.key)?,
        None => BTreeMap::from([(CLOUD_CONF.to_owned(), without_source(inputs).to_owned())]),
    };
    let text = data.remove(CLOUD_CONF).unwrap_or_default();
    let Transformed { text, changes, mut warnings } = transform(&text, inputs)?;
    if is_missing {
        let what = format!("there is no ConfigMap {origin}; the configuration is made without it");
        warnings.insert(0, Problem::of_text(what));
    }
    data.insert(CLOUD_CONF.to_owned(), text.to_string());
    Ok(Synced { data, changes, warnings })
}

fn without_source(inputs: Inputs<'_>) -> &'static str {
    let status = inputs.infrastructure.status.platform_status.as_ref();
    let is_vsphere = status.is_some_and(|status| status.platform == Platform::VSphere);
    if is_vsphere && inputs.gates.is_on(MULTI_VCENTER_GATE) { MINIMAL_VSPHERE } else { "" }
}
