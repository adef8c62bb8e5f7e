//! A flavor of Nova.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::{FlavorId, decode, paging::Listed};

/// A size of servers.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Flavor {
    /// Its id.
    pub id: FlavorId,
    /// Its name, which is the type of an instance.
    pub name: String,
    /// Memory, in MiB.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub ram: u64,
    /// Processors.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub vcpus: u64,
    /// The root disk, in GiB.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub disk: u64,
    /// More about it, from microversion 2.61 on.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub extra_specs: BTreeMap<String, String>,
}

impl Listed for Flavor {
    const COLLECTION: &'static str = "flavors";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}
