//! The certificates the server shows, and how they are replaced while it runs.
//!
//! [`CertStore`] answers the TLS library from memory; [`keeper::CertKeeper`] is the only one that writes to it.

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

/// The annotation of the Lease by which the leader tells the [`fingerprint`] of the certificate that it shows on its serving port. Only who
/// may update the Lease can write it, so who reads it there knows whom to believe, whoever signed the certificate.
///
/// It is of the whole certificate, and not of its key alone: that is what `openssl x509 -fingerprint -sha256` prints and people can compare,
/// and a certificate that was withdrawn is not believed any longer because its successor has the same key.
pub const LEASE_ANNOTATION: &str = "bowline.dev/serving-certificate-sha256";

/// The fingerprint of a certificate in DER: its SHA-256 in lower-case hexadecimal digits.
#[must_use]
pub fn fingerprint(certificate: &[u8]) -> Option<String> {
    sha256_hex(certificate)
}

/// Why no certificate could be had.
#[derive(Debug, thiserror::Error)]
pub enum CertError {
    /// A file could not be read.
    #[error("cannot read {file}: {source}")]
    Read {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file could not be written.
    #[error("cannot write {file}: {source} (is the directory of --cert-dir writable?)")]
    Write {
        /// The file.
        file: PathBuf,
        /// The system's reason.
        source: std::io::Error,
    },
    /// A file does not hold what it should.
    #[error("{file} does not hold {wanted}: {reason}")]
    Content {
        /// The file.
        file: PathBuf,
        /// What it should hold.
        wanted: &'static str,
        /// What is wrong.
        reason: String,
    },
    /// Certificate and key are not of each other.
    #[error("certificate {cert_file} and key {key_file} cannot be used together: {reason}")]
    Mismatch {
        /// The certificate.
        cert_file: PathBuf,
        /// The key.
        key_file: PathBuf,
        /// What is wrong.
        reason: String,
    },
    /// One of the two files was given without the other.
    #[error("--tls-cert-file and --tls-private-key-file must be given together: {given} is given alone")]
    HalfPair {
        /// The one that was given.
        given: PathBuf,
    },
    /// The self-signed certificate could not be made.
    #[error("cannot make a self-signed certificate: {0}")]
    SelfSigned(String),
}

/// The certificates in use at one moment.
#[derive(Debug, Clone)]
pub struct CertSet {
    /// Shown when no name matches.
    pub default: Arc<CertifiedKey>,
    /// By lower-case server name; `*.x` stands for one label in front of `.x`.
    pub by_name: BTreeMap<String, Arc<CertifiedKey>>,
}

impl CertSet {
    /// That of the certificate that is shown to those who name no server: who comes by an address names none.
    fn fingerprint(&self) -> Option<String> {
        self.default.cert.first().and_then(|certificate| fingerprint(certificate))
    }

    /// The pair for a server name: exact, then wildcard, then the default.
    #[must_use]
    pub fn pick(&self, server_name: Option<&str>) -> Arc<CertifiedKey> {
        let named = server_name.map(str::to_ascii_lowercase).and_then(|name| {
            let wildcard = name.split_once('.').map(|(_, parent)| format!("*.{parent}"));
            self.by_name.get(&name).or_else(|| self.by_name.get(&wildcard?)).cloned()
        });
        named.unwrap_or_else(|| Arc::clone(&self.default))
    }
}

/// The certificates in use, swapped whole, and what is wrong with their replacement, if anything.
#[derive(Debug)]
pub struct CertStore {
    current: ArcSwap<CertSet>,
    problem: ArcSwapOption<String>,
    generation: watch::Sender<u64>,
    fingerprint: watch::Sender<Option<String>>,
}

impl CertStore {
    /// A store showing `set`.
    #[must_use]
    pub fn new(set: CertSet) -> Self {
        Self {
            fingerprint: watch::Sender::new(set.fingerprint()),
            current: ArcSwap::from_pointee(set),
            problem: ArcSwapOption::empty(),
            generation: watch::Sender::new(0),
        }
    }

    /// Shows `set` from the next handshake on.
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

    /// The [`fingerprint`] of the certificate that is shown to those who name no server, and every change of it.
    #[must_use]
    pub fn fingerprint(&self) -> watch::Receiver<Option<String>> {
        self.fingerprint.subscribe()
    }

    /// Tells of every replacement and of every change of [`CertStore::problem`].
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
