//! Parses the options of the HTTPS server and of the authentication and authorization of its callers.

use super::check::Check;
use crate::serving::config::RequestHeaderNames;
use crate::serving::{AuthenticationConfig, AuthorizationConfig, ServingConfig, SniCertKey};

const PORTS: std::ops::RangeInclusive<i64> = 0..=65535;

pub(super) fn serving(check: &mut Check<'_>) -> ServingConfig {
    let parsed = check.parsed;
    let (cert_file, key_file) = (check.path("tls-cert-file"), check.path("tls-private-key-file"));
    if cert_file.is_some() != key_file.is_some() {
        check.combination("--tls-cert-file and --tls-private-key-file must be given together");
    }
    ServingConfig {
        bind_address: parsed.ip("bind-address"),
        port: check.int("secure-port", PORTS),
        cert_dir: check.path("cert-dir"),
        cert_file,
        key_file,
        sni_cert_keys: sni(check, "tls-sni-cert-key"),
        cipher_suites: parsed.list("tls-cipher-suites").to_vec(),
        curve_preferences: curves(check, "tls-curve-preferences"),
        min_tls_version: parsed.text("tls-min-version").to_owned(),
        disable_http2: parsed.bool("disable-http2-serving"),
        http2_max_streams: check.int("http2-max-streams-per-connection", 0..=i64::from(u32::MAX)),
        permit_port_sharing: parsed.bool("permit-port-sharing"),
        permit_address_sharing: parsed.bool("permit-address-sharing"),
    }
}

fn sni(check: &mut Check<'_>, flag: &'static str) -> Vec<SniCertKey> {
    let mut pairs = Vec::new();
    for text in check.parsed.list(flag) {
        match text.parse() {
            Ok(pair) => pairs.push(pair),
            Err(_) => check.refuse(flag, &text, "accepted is CERTFILE,KEYFILE[:name,name...]"),
        }
    }
    pairs
}

fn curves(check: &mut Check<'_>, flag: &'static str) -> Vec<i32> {
    let mut numbers = Vec::new();
    for text in check.parsed.list(flag) {
        match text.trim().parse() {
            Ok(number) => numbers.push(number),
            Err(_) => check.refuse(flag, &text, "accepted are numbers of TLS groups, such as 29"),
        }
    }
    numbers
}

/// Checks the flags of the webhook server, which this manager does not have: values that upstream rejects are rejected.
pub(super) fn webhooks(check: &mut Check<'_>) {
    let parsed = check.parsed;
    for name in parsed.list("webhooks").iter().filter(|name| *name != "*") {
        check.refuse("webhooks", &name, "this manager has no admission webhooks; only * is accepted");
    }
    let port: u16 = check.int("webhook-secure-port", PORTS);
    if port != 0 && i64::from(port) == parsed.int("secure-port") {
        check
            .combination(format!("--webhook-secure-port and --secure-port are both {port}, but must differ"));
    }
    sni(check, "webhook-tls-sni-cert-key");
    curves(check, "webhook-tls-curve-preferences");
}

pub(super) fn authentication(check: &mut Check<'_>) -> AuthenticationConfig {
    let parsed = check.parsed;
    let request_header = RequestHeaderNames {
        allowed_names: parsed.list("requestheader-allowed-names").to_vec(),
        username_headers: headers(check, "requestheader-username-headers"),
        uid_headers: headers(check, "requestheader-uid-headers"),
        group_headers: headers(check, "requestheader-group-headers"),
        extra_header_prefixes: headers(check, "requestheader-extra-headers-prefix"),
    };
    let request_header_client_ca_file = check.path("requestheader-client-ca-file");
    if request_header_client_ca_file.is_some() && request_header.username_headers.is_empty() {
        check.refuse(
            "requestheader-username-headers",
            &"",
            "must name a header with --requestheader-client-ca-file",
        );
    }
    AuthenticationConfig {
        token_cache_ttl: check.duration("authentication-token-webhook-cache-ttl"),
        skip_lookup: parsed.bool("authentication-skip-lookup"),
        tolerate_lookup_failure: parsed.bool("authentication-tolerate-lookup-failure"),
        client_ca_file: check.path("client-ca-file"),
        request_header_client_ca_file,
        request_header,
    }
}

/// Parses header names or prefixes. A blank one is rejected, because it would match nothing or everything.
fn headers(check: &mut Check<'_>, flag: &'static str) -> Vec<String> {
    let names = check.parsed.list(flag);
    if names.iter().any(|name| name.trim().is_empty()) {
        check.refuse(flag, &names.join(","), "a header name must not be blank");
    }
    names.iter().map(|name| name.trim().to_owned()).collect()
}

pub(super) fn authorization(check: &mut Check<'_>) -> AuthorizationConfig {
    let paths = check.parsed.list("authorization-always-allow-paths");
    for path in paths {
        if path.strip_suffix('*').unwrap_or(path).contains('*') {
            check.refuse("authorization-always-allow-paths", &path, "a * is accepted at the end only");
        }
    }
    AuthorizationConfig {
        allowed_ttl: check.duration("authorization-webhook-cache-authorized-ttl"),
        denied_ttl: check.duration("authorization-webhook-cache-unauthorized-ttl"),
        always_allow_paths: paths.to_vec(),
    }
}
