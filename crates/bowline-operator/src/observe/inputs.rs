//! The cloud configuration, the credentials and the certificates that a resource names: where they are, whether they are there,
//! and whether they can be read. Texts may hold secrets: no error quotes them.

use std::collections::BTreeMap;
use std::fmt;

use aws_lc_rs::digest::{Context, SHA256};
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Api, Client};

use crate::api::{CloudControllerManagerSpec, KeyOfObject, PlatformName};
use crate::config::{CLOUD_CONF, ConfigError, validate_openstack};
use crate::render::RenderedConfig;
use crate::trust::{self, CA_BUNDLE, PemError};

/// The key of OpenStack's credentials.
const CLOUDS_YAML: &str = "clouds.yaml";

/// A ConfigMap or a Secret, and the key in it that is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// `ConfigMap` or `Secret`.
    pub kind: &'static str,
    /// Where.
    pub namespace: String,
    /// Which.
    pub name: String,
    /// The key, if one in particular is needed.
    pub key: Option<String>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}/{}", self.kind, self.namespace, self.name)
    }
}

/// What a resource names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Wishes {
    /// The configuration in the resource itself.
    pub inline: Option<String>,
    /// Where the configuration is.
    pub config: Option<Place>,
    /// Where the credentials are.
    pub credentials: Option<Place>,
    /// Where the certificates are.
    pub trusted_ca: Option<Place>,
}

/// What a resource names.
#[must_use]
pub fn wishes(spec: &CloudControllerManagerSpec) -> Wishes {
    let place = |kind, of: &KeyOfObject, default: Option<&str>| Place {
        kind,
        namespace: spec.namespace.clone(),
        name: of.name.clone(),
        key: of.key.clone().or_else(|| default.map(str::to_owned)),
    };
    let config = spec.cloud_config.as_ref();
    let in_config_map = config.and_then(|config| config.config_map.as_ref());
    let in_secret = config.and_then(|config| config.secret.as_ref());
    let credentials_key = (spec.platform == PlatformName::OpenStack).then_some(CLOUDS_YAML);
    Wishes {
        inline: config.and_then(|config| config.inline.clone()),
        config: in_config_map
            .map(|of| place("ConfigMap", of, Some(CLOUD_CONF)))
            .or_else(|| in_secret.map(|of| place("Secret", of, Some(CLOUD_CONF)))),
        credentials: spec.credentials.as_ref().map(|of| place("Secret", of, credentials_key)),
        trusted_ca: spec.trusted_ca.as_ref().map(|of| place("ConfigMap", of, Some(CA_BUNDLE))),
    }
}

/// The data of an object; `None` if there is no such object.
pub(super) type Data = Option<BTreeMap<String, Vec<u8>>>;

/// What was found for each wish; nothing was looked for where nothing was named.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Fetched {
    /// Of the configuration.
    pub config: Data,
    /// Of the credentials.
    pub credentials: Data,
    /// Of the certificates.
    pub trusted_ca: Data,
}

/// May hold secrets.
impl fmt::Debug for Fetched {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Fetched")
    }
}

/// Reads what is named.
///
/// # Errors
///
/// If something cannot be read. That it is not there is no error here.
pub async fn fetch(client: &Client, wishes: &Wishes) -> Result<Fetched, kube::Error> {
    Ok(Fetched {
        config: data_of(client, wishes.config.as_ref()).await?,
        credentials: data_of(client, wishes.credentials.as_ref()).await?,
        trusted_ca: data_of(client, wishes.trusted_ca.as_ref()).await?,
    })
}

/// The configuration with this name that was applied before: the last good one.
///
/// # Errors
///
/// If it cannot be read.
pub async fn last_good(
    client: &Client,
    namespace: &str,
    name: &str,
) -> Result<Option<RenderedConfig>, kube::Error> {
    for kind in ["Secret", "ConfigMap"] {
        let place = Place { kind, namespace: namespace.to_owned(), name: name.to_owned(), key: None };
        let found = data_of(client, Some(&place)).await?;
        let text = found.and_then(|mut data| String::from_utf8(data.remove(CLOUD_CONF)?).ok());
        if let Some(text) = text {
            return Ok(Some(RenderedConfig::new(text)));
        }
    }
    Ok(None)
}

async fn data_of(client: &Client, place: Option<&Place>) -> Result<Data, kube::Error> {
    let Some(place) = place else { return Ok(None) };
    if place.kind == "Secret" {
        let api: Api<Secret> = Api::namespaced(client.clone(), &place.namespace);
        let data = api.get_opt(&place.name).await?.map(|secret| secret.data.unwrap_or_default());
        return Ok(data.map(|data| data.into_iter().map(|(key, value)| (key, value.0)).collect()));
    }
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), &place.namespace);
    let data = api.get_opt(&place.name).await?.map(|config| config.data.unwrap_or_default());
    Ok(data.map(|data| data.into_iter().map(|(key, value)| (key, value.into_bytes())).collect()))
}

/// What the manager is given.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Inputs {
    /// The configuration.
    pub config: Option<RenderedConfig>,
    /// A hash of what is mounted under a name that stays.
    pub hash: Option<String>,
}

