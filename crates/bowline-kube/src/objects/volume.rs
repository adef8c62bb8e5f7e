//! Volumes of pods: those from ConfigMaps and Secrets. Of other volumes only the name is read.

use serde::Deserialize;

use super::Reference;

/// A volume.
#[derive(Debug, Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Volume {
    /// Its name within the pod.
    pub name: String,
    /// The ConfigMap, if the volume is made of one.
    pub config_map: Option<ConfigMapVolumeSource>,
    /// The Secret, if the volume is made of one.
    pub secret: Option<SecretVolumeSource>,
    /// Several sources in one volume.
    pub projected: Option<ProjectedVolumeSource>,
    /// The volume of a CSI driver.
    pub csi: Option<CSIVolumeSource>,
}

/// A ConfigMap as a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ConfigMapVolumeSource {
    /// The name of the ConfigMap.
    pub name: String,
    /// The file of each key. `None` means one file per key, with the name of the key.
    pub items: Option<Vec<KeyToPath>>,
}

/// A Secret as a volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct SecretVolumeSource {
    /// The name of the Secret.
    pub secret_name: Option<String>,
    /// The file of each key. `None` means one file per key, with the name of the key.
    pub items: Option<Vec<KeyToPath>>,
}

/// A key and its file.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct KeyToPath {
    /// The key.
    pub key: String,
    /// The path of the file within the volume.
    pub path: String,
}

/// A volume with several sources.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub struct ProjectedVolumeSource {
    /// The sources.
    pub sources: Option<Vec<VolumeProjection>>,
}

/// One source of a projected volume.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct VolumeProjection {
    /// A ConfigMap.
    pub config_map: Option<Reference>,
    /// A Secret.
    pub secret: Option<Reference>,
}

/// A volume of a CSI driver.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct CSIVolumeSource {
    /// The Secret that is passed to the driver.
    pub node_publish_secret_ref: Option<Reference>,
}
