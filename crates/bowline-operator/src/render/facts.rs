//! What is known of the cluster when objects are made. Handed in; nothing here looks.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};

use super::names::Naming;

/// What is known of the cluster.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ClusterFacts {
    /// How many control-plane nodes there are.
    pub control_plane_nodes: usize,
    /// Whether the API of ServiceMonitors exists.
    pub has_service_monitor: bool,
    /// The minor version of the API server, if it was asked.
    pub server_minor: Option<u32>,
    /// The cloud configuration, if there is one.
    pub config: Option<RenderedConfig>,
    /// A hash of what pods mount under names that do not change with the content: credentials, certificates.
    pub inputs_hash: Option<String>,
    /// `host:port` of the API server for pods that start before the network does; the resource's own word wins.
    pub api_server: Option<String>,
    /// The image of the operator, which is the manager's, too.
    pub own_image: Option<String>,
    /// How objects are named.
    pub naming: Naming,
}

/// The cloud configuration as the manager is going to read it.
#[derive(Clone, PartialEq, Eq)]
pub struct RenderedConfig {
    /// The text.
    pub text: String,
    /// Its SHA-256 in hexadecimal digits.
    pub hash: String,
}

impl RenderedConfig {
    /// A text with its hash.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        let hash =
            digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
        Self { text, hash }
    }

    /// The part of the hash that is in names.
    #[must_use]
    pub fn short_hash(&self) -> &str {
        self.hash.get(..10).unwrap_or(&self.hash)
    }
}

/// A configuration may hold passwords.
impl fmt::Debug for RenderedConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RenderedConfig").field("hash", &self.hash).finish_non_exhaustive()
    }
}
