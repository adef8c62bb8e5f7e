//! Which platform a cluster runs on, told by the provider IDs of its nodes. Evidence only: where nodes disagree, the caller
//! is told so and must not choose.

use std::collections::BTreeMap;

use super::Platform;

/// The schemes of provider IDs.
const SCHEMES: [(&str, Platform); 13] = [
    ("aws", Platform::Aws),
    ("azure", Platform::Azure),
    ("baremetalhost", Platform::BareMetal),
    ("equinixmetal", Platform::EquinixMetal),
    ("gce", Platform::Gcp),
    ("ibm", Platform::IbmCloud),
    ("ibmpowervs", Platform::PowerVs),
    ("kubevirt", Platform::KubeVirt),
    ("libvirt", Platform::Libvirt),
    ("nutanix", Platform::Nutanix),
    ("openstack", Platform::OpenStack),
    ("ovirt", Platform::OVirt),
    ("vsphere", Platform::VSphere),
];

/// The managers that k3s and RKE2 have inside; their IDs say nothing of the platform.
const EMBEDDED: [&str; 2] = ["k3s", "rke2"];

/// What provider IDs tell.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Detection {
    /// How many nodes each platform has.
    pub platforms: BTreeMap<Platform, usize>,
    /// How many nodes each embedded manager has named, by its scheme. Such an ID can never be changed.
    pub embedded: BTreeMap<String, usize>,
    /// How many nodes have an ID of a scheme that nobody knows; an ID without any has the scheme "".
    pub unknown: BTreeMap<String, usize>,
    /// How many nodes have no ID.
    pub without: usize,
}

impl Detection {
    /// The platform, if all nodes that tell of one tell the same, and none is of a scheme nobody knows.
    #[must_use]
    pub fn platform(&self) -> Option<&Platform> {
        let mut found = self.platforms.keys();
        match (found.next(), found.next(), self.unknown.is_empty()) {
            (Some(only), None, true) => Some(only),
            _ => None,
        }
    }

    /// Whether nodes tell of different platforms, or of one that nobody knows.
    #[must_use]
    pub fn is_ambiguous(&self) -> bool {
        self.platforms.len() > 1 || !self.unknown.is_empty()
    }
}

/// The scheme of a provider ID, if it has one and something behind it.
#[must_use]
pub fn scheme(provider_id: &str) -> Option<&str> {
    let (scheme, rest) = provider_id.split_once("://")?;
    let is_named = !scheme.is_empty() && rest.chars().any(|c| c != '/');
    is_named.then_some(scheme)
}

/// What the provider IDs of nodes tell; `None` or nothing is a node without.
pub fn detect<'a>(provider_ids: impl IntoIterator<Item = Option<&'a str>>) -> Detection {
    let mut found = Detection::default();
    for id in provider_ids {
        let Some(id) = id.filter(|id| !id.is_empty()) else {
            found.without += 1;
            continue;
        };
        let scheme = scheme(id).unwrap_or_default();
        if let Some((_, platform)) = SCHEMES.iter().find(|(known, _)| *known == scheme) {
            *found.platforms.entry(platform.clone()).or_default() += 1;
        } else if EMBEDDED.contains(&scheme) {
            *found.embedded.entry(scheme.to_owned()).or_default() += 1;
        } else {
            *found.unknown.entry(scheme.to_owned()).or_default() += 1;
        }
    }
    found
}
