//! A flavor of Nova.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{FlavorId, decode, paging::Listed};

/// A flavor: the size of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Flavor {
    /// Its id.
    pub id: FlavorId,
    /// Its name, which becomes the instance type of a Node.
    pub name: String,
    /// Memory, in MiB.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub ram: u64,
    /// The number of virtual CPUs.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub vcpus: u64,
    /// The root disk, in GiB.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub disk: u64,
    /// The extra specs, from microversion 2.61 on.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub extra_specs: BTreeMap<String, String>,
}

impl Listed for Flavor {
    const COLLECTION: &'static str = "flavors";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}
