//! Selects the proxy to the API server, if any: the one in the kubeconfig, else the one in the environment, by the rules of Go's
//! `net/http`. kube's own selection is not used: it matches `NO_PROXY` against the proxy instead of the API server and rejects lists that
//! Go accepts. Only [`ProxyVariables::of_process`] reads the environment. No message contains the password in the URL of a proxy.

use std::net::IpAddr;

use http::Uri;
use ipnet::IpNet;

/// The address of a proxy is not usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {why}; give a URL such as http://proxy.example:3128 (schemes: http, https, socks5)")]
pub struct ProxyError {
    /// The variable, or the field of the kubeconfig, with the address.
    pub origin: &'static str,
    /// What is wrong with the address.
    pub why: String,
}

/// The proxy variables of the environment. An empty value means not set.
#[derive(Clone, Default)]
pub(super) struct ProxyVariables {
    pub(super) https: String,
    pub(super) http: String,
    pub(super) no_proxy: String,
}

impl ProxyVariables {
    /// Reads the environment of this process. An uppercase name takes precedence over the lowercase one.
    pub(super) fn of_process() -> Self {
        let read = |capitals: &str, small: &str| {
            let set = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
            set(capitals).or_else(|| set(small)).unwrap_or_default()
        };
        Self {
            https: read("HTTPS_PROXY", "https_proxy"),
            http: read("HTTP_PROXY", "http_proxy"),
            no_proxy: read("NO_PROXY", "no_proxy"),
        }
    }
}

/// The proxy for requests to `server`. `NO_PROXY` does not apply to a proxy that is `written` in the kubeconfig, because it is meant for
/// this server.
pub(super) fn choose(
    written: Option<&str>,
    server: &Uri,
    variables: &ProxyVariables,
) -> Result<Option<Uri>, ProxyError> {
    if let Some(written) = written.filter(|value| !value.is_empty()) {
        return parse("proxy-url in the kubeconfig", written).map(Some);
    }
    let (origin, value) = match server.scheme_str() {
        Some("https") => ("HTTPS_PROXY", &variables.https),
        _ => ("HTTP_PROXY", &variables.http),
    };
    if value.is_empty() || goes_direct(server, &variables.no_proxy) {
        return Ok(None);
    }
    parse(origin, value).map(Some)
}

/// Parses the address of a proxy. A bare `host:port` is an HTTP proxy.
fn parse(origin: &'static str, value: &str) -> Result<Uri, ProxyError> {
    let fail = |why: String| ProxyError { origin, why };
    let full = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    // The proxy resolves names in both cases.
    let full = full.strip_prefix("socks5h://").map_or(full.clone(), |rest| format!("socks5://{rest}"));
    let url: Uri = full.parse().map_err(|_quoting| fail("it is not a URL".to_owned()))?;
    match (url.scheme_str(), url.host()) {
        (Some("http" | "https" | "socks5"), Some(host)) if !host.is_empty() => Ok(url),
        (Some("http" | "https" | "socks5"), _) => Err(fail("it names no host".to_owned())),
        (scheme, _) => Err(fail(format!("its scheme is {:?}", scheme.unwrap_or_default()))),
    }
}

/// Whether `NO_PROXY` or the rules of Go exclude `server` from the proxy of the environment. Loopback addresses are always excluded.
fn goes_direct(server: &Uri, no_proxy: &str) -> bool {
    let host = unbracketed(server.host().unwrap_or_default()).to_lowercase();
    let default = if server.scheme_str() == Some("https") { 443 } else { 80 };
    let port = server.port_u16().unwrap_or(default);
    let address = address(&host);
    host == "localhost"
        || address.is_some_and(|address| address.is_loopback())
        || no_proxy.split(',').any(|entry| excepts(entry.trim(), &host, port, address))
}

/// Whether one entry of `NO_PROXY` matches this host: `*`, a network, an address, `name` (also matches its subdomains), `.name` or `*.name`
/// (matches only subdomains). All but the first two may end in a port.
fn excepts(entry: &str, host: &str, port: u16, address: Option<IpAddr>) -> bool {
    if entry == "*" {
        return true;
    }
    if let Ok(network) = entry.parse::<IpNet>() {
        return address.is_some_and(|address| network.contains(&address));
    }
    let (name, wanted) = split_port(entry);
    if wanted.is_some_and(|wanted| wanted != port.to_string()) {
        return false;
    }
    let name = unbracketed(name).to_lowercase();
    if let Some(excepted) = self::address(&name) {
        return address == Some(excepted);
    }
    let below = name.strip_prefix('*').filter(|rest| rest.starts_with('.')).unwrap_or(&name);
    match below.strip_prefix('.') {
        Some(parent) => !parent.is_empty() && host.ends_with(below),
        None => !below.is_empty() && (host == below || host.ends_with(&format!(".{below}"))),
    }
}

/// Splits `host:port`; an IPv6 address has a port only after its brackets.
fn split_port(entry: &str) -> (&str, Option<&str>) {
    match entry.rsplit_once(':') {
        Some((host, port)) if !host.contains(':') || host.ends_with(']') => (host, Some(port)),
        _ => (entry, None),
    }
}

fn unbracketed(host: &str) -> &str {
    host.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(host)
}

