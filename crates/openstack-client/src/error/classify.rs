//! From an answer that is not a success to an error. Pure.
//!
//! The hardest question is whether a 404 may be believed. It may only when the service itself says it: with its request id,
//! in its own form, about an object and not about a path. A load balancer in front of a service that restarts, or a wrong
//! prefix in a catalog, answers 404 as well, and believing it would look like the loss of every machine.

use std::time::Duration;

use http::{HeaderMap, StatusCode, header};
use jiff::Timestamp;

use super::{
    Error, ErrorClass, Outcome,
    fault::{self, Dialect, Fault},
};
use crate::Service;

/// The longest pause that is believed: a broken header must not stop us for ever.
const LONGEST_PAUSE: Duration = Duration::from_secs(24 * 60 * 60);

/// The headers in which services name a request, in the order of trust.
const REQUEST_ID: [&str; 2] = ["x-openstack-request-id", "x-compute-request-id"];

/// Kinds of Neutron that say that nothing is left to give, although no quota is met.
const EXHAUSTED: [&str; 3] = [
    "IpAddressGenerationFailure",
    "ExternalIpAddressExhausted",
    "IpAddressGenerationFailureNoMatchingSubnet",
];

/// The error that an answer of `service` is.
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

/// A 404 is believed only when the service says that an object is not there.
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
        // The paths that the services themselves do not know.
        (Service::Compute, Dialect::Webob) => false,
        // Somebody else's form: not this service.
        _ => return ErrorClass::Transient,
    };
    if about_an_object { ErrorClass::NotFound } else { ErrorClass::Unsupported }
}

/// A refusal that the service explains. Policies come first: the names of their rules may hold the word "quota".
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

/// A 4xx that the service explains means that nothing was done; everything else leaves doubt.
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

/// Where a redirect leads: scheme and host, for the rest may hold anything.
fn redirect_target(headers: &HeaderMap) -> String {
    let location = headers.get(header::LOCATION).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let uri: Option<http::Uri> = location.parse().ok();
    match uri.as_ref().map(|uri| (uri.scheme_str(), uri.host())) {
        Some((Some(scheme), Some(host))) => format!("{scheme}://{host}"),
        _ => "another path".to_owned(),
    }
}

/// The cloud's own id of a request.
pub(crate) fn request_id(headers: &HeaderMap) -> Option<String> {
    let value = REQUEST_ID.iter().find_map(|name| headers.get(*name))?.to_str().ok()?;
    let good = !value.is_empty()
        && value.len() <= 128
        && value.chars().all(|c| c.is_ascii_alphanumeric() || c == '-');
    good.then(|| value.to_owned())
}

/// How long the service asks us to wait: seconds, or a date.
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
