//! Certificate authorities and what a verified client certificate says about its holder. No I/O.

use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use x509_parser::prelude::{AttributeTypeAndValue, FromDer, X509Certificate};

use super::super::config::RequestHeaderNames;
use super::super::identity::User;
use super::super::tls;

/// Why a bundle of authorities cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// Not PEM.
    #[error("not a PEM bundle of certificates: {0}")]
    Pem(String),
    /// Nothing usable in it.
    #[error("no usable certificate authority among the {found} certificates found")]
    Empty {
        /// How many certificates there are.
        found: usize,
    },
    /// Refused by the library.
    #[error("authorities cannot be used: {0}")]
    Refused(String),
}

/// Authorities that vouch for clients.
#[derive(Debug, Clone)]
pub struct CaBundle {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl CaBundle {
    /// The authorities in a PEM bundle. Certificates that are no usable authority are passed over, as others do.
    ///
    /// # Errors
    /// If the bundle is not PEM or holds none.
    pub fn from_pem(pem: &[u8]) -> Result<Self, CaError> {
        let certificates = CertificateDer::pem_slice_iter(pem)
            .collect::<Result<Vec<_>, _>>()
            .map_err(|error| CaError::Pem(error.to_string()))?;
        let found = certificates.len();
        let mut roots = RootCertStore::empty();
        if roots.add_parsable_certificates(certificates).0 == 0 {
            return Err(CaError::Empty { found });
        }
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), tls::provider())
            .build()
            .map_err(|error| CaError::Refused(error.to_string()))?;
        Ok(Self { verifier })
    }

    fn verify(&self, leaf: &CertificateDer<'_>, rest: &[CertificateDer<'_>]) -> Result<(), String> {
        let verified = self.verifier.verify_client_cert(leaf, rest, UnixTime::now());
        verified.map(|_| ()).map_err(|error| error.to_string())
    }
}

/// A front proxy that may speak for users.
#[derive(Debug, Clone)]
pub struct FrontProxy {
    /// Who vouches for the proxy.
    pub authorities: CaBundle,
    /// Which proxies, and how they name the user.
    pub headers: RequestHeaderNames,
}

/// All authorities in use at one moment.
#[derive(Debug, Clone, Default)]
pub struct Authorities {
    /// Who vouches for clients; without, client certificates are ignored.
    pub clients: Option<CaBundle>,
    /// The front proxy; without, its headers are ignored.
    pub front_proxy: Option<FrontProxy>,
}

impl Authorities {
    /// The user a front proxy speaks for; `None` if the request is not from a proxy.
    pub(super) fn front_proxy_user(
        &self,
        chain: &[CertificateDer<'_>],
        headers: &http::HeaderMap,
    ) -> Result<Option<User>, String> {
        let (Some(proxy), Some((leaf, rest))) = (&self.front_proxy, chain.split_first()) else {
            return Ok(None);
        };
        proxy.authorities.verify(leaf, rest).map_err(|error| format!("front-proxy certificate: {error}"))?;
        let allowed = &proxy.headers.allowed_names;
        let name = subject(leaf)?.name;
        if !allowed.is_empty() && !allowed.contains(&name) {
            return Err(format!("front-proxy certificate: {name:?} is not an allowed name"));
        }
        Ok(super::front_proxy::user(&proxy.headers, headers))
    }

    /// The user a client certificate names; `None` if there is no certificate or nobody to judge it.
    pub(super) fn certificate_user(&self, chain: &[CertificateDer<'_>]) -> Result<Option<User>, String> {
        let (Some(clients), Some((leaf, rest))) = (&self.clients, chain.split_first()) else {
            return Ok(None);
        };
        clients.verify(leaf, rest).map_err(|error| format!("client certificate: {error}"))?;
        Ok(Some(subject(leaf)?).filter(|user| !user.name.is_empty()))
    }
}

/// Common name as user, organizations as groups.
fn subject(leaf: &CertificateDer<'_>) -> Result<User, String> {
    let (_, leaf) =
        X509Certificate::from_der(leaf).map_err(|error| format!("client certificate: {error}"))?;
    let text = |value: &AttributeTypeAndValue<'_>| value.as_str().ok().map(str::to_owned);
    // Of several common names the last counts, as in Go's parser.
    let name = leaf.subject().iter_common_name().filter_map(text).last().unwrap_or_default();
    let groups = leaf.subject().iter_organization().filter_map(text).collect();
    Ok(User { name, groups, ..User::default() })
}
