//! The sources of the CA certificates: the files named by flags, otherwise the cluster's ConfigMap. Stateless.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::Duration;

use tokio::time::timeout;

use super::super::config::{AuthenticationConfig, RequestHeaderNames};
use super::super::reviews::{AuthConfigLookup, ReviewError};
use super::AuthnError;
use super::authorities::{Authorities, CaBundle, FrontProxy};

/// The timeout of reading the ConfigMap, so that it cannot delay the files for long: half of the default refresh interval.
const LOOKUP_DEADLINE: Duration = Duration::from_secs(30);

/// The result of reading all sources once.
pub(super) struct Found {
    /// The CAs to use from now on.
    pub(super) authorities: Authorities,
    /// The errors of files that cannot be used.
    pub(super) bad_files: Vec<AuthnError>,
    /// Why the ConfigMap cannot be used.
    pub(super) bad_lookup: Option<AuthnError>,
}

/// Reads every source once. A part whose source cannot be used stays as in `old`, independently of the other parts.
pub(super) async fn read(
    config: &AuthenticationConfig,
    lookup: Option<&dyn AuthConfigLookup>,
    old: &Authorities,
) -> Found {
    let (clients_file, proxy_file) = (&config.client_ca_file, &config.request_header_client_ca_file);
    let lookup = lookup.filter(|_| clients_file.is_none() || proxy_file.is_none());
    let (cluster, bad_lookup) = match lookup {
        None => (Authorities::default(), None),
        Some(lookup) => match from_cluster(lookup).await {
            Ok(authorities) => (authorities, None),
            Err(error) => (old.clone(), Some(error)),
        },
    };
    let mut found = Found { authorities: cluster, bad_files: Vec::new(), bad_lookup };
    if let Some(file) = clients_file {
        let read = found.note(bundle_from_file(file).await);
        found.authorities.clients = read.or_else(|| old.clients.clone());
    }
    if let Some(file) = proxy_file {
        let read = found.note(bundle_from_file(file).await);
        let headers = config.request_header.clone();
        let read = read.map(|authorities| FrontProxy { authorities, headers });
        found.authorities.front_proxy = read.or_else(|| old.front_proxy.clone());
    }
    found
}

impl Found {
    fn note(&mut self, read: Result<CaBundle, AuthnError>) -> Option<CaBundle> {
        read.map_err(|error| self.bad_files.push(error)).ok()
    }
}

async fn from_cluster(lookup: &dyn AuthConfigLookup) -> Result<Authorities, AuthnError> {
    let late = |_elapsed| {
        let reason = format!("no answer within {} s", LOOKUP_DEADLINE.as_secs());
        AuthnError::Lookup(ReviewError::temporary(reason))
    };
    let data = timeout(LOOKUP_DEADLINE, lookup.fetch()).await.map_err(late)?.map_err(AuthnError::Lookup)?;
    from_config_map(&data.unwrap_or_default())
}

async fn bundle_from_file(file: &Path) -> Result<CaBundle, AuthnError> {
    let pem = tokio::fs::read(file).await;
    let pem = pem.map_err(|source| AuthnError::Read { file: file.to_owned(), source })?;
    bundle(&pem, &file.display().to_string())
}

fn bundle(pem: &[u8], origin: &str) -> Result<CaBundle, AuthnError> {
    CaBundle::from_pem(pem).map_err(|source| AuthnError::Authorities { origin: origin.to_owned(), source })
}

/// Parses the data of the ConfigMap.
fn from_config_map(data: &BTreeMap<String, String>) -> Result<Authorities, AuthnError> {
    let authorities = |key: &str| {
        let pem = data.get(key).filter(|pem| !pem.trim().is_empty());
        pem.map(|pem| bundle(pem.as_bytes(), &format!("ConfigMap key {key}"))).transpose()
    };
    let headers = RequestHeaderNames {
        allowed_names: list(data, "requestheader-allowed-names")?,
        username_headers: list(data, "requestheader-username-headers")?,
        uid_headers: list(data, "requestheader-uid-headers")?,
        group_headers: list(data, "requestheader-group-headers")?,
        extra_header_prefixes: list(data, "requestheader-extra-headers-prefix")?,
    };
    let front_proxy = authorities("requestheader-client-ca-file")?;
    Ok(Authorities {
        clients: authorities("client-ca-file")?,
        front_proxy: front_proxy.map(|authorities| FrontProxy { authorities, headers }),
    })
}

fn list(data: &BTreeMap<String, String>, key: &'static str) -> Result<Vec<String>, AuthnError> {
    match data.get(key).filter(|text| !text.trim().is_empty()) {
        None => Ok(Vec::new()),
        Some(text) => serde_json::from_str(text)
            .map_err(|error| AuthnError::List { key, reason: format!("{error} in {text:?}") }),
    }
}
