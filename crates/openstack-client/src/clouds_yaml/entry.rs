//! Merges the settings of one cloud from the files. Pure.

use std::collections::BTreeMap;

use secrecy::SecretString;
use serde::{Deserialize, Deserializer};
use zeroize::Zeroizing;

use super::CloudsError;
use crate::AuthOptions;

/// The texts of the files.
#[derive(Clone, Default)]
pub struct Documents {
    /// clouds.yaml
    pub clouds: Zeroizing<String>,
    /// secure.yaml
    pub secure: Option<Zeroizing<String>>,
    /// clouds-public.yaml
    pub public: Option<Zeroizing<String>>,
    /// The name of clouds.yaml in error messages, such as its path; empty means `clouds.yaml`.
    pub clouds_name: String,
}

/// The merged settings of one cloud.
#[derive(Debug, Clone, Default)]
pub struct CloudEntry {
    /// Its name.
    pub name: String,
    /// How to authenticate.
    pub auth: AuthOptions,
    /// The region.
    pub region: Option<String>,
    /// The interface.
    pub interface: Option<String>,
    /// The path of the CA certificates.
    pub ca_file: Option<String>,
    /// The path of the client certificate.
    pub cert_file: Option<String>,
    /// The path of the client's private key.
    pub key_file: Option<String>,
    /// Whether server certificates are verified; `None` if the files do not set it.
    pub verify: Option<bool>,
}

#[derive(Deserialize, Default)]
struct CloudsFile {
    #[serde(default)]
    clouds: Option<BTreeMap<String, Option<RawCloud>>>,
}

#[derive(Deserialize, Default)]
struct PublicFile {
    #[serde(rename = "public-clouds", default)]
    clouds: Option<BTreeMap<String, Option<RawCloud>>>,
}

#[derive(Deserialize, Default, Clone)]
struct RawCloud {
    #[serde(default)]
    profile: Option<String>,
    #[serde(default)]
    cloud: Option<String>,
    #[serde(default)]
    auth: Option<RawAuth>,
    #[serde(default)]
    region_name: Option<String>,
    #[serde(default)]
    interface: Option<String>,
    #[serde(default)]
    endpoint_type: Option<String>,
    #[serde(default)]
    cacert: Option<String>,
    #[serde(default)]
    cert: Option<String>,
    #[serde(default)]
    key: Option<String>,
    #[serde(default)]
    verify: Option<bool>,
}

#[derive(Deserialize, Default, Clone)]
struct RawAuth {
    #[serde(default)]
    auth_url: Option<String>,
    #[serde(default)]
    username: Option<String>,
    #[serde(default, alias = "userid")]
    user_id: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    password: Option<SecretString>,
    #[serde(default, deserialize_with = "secret")]
    token: Option<SecretString>,
    #[serde(default)]
    project_id: Option<String>,
    #[serde(default)]
    project_name: Option<String>,
    #[serde(default)]
    tenant_id: Option<String>,
    #[serde(default)]
    tenant_name: Option<String>,
    #[serde(default)]
    domain_id: Option<String>,
    #[serde(default)]
    domain_name: Option<String>,
    #[serde(default)]
    project_domain_id: Option<String>,
    #[serde(default)]
    project_domain_name: Option<String>,
    #[serde(default)]
    user_domain_id: Option<String>,
    #[serde(default)]
    user_domain_name: Option<String>,
    #[serde(default)]
    default_domain: Option<String>,
    #[serde(default)]
    application_credential_id: Option<String>,
    #[serde(default)]
    application_credential_name: Option<String>,
    #[serde(default, deserialize_with = "secret")]
    application_credential_secret: Option<SecretString>,
    #[serde(default)]
    trust_id: Option<String>,
    #[serde(default)]
    system_scope: Option<String>,
}

fn secret<'de, D: Deserializer<'de>>(input: D) -> Result<Option<SecretString>, D::Error> {
    Ok(Option::<String>::deserialize(input)?.map(SecretString::from))
}

impl Documents {
    /// Merges the settings of the cloud `name`. Without a name, clouds.yaml (or else secure.yaml) must have exactly one cloud. Values of
    /// secure.yaml take precedence over clouds.yaml, and those over the profile in clouds-public.yaml.
    ///
    /// # Errors
    ///
    /// [`CloudsError`], which does not quote the files.
    pub fn entry(&self, name: Option<&str>) -> Result<CloudEntry, CloudsError> {
        let file = if self.clouds_name.is_empty() { "clouds.yaml" } else { &self.clouds_name };
        let clouds = parse::<CloudsFile>(file, &self.clouds)?.clouds.unwrap_or_default();
        let secure = match &self.secure {
            Some(text) => parse::<CloudsFile>("secure.yaml", text)?.clouds.unwrap_or_default(),
            None => BTreeMap::new(),
        };
        let name = choose(name, &clouds, &secure)?;
        let own = clouds.get(&name).cloned();
        let own = own.ok_or_else(|| CloudsError::NoCloud {
            name: name.clone(),
            known: clouds.keys().cloned().collect(),
        })?;
        let own = own.unwrap_or_default();
        let profile = self.profile(&name, &own)?;
        let secret = secure.get(&name).cloned().flatten().unwrap_or_default();
        Ok(finish(name, secret.over(own).over(profile)))
    }

