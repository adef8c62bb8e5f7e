//! Which service a request is for: by the address in its URI or Host header, and by the longest path prefix.

use http::request::Parts;

use crate::config::{Config, Service};

/// A service, and the path below its root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    pub(crate) service: Service,
    pub(crate) path: String,
}

/// The service whose root the request is below; an equal address beats a longer path.
pub(crate) fn target(config: &Config, request: &Parts) -> Option<Target> {
    let host = request.headers.get(http::header::HOST).and_then(|host| host.to_str().ok());
    let authority = request.uri.authority().map(http::uri::Authority::as_str).or(host).unwrap_or_default();
    let path = request.uri.path();
    let mut best: Option<(bool, usize, Target)> = None;
    for (service, endpoint) in config.regions.iter().flat_map(|region| &region.endpoints) {
        let (host, prefix) = split_base(&endpoint.base);
        let Some(rest) = below(path, prefix) else { continue };
        let rank = (host == authority, prefix.len());
        if best.as_ref().is_none_or(|(same, length, _)| rank > (*same, *length)) {
            best = Some((rank.0, rank.1, Target { service: *service, path: rest.to_owned() }));
        }
    }
    best.map(|(_, _, target)| target)
}

/// Address and path of `http://host:port/path`.
fn split_base(base: &str) -> (&str, &str) {
    let rest = base.split_once("://").map_or(base, |(_, rest)| rest);
    rest.split_at(rest.find('/').unwrap_or(rest.len()))
}

/// The path below a prefix, which ends at a slash or at the end.
fn below<'a>(path: &'a str, prefix: &str) -> Option<&'a str> {
    match path.strip_prefix(prefix)? {
        "" => Some("/"),
        rest if rest.starts_with('/') => Some(rest),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Region;

    fn find(config: &Config, uri: &str) -> Option<(Service, String)> {
        let (parts, ()) = http::Request::builder().uri(uri).body(()).unwrap().into_parts();
        target(config, &parts).map(|target| (target.service, target.path))
    }

    #[test]
    fn services_are_told_apart_by_path() {
        let config = Config::at("http://sim:1");
        let servers = Some((Service::Compute, "/v2.1/servers".to_owned()));
        assert_eq!(find(&config, "http://sim:1/compute/v2.1/servers"), servers);
        assert_eq!(find(&config, "/compute/v2.1/servers"), servers);
        assert_eq!(find(&config, "/identity"), Some((Service::Identity, "/".to_owned())));
        assert_eq!(find(&config, "/computer/v2.1"), None);
    }

    #[test]
    fn services_are_told_apart_by_port() {
        let config = Config { regions: vec![Region::by_port("R", "http://h")], ..Config::default() };
        assert_eq!(find(&config, "http://h:9696/v2.0"), Some((Service::Network, "/v2.0".to_owned())));
        assert_eq!(find(&config, "http://h:9876/"), Some((Service::LoadBalancer, "/".to_owned())));
    }
}
