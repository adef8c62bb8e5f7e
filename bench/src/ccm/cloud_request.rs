//! What a request to the cloud is: its service, method and path without identifiers, and its class. Pure.

use http::Method;

use super::traffic::Class;

/// The service, the method and the pattern of the path: `load-balancer POST /v2.0/lbaas/loadbalancers`.
///
/// The first part of the path is the service, as the simulated cloud serves all of them under one address.
#[must_use]
pub fn name(method: &Method, path: &str) -> String {
    let mut parts = path.split('/').skip(1);
    let service = parts.next().unwrap_or_default();
    let pattern: Vec<&str> = parts.map(|part| if is_identifier(part) { "{id}" } else { part }).collect();
    format!("{service} {method} /{}", pattern.join("/"))
}

/// Whether it changes something; a login does not.
#[must_use]
pub fn class(method: &Method, path: &str) -> Class {
    match *method {
        Method::GET | Method::HEAD => Class::Read,
        Method::POST if path.starts_with("/identity/") => Class::Login,
        _ => Class::Write,
    }
}

fn is_identifier(part: &str) -> bool {
    let digits = part.bytes().filter(|byte| *byte != b'-').count();
    let is_hexadecimal = part.bytes().all(|byte| byte == b'-' || byte.is_ascii_hexdigit());
    let is_number = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    (digits == 32 && is_hexadecimal) || is_number
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_are_taken_out_of_names() {
        let path = "/load-balancer/v2.0/lbaas/pools/0280b06e-0869-42c5-9f07-403f844f3b10/members";
        assert_eq!(name(&Method::PUT, path), "load-balancer PUT /v2.0/lbaas/pools/{id}/members");
        assert_eq!(name(&Method::GET, "/compute/v2.1/flavors/1"), "compute GET /v2.1/flavors/{id}");
        assert_eq!(name(&Method::GET, "/compute/v2.1/servers/detail"), "compute GET /v2.1/servers/detail");
    }

    #[test]
    fn a_login_is_no_change_and_a_look_at_the_catalog_is_a_read() {
        assert_eq!(class(&Method::POST, "/identity/v3/auth/tokens"), Class::Login);
        assert_eq!(class(&Method::GET, "/identity/v3"), Class::Read);
        assert_eq!(class(&Method::DELETE, "/network/v2.0/floatingips/1"), Class::Write);
    }
}
