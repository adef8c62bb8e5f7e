//! The TLS configuration: CA certificates and the client certificate. Keys are zeroised and never shown.

use std::{fmt, sync::Arc};

use hyper_rustls::ConfigBuilderExt;
use rustls::{
    ClientConfig, DigitallySignedStruct, RootCertStore, SignatureScheme,
    client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier},
    crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature},
    pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime, pem::PemObject},
};
use secrecy::{ExposeSecret, SecretString};

use super::TransportOptions;

/// The CA certificates that server certificates are verified with.
#[derive(Clone, Default, PartialEq, Eq)]
pub enum Roots {
    /// The CA certificates of the system.
    #[default]
    System,
    /// Only these, in PEM. They replace the CA certificates of the system.
    Pem(Vec<u8>),
}

impl fmt::Debug for Roots {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::System => f.write_str("System"),
            Self::Pem(pem) => write!(f, "Pem({} bytes)", pem.len()),
        }
    }
}

/// A client certificate, for clouds that require one.
#[derive(Clone)]
pub struct ClientIdentity {
    /// The certificate with its chain, in PEM.
    pub certificates: Vec<u8>,
    /// The private key, in PEM.
    pub key: SecretString,
}

impl PartialEq for ClientIdentity {
    fn eq(&self, other: &Self) -> bool {
        self.certificates == other.certificates && self.key.expose_secret() == other.key.expose_secret()
    }
}

impl Eq for ClientIdentity {}

impl fmt::Debug for ClientIdentity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientIdentity").finish_non_exhaustive()
    }
}

/// Certificates or keys that are not usable. They are not quoted.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {why}")]
pub struct TlsError {
    /// The part of the configuration that is not usable.
    pub what: &'static str,
    /// Why.
    pub why: String,
}

/// The TLS configuration for connections to services. The caller sets the ALPN protocols.
pub(super) fn config(options: &TransportOptions) -> Result<ClientConfig, TlsError> {
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider))
        .with_safe_default_protocol_versions()
        .map_err(|error| TlsError { what: "TLS", why: error.to_string() })?;
    let builder = if options.insecure {
        tracing::warn!(
            "the certificates of the cloud are not verified: anybody on the way can read the credentials; \
             give the cloud's CA instead"
        );
        builder.dangerous().with_custom_certificate_verifier(Arc::new(BelieveAnybody(provider)))
    } else {
        match &options.roots {
            // A machine without CA certificates can still reach a cloud without TLS.
            Roots::System => builder.clone().with_native_roots().unwrap_or_else(|error| {
                tracing::warn!(%error, "this system has no CA certificates: no cloud with TLS will be believed");
                builder.with_root_certificates(RootCertStore::empty())
            }),
            Roots::Pem(pem) => builder.with_root_certificates(roots(pem)?),
        }
    };
    let Some(identity) = &options.identity else { return Ok(builder.with_no_client_auth()) };
    let what = "the client certificate";
    let key = PrivateKeyDer::from_pem_slice(identity.key.expose_secret().as_bytes()).map_err(|_quoting| {
        TlsError { what: "the client key", why: "it is no private key in PEM".to_owned() }
    })?;
    builder
        .with_client_auth_cert(certificates(what, &identity.certificates)?, key)
        .map_err(|error| TlsError { what, why: error.to_string() })
}

fn roots(pem: &[u8]) -> Result<RootCertStore, TlsError> {
    let what = "the CA certificates";
    let mut store = RootCertStore::empty();
    // CA bundles of organisations often contain some unusable certificates; the others are used.
    match store.add_parsable_certificates(certificates(what, pem)?) {
        (0, _) => Err(TlsError { what, why: "none of them is a certificate that can be used".to_owned() }),
        (_, 0) => Ok(store),
        (used, unused) => {
            tracing::warn!(used, unused, "some of the CA certificates cannot be used and are passed over");
            Ok(store)
        }
    }
}

fn certificates(what: &'static str, pem: &[u8]) -> Result<Vec<CertificateDer<'static>>, TlsError> {
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(pem).collect();
    let found = found.map_err(|_quoting| TlsError { what, why: "they are not PEM".to_owned() })?;
    if found.is_empty() {
        return Err(TlsError { what, why: "there is no certificate in them".to_owned() });
    }
    Ok(found)
}

/// Accepts every server certificate. The handshake signature is still verified: the server must have the key of its certificate.
#[derive(Debug)]
struct BelieveAnybody(Arc<CryptoProvider>);

impl ServerCertVerifier for BelieveAnybody {
    fn verify_server_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.0.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}
