//! The platforms by name. OpenShift's list is open: a name nobody knows is kept, not refused.

use std::fmt;

use bowline_cloud::suggest::hint;
use serde::{Deserialize, Deserializer};

/// What a cluster runs on.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Platform {
    /// Alibaba Cloud.
    AlibabaCloud,
    /// Amazon Web Services.
    Aws,
    /// Microsoft Azure, Azure Stack Hub too.
    Azure,
    /// Machines that OpenShift manages without a cloud.
    BareMetal,
    /// Equinix Metal.
    EquinixMetal,
    /// A platform of somebody else, who brings what it needs.
    External,
    /// Google Cloud.
    Gcp,
    /// IBM Cloud, VPC.
    IbmCloud,
    /// Virtual machines in another Kubernetes.
    KubeVirt,
    /// libvirt.
    Libvirt,
    /// No platform at all.
    None,
    /// Nutanix.
    Nutanix,
    /// OpenStack.
    OpenStack,
    /// oVirt.
    OVirt,
    /// IBM Power Virtual Server.
    PowerVs,
    /// VMware vSphere.
    VSphere,
    /// One that came after us; without a name, nothing is said.
    Other(String),
}

impl Default for Platform {
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// Each platform with OpenShift's name and the names that clusters without OpenShift use, the first of them for printing.
const NAMES: [(Platform, &str, &[&str]); 16] = [
    (Platform::AlibabaCloud, "AlibabaCloud", &["alibabacloud", "alicloud"]),
    (Platform::Aws, "AWS", &["aws"]),
    (Platform::Azure, "Azure", &["azure"]),
    (Platform::BareMetal, "BareMetal", &["baremetal"]),
    (Platform::EquinixMetal, "EquinixMetal", &["equinixmetal"]),
    (Platform::External, "External", &["external"]),
    (Platform::Gcp, "GCP", &["gcp", "gce"]),
    (Platform::IbmCloud, "IBMCloud", &["ibmcloud", "ibm"]),
    (Platform::KubeVirt, "KubeVirt", &["kubevirt"]),
    (Platform::Libvirt, "Libvirt", &["libvirt"]),
    (Platform::None, "None", &["none"]),
    (Platform::Nutanix, "Nutanix", &["nutanix"]),
    (Platform::OpenStack, "OpenStack", &["openstack"]),
    (Platform::OVirt, "oVirt", &["ovirt"]),
    (Platform::PowerVs, "PowerVS", &["powervs", "ibmpowervs"]),
    (Platform::VSphere, "VSphere", &["vsphere"]),
];

/// A platform that was asked for by a name nobody knows.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no platform is called {name:?}{hint}; wanted one of {known}")]
pub struct UnknownPlatform {
    name: String,
    hint: String,
    known: String,
}

impl Platform {
    /// All that have a name.
    pub fn all() -> impl Iterator<Item = Self> {
        NAMES.iter().map(|(platform, ..)| platform.clone())
    }

    /// The platform of OpenShift's `platformStatus.type`, to the letter.
    #[must_use]
    pub fn from_openshift(name: &str) -> Self {
        let known = NAMES.iter().find(|(_, openshift, _)| *openshift == name);
        match known {
            Some((platform, ..)) => platform.clone(),
            None => Self::Other(name.to_owned()),
        }
    }

    /// The platform that a person names, in OpenShift's or in common words, in any case.
    ///
    /// # Errors
    ///
    /// If nobody knows the name; a person's slip must not become a platform that nothing is done for.
    pub fn from_name(name: &str) -> Result<Self, UnknownPlatform> {
        let wanted = name.trim().to_ascii_lowercase();
        let found = NAMES.iter().find(|(_, openshift, names)| {
            openshift.eq_ignore_ascii_case(&wanted) || names.contains(&wanted.as_str())
        });
        let common = || NAMES.iter().filter_map(|(_, _, names)| names.first().copied());
        found.map(|(platform, ..)| platform.clone()).ok_or_else(|| UnknownPlatform {
            name: name.to_owned(),
            hint: hint(&wanted, "", common()),
            known: common().collect::<Vec<_>>().join(", "),
        })
    }

    /// OpenShift's name.
    #[must_use]
    pub fn openshift_name(&self) -> &str {
        match self {
            Self::Other(name) => name,
            known => NAMES.iter().find(|(platform, ..)| platform == known).map_or("", |(_, name, _)| name),
        }
    }

    /// The name in lower case, as in the names of objects.
    #[must_use]
    pub fn name(&self) -> String {
        self.openshift_name().to_ascii_lowercase()
    }

    /// What `--cloud-provider` was called while Kubernetes had the provider inside.
    #[must_use]
    pub fn in_tree_name(&self) -> Option<&'static str> {
        match self {
            Self::Aws => Some("aws"),
            Self::Azure => Some("azure"),
            Self::Gcp => Some("gce"),
            Self::OpenStack => Some("openstack"),
            Self::VSphere => Some("vsphere"),
            _ => None,
        }
    }
}

impl fmt::Display for Platform {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.openshift_name())
    }
}

impl<'de> Deserialize<'de> for Platform {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|name| Self::from_openshift(&name))
    }
}
