//! What makes pods roll: the hash of the ConfigMaps and Secrets that a pod is made of. Byte-compatible with
//! cluster-cloud-controller-manager-operator, so that taking over a cluster restarts nothing.

mod references;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde::Serialize;

pub use self::references::{References, Scope, references};

/// The annotation of a pod template with the hash of its configuration.
pub const CONFIG_HASH: &str = "operator.openshift.io/config-hash";
/// The annotation of a workload with the hash of the specification it was applied with.
pub const SPEC_HASH: &str = "operator.openshift.io/spec-hash";

/// The objects that a pod refers to and that do not exist; it will wait for them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub struct Missing {
    /// The ConfigMaps.
    pub config_maps: Vec<String>,
    /// The Secrets.
    pub secrets: Vec<String>,
}

impl fmt::Display for Missing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let config_maps = self.config_maps.iter().map(|name| format!("configmaps {name:?} not found"));
        let secrets = self.secrets.iter().map(|name| format!("secrets {name:?} not found"));
        f.write_str(&config_maps.chain(secrets).collect::<Vec<_>>().join(", "))
    }
}

/// Why there is no hash.
#[derive(Debug, thiserror::Error)]
pub enum HashError {
    /// Something that is referred to does not exist.
    #[error(transparent)]
    Missing(#[from] Missing),
    /// What was to be hashed has no JSON.
    #[error("cannot be written as JSON to be hashed: {0}")]
    Json(#[from] serde_json::Error),
}

type ByName<'a, T> = BTreeMap<&'a str, Option<&'a BTreeMap<String, T>>>;

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Content<'a> {
    config_maps: ByName<'a, String>,
    secrets: ByName<'a, ByteString>,
    /// Unknown to the operator we are compatible with, and so left out where there is none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    binary_data: ByName<'a, ByteString>,
}

/// The hash of all that `references` names, found in the objects given, which are those of the workload's namespace.
///
/// # Errors
///
/// If one of them does not exist. The workload is applied without the annotation then, and its pods wait.
pub fn config_hash(
    references: &References,
    config_maps: &[ConfigMap],
    secrets: &[Secret],
) -> Result<String, HashError> {
    let mut missing = Missing { config_maps: Vec::new(), secrets: Vec::new() };
    let mut content =
        Content { config_maps: BTreeMap::new(), secrets: BTreeMap::new(), binary_data: BTreeMap::new() };
    for name in &references.config_maps {
        match config_maps.iter().find(|object| object.metadata.name.as_ref() == Some(name)) {
            None => missing.config_maps.push(name.clone()),
            Some(object) => {
                content.config_maps.insert(name, object.data.as_ref());
                if references.scope == Scope::Complete && object.binary_data.is_some() {
                    content.binary_data.insert(name, object.binary_data.as_ref());
                }
            }
        }
    }
    for name in &references.secrets {
        match secrets.iter().find(|object| object.metadata.name.as_ref() == Some(name)) {
            None => missing.secrets.push(name.clone()),
            Some(object) => {
                content.secrets.insert(name, object.data.as_ref());
            }
        }
    }
    if !missing.config_maps.is_empty() || !missing.secrets.is_empty() {
        return Err(missing.into());
    }
    Ok(sha256(&go_json(&content)?))
}

/// The hash of a specification as it is going to be applied.
///
/// # Errors
///
/// If it has no JSON.
pub fn spec_hash(spec: &impl Serialize) -> Result<String, HashError> {
    Ok(sha256(&go_json(spec)?))
}

/// JSON with the escapes that Go's encoder uses. The characters stand in texts only, never in JSON itself.
fn go_json(value: &impl Serialize) -> Result<String, serde_json::Error> {
    let text = serde_json::to_string(value)?;
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '<' => escaped.push_str("\\u003c"),
            '>' => escaped.push_str("\\u003e"),
            '&' => escaped.push_str("\\u0026"),
            '\u{2028}' => escaped.push_str("\\u2028"),
            '\u{2029}' => escaped.push_str("\\u2029"),
            other => escaped.push(other),
        }
    }
    Ok(escaped)
}

/// The SHA-256 of a text, in hexadecimal digits.
pub(crate) fn sha256(text: &str) -> String {
    digest(&SHA256, text.as_bytes()).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}
