//! What is to be rendered: a file with a resource, or flags, or both.

use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Arguments;
use crate::api::{CloudConfig, CloudControllerManagerSpec, KeyOfObject, PlatformName};
use crate::config::{ConfigError, validate_openstack};
use crate::platform::Platform;
use crate::render::{ClusterFacts, Naming, RenderedConfig};

/// The name where nobody names anything.
const DEFAULT_NAME: &str = "cloud-controller-manager";

/// Why the input cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum InputError {
    /// A file cannot be read.
    #[error("read {path}: {error}")]
    Read {
        /// Which.
        path: PathBuf,
        /// Why.
        error: std::io::Error,
    },
    /// The resource in the file is none.
    #[error("{path} is no CloudControllerManager: {problem}")]
    Resource {
        /// The file.
        path: PathBuf,
        /// What is wrong, and where.
        problem: String,
    },
    /// The platform has no manager.
    #[error(
        "there is no cloud-controller-manager for {0}; wanted one of aws, azure, gcp, ibmcloud, nutanix, openstack, powervs, vsphere"
    )]
    NoManager(Platform),
    /// A name that objects cannot have.
    #[error("{found:?} is no {what}; wanted {wanted}")]
    Name {
        /// Of what.
        what: &'static str,
        /// The name.
        found: String,
        /// What would be one.
        wanted: &'static str,
    },
    /// The cloud configuration is wrong.
    #[error("{place}: {error}")]
    Config {
        /// Where it is.
        place: String,
        /// What is wrong, with lines and keys.
        error: ConfigError,
    },
    /// Something that only a cluster has.
    #[error(
        "cloudConfig is in {place}, which only the cluster has; wanted --cloud-config FILE with the same text"
    )]
    Elsewhere {
        /// Where.
        place: String,
    },
}

/// What is rendered.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) name: String,
    pub(super) spec: CloudControllerManagerSpec,
    pub(super) facts: ClusterFacts,
}

/// Reads the files, and puts the flags over them.
pub(super) fn read(arguments: &Arguments) -> Result<Input, InputError> {
    let (name, mut spec) = match &arguments.config {
        Some(path) => resource(path)?,
        None => (None, fresh(arguments)?),
    };
    overrule(&mut spec, arguments)?;
    let config = config(&spec, arguments)?;
    let facts = ClusterFacts {
        control_plane_nodes: arguments.control_plane_nodes,
        has_service_monitor: arguments.service_monitor,
        server_minor: arguments.kubernetes_version.map(|version| version.minor),
        config,
        // A person chooses the names, and applies the files with rights of their own.
        naming: Naming::Bare,
        ..ClusterFacts::default()
    };
    let name = arguments.name.clone().or(name).unwrap_or_else(|| DEFAULT_NAME.to_owned());
    check_names(&name, &spec.cluster_name)?;
    Ok(Input { name, spec, facts })
}

/// What the API server would refuse in a cluster.
fn check_names(name: &str, cluster: &str) -> Result<(), InputError> {
    let wrong = |what, found: &str, wanted| Err(InputError::Name { what, found: found.to_owned(), wanted });
    let is_edge = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit();
    let is_inner = |c: char| is_edge(c) || c == '-';
    let is_name = name.starts_with(is_edge) && name.ends_with(is_edge) && name.chars().all(is_inner);
    if !is_name || name.len() > 40 {
        return wrong(
            "name",
            name,
            "up to 40 lower-case letters, digits and '-', with a letter or digit at both ends",
        );
    }
    let is_edge = |c: char| c.is_ascii_alphanumeric();
    let is_inner = |c: char| is_edge(c) || "._-".contains(c);
    let is_cluster =
        cluster.starts_with(is_edge) && cluster.ends_with(is_edge) && cluster.chars().all(is_inner);
    if !is_cluster || cluster.len() > 100 {
        return wrong(
            "cluster name",
            cluster,
            "up to 100 letters, digits, '.', '_' and '-', with a letter or digit at both ends",
        );
    }
    Ok(())
}

fn text(path: &Path) -> Result<String, InputError> {
    std::fs::read_to_string(path).map_err(|error| InputError::Read { path: path.to_owned(), error })
}

