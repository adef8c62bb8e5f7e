//! Neutron's refusals, in its words.

use http::StatusCode;
use serde_json::json;

use crate::http::Refusal;

/// A refusal with Neutron's body.
pub(super) fn refusal(status: StatusCode, kind: &str, message: &str) -> Refusal {
    Refusal::json(status, json!({"NeutronError": {"type": kind, "message": message, "detail": ""}}))
}

/// 400.
pub(super) fn bad_request(kind: &str, message: &str) -> Refusal {
    refusal(StatusCode::BAD_REQUEST, kind, message)
}

/// 400 for a value that does not fit.
pub(super) fn invalid(attribute: &str) -> Refusal {
    bad_request("HTTPBadRequest", &format!("Invalid input for {attribute}. Reason: its value does not fit."))
}

/// 400 for something that must be given.
pub(super) fn required(attribute: &str) -> Refusal {
    let message = format!("Failed to parse request. Required attribute '{attribute}' not specified");
    bad_request("HTTPBadRequest", &message)
}

/// 400 for a body that does not hold what it is about.
pub(super) fn not_in_body(object: &str) -> Refusal {
    bad_request("HTTPBadRequest", &format!("Unable to find '{object}' in request body"))
}

/// 500, of which Neutron says nothing.
pub(super) fn internal() -> Refusal {
    let message = "Request Failed: internal server error while processing your request.";
    refusal(StatusCode::INTERNAL_SERVER_ERROR, "HTTPInternalServerError", message)
}

/// 403 by policy.
pub(super) fn policy(rule: &str) -> Refusal {
    let message = format!("({rule}) is disallowed by policy");
    refusal(StatusCode::FORBIDDEN, "PolicyNotAuthorized", &message)
}

/// 404.
pub(super) fn not_found(kind: &str, message: &str) -> Refusal {
    refusal(StatusCode::NOT_FOUND, kind, message)
}

/// 409.
pub(super) fn conflict(kind: &str, message: &str) -> Refusal {
    refusal(StatusCode::CONFLICT, kind, message)
}

/// 409 for a quota.
pub(super) fn over_quota(resource: &str) -> Refusal {
    conflict("OverQuota", &format!("Quota exceeded for resources: ['{resource}']."))
}

/// 404 of a path that Neutron does not have.
pub(super) fn path_unknown() -> Refusal {
    not_found("HTTPNotFound", "The resource could not be found.")
}

/// 404 of an object, in the words for its kind.
pub(crate) fn missing(collection: &str, id: &str) -> Refusal {
    let (kind, message) = match collection {
        "networks" => ("NetworkNotFound", format!("Network {id} could not be found.")),
        "subnets" => ("SubnetNotFound", format!("Subnet {id} could not be found.")),
        "ports" => ("PortNotFound", format!("Port {id} could not be found.")),
        "routers" => ("RouterNotFound", format!("Router {id} could not be found")),
        "floatingips" => ("FloatingIPNotFound", format!("Floating IP {id} could not be found")),
        "security-groups" => ("SecurityGroupNotFound", format!("Security group {id} does not exist")),
        "security-group-rules" => {
            ("SecurityGroupRuleNotFound", format!("Security group rule {id} does not exist"))
        }
        "trunks" => ("TrunkNotFound", format!("Trunk {id} could not be found.")),
        _ => ("HTTPNotFound", "The resource could not be found.".to_owned()),
    };
    not_found(kind, &message)
}
