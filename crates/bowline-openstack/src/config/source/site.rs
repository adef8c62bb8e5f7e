//! The configuration of a real site: files, the Secret that they may point to, the environment.

use std::future::pending;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;
use bowline_cloud::{CloudConfig, SecretData, SecretReader, SecretReference};
use openstack_client::clouds_yaml::Documents;
use parking_lot::Mutex;
use secrecy::ExposeSecret;
use zeroize::Zeroizing;

use super::assemble::assemble;
use super::files::Files;
use super::{ConfigSource, LoadError};
use crate::config::connection::Configuration;
use crate::config::decode::{Decoded, Source, decode};
use crate::config::environment::Environment;
use crate::config::machine;
use crate::config::model::Global;
use crate::config::problem::Problem;

/// The key of a Secret that holds the text of a cloud.conf.
const CLOUDS_CONF: &str = "clouds.conf";
/// The key of a Secret that holds a clouds.yaml.
const CLOUDS_YAML: &str = "clouds.yaml";

/// Files of cloud.conf in their order, the later over the earlier, and all that they point to.
pub struct Site {
    files: Vec<PathBuf>,
    /// In place of files.
    fixed: Option<Source>,
    /// The text comes from a cluster: it must not make us read files or variables of this machine.
    of_cluster: bool,
    environment: Environment,
    secrets: Option<Arc<dyn SecretReader>>,
    watched: Mutex<Watched>,
    /// Whether any reading used the Secret.
    has_used_secret: AtomicBool,
}

/// What the last reading depended on.
#[derive(Clone, Default)]
struct Watched {
    files: Files,
    secret: Option<SecretReference>,
}

impl Site {
    /// The configuration in these files.
    #[must_use]
    pub fn new(files: Vec<PathBuf>, environment: Environment) -> Self {
        Self {
            files,
            fixed: None,
            of_cluster: false,
            environment,
            secrets: None,
            watched: Mutex::default(),
            has_used_secret: AtomicBool::new(false),
        }
    }

    /// With somebody who reads the Secret that the legacy keys name.
    #[must_use]
    pub fn with_secrets(mut self, secrets: Arc<dyn SecretReader>) -> Self {
        self.secrets = Some(secrets);
        self
    }

    /// The configuration of the `--cloud-config` flag: its file, or else its text.
    #[must_use]
    pub fn of(config: &CloudConfig, environment: Environment) -> Self {
        let mut site = Self::new(config.path.iter().cloned().collect(), environment);
        site.secrets.clone_from(&config.secrets);
        if let (None, Some(text)) = (&config.path, &config.text) {
            site.fixed = Some(Source::new("cloud.conf", text.clone()));
        }
        site
    }

    /// A text that was read out of a cluster, on the machine of a person. Keys that read files or variables of this machine are ignored
    /// with a warning, and Secrets that it names are not read. `name` is where the text is from.
    #[must_use]
    pub fn of_cluster(name: &str, text: String, environment: Environment) -> Self {
        let fixed = Some(Source::new(name, text));
        Self { fixed, of_cluster: true, ..Self::new(Vec::new(), environment) }
    }

    async fn load(&self, watched: &mut Watched) -> Result<Configuration, LoadError> {
        let mut sources = self.texts(&mut watched.files)?;
        let mut decoded = decode(&sources)?;
        if self.of_cluster {
            machine::ignore_keys(
                &mut decoded,
                sources.first().map(|source| source.name.as_str()).unwrap_or_default(),
            );
        }
        watched.secret = reference(&decoded.conf.global);
        let Some(reference) = &watched.secret else {
            return assemble(decoded, None, &self.environment, &mut watched.files);
        };
        let held = self.secret(reference).await;
        match held.and_then(|held| over(&mut sources, decoded.clone(), reference, &held)) {
            Ok((decoded, clouds)) => {
                let read = assemble(decoded, clouds.as_ref(), &self.environment, &mut watched.files)?;
                self.has_used_secret.store(true, Ordering::Relaxed);
                Ok(read)
            }
            // A Secret that was of use and is gone was not named for no purpose.
            Err(error) if error.says_absent() && !self.has_used_secret.load(Ordering::Relaxed) => {
                self.alone(decoded, error, &mut watched.files)
            }
            Err(error) => Err(error),
        }
    }

