//! The TLS side of the server: settings, and client certificates that are asked for but judged later.
//!
//! A handshake proves that the client holds the key of the certificate it shows; whether that certificate counts is
//! decided at authentication, with the authorities of that moment.

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

/// The crypto provider everything here is built with.
#[must_use]
pub fn provider() -> Arc<CryptoProvider> {
    Arc::new(aws_lc_rs::default_provider())
}

/// The TLS settings of `config`, showing certificates of `certs`.
///
/// # Errors
/// If a name is unknown or nothing usable remains.
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

/// Accepts any client certificate whose key the client proves to hold.
#[derive(Debug)]
struct ProofOnly {
    algorithms: WebPkiSupportedAlgorithms,
}

impl ClientCertVerifier for ProofOnly {
    fn client_auth_mandatory(&self) -> bool {
        false
    }

    // No hints: they could not follow the authorities as these change. Clients then offer what they have.
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
