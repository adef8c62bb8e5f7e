//! What the server is told: plain values, already parsed from flags by others.
//!
//! Nothing here reads files, opens sockets or knows flag syntax, except the `cert,key:names` form of an SNI pair.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::admission::ConnectionLimits;

/// The port that cloud controller managers are scraped on.
pub const DEFAULT_PORT: u16 = 10258;

/// The "secure serving" flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingConfig {
    /// Address to listen on; unspecified means all interfaces.
    pub bind_address: IpAddr,
    /// Port to listen on; 0 switches serving off.
    pub port: u16,
    /// Where the self-signed pair is kept; without it the pair lives in memory only.
    pub cert_dir: Option<PathBuf>,
    /// Certificate chain to serve, PEM; watched for changes.
    pub cert_file: Option<PathBuf>,
    /// Private key of `cert_file`, PEM.
    pub key_file: Option<PathBuf>,
    /// Further pairs, chosen by the server name the client asks for.
    pub sni_cert_keys: Vec<SniCertKey>,
    /// Cipher suites by IANA (Go) name; empty means the library's choice.
    pub cipher_suites: Vec<String>,
    /// Key exchange groups by their TLS number; empty means the library's choice.
    pub curve_preferences: Vec<i32>,
    /// `VersionTLS12` or `VersionTLS13`; empty means `VersionTLS12`.
    pub min_tls_version: String,
    /// Serve HTTP/1.1 only.
    pub disable_http2: bool,
    /// Concurrent streams on one HTTP/2 connection; 0 means [`DEFAULT_HTTP2_STREAMS`].
    pub http2_max_streams: u32,
    /// Set `SO_REUSEPORT`.
    pub permit_port_sharing: bool,
    /// Set `SO_REUSEADDR`. Kept for the flag's sake: it is always set, as upstream's listener does in truth.
    pub permit_address_sharing: bool,
}

/// Streams on one HTTP/2 connection unless configured.
pub const DEFAULT_HTTP2_STREAMS: u32 = 100;

impl Default for ServingConfig {
    fn default() -> Self {
        Self {
            bind_address: IpAddr::V4(Ipv4Addr::UNSPECIFIED),
            port: DEFAULT_PORT,
            cert_dir: None,
            cert_file: None,
            key_file: None,
            sni_cert_keys: Vec::new(),
            cipher_suites: Vec::new(),
            curve_preferences: Vec::new(),
            min_tls_version: String::new(),
            disable_http2: false,
            http2_max_streams: 0,
            permit_port_sharing: false,
            permit_address_sharing: false,
        }
    }
}

/// One `--tls-sni-cert-key` value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SniCertKey {
    /// Certificate chain, PEM.
    pub cert_file: PathBuf,
    /// Private key, PEM.
    pub key_file: PathBuf,
    /// Names it answers to (`a.example`, `*.example`); empty means the names in the certificate.
    pub names: Vec<String>,
}

impl FromStr for SniCertKey {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let (files, names) = text.split_once(':').unwrap_or((text, ""));
        match files.split(',').map(str::trim).collect::<Vec<_>>().as_slice() {
            [cert, key] if !cert.is_empty() && !key.is_empty() => Ok(Self {
                cert_file: PathBuf::from(cert),
                key_file: PathBuf::from(key),
                names: names
                    .split(',')
                    .map(|name| name.trim().to_ascii_lowercase())
                    .filter(|name| !name.is_empty())
                    .collect(),
            }),
            _ => Err(format!("expected CERTFILE,KEYFILE[:name,name...], found {text:?}")),
        }
    }
}

/// The "authentication" flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthenticationConfig {
    /// How long the answer of a token review is believed, good or bad.
    pub token_cache_ttl: Duration,
    /// Do not read the cluster's authentication ConfigMap.
    pub skip_lookup: bool,
    /// Start even if the ConfigMap cannot be read.
    pub tolerate_lookup_failure: bool,
    /// Authorities of client certificates; takes the place of the ConfigMap's.
    pub client_ca_file: Option<PathBuf>,
    /// Authorities of the front proxy's certificate; takes the place of the ConfigMap's whole front-proxy part.
    pub request_header_client_ca_file: Option<PathBuf>,
    /// How a front proxy names the user, when `request_header_client_ca_file` is set.
    pub request_header: RequestHeaderNames,
}