fn address(host: &str) -> Option<IpAddr> {
    host.parse().ok().map(|address: IpAddr| address.to_canonical())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(server: &str, no_proxy: &str) -> bool {
        let variables = ProxyVariables {
            https: "http://proxy:3128".into(),
            http: "proxy:8080".into(),
            no_proxy: no_proxy.into(),
        };
        choose(None, &server.parse().unwrap(), &variables).unwrap().is_some()
    }

    #[test]
    fn no_proxy_is_matched_against_the_api_server_by_the_rules_of_go() {
        const PROXIED: bool = true;
        const DIRECT: bool = false;
        for (server, no_proxy, expected) in [
            ("https://api.example:6443", "", PROXIED),
            ("https://api.example:6443", "proxy", PROXIED),
            ("https://api.example:6443", "*", DIRECT),
            ("https://api.example:6443", "a.b, * ,", DIRECT),
            ("https://api.example:6443", ",,api.example,", DIRECT),
            ("https://api.example:6443", "example", DIRECT),
            ("https://API.Example:6443", "api.eXample", DIRECT),
            ("https://api.example:6443", "ample", PROXIED),
            ("https://api.example:6443", ".example", DIRECT),
            ("https://api.example:6443", "*.example", DIRECT),
            ("https://api.example:6443", ".api.example", PROXIED),
            ("https://api.example:6443", "*.api.example", PROXIED),
            ("https://api.example:6443", "api.example:6443", DIRECT),
            ("https://api.example:6443", "api.example:443", PROXIED),
            ("https://api.example", "api.example:443", DIRECT),
            ("http://api.example", "api.example:80", DIRECT),
            ("https://api.example:6443", ".example:6443", DIRECT),
            ("https://api.example:6443", "api.example other", PROXIED),
            ("https://api.example:6443", ".", PROXIED),
            ("https://api.example:6443", ":6443", PROXIED),
            ("https://10.96.0.1:443", "10.96.0.1", DIRECT),
            ("https://10.96.0.1:443", "10.96.0.1:443", DIRECT),
            ("https://10.96.0.1:443", "10.96.0.1:6443", PROXIED),
            ("https://10.96.0.1:443", "10.96.0.0/12", DIRECT),
            ("https://10.96.0.1:443", "10.97.0.5/12", DIRECT),
            ("https://10.96.0.1:443", "192.168.0.0/16,fd00::/8", PROXIED),
            ("https://10.96.0.1:443", ".0.1", DIRECT),
            ("https://[fd00::1]:6443", "fd00::1", DIRECT),
            ("https://[fd00::1]:6443", "[fd00::1]:6443", DIRECT),
            ("https://[fd00::1]:6443", "[fd00::1]:443", PROXIED),
            ("https://[fd00::1]:6443", "fd00::/8", DIRECT),
            ("https://[fd00::1]:6443", "fd00::2", PROXIED),
            ("https://localhost:6443", "", DIRECT),
            ("https://127.0.0.1:6443", "", DIRECT),
            ("https://127.9.9.9:6443", "", DIRECT),
            ("https://[::1]:6443", "", DIRECT),
            ("http://api.example:8080", "", PROXIED),
        ] {
            assert_eq!(chosen(server, no_proxy), expected, "{server} with NO_PROXY={no_proxy:?}");
        }
    }

    #[test]
    fn the_variable_follows_the_scheme_of_the_server_and_a_bare_address_is_an_http_proxy() {
        let variables = ProxyVariables { https: "proxy:3128".into(), ..ProxyVariables::default() };
        let of = |server: &str| choose(None, &server.parse().unwrap(), &variables).unwrap();
        assert_eq!(of("https://api.example").unwrap(), "http://proxy:3128");
        assert_eq!(of("http://api.example"), None);
    }

    #[test]
    fn a_proxy_in_the_kubeconfig_wins_and_no_proxy_has_no_say() {
        let variables =
            ProxyVariables { https: "other:1".into(), no_proxy: "*".into(), ..ProxyVariables::default() };
        let server = "https://api.example".parse().unwrap();
        for (written, expected) in [
            ("http://u:p@bastion:3128", "http://u:p@bastion:3128/"),
            ("https://bastion", "https://bastion/"),
            ("socks5://bastion:1080", "socks5://bastion:1080/"),
            ("socks5h://bastion:1080", "socks5://bastion:1080/"),
        ] {
            assert_eq!(choose(Some(written), &server, &variables).unwrap().unwrap(), expected);
        }
        assert_eq!(choose(Some(""), &server, &variables), Ok(None), "empty is not written");
    }

    #[test]
    fn an_address_of_no_use_is_named_by_where_it_stands_and_without_its_password() {
        let server = "https://api.example".parse().unwrap();
        for bad in ["ftp://u:s3cret@bastion", "http://u:s3cret@", "http://u:s3cret@bas tion"] {
            let error = choose(Some(bad), &server, &ProxyVariables::default()).unwrap_err().to_string();
            assert!(error.contains("proxy-url in the kubeconfig") && !error.contains("s3cret"), "{error}");
            let variables = ProxyVariables { https: bad.into(), ..ProxyVariables::default() };
            let error = choose(None, &server, &variables).unwrap_err().to_string();
            assert!(error.contains("HTTPS_PROXY") && !error.contains("s3cret"), "{error}");
        }
    }
}
