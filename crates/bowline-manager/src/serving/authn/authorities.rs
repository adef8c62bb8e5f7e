//! Certificate authorities (CAs), and the users that verified client certificates identify. No I/O.

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

/// Why a CA bundle cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum CaError {
    /// The bundle is not PEM.
    #[error("not a PEM bundle of certificates: {0}")]
    Pem(String),
    /// The bundle contains no usable CA certificate.
    #[error("no usable certificate authority among the {found} certificates found")]
    Empty {
        /// The number of certificates in the bundle.
        found: usize,
    },
    /// The TLS library rejected the CA certificates.
    #[error("authorities cannot be used: {0}")]
    Refused(String),
}

/// The CAs that client certificates are verified against.
#[derive(Debug, Clone)]
pub struct CaBundle {
    verifier: Arc<dyn ClientCertVerifier>,
}

impl CaBundle {
    /// The CAs of a PEM bundle. Certificates that are no usable CA are ignored, as other Kubernetes components do.
    ///
    /// # Errors
    /// If the bundle is not PEM or contains no usable CA.
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

/// A front proxy that may act on behalf of users.
#[derive(Debug, Clone)]
pub struct FrontProxy {
    /// The CAs of the proxy's certificate.
    pub authorities: CaBundle,
    /// The allowed names of the proxy, and the headers that identify the user.
    pub headers: RequestHeaderNames,
}

/// All CAs in use at one point in time.
#[derive(Debug, Clone, Default)]
pub struct Authorities {
    /// The CAs of client certificates. If `None`, client certificates are ignored.
    pub clients: Option<CaBundle>,
    /// The front proxy. If `None`, its headers are ignored.
    pub front_proxy: Option<FrontProxy>,
}

impl Authorities {
    /// The user on whose behalf a front proxy sends the request. `None` without a certificate, without a configured front proxy, or if the
    /// headers name no user. An error if the certificate is not that of an allowed proxy.
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

    /// The user of a client certificate. `None` without a certificate, without configured CAs, or if the common name is empty.
    pub(super) fn certificate_user(&self, chain: &[CertificateDer<'_>]) -> Result<Option<User>, String> {
        let (Some(clients), Some((leaf, rest))) = (&self.clients, chain.split_first()) else {
            return Ok(None);
        };
        clients.verify(leaf, rest).map_err(|error| format!("client certificate: {error}"))?;
        Ok(Some(subject(leaf)?).filter(|user| !user.name.is_empty()))
    }
}

/// The user of a certificate: the common name is the user name, the organizations are the groups.
fn subject(leaf: &CertificateDer<'_>) -> Result<User, String> {
    let (_, leaf) =
        X509Certificate::from_der(leaf).map_err(|error| format!("client certificate: {error}"))?;
    let text = |value: &AttributeTypeAndValue<'_>| value.as_str().ok().map(str::to_owned);
    // If there are several common names, the last one counts, as in Go's parser.
    let name = leaf.subject().iter_common_name().filter_map(text).last().unwrap_or_default();
    let groups = leaf.subject().iter_organization().filter_map(text).collect();
    Ok(User { name, groups, ..User::default() })
}
