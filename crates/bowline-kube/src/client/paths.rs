//! Parses paths of the Kubernetes API. Pure.

/// A path below `/api/v1` or `/apis/GROUP/VERSION`, except a path that is proxied to another server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Path<'a> {
    /// The API group; empty for the core group.
    pub(super) group: &'a str,
    /// The plural name of the resource, such as `secrets`.
    pub(super) resource: &'a str,
    /// The name of the object; `None` for a collection.
    pub(super) name: Option<&'a str>,
    pub(super) subresource: Option<&'a str>,
}

impl<'a> Path<'a> {
    /// Parses `path`. `None` if it is not about a resource: `/readyz`, `/version`, or a `proxy` subresource.
    pub(super) fn of(path: &'a str) -> Option<Self> {
        let mut parts = path.split('/').filter(|part| !part.is_empty());
        let group = match parts.next()? {
            "api" => "",
            "apis" => parts.next()?,
            _ => return None,
        };
        let _version = parts.next()?;
        let rest: Vec<&str> = parts.take(5).collect();
        let rest = match rest.as_slice() {
            // `/namespaces/NAME` and its subresources are about the Namespace itself.
            ["namespaces", _namespace, "status" | "finalize", ..] => rest.as_slice(),
            ["namespaces", _namespace, resource @ ..] if !resource.is_empty() => resource,
            other => other,
        };
        let subresource = rest.get(2).copied();
        if subresource == Some("proxy") {
            return None;
        }
        Some(Self { group, resource: rest.first()?, name: rest.get(1).copied(), subresource })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_read_with_and_without_groups_and_namespaces() {
        let path = |group, resource, name, subresource| Some(Path { group, resource, name, subresource });
        for (text, expected) in [
            ("/api/v1/nodes", path("", "nodes", None, None)),
            ("/api/v1/nodes/n/status", path("", "nodes", Some("n"), Some("status"))),
            ("/api/v1/namespaces", path("", "namespaces", None, None)),
            ("/api/v1/namespaces/a", path("", "namespaces", Some("a"), None)),
            ("/api/v1/namespaces/a/status", path("", "namespaces", Some("a"), Some("status"))),
            ("/api/v1/namespaces/a/secrets", path("", "secrets", None, None)),
            ("/api/v1/namespaces/a/secrets/s", path("", "secrets", Some("s"), None)),
            (
                "/api/v1/namespaces/a/serviceaccounts/s/token",
                path("", "serviceaccounts", Some("s"), Some("token")),
            ),
            (
                "/apis/authentication.k8s.io/v1/tokenreviews",
                path("authentication.k8s.io", "tokenreviews", None, None),
            ),
            (
                "/apis/coordination.k8s.io/v1/namespaces/a/leases/l",
                path("coordination.k8s.io", "leases", Some("l"), None),
            ),
            ("/api/v1/namespaces/a/pods/https:p:1/proxy/readyz", None),
            ("/readyz", None),
            ("/version", None),
            ("/apis", None),
            ("/api/v1", None),
            ("/", None),
        ] {
            assert_eq!(Path::of(text), expected, "{text}");
        }
    }
}
