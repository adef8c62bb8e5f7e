//! The TLS settings of the server. Client certificates are requested in the handshake but verified later.
//!
//! The handshake proves that the client holds the private key of its certificate. Whether the certificate is trusted is decided at
//! authentication, with the CA certificates current at that time.

use std::sync::Arc;

use rustls::client::danger::HandshakeSignatureValid;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature,
};
use rustls::pki_types::{CertificateDer, UnixTime};
use rustls::server::ResolvesServerCert;
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::{DigitallySignedStruct, DistinguishedName, ServerConfig, SignatureScheme};
use tracing::warn;

use super::config::ServingConfig;
pub use super::tls_names::TlsSettingError;
use super::tls_names::{cipher_suites, curves, versions};

/// The crypto provider of the server's TLS.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The TLS settings for `config`, with the serving certificates of `certs`.
///
/// # Errors
/// If a name is unknown, or no usable setting remains.
pub fn server_config(
    config: &ServingConfig,
    certs: Arc<dyn ResolvesServerCert>,
) -> Result<ServerConfig, TlsSettingError> {
    let suites = cipher_suites(&config.cipher_suites)?;
    let curves = curves(&config.curve_preferences)?;
    let versions = versions(&config.min_tls_version)?;
    for warning in suites.warnings.iter().chain(&curves.warnings).chain(&versions.warnings) {
        warn!("{warning}");
    }
    let provider = Arc::new(CryptoProvider {
        cipher_suites: suites.value,
        kx_groups: curves.value,
        ..aws_lc_rs::default_provider()
    });
    let proof_only = Arc::new(ProofOnly { algorithms: provider.signature_verification_algorithms });
    let mut tls = ServerConfig::builder_with_provider(provider)
        .with_protocol_versions(&versions.value)
        .map_err(|error| TlsSettingError::Library(error.to_string()))?
        .with_client_cert_verifier(proof_only)
        .with_cert_resolver(certs);
    tls.alpn_protocols = match config.disable_http2 {
        true => vec![b"http/1.1".to_vec()],
        false => vec![b"h2".to_vec(), b"http/1.1".to_vec()],
    };
    Ok(tls)
}

/// Accepts any client certificate whose private key the client holds.
#[derive(Debug)]
struct ProofOnly {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for ProofOnly {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    // No hints, because they could not follow changes of the CA certificates. Without hints, clients send any certificate that they have.
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        &[]
    }

    fn verify_client_cert(
        &self,
        _end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _now: UnixTime,
    ) -> Result<ClientCertVerified, rustls::Error> {
        Ok(ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, cert, dss, &self.algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.algorithms.supported_schemes()
    }
}
