//! The serving certificates and their replacement at runtime.
//!
//! [`CertStore`] provides them to the TLS library from memory; only [`keeper::CertKeeper`] writes to it.

pub mod keeper;
pub mod pair;
pub mod self_signed;

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

use arc_swap::{ArcSwap, ArcSwapOption};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use tokio::sync::watch;

use super::digest::sha256_hex;

/// The annotation of the Lease in which the leader publishes the [`fingerprint`] of its serving certificate. Only identities that may
/// update the Lease can write it, so a client that reads it can trust that certificate, whatever its CA.
///
/// The fingerprint covers the whole certificate and not only its key: this is what `openssl x509 -fingerprint -sha256` prints, so users can
/// compare it, and a certificate that was replaced is not trusted any longer because its successor has the same key.
pub const LEASE_ANNOTATION: &str = "bowline.dev/serving-certificate-sha256";

/// The fingerprint of a DER certificate: its SHA-256 in lower-case hexadecimal digits. `None` only if the TLS library lacks SHA-256.
#[must_use]
pub fn fingerprint(certificate: &[u8]) -> Option<String> {
    sha256_hex(certificate)
}

/// Why no serving certificate is available.
#[derive(Debug, thiserror::Error)]
pub enum CertError {
    /// A file cannot be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The path of the file.
        file: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// A file cannot be written.
    #[error("cannot write {file}: {source} (is the directory of --cert-dir writable?)")]
    Write {
        /// The path of the file.
        file: PathBuf,
        /// The I/O error.
        source: std::io::Error,
    },
    /// A file has the wrong content.
    #[error("{file} does not hold {wanted}: {reason}")]
    Content {
        /// The path of the file.
        file: PathBuf,
        /// The expected content.
        wanted: &'static str,
        /// The error.
        reason: String,
    },
    /// The certificate and the key do not belong together.
    #[error("certificate {cert_file} and key {key_file} cannot be used together: {reason}")]
    Mismatch {
        /// The path of the certificate.
        cert_file: PathBuf,
        /// The path of the key.
        key_file: PathBuf,
        /// The error.
        reason: String,
    },
    /// Only one of the two files is configured.
    #[error("--tls-cert-file and --tls-private-key-file must be given together: {given} is given alone")]
    HalfPair {
        /// The path of the configured file.
        given: PathBuf,
    },
    /// The self-signed certificate cannot be created.
    #[error("cannot make a self-signed certificate: {0}")]
    SelfSigned(String),
}

/// The certificates in use at one point in time.
#[derive(Debug, Clone)]
pub struct CertSet {
    /// Used if no server name matches.
    pub default: Arc<CertifiedKey>,
    /// By lower-case server name; `*.x` matches one label in front of `.x`.
    pub by_name: BTreeMap<String, Arc<CertifiedKey>>,
}

impl CertSet {
    /// The fingerprint of the default certificate, which clients without a server name get: those that connect by IP address.
    fn fingerprint(&self) -> Option<String> {
        self.default.cert.first().and_then(|certificate| fingerprint(certificate))
    }

    /// The certificate for a server name: exact match, then wildcard, then the default.
    #[must_use]
    pub fn pick(&self, server_name: Option<&str>) -> Arc<CertifiedKey> {
        let named = server_name.map(str::to_ascii_lowercase).and_then(|name| {
            let wildcard = name.split_once('.').map(|(_, parent)| format!("*.{parent}"));
            self.by_name.get(&name).or_else(|| self.by_name.get(&wildcard?)).cloned()
        });
        named.unwrap_or_else(|| Arc::clone(&self.default))
    }
}

/// The certificates in use, replaced atomically, and the error of the last replacement, if it failed.
#[derive(Debug)]
pub struct CertStore {
    current: ArcSwap<CertSet>,
    problem: ArcSwapOption<String>,
    generation: watch::Sender<u64>,
    fingerprint: watch::Sender<Option<String>>,
}

impl CertStore {
    /// Creates a store that serves `set`.
    #[must_use]
    pub fn new(set: CertSet) -> Self {
        Self {
            fingerprint: watch::Sender::new(set.fingerprint()),
            current: ArcSwap::from_pointee(set),
            problem: ArcSwapOption::empty(),
            generation: watch::Sender::new(0),
        }
    }

    /// Serves `set` from the next handshake on.
    pub fn replace(&self, set: CertSet) {
        let fingerprint = set.fingerprint();
        self.current.store(Arc::new(set));
        self.fingerprint.send_replace(fingerprint);
        self.generation.send_modify(|generation| *generation += 1);
    }

    /// The certificates in use.
    #[must_use]
    pub fn current(&self) -> Arc<CertSet> {
        self.current.load_full()
    }

    /// Why the newest files are not in use; `None` if they are.
    #[must_use]
    pub fn problem(&self) -> Option<Arc<String>> {
        self.problem.load_full()
    }

    fn set_problem(&self, problem: Option<String>) {
        self.problem.store(problem.map(Arc::new));
        self.generation.send_modify(|_| {});
    }

    /// The [`fingerprint`] of the default certificate. The receiver is notified of every change.
    #[must_use]
    pub fn fingerprint(&self) -> watch::Receiver<Option<String>> {
        self.fingerprint.subscribe()
    }

    /// Notifies of every replacement and of every change of [`CertStore::problem`].
    #[must_use]
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.generation.subscribe()
    }
}

impl ResolvesServerCert for CertStore {
    fn resolve(&self, client_hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.current.load().pick(client_hello.server_name()))
    }
}
