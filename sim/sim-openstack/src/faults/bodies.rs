//! The bodies of injected errors, as each service or the proxy before it writes them.

use http::StatusCode;
use serde_json::{Value, json};

use super::FaultBody;
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Body};
use crate::network;

/// An error answer.
pub(super) fn answer(
    service: Service,
    request: &ApiRequest,
    status: StatusCode,
    body: FaultBody,
) -> ApiResponse {
    let body = match body {
        FaultBody::Empty => Body::Empty,
        FaultBody::Html => Body::Text(html(status), "text/html"),
        FaultBody::Service => Body::Json(service_error(service, request, status)),
    };
    ApiResponse { status, headers: Vec::new(), body }
}

/// A proxy's error page.
fn html(status: StatusCode) -> String {
    let title = format!("{} {}", status.as_u16(), status.canonical_reason().unwrap_or("Error"));
    format!(
        "<html>\r\n<head><title>{title}</title></head>\r\n<body>\r\n<center><h1>{title}</h1></center>\r\n\
         <hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
    )
}

fn service_error(service: Service, request: &ApiRequest, status: StatusCode) -> Value {
    let code = status.as_u16();
    let title = status.canonical_reason().unwrap_or("Error");
    let named = request.segments.last().map_or("", String::as_str);
    if status == StatusCode::UNAUTHORIZED {
        let message = "The request you have made requires authentication.";
        return json!({"error": {"code": code, "title": title, "message": message}});
    }
    let message = match code {
        404 => format!("{named} could not be found."),
        403 => "Policy does not allow this request to be performed.".to_owned(),
        409 => format!("{named} is in a state that does not allow this."),
        413 | 429 => "This request was rate-limited.".to_owned(),
        500 => "An unexpected error prevented the server from fulfilling your request.".to_owned(),
        _ => format!("{title}: injected"),
    };
    match service {
        Service::Identity | Service::Image => {
            json!({"error": {"code": code, "title": title, "message": message}})
        }
        Service::Compute => json!({compute_kind(code): {"code": code, "message": message}}),
        Service::Network => {
            let missing = match request.segments.as_slice() {
                [_, collection, id, ..] if code == 404 => Some(network::missing(collection, id)),
                _ => None,
            };
            match missing.map(crate::http::Refusal::into_response).map(|response| response.body) {
                Some(Body::Json(body)) => body,
                _ => json!({"NeutronError": {"type": network_kind(code), "message": message, "detail": ""}}),
            }
        }
        Service::LoadBalancer => {
            let fault = if status.is_server_error() { "Server" } else { "Client" };
            json!({"faultcode": fault, "faultstring": message, "debuginfo": null})
        }
        Service::KeyManager => json!({"code": code, "title": title, "description": message}),
    }
}

fn compute_kind(code: u16) -> &'static str {
    match code {
        400 => "badRequest",
        403 => "forbidden",
        404 => "itemNotFound",
        409 => "conflictingRequest",
        413 | 429 => "overLimit",
        503 => "serviceUnavailable",
        _ => "computeFault",
    }
}

fn network_kind(code: u16) -> &'static str {
    match code {
        400 => "BadRequest",
        403 => "PolicyNotAuthorized",
        404 => "HTTPNotFound",
        409 => "Conflict",
        429 => "HTTPTooManyRequests",
        503 => "ServiceUnavailable",
        _ => "HTTPInternalServerError",
    }
}