/// Why a manager cannot be given what it needs.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum InputProblem {
    /// The configuration is not there.
    #[error("the cloud configuration is missing: {0}")]
    ConfigMissing(Absent),
    /// The credentials are not there.
    #[error("the credentials are missing: {0}")]
    CredentialsMissing(Absent),
    /// The certificates are not there.
    #[error("the trusted certificates are missing: {0}")]
    TrustedCaMissing(Absent),
    /// The certificates are none.
    #[error("the trusted certificates in {place} cannot be used: {problem}")]
    TrustedCaInvalid {
        /// Where.
        place: String,
        /// What is wrong.
        problem: PemError,
    },
    /// The configuration cannot be read.
    #[error("the cloud configuration in {place} cannot be used: {error}; what runs keeps the last good one")]
    ConfigInvalid {
        /// Where.
        place: String,
        /// What is wrong, with lines and keys.
        error: ConfigError,
    },
}

/// Something that is not there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Absent {
    place: Place,
    is_object_there: bool,
}

impl fmt::Display for Absent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { place, is_object_there } = self;
        let key = place.key.as_deref().unwrap_or_default();
        match (is_object_there, key) {
            (true, key) => write!(f, "{place} has no key {key:?}; add it"),
            (false, "") => write!(f, "there is no {place}; create it"),
            (false, key) => write!(f, "there is no {place}; create it with the key {key:?}"),
        }
    }
}

impl InputProblem {
    /// In one word.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::ConfigMissing(_) => "ConfigMissing",
            Self::CredentialsMissing(_) => "CredentialsMissing",
            Self::TrustedCaMissing(_) => "TrustedCAMissing",
            Self::TrustedCaInvalid { .. } => "TrustedCAInvalid",
            Self::ConfigInvalid { .. } => "ConfigInvalid",
        }
    }

    /// Whether it is the configuration that is missing or wrong: then the last good one is used.
    #[must_use]
    pub fn is_of_config(&self) -> bool {
        matches!(self, Self::ConfigMissing(_) | Self::ConfigInvalid { .. })
    }
}

/// Checks what was found.
///
/// # Errors
///
/// The first thing that is missing or wrong.
pub fn read_inputs(
    spec: &CloudControllerManagerSpec,
    wishes: &Wishes,
    fetched: &Fetched,
) -> Result<Inputs, InputProblem> {
    let config = config(spec, wishes, fetched)?;
    Ok(Inputs { config, hash: hash_of_inputs(wishes, fetched)? })
}

fn config(
    spec: &CloudControllerManagerSpec,
    wishes: &Wishes,
    fetched: &Fetched,
) -> Result<Option<RenderedConfig>, InputProblem> {
    let (text, place) = match (&wishes.inline, &wishes.config) {
        (Some(text), _) => (text.clone(), "spec.cloudConfig.inline".to_owned()),
        (None, Some(place)) => {
            let bytes = value(place, &fetched.config).map_err(InputProblem::ConfigMissing)?;
            (String::from_utf8_lossy(&bytes).into_owned(), place.to_string())
        }
        (None, None) => return Ok(None),
    };
    if spec.platform == PlatformName::OpenStack {
        let checked = validate_openstack(&text);
        checked.map_err(|error| InputProblem::ConfigInvalid { place, error })?;
    }
    Ok(Some(RenderedConfig::new(text)))
}

/// The value of the key that is needed, or nothing where none in particular is.
fn value(place: &Place, found: &Data) -> Result<Vec<u8>, Absent> {
    let absent = |is_object_there| Absent { place: place.clone(), is_object_there };
    let data = found.as_ref().ok_or_else(|| absent(false))?;
    match &place.key {
        None => Ok(Vec::new()),
        Some(key) => data.get(key).cloned().ok_or_else(|| absent(true)),
    }
}

/// A hash of the credentials and certificates; pods roll when it changes.
///
/// # Errors
///
/// If they are missing, or the certificates are none.
pub fn hash_of_inputs(wishes: &Wishes, fetched: &Fetched) -> Result<Option<String>, InputProblem> {
    let mut hash = Context::new(&SHA256);
    let mut is_empty = true;
    if let Some(place) = &wishes.credentials {
        value(place, &fetched.credentials).map_err(InputProblem::CredentialsMissing)?;
        for (key, value) in fetched.credentials.iter().flatten() {
            [key.as_bytes(), b"\0", value, b"\0"].iter().for_each(|part| hash.update(part));
        }
        is_empty = false;
    }
    if let Some(place) = &wishes.trusted_ca {
        let bytes = value(place, &fetched.trusted_ca).map_err(InputProblem::TrustedCaMissing)?;
        let text = String::from_utf8_lossy(&bytes);
        let problem = |problem| InputProblem::TrustedCaInvalid { place: place.to_string(), problem };
        trust::certificates(&text).map_err(problem)?;
        hash.update(&bytes);
        is_empty = false;
    }
    let hex = || hash.clone().finish().as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    Ok((!is_empty).then(hex))
}
