//! Where authorities come from: files named by flags first, else the cluster's ConfigMap. It keeps nothing.

use std::collections::BTreeMap;
use std::path::Path;

use super::super::config::{AuthenticationConfig, RequestHeaderNames};
use super::super::reviews::AuthConfigLookup;
use super::AuthnError;
use super::authorities::{Authorities, CaBundle, FrontProxy};

/// Reads every source once.
pub(super) async fn read(
    config: &AuthenticationConfig,
    lookup: Option<&dyn AuthConfigLookup>,
) -> Result<Authorities, AuthnError> {
    let clients = match &config.client_ca_file {
        Some(file) => Some(bundle_from_file(file).await?),
        None => None,
    };
    let front_proxy = match &config.request_header_client_ca_file {
        Some(file) => {
            let authorities = bundle_from_file(file).await?;
            Some(FrontProxy { authorities, headers: config.request_header.clone() })
        }
        None => None,
    };
    let from_flags = Authorities { clients, front_proxy };
    match lookup {
        Some(lookup) if from_flags.clients.is_none() || from_flags.front_proxy.is_none() => {
            let data = lookup.fetch().await.map_err(AuthnError::Lookup)?.unwrap_or_default();
            let from_cluster = from_config_map(&data)?;
            Ok(Authorities {
                clients: from_flags.clients.or(from_cluster.clients),
                front_proxy: from_flags.front_proxy.or(from_cluster.front_proxy),
            })
        }
        _ => Ok(from_flags),
    }
}

async fn bundle_from_file(file: &Path) -> Result<CaBundle, AuthnError> {
    let pem = tokio::fs::read(file).await;
    let pem = pem.map_err(|source| AuthnError::Read { file: file.to_owned(), source })?;
    bundle(&pem, &file.display().to_string())
}

fn bundle(pem: &[u8], origin: &str) -> Result<CaBundle, AuthnError> {
    CaBundle::from_pem(pem).map_err(|source| AuthnError::Authorities { origin: origin.to_owned(), source })
}

/// What the ConfigMap's data says.
pub(super) fn from_config_map(data: &BTreeMap<String, String>) -> Result<Authorities, AuthnError> {
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
