//! Which part of the API a path names. Does not know which resources exist.

use percent_encoding::percent_decode_str;

/// What a path leads to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Route {
    /// `/healthz`, `/livez`, `/readyz`.
    Health,
    /// `/version`.
    Version,
    /// `/api`.
    CoreVersions,
    /// `/apis`.
    Groups,
    /// `/apis/GROUP`.
    Group(String),
    /// `/api/v1` or `/apis/GROUP/VERSION`.
    Resources { group: String, version: String },
    /// `/openapi/v2`.
    OpenApiV2,
    /// `/openapi/v3`.
    OpenApiV3,
    /// `/openapi/v3/api/v1` or `/openapi/v3/apis/GROUP/VERSION`.
    OpenApiV3Of { group: String, version: String },
    /// Objects.
    Resource(ResourcePath),
    /// Nothing of this.
    Unknown,
}

/// A path to objects. Parts that are absent are empty.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct ResourcePath {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) namespace: String,
    pub(crate) plural: String,
    pub(crate) name: String,
    pub(crate) subresource: String,
}

/// Reads a path.
pub(crate) fn route(path: &str) -> Route {
    let parts: Vec<String> = path
        .split('/')
        .filter(|part| !part.is_empty())
        .map(|part| percent_decode_str(part).decode_utf8_lossy().into_owned())
        .collect();
    let parts: Vec<&str> = parts.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => Route::Health,
        ["version"] => Route::Version,
        ["api"] => Route::CoreVersions,
        ["apis"] => Route::Groups,
        ["apis", group] => Route::Group((*group).to_owned()),
        ["api", version] => resources("", version),
        ["apis", group, version] => resources(group, version),
        ["openapi", "v2"] => Route::OpenApiV2,
        ["openapi", "v3"] => Route::OpenApiV3,
        ["openapi", "v3", "api", version] => open_api("", version),
        ["openapi", "v3", "apis", group, version] => open_api(group, version),
        ["api", version, rest @ ..] => objects("", version, rest),
        ["apis", group, version, rest @ ..] => objects(group, version, rest),
        _ => Route::Unknown,
    }
}

fn resources(group: &str, version: &str) -> Route {
    Route::Resources { group: group.to_owned(), version: version.to_owned() }
}

fn open_api(group: &str, version: &str) -> Route {
    Route::OpenApiV3Of { group: group.to_owned(), version: version.to_owned() }
}

fn objects(group: &str, version: &str, rest: &[&str]) -> Route {
    let (namespace, plural, name, subresource) = match *rest {
        // A namespace's own subresources, not resources inside of it.
        ["namespaces", name, sub @ ("status" | "finalize")] => ("", "namespaces", name, sub),
        ["namespaces", namespace, plural] => (namespace, plural, "", ""),
        ["namespaces", namespace, plural, name] => (namespace, plural, name, ""),
        ["namespaces", namespace, plural, name, sub] => (namespace, plural, name, sub),
        [plural] => ("", plural, "", ""),
        [plural, name] => ("", plural, name, ""),
        [plural, name, sub] => ("", plural, name, sub),
        _ => return Route::Unknown,
    };
    Route::Resource(ResourcePath {
        group: group.to_owned(),
        version: version.to_owned(),
        namespace: namespace.to_owned(),
        plural: plural.to_owned(),
        name: name.to_owned(),
        subresource: subresource.to_owned(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn resource(path: &str) -> (String, String, String, String) {
        match route(path) {
            Route::Resource(found) => (found.namespace, found.plural, found.name, found.subresource),
            other => panic!("{path} is {other:?}"),
        }
    }

    fn parts(a: &str, b: &str, c: &str, d: &str) -> (String, String, String, String) {
        (a.into(), b.into(), c.into(), d.into())
    }

    #[test]
    fn a_namespace_is_a_resource_and_a_place() {
        assert_eq!(resource("/api/v1/namespaces/a"), parts("", "namespaces", "a", ""));
        assert_eq!(resource("/api/v1/namespaces/a/status"), parts("", "namespaces", "a", "status"));
        assert_eq!(resource("/api/v1/namespaces/a/services"), parts("a", "services", "", ""));
        assert_eq!(
            resource("/apis/apps/v1/namespaces/a/deployments/b/scale"),
            parts("a", "deployments", "b", "scale")
        );
    }

    #[test]
    fn discovery_paths_are_no_objects() {
        assert_eq!(route("/api"), Route::CoreVersions);
        assert_eq!(route("/apis/apps"), Route::Group("apps".into()));
        assert_eq!(route("/livez/etcd"), Route::Health);
        assert_eq!(route("/nowhere"), Route::Unknown);
    }
}