/// What is read of a resource in a file: not its status, and not what only an API server gives it.
#[derive(Deserialize)]
struct Manifest {
    metadata: Named,
    spec: CloudControllerManagerSpec,
}

#[derive(Deserialize)]
struct Named {
    name: Option<String>,
}

fn resource(path: &Path) -> Result<(Option<String>, CloudControllerManagerSpec), InputError> {
    let wrong = |problem: String| InputError::Resource { path: path.to_owned(), problem };
    let Manifest { metadata, spec } =
        serde_saphyr::from_str(&text(path)?).map_err(|error| wrong(error.to_string()))?;
    Ok((metadata.name, spec))
}

/// A resource of the flags alone, with the defaults of all that is not said.
fn fresh(arguments: &Arguments) -> Result<CloudControllerManagerSpec, InputError> {
    let platform = known(arguments.platform.as_ref().unwrap_or(&Platform::None))?;
    let manager = if platform == PlatformName::OpenStack { "Bowline" } else { "Upstream" };
    let mut fields = Map::new();
    fields.insert("platform".to_owned(), json!(platform));
    fields.insert("manager".to_owned(), json!(manager));
    fields.insert("clusterName".to_owned(), json!(arguments.cluster_name.clone().unwrap_or_default()));
    serde_json::from_value(Value::Object(fields)).map_err(|error| InputError::Resource {
        path: PathBuf::from("(the flags)"),
        problem: error.to_string(),
    })
}

fn known(platform: &Platform) -> Result<PlatformName, InputError> {
    let name = json!(platform.openshift_name());
    serde_json::from_value(name).map_err(|_unknown| InputError::NoManager(platform.clone()))
}

fn overrule(spec: &mut CloudControllerManagerSpec, arguments: &Arguments) -> Result<(), InputError> {
    if let Some(platform) = &arguments.platform {
        spec.platform = known(platform)?;
    }
    if let Some(manager) = arguments.manager {
        spec.manager = manager.into();
    }
    if let Some(form) = arguments.form {
        spec.form = form.into();
    }
    let over = |field: &mut String, given: &Option<String>| {
        if let Some(given) = given {
            field.clone_from(given);
        }
    };
    over(&mut spec.cluster_name, &arguments.cluster_name);
    over(&mut spec.namespace, &arguments.namespace);
    let over = |field: &mut Option<String>, given: &Option<String>| {
        if given.is_some() {
            field.clone_from(given);
        }
    };
    over(&mut spec.image, &arguments.image);
    over(&mut spec.version, &arguments.version);
    over(&mut spec.api_server, &arguments.api_server);
    if let Some(name) = &arguments.credentials {
        spec.credentials = Some(KeyOfObject { name: name.clone(), key: None });
    }
    Ok(())
}

/// The configuration: the file's text, else the resource's own. OpenStack's is checked, for a manager that cannot read it
/// does not start.
fn config(
    spec: &CloudControllerManagerSpec,
    arguments: &Arguments,
) -> Result<Option<RenderedConfig>, InputError> {
    let Some((text, place)) = config_text(spec, arguments)? else { return Ok(None) };
    if spec.platform == PlatformName::OpenStack {
        validate_openstack(&text).map_err(|error| InputError::Config { place, error })?;
    }
    Ok(Some(RenderedConfig::new(text)))
}

fn config_text(
    spec: &CloudControllerManagerSpec,
    arguments: &Arguments,
) -> Result<Option<(String, String)>, InputError> {
    if let Some(path) = &arguments.cloud_config {
        return Ok(Some((text(path)?, path.display().to_string())));
    }
    let elsewhere = |place| Err(InputError::Elsewhere { place });
    match spec.cloud_config.clone() {
        Some(CloudConfig { inline: Some(text), .. }) => Ok(Some((text, "cloudConfig.inline".to_owned()))),
        Some(CloudConfig { secret: Some(secret), .. }) => elsewhere(format!("Secret {}", secret.name)),
        Some(CloudConfig { config_map: Some(map), .. }) => elsewhere(format!("ConfigMap {}", map.name)),
        _nothing => Ok(None),
    }
}
