//! Selects the proxy for a service by the rules of Go's `net/http`, which operators know.
//!
//! hyper-util parses proxy URLs and makes the tunnels, but its `NO_PROXY` rules follow curl, which supports neither ports nor `*.name` and
//! sends loopback traffic through the proxy. Only [`ProxyVariables::of_process`] reads the environment here. No message contains the
//! password in a proxy URL.

use std::{fmt, net::IpAddr};

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::Matcher;
use ipnet::IpNet;

/// A proxy URL that is not usable.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{origin}: {why}; give a URL such as http://proxy.example:3128 (schemes: http, https, socks5)")]
pub struct ProxyError {
    /// The environment variable that contains the URL.
    pub origin: &'static str,
    /// What is wrong with the URL.
    pub why: String,
}

/// The proxy variables. Empty is the same as not set.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct ProxyVariables {
    /// `HTTPS_PROXY`: the proxy for services with TLS.
    pub https: String,
    /// `HTTP_PROXY`: the proxy for services without TLS.
    pub http: String,
    /// `NO_PROXY`: the hosts that are reached without a proxy.
    pub no_proxy: String,
}

/// Hides the URLs, which may contain a password.
impl fmt::Debug for ProxyVariables {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let set = |text: &str| if text.is_empty() { "not set" } else { "set" };
        f.debug_struct("ProxyVariables")
            .field("https", &set(&self.https))
            .field("http", &set(&self.http))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

impl ProxyVariables {
    /// The variables of this process. Upper-case names take precedence over lower-case ones.
    #[must_use]
    pub fn of_process() -> Self {
        Self::from_variables(|name| std::env::var(name).ok())
    }

    /// The variables as returned by `variable`; names as in [`Self::of_process`].
    pub fn from_variables(variable: impl Fn(&str) -> Option<String>) -> Self {
        let read = |capitals: &str, small: &str| {
            let set = |name| variable(name).filter(|value| !value.is_empty());
            set(capitals).or_else(|| set(small)).unwrap_or_default()
        };
        Self {
            https: read("HTTPS_PROXY", "https_proxy"),
            http: read("HTTP_PROXY", "http_proxy"),
            no_proxy: read("NO_PROXY", "no_proxy"),
        }
    }

    /// Parses the proxy URLs.
    pub(super) fn rules(&self) -> Result<ProxyRules, ProxyError> {
        Ok(ProxyRules {
            https: parse("HTTPS_PROXY", &self.https)?,
            http: parse("HTTP_PROXY", &self.http)?,
            no_proxy: self.no_proxy.clone(),
        })
    }
}

/// The protocol of a proxy.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Http,
    Socks5,
}

/// A parsed proxy URL.
#[derive(Clone)]
pub(super) struct Proxy {
    pub(super) kind: Kind,
    /// The address, without user and password.
    pub(super) address: Uri,
    /// The credentials for an HTTP proxy; `None` if the URL has none.
    pub(super) authorization: Option<HeaderValue>,
    /// User and password for a SOCKS proxy; `None` if the URL has none.
    pub(super) login: Option<(String, String)>,
}

/// The proxy rules of the process.
#[derive(Clone)]
pub(super) struct ProxyRules {
    https: Option<Proxy>,
    http: Option<Proxy>,
    no_proxy: String,
}

impl ProxyRules {
    /// The proxy for requests to `server`; `None` for a direct connection.
    pub(super) fn choose(&self, server: &Uri) -> Option<&Proxy> {
        let proxy = if server.scheme_str() == Some("https") { &self.https } else { &self.http };
        proxy.as_ref().filter(|_| !goes_direct(server, &self.no_proxy))
    }
}

/// Parses a proxy URL; `None` if it is empty. A URL without a scheme is an HTTP proxy.
fn parse(origin: &'static str, value: &str) -> Result<Option<Proxy>, ProxyError> {
    if value.is_empty() {
        return Ok(None);
    }
    let fail = |why: &str| ProxyError { origin, why: why.to_owned() };
    let full = if value.contains("://") { value.to_owned() } else { format!("http://{value}") };
    let scheme = full.split("://").next().unwrap_or_default();
    let kind = match scheme {
        "http" | "https" => Kind::Http,
        "socks5" | "socks5h" => Kind::Socks5,
        other => return Err(ProxyError { origin, why: format!("its scheme is {other:?}") }),
    };
    let matcher = Matcher::builder().all(full.as_str()).build();
    let found = matcher.intercept(&Uri::from_static("http://any.invalid/"));
    let found = found.filter(|found| found.uri().host().is_some_and(|host| !host.is_empty()));
    let found = found.ok_or_else(|| fail("it is not a URL with a host"))?;
    Ok(Some(Proxy {
        kind,
        address: found.uri().clone(),
        authorization: found.basic_auth().cloned(),
        login: found.raw_auth().map(|(user, password)| (user.to_owned(), password.to_owned())),
    }))
}

