//! Reads the Secret that a cloud's configuration points to, and sees when it changes. Holds nothing of what it read but its
//! version.
//!
//! The rights are the user's to grant: `get` on that one Secret is enough, `list` and `watch` make changes seen at once.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::Path;
use std::pin::pin;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{SecretData, SecretError, SecretReader, SecretReference};
use bowline_kube::client::load_config;
use futures::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client, ResourceExt};
use secrecy::SecretSlice;
use tracing::debug;

/// How often the Secret is read anew beside the watch, which may be forbidden or silently broken.
const POLL: Duration = Duration::from_secs(60);

/// The object and its version; `None` if it is not there.
type Version = Option<(String, String)>;

/// Reads Secrets with the manager's client, or with a kubeconfig that the configuration names.
pub(crate) struct ConfigSecrets {
    client: Client,
    seen: Mutex<BTreeMap<SecretReference, Version>>,
}

impl ConfigSecrets {
    /// Reads with this client.
    pub(crate) fn new(client: Client) -> Self {
        Self { client, seen: Mutex::new(BTreeMap::new()) }
    }

    async fn api(&self, reference: &SecretReference) -> Result<Api<Secret>, SecretError> {
        let failed = |why: String| SecretError::Failed { reference: reference.clone(), why };
        let client = if reference.kubeconfig.is_empty() {
            self.client.clone()
        } else {
            let config = load_config(Some(Path::new(&reference.kubeconfig)), None)
                .await
                .map_err(|error| failed(error.to_string()))?;
            Client::try_from(config).map_err(|error| failed(error.to_string()))?
        };
        Ok(Api::namespaced(client, &reference.namespace))
    }

    fn seen(&self, reference: &SecretReference) -> Version {
        let seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.get(reference).cloned().flatten()
    }

    fn see(&self, reference: &SecretReference, version: Version) {
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        seen.insert(reference.clone(), version);
    }
}

#[async_trait]
impl SecretReader for ConfigSecrets {
    async fn read(&self, reference: &SecretReference) -> Result<SecretData, SecretError> {
        let api = self.api(reference).await?;
        let found = api.get_opt(&reference.name).await.map_err(|error| refused(reference, &error))?;
        self.see(reference, version(found.as_ref()));
        let secret = found.ok_or_else(|| SecretError::NotFound(reference.clone()))?;
        let held = secret.data.unwrap_or_default().into_iter();
        Ok(held.map(|(key, value)| (key, SecretSlice::from(value.0))).collect())
    }

    async fn changed(&self, reference: &SecretReference) {
        loop {
            match self.api(reference).await {
                Ok(api) => return differs(api, &reference.name, &self.seen(reference)).await,
                Err(error) => debug!("{error}"),
            }
            tokio::time::sleep(POLL).await;
        }
    }
}

/// Returns when the Secret is not of this version.
async fn differs(api: Api<Secret>, name: &str, seen: &Version) {
    let mut watch = pin!(watcher::watch_object(api.clone(), name).default_backoff());
    let mut poll = tokio::time::interval_at(tokio::time::Instant::now() + POLL, POLL);
    loop {
        let found = tokio::select! {
            Some(item) = watch.next() => item.map_err(|error| error.to_string()),
            _ = poll.tick() => api.get_opt(name).await.map_err(|error| error.to_string()),
        };
        match found {
            Ok(found) if version(found.as_ref()) != *seen => return,
            Ok(_) => {}
            Err(error) => debug!(name, "the Secret of the configuration cannot be watched: {error}"),
        }
    }
}

fn version(secret: Option<&Secret>) -> Version {
    secret.map(|secret| (secret.uid().unwrap_or_default(), secret.resource_version().unwrap_or_default()))
}

fn refused(reference: &SecretReference, error: &kube::Error) -> SecretError {
    match error {
        kube::Error::Api(status) if status.is_forbidden() => SecretError::Forbidden(reference.clone()),
        other => SecretError::Failed { reference: reference.clone(), why: other.to_string() },
    }
}
