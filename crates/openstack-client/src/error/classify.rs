//! Converts an unsuccessful answer to an error. Pure.
//!
//! The critical question is whether a 404 proves that an object does not exist. It does only if the service itself answered: with its
//! request id, in its own error format, about an object and not about a path. A load balancer in front of a restarting service, or a wrong
//! path prefix in the catalog, also results in 404; if that counted, all servers would seem to be deleted.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;

use super::{
    Error, ErrorClass, Outcome,
    fault::{self, Dialect, Fault},
};
use crate::Service;

/// Upper bound for `Retry-After`: an invalid header must not stop the client forever.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// The headers with the request id, in order of precedence.
const REQUEST_ID: [&str; 2] = ["x-openstack-request-id", "x-compute-request-id"];

/// Error types of Neutron for exhausted addresses. They are treated as quota errors although no quota is exceeded.
const EXHAUSTED: [&str; 3] = [
    "IpAddressGenerationFailure",
    "ExternalIpAddressExhausted",
    "IpAddressGenerationFailureNoMatchingSubnet",
];

/// Converts an answer of `service` to an error.
pub(crate) fn classify(
    service: Service,
    status: StatusCode,
    headers: &HeaderMap,
    body: &[u8],
    now: Timestamp,
) -> Error {
    let request_id = request_id(headers);
    let retry_after = retry_after(headers, now);
    let fault = fault::parse(body);
    let class = class_of(service, status, fault.as_ref(), request_id.is_some(), retry_after.is_some());
    let message = message_of(status, headers, fault.as_ref(), body, class);
    Error::new(class, outcome_of(status, fault.as_ref()), message)
        .with_status(status.as_u16())
        .with_fault(fault.map(|fault| fault.kind))
        .with_request_id(request_id)
        .with_retry_after(retry_after)
}

fn class_of(
    service: Service,
    status: StatusCode,
    fault: Option<&Fault>,
    has_request_id: bool,
    has_retry_after: bool,
) -> ErrorClass {
    match status.as_u16() {
        401 => ErrorClass::Unauthenticated,
        429 => ErrorClass::Throttled,
        413 | 503 if has_retry_after => ErrorClass::Throttled,
        501 => ErrorClass::Unsupported,
        408 | 425 | 500..=599 => ErrorClass::Transient,
        404 => not_found(service, fault, has_request_id),
        403 | 409 | 412 | 413 | 422 | 423 => match fault {
            Some(fault) => refused(status.as_u16(), fault),
            None if matches!(status.as_u16(), 413 | 422) => ErrorClass::Invalid,
            None => ErrorClass::Transient,
        },
        405 | 406 => ErrorClass::Unsupported,
        _ => ErrorClass::Invalid,
    }
}

/// A 404 is `NotFound` only if the service reports that an object does not exist.
fn not_found(service: Service, fault: Option<&Fault>, has_request_id: bool) -> ErrorClass {
    let Some(fault) = fault.filter(|_| has_request_id) else { return ErrorClass::Transient };
    let about_an_object = match (service, fault.dialect) {
        (Service::Compute, Dialect::Nova) => fault.kind == "itemNotFound",
        (Service::Network, Dialect::Neutron) => match fault.kind.as_str() {
            "HTTPNotFound" | "" => false,
            "ExternalGatewayForFloatingIPNotFound" => return ErrorClass::Invalid,
            kind => kind.contains("NotFound"),
        },
        (Service::LoadBalancer, Dialect::Octavia) => true,
        (Service::LoadBalancer | Service::KeyManager, Dialect::Pecan) => !fault.message.is_empty(),
        (Service::Identity, Dialect::Keystone) => true,
        // Nova does not know the path.
        (Service::Compute, Dialect::Webob) => false,
        // The format of another service, so this service did not answer.
        _ => return ErrorClass::Transient,
    };
    if about_an_object { ErrorClass::NotFound } else { ErrorClass::Unsupported }
}

/// The class of a refusal with an explanation. Policy errors are tested first: the names of policy rules may contain the word "quota".
fn refused(status: u16, fault: &Fault) -> ErrorClass {
    let text = fault.message.to_ascii_lowercase();
    if fault.kind == "PolicyNotAuthorized" || (status == 403 && text.contains("policy")) {
        return ErrorClass::Forbidden;
    }
    let quota =
        text.contains("quota") && ["exceed", "met", "over", "reached"].iter().any(|word| text.contains(word));
    if quota
        || matches!(fault.kind.as_str(), "OverQuota" | "overLimit")
        || EXHAUSTED.contains(&fault.kind.as_str())
    {
        return ErrorClass::Quota;
    }
    match status {
        403 => ErrorClass::Forbidden,
        413 | 422 => ErrorClass::Invalid,
        423 => ErrorClass::Busy,
        _ if text.contains("is immutable") || text.contains("invalid state pending") => ErrorClass::Busy,
        _ => ErrorClass::Conflict,
    }
}

/// The outcome: `Refused` after 401, 429 and 501, and after any 4xx in an error format of the services; otherwise `Unknown`.
fn outcome_of(status: StatusCode, fault: Option<&Fault>) -> Outcome {
    match status.as_u16() {
        401 | 429 | 501 => Outcome::Refused,
        400..=499 if fault.is_some() => Outcome::Refused,
        _ => Outcome::Unknown,
    }
}

fn message_of(
    status: StatusCode,
    headers: &HeaderMap,
    fault: Option<&Fault>,
    body: &[u8],
    class: ErrorClass,
) -> String {
    if status.is_redirection() {
        return format!(
            "a redirect to {}, which is not followed; configure that address",
            redirect_target(headers)
        );
    }
    let Some(fault) = fault else {
        let page = fault::describe_page(body);
        return match status.as_u16() {
            404 => format!(
                "{page}, which did not come from the service; check its endpoint and what is in front of it"
            ),
            407 => format!("{page}: the proxy wants credentials"),
            _ => page,
        };
    };
    match (status.as_u16(), class) {
        (404, ErrorClass::Transient) => format!(
            "{} (not believed: without a request id, or in the words of another service)",
            fault.message
        ),
        (404, ErrorClass::Unsupported) => "the service does not know this path".to_owned(),
        _ => fault.message.clone(),
    }
}

/// The target of a redirect: scheme and host only, because path and query may contain secrets.
fn redirect_target(headers: &HeaderMap) -> String {
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let uri: Option<http::Uri> = location.parse().ok();
    match uri.as_ref().map(|uri| (uri.scheme_str(), uri.host())) {
        Some((Some(scheme), Some(host))) => format!("{scheme}://{host}"),
        _ => "another path".to_owned(),
    }
}

/// The request id of the cloud; `None` if it is missing or malformed.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    let value = REQUEST_ID.iter().find_map(|name| headers.get(*name))?.to_str().ok()?;
    let good = !value.is_empty()
        && value.len() <= 128
        && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    good.then(|| value.to_owned())
}

/// The pause requested in `Retry-After`, in seconds or as a date; at most one day.
pub(crate) fn retry_after(headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let value = headers.get(header::RETRY_AFTER)?.to_str().ok()?.trim();
    let pause = match value.parse::<u64>() {
        Ok(seconds) => Duration::from_secs(seconds),
        Err(_) => {
            let then = jiff::fmt::rfc2822::DateTimeParser::new().parse_timestamp(value).ok()?;
            Duration::try_from(then.duration_since(now)).unwrap_or_default()
        }
    };
    Some(pause.min(LONGEST_PAUSE))
}
