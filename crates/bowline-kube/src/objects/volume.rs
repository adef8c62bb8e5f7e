//! Volumes of pods: those that are made of ConfigMaps and Secrets. Of others, only the name is read.

use serde::Deserialize;

use super::Reference;

/// A volume.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Its name within the pod.
    pub name: String,
    /// A ConfigMap.
    pub config_map: Option<ConfigMapVolumeSource>,
    /// A Secret.
    pub secret: Option<SecretVolumeSource>,
    /// Several things in one.
    pub projected: Option<ProjectedVolumeSource>,
    /// What a driver makes.
    pub csi: Option<CSIVolumeSource>,
}

/// The ConfigMap of a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ConfigMapVolumeSource {
    /// Its name.
    pub name: String,
    /// Which key is which file; each is one under its own name where this does not say.
    pub items: Option<Vec<KeyToPath>>,
}

/// The Secret of a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretVolumeSource {
    /// Its name.
    pub secret_name: Option<String>,
    /// Which key is which file; each is one under its own name where this does not say.
    pub items: Option<Vec<KeyToPath>>,
}

/// A key, and the file that it becomes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KeyToPath {
    /// The key.
    pub key: String,
    /// The file within the volume.
    pub path: String,
}

/// A volume of several things.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProjectedVolumeSource {
    /// The things.
    pub sources: Option<Vec<VolumeProjection>>,
}

/// One of several things in a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeProjection {
    /// A ConfigMap.
    pub config_map: Option<Reference>,
    /// A Secret.
    pub secret: Option<Reference>,
}

/// A volume that a driver makes.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CSIVolumeSource {
    /// The Secret that the driver is given.
    pub node_publish_secret_ref: Option<Reference>,
}