/// Whether `server` is reached without a proxy. Loopback addresses and `localhost` always are.
fn goes_direct(server: &Uri, no_proxy: &str) -> bool {
    let host = unbracketed(server.host().unwrap_or_default()).to_lowercase();
    let default = if server.scheme_str() == Some("https") { 443 } else { 80 };
    let port = server.port_u16().unwrap_or(default);
    let address = address(&host);
    host == "localhost"
        || address.is_some_and(|address| address.is_loopback())
        || no_proxy.split(',').any(|entry| excepts(entry.trim(), &host, port, address))
}

/// Whether an entry of `NO_PROXY` matches the host: `*`, a CIDR, an address, `name` (with its subdomains), or `.name` and `*.name` (only
/// subdomains). All except `*` and a CIDR may have a port.
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

/// Splits `host:port`. An IPv6 address can have a port only if it is in brackets.
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

    fn proxied(server: &str, no_proxy: &str) -> bool {
        let variables =
            ProxyVariables { https: "proxy:3128".into(), http: "proxy:80".into(), no_proxy: no_proxy.into() };
        variables.rules().unwrap().choose(&server.parse().unwrap()).is_some()
    }

    #[test]
    fn exceptions_are_matched_by_the_rules_of_go() {
        for (server, no_proxy, expected) in [
            ("https://nova.example:8774", "", true),
            ("https://nova.example:8774", "*", false),
            ("https://nova.example:8774", "a.b, nova.example ,", false),
            ("https://nova.example:8774", "example", false),
            ("https://nova.example:8774", "*.example", false),
            ("https://nova.example:8774", ".nova.example", true),
            ("https://nova.example:8774", "nova.example:8774", false),
            ("https://nova.example:8774", "nova.example:443", true),
            ("https://10.96.0.1", "10.96.0.0/12", false),
            ("https://10.96.0.1", "192.168.0.0/16", true),
            ("https://[fd00::1]:8774", "[fd00::1]:8774", false),
            ("https://[fd00::1]:8774", "fd00::/8", false),
            ("http://nova.example", "", true),
            ("https://localhost:8774", "", false),
            ("https://127.0.0.9:8774", "", false),
            ("https://[::1]:8774", "", false),
        ] {
            assert_eq!(proxied(server, no_proxy), expected, "{server} with NO_PROXY={no_proxy:?}");
        }
    }

    #[test]
    fn user_and_password_leave_the_address_and_become_the_proxys_credentials() {
        let variables = ProxyVariables {
            https: "http://Aladdin:open%20sesame@proxy:3128".into(),
            http: "socks5h://u:p@socks:1080".into(),
            ..ProxyVariables::default()
        };
        let rules = variables.rules().unwrap();
        let https = rules.choose(&Uri::from_static("https://nova.example")).unwrap();
        assert_eq!(https.address, "http://proxy:3128/");
        assert_eq!(https.authorization.as_ref().unwrap(), "Basic QWxhZGRpbjpvcGVuIHNlc2FtZQ==");
        let http = rules.choose(&Uri::from_static("http://nova.example")).unwrap();
        assert_eq!((http.kind, http.login.clone()), (Kind::Socks5, Some(("u".into(), "p".into()))));
    }

    #[test]
    fn an_address_of_no_use_is_named_by_its_variable_and_without_its_password() {
        for bad in ["ftp://u:s3cret@proxy", "http://u:s3cret@", "http://u:s3cret@pro xy"] {
            let variables = ProxyVariables { https: bad.into(), ..ProxyVariables::default() };
            let error = variables.rules().err().unwrap().to_string();
            assert!(error.contains("HTTPS_PROXY") && !error.contains("s3cret"), "{error}");
            assert!(!format!("{variables:?}").contains("s3cret"));
        }
    }

    #[test]
    fn capitals_win_over_small_letters_and_empty_is_not_set() {
        let variables = ProxyVariables::from_variables(|name| match name {
            "HTTPS_PROXY" => Some(String::new()),
            "https_proxy" => Some("small".to_owned()),
            "HTTP_PROXY" => Some("CAPITAL".to_owned()),
            "http_proxy" => Some("other".to_owned()),
            _ => None,
        });
        assert_eq!((variables.https.as_str(), variables.http.as_str()), ("small", "CAPITAL"));
    }
}
