//! A client that speaks to a manager only if it shows the certificate whose fingerprint is on the Lease. Whoever else answers gets no request,
//! and so no token: the check is part of the TLS handshake, before the first byte of one.

use std::sync::Arc;

use bowline_manager::serving::certs::{LEASE_ANNOTATION, fingerprint};
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use kube::client::{Body, ClientBuilder, ConfigExt};
use kube::{Client, Config};
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{WebPkiSupportedAlgorithms, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};
use tower::BoxError;
use tower::util::MapErr;

/// Believes one certificate, whoever signed it and whatever names are in it.
#[derive(Debug)]
struct Pinned {
    fingerprint: String,
    algorithms: WebPkiSupportedAlgorithms,
}

/// A client of `config` that believes this certificate alone.
///
/// # Errors
///
/// If the credentials of the configuration cannot be used.
pub(super) fn client(config: &Config, fingerprint: &str) -> Result<Client, kube::Error> {
    let mut tls = config.rustls_client_config()?;
    let algorithms = aws_lc_rs::default_provider().signature_verification_algorithms;
    let pinned = Pinned { fingerprint: fingerprint.to_ascii_lowercase(), algorithms };
    tls.dangerous().set_certificate_verifier(Arc::new(pinned));
    let mut tcp = HttpConnector::new();
    tcp.enforce_http(false);
    let connector = hyper_rustls::HttpsConnector::from((tcp, tls));
    let http: hyper_util::client::legacy::Client<_, Body> =
        hyper_util::client::legacy::Client::builder(TokioExecutor::new()).build(connector);
    // Both layers must have errors of one type below them.
    let http = MapErr::new(http, BoxError::from);
    let builder = ClientBuilder::new(http, config.default_namespace.clone());
    Ok(match config.auth_layer()? {
        Some(credentials) => builder.with_layer(&credentials).with_layer(&config.base_uri_layer()).build(),
        None => builder.with_layer(&config.base_uri_layer()).build(),
    })
}

impl ServerCertVerifier for Pinned {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        _intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp: &[u8],
        _now: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        let shown = fingerprint(end_entity);
        if shown.as_ref() == Some(&self.fingerprint) {
            return Ok(ServerCertVerified::assertion());
        }
        Err(rustls::Error::General(format!(
            "what answers shows certificate {}, and the Lease names {} ({LEASE_ANNOTATION}). Nothing was sent to it. A certificate that was renewed a moment ago is on the Lease within seconds: try again; if it stays so, something else answers in place of the leader",
            shown.as_deref().unwrap_or("of an unknown fingerprint"),
            self.fingerprint
        )))
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
