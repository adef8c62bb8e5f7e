//! A certificate and its key from two PEM files, reloaded when they change. This module never writes.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use rustls::crypto::CryptoProvider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::sign::CertifiedKey;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate};

use super::CertError;
use crate::serving::digest::{Digest, digest};

/// The files of a pair.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PairFiles {
    /// The certificate chain, leaf first.
    pub cert_file: PathBuf,
    /// The private key of the leaf.
    pub key_file: PathBuf,
}

impl PairFiles {
    async fn read(&self) -> Result<(Vec<u8>, Vec<u8>), CertError> {
        Ok((read(&self.cert_file).await?, read(&self.key_file).await?))
    }

    /// Parses the contents `cert` and `key` of the two files.
    ///
    /// # Errors
    /// If either cannot be parsed, or they do not belong together.
    pub fn parse(
        &self,
        cert: &[u8],
        key: &[u8],
        provider: &CryptoProvider,
    ) -> Result<CertifiedKey, CertError> {
        let content = |file: &Path, wanted, reason: String| CertError::Content {
            file: file.to_owned(),
            wanted,
            reason,
        };
        let chain = CertificateDer::pem_slice_iter(cert)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| content(&self.cert_file, "PEM certificates", error.to_string()))?;
        if chain.is_empty() {
            return Err(content(&self.cert_file, "PEM certificates", "none found".to_owned()));
        }
        let key = PrivateKeyDer::from_pem_slice(key)
            .map_err(|error| content(&self.key_file, "a PEM private key", error.to_string()))?;
        CertifiedKey::from_der(chain, key, provider).map_err(|error| CertError::Mismatch {
            cert_file: self.cert_file.clone(),
            key_file: self.key_file.clone(),
            reason: error.to_string(),
        })
    }
}

async fn read(file: &Path) -> Result<Vec<u8>, CertError> {
    tokio::fs::read(file).await.map_err(|source| CertError::Read { file: file.to_owned(), source })
}

/// A pair in use and its files.
#[derive(Debug)]
pub struct WatchedPair {
    files: PairFiles,
    seen: Digest,
    key: Arc<CertifiedKey>,
}

impl WatchedPair {
    /// Loads the pair for the first time.
    ///
    /// # Errors
    /// If the files cannot be read or used.
    pub async fn load(files: PairFiles, provider: &CryptoProvider) -> Result<Self, CertError> {
        let (cert, key) = files.read().await?;
        let seen = digest([cert.as_slice(), key.as_slice()]);
        let key = Arc::new(files.parse(&cert, &key, provider)?);
        Ok(Self { files, seen, key })
    }

    /// Re-reads the files; `true` if a new pair is now in use.
    ///
    /// Contents are compared, not modification times or inodes: a mounted Secret is updated by swapping symbolic links, which file
    /// notifications miss or report for a path that no longer exists.
    ///
    /// # Errors
    /// If the new files cannot be read or used; the old pair stays in use, and the next poll tries again.
    pub async fn poll(&mut self, provider: &CryptoProvider) -> Result<bool, CertError> {
        let (cert, key) = self.files.read().await?;
        let now = digest([cert.as_slice(), key.as_slice()]);
        if now == self.seen {
            return Ok(false);
        }
        self.key = Arc::new(self.files.parse(&cert, &key, provider)?);
        self.seen = now;
        Ok(true)
    }

    /// The pair in use.
    #[must_use]
    pub fn key(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.key)
    }

    /// The files of the pair.
    #[must_use]
    pub fn files(&self) -> &PairFiles {
        &self.files
    }
}

/// Whether the certificate has expired at `now`. `false` if it cannot be parsed.
#[must_use]
pub fn is_expired(key: &CertifiedKey, now: SystemTime) -> bool {
    let Some(Ok((_, leaf))) = key.cert.first().map(|leaf| X509Certificate::from_der(leaf)) else {
        return false;
    };
    let now = now.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default().as_secs();
    i64::try_from(now).is_ok_and(|now| leaf.validity().not_after.timestamp() < now)
}

/// The host names of a certificate in lower case: its DNS names, or its common names if it has none.
#[must_use]
pub fn host_names(key: &CertifiedKey) -> Vec<String> {
    let Some(leaf) = key.cert.first() else { return Vec::new() };
    let Ok((_, leaf)) = X509Certificate::from_der(leaf) else { return Vec::new() };
    let names = leaf.subject_alternative_name().ok().flatten();
    let mut names: Vec<String> = names
        .iter()
        .flat_map(|names| &names.value.general_names)
        .filter_map(|name| match name {
            GeneralName::DNSName(name) => Some(name.to_ascii_lowercase()),
            _ => None,
        })
        .collect();
    if names.is_empty() {
        let common = leaf.subject().iter_common_name().filter_map(|name| name.as_str().ok());
        names.extend(common.map(str::to_ascii_lowercase));
    }
    names
}