    fn profile(&self, name: &str, own: &RawCloud) -> Result<RawCloud, CloudsError> {
        let Some(profile) = own.profile.as_ref().or(own.cloud.as_ref()).filter(|text| !text.is_empty())
        else {
            return Ok(RawCloud::default());
        };
        let public = match &self.public {
            Some(text) => parse::<PublicFile>("clouds-public.yaml", text)?.clouds.unwrap_or_default(),
            None => BTreeMap::new(),
        };
        let found = public.get(profile).cloned();
        found
            .map(Option::unwrap_or_default)
            .ok_or_else(|| CloudsError::NoProfile { name: name.to_owned(), profile: profile.clone() })
    }
}

/// Errors of the YAML parser quote the surrounding lines, which may contain secrets; only line and column are kept.
fn parse<T: for<'de> Deserialize<'de> + Default>(file: &str, text: &str) -> Result<T, CloudsError> {
    if text.trim().is_empty() {
        return Ok(T::default());
    }
    serde_saphyr::from_str(text).map_err(|error| CloudsError::NotClouds {
        file: file.to_owned(),
        place: error
            .location()
            .map_or_else(String::new, |at| format!(" near line {}, column {}", at.line(), at.column())),
    })
}

type Clouds = BTreeMap<String, Option<RawCloud>>;

fn choose(name: Option<&str>, clouds: &Clouds, secure: &Clouds) -> Result<String, CloudsError> {
    if let Some(name) = name.filter(|name| !name.is_empty()) {
        return Ok(name.to_owned());
    }
    let only = |clouds: &Clouds| (clouds.len() == 1).then(|| clouds.keys().next().cloned()).flatten();
    only(clouds).or_else(|| only(secure)).ok_or(CloudsError::NoChoice { count: clouds.len() })
}

macro_rules! over {
    ($top:ident, $below:ident; $($field:ident)*) => {
        Self { $($field: $top.$field.or($below.$field),)* }
    };
}

impl RawCloud {
    /// Merges two layers: values of `self` take precedence over those of `below`.
    fn over(self, below: Self) -> Self {
        let auth = match (self.auth, below.auth) {
            (Some(top), Some(below)) => Some(top.over(below)),
            (top, below) => top.or(below),
        };
        // `interface` and `endpoint_type` are two names of one setting: either of them in the upper layer overrides both in the lower one.
        let interface = self.interface.or(self.endpoint_type).or(below.interface).or(below.endpoint_type);
        Self {
            profile: self.profile.or(below.profile),
            cloud: self.cloud.or(below.cloud),
            auth,
            region_name: self.region_name.or(below.region_name),
            interface,
            endpoint_type: None,
            cacert: self.cacert.or(below.cacert),
            cert: self.cert.or(below.cert),
            key: self.key.or(below.key),
            verify: self.verify.or(below.verify),
        }
    }
}

impl RawAuth {
    fn over(self, below: Self) -> Self {
        over!(self, below; auth_url username user_id password token project_id project_name tenant_id tenant_name domain_id
            domain_name project_domain_id project_domain_name user_domain_id user_domain_name default_domain
            application_credential_id application_credential_name application_credential_secret trust_id system_scope)
    }
}

fn finish(name: String, raw: RawCloud) -> CloudEntry {
    let auth = raw.auth.unwrap_or_default();
    CloudEntry {
        name,
        auth: AuthOptions {
            auth_url: auth.auth_url,
            username: auth.username,
            user_id: auth.user_id,
            password: auth.password,
            token: auth.token,
            project_id: auth.project_id.or(auth.tenant_id),
            project_name: auth.project_name.or(auth.tenant_name),
            domain_id: auth.domain_id,
            domain_name: auth.domain_name,
            project_domain_id: auth.project_domain_id,
            project_domain_name: auth.project_domain_name,
            user_domain_id: auth.user_domain_id,
            user_domain_name: auth.user_domain_name,
            default_domain: auth.default_domain,
            application_credential_id: auth.application_credential_id,
            application_credential_name: auth.application_credential_name,
            application_credential_secret: auth.application_credential_secret,
            trust_id: auth.trust_id,
            trustee_id: None,
            trustee_password: None,
            system_scope: auth.system_scope,
        },
        region: raw.region_name,
        interface: raw.interface.or(raw.endpoint_type),
        ca_file: raw.cacert,
        cert_file: raw.cert,
        key_file: raw.key,
        verify: raw.verify,
    }
}
