//! What a request to the API server is: its verb and resource, as RBAC names them, and its class. Pure.

use http::{Method, Uri};

use super::traffic::Class;

/// The verb and the resource, such as `patch nodes/status`; of other paths the method and the path.
#[must_use]
pub fn name(method: &Method, uri: &Uri) -> String {
    let Some((resource, is_named)) = resource(uri.path()) else {
        return format!("{} {}", method.as_str().to_lowercase(), uri.path());
    };
    format!("{} {resource}", verb(method, uri.query().unwrap_or_default(), is_named))
}

fn verb(method: &Method, query: &str, is_named: bool) -> &'static str {
    let watches = query.split('&').any(|pair| matches!(pair, "watch=true" | "watch=1"));
    match *method {
        Method::GET if watches => "watch",
        Method::GET if is_named => "get",
        Method::GET => "list",
        Method::POST => "create",
        Method::PUT => "update",
        Method::PATCH => "patch",
        Method::DELETE => "delete",
        _ => "other",
    }
}

/// The resource with its subresource, and whether one object is named.
fn resource(path: &str) -> Option<(String, bool)> {
    let mut parts = path.split('/').skip(1).filter(|part| !part.is_empty());
    match parts.next()? {
        "api" => parts.next().map(drop)?,
        "apis" => {
            parts.next()?;
            parts.next().map(drop)?;
        }
        _ => return None,
    }
    let rest: Vec<&str> = parts.collect();
    let rest = match rest.as_slice() {
        ["namespaces", _, rest @ ..] if !rest.is_empty() => rest,
        rest => rest,
    };
    match rest {
        [] => None,
        [resource] => Some(((*resource).to_owned(), false)),
        [resource, _] => Some(((*resource).to_owned(), true)),
        [resource, _, rest @ ..] => Some((format!("{resource}/{}", rest.join("/")), true)),
    }
}

/// Its class. Renewals of leases go with time, not with work, and events are for people: both are apart from the writes.
#[must_use]
pub fn class(name: &str) -> Class {
    let (verb, resource) = name.split_once(' ').unwrap_or((name, ""));
    match (verb, resource) {
        (_, "leases") => Class::Lease,
        (_, "events") => Class::Event,
        // A review is a question, though it is put as an object that is created.
        (_, resource) if resource.ends_with("reviews") => Class::Read,
        ("get" | "list" | "watch", _) => Class::Read,
        _ => Class::Write,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(method: &Method, uri: &str) -> (String, Class) {
        let name = name(method, &uri.parse().unwrap());
        let class = class(&name);
        (name, class)
    }

    #[test]
    fn requests_are_named_as_rbac_names_them() {
        let cases = [
            (Method::GET, "/api/v1/nodes?limit=500", "list nodes", Class::Read),
            (Method::GET, "/api/v1/services?watch=true&resourceVersion=1", "watch services", Class::Read),
            (Method::GET, "/api/v1/services?allowWatchBookmarks=true&watch=1", "watch services", Class::Read),
            (Method::GET, "/api/v1/namespaces/kube-system", "get namespaces", Class::Read),
            (
                Method::PATCH,
                "/api/v1/namespaces/default/services/web/status",
                "patch services/status",
                Class::Write,
            ),
            (Method::DELETE, "/api/v1/nodes/node-1", "delete nodes", Class::Write),
            (Method::POST, "/api/v1/namespaces/default/events", "create events", Class::Event),
            (
                Method::PUT,
                "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/cloud-controller-manager",
                "update leases",
                Class::Lease,
            ),
            (
                Method::POST,
                "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
                "create selfsubjectaccessreviews",
                Class::Read,
            ),
            (Method::GET, "/version", "get /version", Class::Read),
        ];
        for (method, uri, name, class) in cases {
            assert_eq!(named(&method, uri), (name.to_owned(), class));
        }
    }
}
