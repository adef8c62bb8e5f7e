//! vSphere: YAML, or the INI text of old, with what the cluster says of vCenters, networks and zones put into it. The result
//! is always YAML. Keys that nobody here knows are kept.

mod edit;
mod ini_form;
mod schema;

#[cfg(test)]
mod tests;

use serde_json::{Map, Value};
use zeroize::Zeroizing;

use super::problem::{Change, ConfigError, Problem, Transformed};
use crate::infrastructure::{ClusterNetwork, PlatformStatus, VSphereSpec};
use crate::platform::Platform;

/// What a cluster without any configuration starts from, where we own the managed one.
pub const MINIMAL_VSPHERE: &str = "global: {}\nvcenter: {}\n";

/// A configuration as it was read.
struct Read {
    fields: Map<String, Value>,
    changes: Vec<Change>,
}

/// Makes the configuration of vSphere's cloud-controller-manager. `spec` is `platformSpec.vsphere`.
///
/// # Errors
///
/// If the platform is another one, or the text is empty or can be read neither as YAML nor as INI. Lines and keys are told.
pub fn transform_vsphere(
    text: &str,
    status: &PlatformStatus,
    spec: Option<&VSphereSpec>,
    network: &ClusterNetwork,
) -> Result<Transformed, ConfigError> {
    if status.platform != Platform::VSphere {
        return Err(ConfigError::WrongPlatform { expected: "VSphere" });
    }
    if text.trim().is_empty() {
        return Err(ConfigError::one(Problem::of_text("vSphere config is empty")));
    }
    let read = if is_ini(text) { ini_form::read(text)? } else { schema::read(text)? };
    let mut editor = edit::Editor::new(read);
    if let Some(spec) = spec {
        editor.families(network);
        editor.nodes(spec, status.vsphere.as_ref(), network);
        editor.vcenters(spec);
        editor.labels(spec);
    }
    let (fields, changes, warnings) = editor.done();
    // Long lists of networks stay on one line, where people look for them.
    let options = serde_saphyr::ser_options! { prefer_block_scalars: false };
    let text = serde_saphyr::to_string_with_options(&Value::Object(fields), options)
        .map_err(|error| ConfigError::one(Problem::of_text(format!("cannot be written as YAML: {error}"))))?;
    Ok(Transformed { text: Zeroizing::new(text), changes, warnings })
}

/// No YAML mapping begins with a bracket, and every INI text does, but for comments.
fn is_ini(text: &str) -> bool {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.find(|line| !line.starts_with(['#', ';'])).is_some_and(|line| line.starts_with('['))
}
