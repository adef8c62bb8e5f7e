//! Reads the Secret that the cloud configuration refers to, and detects changes. Of the content that was read, only a keyed hash is kept.
//!
//! The user grants the permissions: `get` on this Secret is enough; with `list` and `watch`, changes are detected immediately.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::path::Path;
use std::pin::pin;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{SecretData, SecretError, SecretReader, SecretReference};
use bowline_kube::client::{ClientFactory, describe, load_config};
use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use parking_lot::Mutex;
use secrecy::SecretSlice;
use tracing::debug;

/// How often the Secret is read in addition to the watch, which may be forbidden or broken without an error.
const POLL: Duration = Duration::from_secs(60);

/// A hash of the Secret's data; `None` if the Secret does not exist. The `resourceVersion` is not used, because it also changes with
/// labels.
type Version = Option<u64>;

/// Reads Secrets with the manager's client, or with a kubeconfig that the configuration names.
pub(crate) struct ConfigSecrets {
    client: Client,
    seen: Mutex<BTreeMap<SecretReference, Version>>,
    /// Changes that were detected but not yet read.
    noticed: Mutex<BTreeMap<SecretReference, Version>>,
    /// Keyed randomly in each process, so that the hashes reveal nothing about the content.
    hasher: RandomState,
}

impl ConfigSecrets {
    /// Creates a reader that uses `client`.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, seen: Mutex::default(), noticed: Mutex::default(), hasher: RandomState::new() }
    }

    async fn api(&self, reference: &SecretReference) -> Result<Api<Secret>, SecretError> {
        let failed = |why: String| SecretError::Failed { reference: reference.clone(), why };
        let client = if reference.kubeconfig.is_empty() {
            self.client.clone()
        } else {
            let config = load_config(Some(Path::new(&reference.kubeconfig)), None)
                .await
                .map_err(|error| failed(error.to_string()))?;
            // The responses contain Secrets, so this client has the same layers as all other clients.
            let factory = ClientFactory::new(config, "bowline", env!("CARGO_PKG_VERSION"), 0.0, 0);
            factory.client("cloud-config").map_err(|error| failed(describe(&error)))?
        };
        Ok(Api::namespaced(client, &reference.namespace))
    }

    fn seen(&self, reference: &SecretReference) -> Version {
        let seen = self.seen.lock();
        seen.get(reference).copied().flatten()
    }

    fn see(&self, reference: &SecretReference, version: Version) {
        let mut seen = self.seen.lock();
        seen.insert(reference.clone(), version);
    }

    async fn get(&self, reference: &SecretReference) -> Result<Option<Secret>, SecretError> {
        let api = self.api(reference).await?;
        api.get_opt(&reference.name).await.map_err(|error| refused(reference, &error))
    }

    fn version(&self, secret: Option<&Secret>) -> Version {
        secret.map(|secret| self.hasher.hash_one(content(secret)))
    }

    /// Waits until the content of the Secret differs from `seen`, and returns its new hash.
    async fn differs(&self, api: Api<Secret>, name: &str, seen: Version) -> Version {
        let mut watch = pin!(watcher::watch_object(api.clone(), name).default_backoff());
        let mut poll = tokio::time::interval_at(tokio::time::Instant::now() + POLL, POLL);
        loop {
            let found = tokio::select! {
                Some(item) = watch.next() => item.map_err(|error| describe(&error)),
                _ = poll.tick() => api.get_opt(name).await.map_err(|error| describe(&error)),
            };
            match found.map(|found| self.version(found.as_ref())) {
                Ok(version) if version != seen => return version,
                Ok(_) => {}
                Err(error) => debug!(name, "the Secret of the configuration cannot be watched: {error}"),
            }
        }
    }
}

#[async_trait]
impl SecretReader for ConfigSecrets {
    async fn read(&self, reference: &SecretReference) -> Result<SecretData, SecretError> {
        let read = self.get(reference).await;
        let noticed = self.noticed.lock().remove(reference);
        let found = match read {
            Ok(found) => found,
            Err(error) => {
                // Without this, a user who may watch but not get the Secret would see the same change reported again and again.
                if let Some(noticed) = noticed {
                    self.see(reference, noticed);
                }
                return Err(error);
            }
        };
        self.see(reference, self.version(found.as_ref()));
        let secret = found.ok_or_else(|| SecretError::NotFound(reference.clone()))?;
        let held = secret.data.unwrap_or_default().into_iter();
        Ok(held.map(|(key, value)| (key, SecretSlice::from(value.0))).collect())
    }

    async fn changed(&self, reference: &SecretReference) {
        loop {
            match self.api(reference).await {
                Ok(api) => {
                    let version = self.differs(api, &reference.name, self.seen(reference)).await;
                    let mut noticed = self.noticed.lock();
                    noticed.insert(reference.clone(), version);
                    return;
                }
                Err(error) => debug!("{error}"),
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// The part of a Secret whose changes count: its data, without metadata.
fn content(secret: &Secret) -> Vec<(&str, &[u8])> {
    let data = secret.data.iter().flatten();
    data.map(|(key, value)| (key.as_str(), value.0.as_slice())).collect()
}

fn refused(reference: &SecretReference, error: &kube::Error) -> SecretError {
    match error {
        kube::Error::Api(status) if status.is_forbidden() => SecretError::Forbidden(reference.clone()),
        other => SecretError::Failed { reference: reference.clone(), why: describe(other) },
    }
}