    /// What the files say by themselves. OCCM ignores the keys that name a Secret, so they may be there for no purpose.
    fn alone(
        &self,
        decoded: Decoded,
        error: LoadError,
        files: &mut Files,
    ) -> Result<Configuration, LoadError> {
        let Ok(mut configuration) = assemble(decoded, None, &self.environment, files) else {
            return Err(error);
        };
        configuration.warnings.push(Problem {
            file: "cloud.conf".to_owned(),
            position: None,
            key: Some("[Global] secret-name".to_owned()),
            what: format!("{error}. The file is used without it; remove the key if that is meant"),
        });
        Ok(configuration)
    }

    fn texts(&self, files: &mut Files) -> Result<Vec<Source>, LoadError> {
        if let Some(fixed) = &self.fixed {
            return Ok(vec![fixed.clone()]);
        }
        if self.files.is_empty() {
            return Err(LoadError::NoFile);
        }
        let read = |path: &PathBuf| {
            let name = path.display().to_string();
            let held = files
                .read(path)
                .map_err(|error| LoadError::Unreadable { path: name.clone(), why: error.to_string() })?;
            Ok(Source::from_bytes(name, &held)?)
        };
        self.files.iter().map(read).collect()
    }

    async fn secret(&self, reference: &SecretReference) -> Result<SecretData, LoadError> {
        match &self.secrets {
            Some(secrets) => Ok(secrets.read(reference).await?),
            None => Err(LoadError::NoSecretReader(reference.to_string())),
        }
    }

    fn watched(&self) -> Watched {
        self.watched.lock().clone()
    }
}

/// The Secret that the legacy keys name, if both of them are there.
fn reference(global: &Global) -> Option<SecretReference> {
    let named = !global.secret_name.is_empty() && !global.secret_namespace.is_empty();
    named.then(|| SecretReference {
        namespace: global.secret_namespace.clone(),
        name: global.secret_name.clone(),
        kubeconfig: global.kubeconfig_path.clone(),
    })
}

/// The configuration with what the Secret says over it.
fn over(
    sources: &mut Vec<Source>,
    decoded: Decoded,
    reference: &SecretReference,
    held: &SecretData,
) -> Result<(Decoded, Option<Documents>), LoadError> {
    let text = |key: &str| -> Result<Option<Source>, LoadError> {
        let source = |held: &[u8]| Source::from_bytes(format!("{reference}, {key}"), held);
        Ok(held.get(key).map(|held| source(held.expose_secret())).transpose()?)
    };
    let (conf, yaml) = (text(CLOUDS_CONF)?, text(CLOUDS_YAML)?);
    if conf.is_none() && yaml.is_none() {
        return Err(LoadError::EmptySecret(reference.to_string()));
    }
    let mut decoded = decoded;
    if let Some(conf) = conf {
        sources.push(conf);
        decoded = decode(sources)?;
    } else {
        // A Secret that holds only a clouds.yaml is named for its sake.
        decoded.conf.global.use_clouds = true;
    }
    let documents = yaml.map(|yaml| Documents {
        clouds: Zeroizing::new(yaml.text.to_string()),
        clouds_name: yaml.name,
        ..Documents::default()
    });
    Ok((decoded, documents))
}

#[async_trait]
impl ConfigSource for Site {
    async fn read(&self) -> Result<Configuration, LoadError> {
        let mut watched = Watched::default();
        let read = self.load(&mut watched).await;
        // Also after a failure: whoever repairs what was read wants to be seen.
        *self.watched.lock() = watched;
        read
    }

    async fn changed(&self) {
        let Watched { files, secret } = self.watched();
        let of_secret = async {
            match (&self.secrets, &secret) {
                (Some(secrets), Some(reference)) => secrets.changed(reference).await,
                _ => pending().await,
            }
        };
        tokio::select! {
            () = files.changed() => {}
            () = of_secret => {}
        }
    }
}
