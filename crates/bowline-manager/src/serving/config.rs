//! The configuration of the server: plain values, already parsed from flags by the caller.
//!
//! Nothing here reads files, opens sockets or knows flag syntax, except the `cert,key:names` form of an SNI pair.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::str::FromStr;
use std::time::Duration;

use super::admission::ConnectionLimits;

/// The default port of cloud controller managers.
pub const DEFAULT_PORT: u16 = 10258;

/// The "secure serving" flags.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingConfig {
    /// The address to listen on; the unspecified address means all interfaces.
    pub bind_address: IpAddr,
    /// The port to listen on; 0 disables serving.
    pub port: u16,
    /// The directory of the self-signed pair; if `None`, the pair is kept in memory only.
    pub cert_dir: Option<PathBuf>,
    /// The certificate chain to serve, PEM; watched for changes.
    pub cert_file: Option<PathBuf>,
    /// Private key of `cert_file`, PEM.
    pub key_file: Option<PathBuf>,
    /// Additional pairs, selected by the server name that the client requests (SNI).
    pub sni_cert_keys: Vec<SniCertKey>,
    /// The cipher suites by IANA (Go) name; empty means the library's defaults.
    pub cipher_suites: Vec<String>,
    /// The key exchange groups by TLS number; empty means the library's defaults.
    pub curve_preferences: Vec<i32>,
    /// `VersionTLS12` or `VersionTLS13`; empty means `VersionTLS12`.
    pub min_tls_version: String,
    /// Serves HTTP/1.1 only.
    pub disable_http2: bool,
    /// The limit of concurrent streams on one HTTP/2 connection; 0 means [`DEFAULT_HTTP2_STREAMS`].
    pub http2_max_streams: u32,
    /// Sets `SO_REUSEPORT`.
    pub permit_port_sharing: bool,
    /// Accepted for compatibility and ignored: `SO_REUSEADDR` is always set, as upstream's listener does in fact.
    pub permit_address_sharing: bool,
}

/// The default limit of concurrent streams on one HTTP/2 connection.
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
    /// The server names of the pair (`a.example`, `*.example`); empty means the names in the certificate.
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
    /// How long the result of a token review is cached, accepted or rejected.
    pub token_cache_ttl: Duration,
    /// Whether to skip reading the cluster's authentication ConfigMap.
    pub skip_lookup: bool,
    /// Whether to start even if the ConfigMap cannot be read.
    pub tolerate_lookup_failure: bool,
    /// The CA file for client certificates; replaces the CAs of the ConfigMap.
    pub client_ca_file: Option<PathBuf>,
    /// The CA file for the front proxy's certificate; replaces the whole front-proxy part of the ConfigMap.
    pub request_header_client_ca_file: Option<PathBuf>,
    /// The headers of the front proxy and its allowed names, used if `request_header_client_ca_file` is set.
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

/// The headers that a front proxy sets, and the names that a front proxy's certificate may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestHeaderNames {
    /// The common names accepted in the front proxy's certificate; empty means any.
    pub allowed_names: Vec<String>,
    /// The headers with the user name; the first non-empty one is used.
    pub username_headers: Vec<String>,
    /// The headers with the user's UID.
    pub uid_headers: Vec<String>,
    /// The headers with groups, one group per value.
    pub group_headers: Vec<String>,
    /// The prefixes of headers with extra attributes.
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
    /// How long "allowed" is cached.
    pub allowed_ttl: Duration,
    /// How long "not allowed" is cached.
    pub denied_ttl: Duration,
    /// The paths that everyone may access: exact, or a prefix ending in `*`.
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

/// Intervals, timeouts and limits of connections. Only tests change them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServingTimings {
    /// How often the certificate files are checked for changes.
    pub cert_poll: Duration,
    /// The age at which a self-signed certificate is replaced; it is valid for a year.
    pub self_signed_rotate_after: Duration,
    /// How often the CA certificates (files and ConfigMap) are read again.
    pub authority_refresh: Duration,
    /// The timeout of a TLS handshake.
    pub handshake_timeout: Duration,
    /// The timeout from the first byte of a request's headers to the last.
    pub header_timeout: Duration,
    /// The same timeout on connections whose caller has not authenticated, if it is shorter.
    pub anonymous_header_timeout: Duration,
    /// How long a connection may be idle before it is closed.
    pub idle_timeout: Duration,
    /// The same for connections whose caller has not authenticated, if it is shorter.
    pub anonymous_idle_timeout: Duration,
    /// The limits of connections and concurrent requests.
    pub connections: ConnectionLimits,
    /// How long requests in progress may take to finish at shutdown.
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
            // Short, because probes open a new connection each time.
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