impl Default for AuthenticationConfig {
    fn default() -> Self {
        Self {
            token_cache_ttl: Duration::from_secs(10),
            skip_lookup: false,
            tolerate_lookup_failure: false,
            client_ca_file: None,
            request_header_client_ca_file: None,
            request_header: RequestHeaderNames::default(),
        }
    }
}

/// Which headers a front proxy sets, and who may be a front proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeaderNames {
    /// Common names accepted in the proxy's certificate; empty means any.
    pub allowed_names: Vec<String>,
    /// Headers holding the user name, first non-empty wins.
    pub username_headers: Vec<String>,
    /// Headers holding the user's UID.
    pub uid_headers: Vec<String>,
    /// Headers holding groups, one per value.
    pub group_headers: Vec<String>,
    /// Prefixes of headers holding extra attributes.
    pub extra_header_prefixes: Vec<String>,
}

impl Default for RequestHeaderNames {
    fn default() -> Self {
        Self {
            allowed_names: Vec::new(),
            username_headers: vec!["x-remote-user".to_owned()],
            uid_headers: Vec::new(),
            group_headers: vec!["x-remote-group".to_owned()],
            extra_header_prefixes: vec!["x-remote-extra-".to_owned()],
        }
    }
}

/// The "authorization" flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuthorizationConfig {
    /// How long "allowed" is believed.
    pub allowed_ttl: Duration,
    /// How long "not allowed" is believed.
    pub denied_ttl: Duration,
    /// Paths everyone may read: exact, or a prefix ending in `*`.
    pub always_allow_paths: Vec<String>,
}

impl Default for AuthorizationConfig {
    fn default() -> Self {
        Self {
            allowed_ttl: Duration::from_secs(10),
            denied_ttl: Duration::from_secs(10),
            always_allow_paths: ["/healthz", "/readyz", "/livez"].map(str::to_owned).to_vec(),
        }
    }
}

/// Periods, deadlines and limits of connections; tests change them, nothing else should.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingTimings {
    /// How often certificate files are looked at.
    pub cert_poll: Duration,
    /// Age at which a self-signed certificate is replaced; it is valid for a year.
    pub self_signed_rotate_after: Duration,
    /// How often authorities (files and ConfigMap) are read again.
    pub authority_refresh: Duration,
    /// Limit of a TLS handshake.
    pub handshake_timeout: Duration,
    /// Limit from the first byte of a request head to its last.
    pub header_timeout: Duration,
    /// The same on connections whose caller has not authenticated, if it is shorter.
    pub anonymous_header_timeout: Duration,
    /// A connection without requests is closed after this.
    pub idle_timeout: Duration,
    /// The same for connections whose caller has not authenticated, if it is shorter.
    pub anonymous_idle_timeout: Duration,
    /// How many connections are kept.
    pub connections: ConnectionLimits,
    /// How long running requests may take to finish at shutdown.
    pub drain: Duration,
}

impl Default for ServingTimings {
    fn default() -> Self {
        Self {
            cert_poll: Duration::from_secs(10),
            self_signed_rotate_after: Duration::from_hours(24 * 292),
            authority_refresh: Duration::from_secs(60),
            handshake_timeout: Duration::from_secs(5),
            header_timeout: Duration::from_secs(32),
            anonymous_header_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(90),
            // A probe connects anew each time.
            anonymous_idle_timeout: Duration::from_secs(10),
            connections: ConnectionLimits::default(),
            drain: Duration::from_secs(5),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_sni_pair_is_two_files_and_optional_names() {
        let pair: SniCertKey = "/a.crt,/a.key:Foo.example,*.bar.example".parse().unwrap();
        assert_eq!(pair.cert_file, PathBuf::from("/a.crt"));
        assert_eq!(pair.names, ["foo.example", "*.bar.example"]);
        let pair: SniCertKey = "/a.crt,/a.key".parse().unwrap();
        assert!(pair.names.is_empty());
    }

    #[test]
    fn an_sni_pair_without_a_key_is_refused_with_the_expected_form() {
        let error = "/a.crt:foo".parse::<SniCertKey>().unwrap_err();
        assert!(error.contains("CERTFILE,KEYFILE") && error.contains("/a.crt:foo"), "{error}");
    }
}
