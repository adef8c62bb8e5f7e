//! What each service's answers are taken for.

use std::time::Duration;

use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use proptest::prelude::*;

use super::{Error, ErrorClass, Outcome, classify::classify};
use crate::Service;

const NOW: &str = "2026-11-15T12:00:00Z";

fn headers(pairs: &[(&'static str, &str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), HeaderValue::from_str(value).unwrap())).collect()
}

fn judge_with(service: Service, status: u16, pairs: &[(&'static str, &str)], body: &str) -> Error {
    let status = StatusCode::from_u16(status).unwrap();
    classify(service, status, &headers(pairs), body.as_bytes(), NOW.parse::<Timestamp>().unwrap())
}

fn judge(service: Service, status: u16, body: &str) -> Error {
    judge_with(service, status, &[("x-openstack-request-id", "req-1")], body)
}

fn octavia(text: &str) -> String {
    format!(r#"{{"faultcode": "Client", "faultstring": "{text}", "debuginfo": null}}"#)
}

fn neutron(kind: &str, text: &str) -> String {
    format!(r#"{{"NeutronError": {{"type": "{kind}", "message": "{text}", "detail": ""}}}}"#)
}

fn nova(kind: &str, code: u16, text: &str) -> String {
    format!(r#"{{"{kind}": {{"code": {code}, "message": "{text}"}}}}"#)
}

#[test]
fn a_credential_that_keystone_does_not_find_is_refused_and_a_path_that_it_does_not_find_is_no_way() {
    let said = |message: &str| {
        let body = format!(r#"{{"error": {{"code": 404, "message": "{message}", "title": "Not Found"}}}}"#);
        judge(Service::Identity, 404, &body).of_a_login()
    };
    for message in ["Could not find Application Credential: 8414fe19.", "Could not find user: nobody."] {
        let error = said(message);
        assert_eq!(error.class(), ErrorClass::Unauthenticated, "{error}");
        assert!(error.to_string().contains(message), "{error}");
    }
    assert_eq!(said("The requested URL was not found on the server.").class(), ErrorClass::Transient);
}

#[test]
fn each_service_s_way_to_say_no_has_its_class() {
    use ErrorClass::{Busy, Conflict, Forbidden, Invalid, Quota, Unsupported};
    use Service::{Compute, LoadBalancer, Network};
    for (service, status, body, class) in [
        (LoadBalancer, 409, octavia("Load Balancer e76b is immutable and cannot be updated."), Busy),
        (LoadBalancer, 409, octavia("Pool d17e is immutable and cannot be updated."), Busy),
        (LoadBalancer, 409, octavia("Invalid state PENDING_UPDATE of loadbalancer resource e76b"), Busy),
        (LoadBalancer, 409, octavia("Invalid state ERROR of loadbalancer resource e76b"), Conflict),
        (
            LoadBalancer,
            409,
            octavia("Another Listener on this Load Balancer is already using protocol TCP"),
            Conflict,
        ),
        (LoadBalancer, 409, octavia("The VIP IP address is already in use: IP address 10.10.0.95"), Conflict),
        (LoadBalancer, 403, octavia("Quota has been met for resources: Load Balancer"), Quota),
        (LoadBalancer, 403, octavia("Policy does not allow this request to be performed."), Forbidden),
        (LoadBalancer, 400, octavia("Provider 'nosuch' is not enabled."), Invalid),
        (LoadBalancer, 400, octavia("Subnet 0000 not found."), Invalid),
        (LoadBalancer, 501, octavia("Provider 'ovn' does not support a requested option"), Unsupported),
        (
            LoadBalancer,
            405,
            r#"{"code": 405, "title": "Method Not Allowed", "description": ""}"#.into(),
            Unsupported,
        ),
        (Network, 409, neutron("OverQuota", "Quota exceeded for resources: ['floatingip']."), Quota),
        (
            Network,
            409,
            neutron("IpAddressGenerationFailure", "No more IP addresses available on network x."),
            Quota,
        ),
        (Network, 409, neutron("PolicyInUse", "QoS Policy 3403 is used by port x."), Conflict),
        (LoadBalancer, 409, octavia("L7 Policy 3403 is immutable and cannot be updated."), Busy),
        (Network, 409, neutron("SecurityGroupInUse", "Security Group 3403 in use."), Conflict),
        (Network, 409, neutron("SecurityGroupRuleExists", "Security group rule already exists."), Conflict),
        (
            Network,
            412,
            neutron("RevisionNumberConstraintFailed", "Constrained to 1, but current is 2"),
            Conflict,
        ),
        (
            Network,
            403,
            neutron("PolicyNotAuthorized", "(rule:update_quota) exceeds what is allowed"),
            Forbidden,
        ),
        (Network, 400, neutron("InvalidIpForSubnet", "IP address 9.9.9.9 is not a valid IP"), Invalid),
        (
            Network,
            404,
            neutron("ExternalGatewayForFloatingIPNotFound", "External network is not reachable"),
            Invalid,
        ),
        (
            Compute,
            403,
            nova("forbidden", 403, "Quota exceeded for instances: Requested 1, but used 3 of 3"),
            Quota,
        ),
        (
            Compute,
            403,
            nova("forbidden", 403, "Policy doesn't allow get_all_tenants to be performed."),
            Forbidden,
        ),
        (Compute, 413, nova("overLimit", 413, "Quota exceeded for cores"), Quota),
        (
            Compute,
            409,
            nova("conflictingRequest", 409, "Cannot 'stop' instance while it is in vm_state stopped"),
            Conflict,
        ),
        (Compute, 406, nova("computeFault", 406, "Version 2.999 is not supported by the API."), Unsupported),
        (Compute, 422, nova("unprocessable", 422, "Quota exceeded for x"), Quota),
        (Compute, 422, nova("unprocessable", 422, "nonsense"), Invalid),
    ] {
        let error = judge(service, status, &body);
        assert_eq!(error.class(), class, "{status} {body}");
        assert_eq!(error.outcome(), Outcome::Refused, "{status} {body}");
        assert_eq!(error.request_id(), Some("req-1"));
    }
}

#[test]
fn a_404_is_believed_only_when_the_service_itself_says_that_the_object_is_not_there() {
    use ErrorClass::{NotFound, Transient, Unsupported};
    use Service::{Compute, Identity, KeyManager, LoadBalancer, Network};
    let html = "<html><head><title>404 Not Found</title></head></html>".to_owned();
    let server = nova("itemNotFound", 404, "Instance 0000 could not be found.");
    let pecan = |text: &str| format!(r#"{{"code": 404, "title": "Not Found", "description": "{text}"}}"#);
    for (service, body, class) in [
        (Compute, server.clone(), NotFound),
        (Compute, html.clone(), Transient),
        (Compute, String::new(), Transient),
        (
            Compute,
            r#"{"message": "Could not be found.<br />", "code": "404 Not Found", "title": "Not Found"}"#
                .into(),
            Unsupported,
        ),
        (Compute, octavia("Load Balancer 0000 not found."), Transient),
        (
            Compute,
            r#"{"error": {"code": 404, "message": "Not Found", "title": "Not Found"}}"#.into(),
            Transient,
        ),
        (Compute, r#"{"message": "no Route matched with those values"}"#.into(), Transient),
        (Network, neutron("PortNotFound", "Port 0000 could not be found."), NotFound),
        (Network, neutron("SecurityGroupRuleNotFound", "rule does not exist"), NotFound),
        (Network, neutron("HTTPNotFound", "The resource could not be found."), Unsupported),
        (Network, server.clone(), Transient),
        (LoadBalancer, octavia("Load Balancer 0000 not found."), NotFound),
        (LoadBalancer, pecan("Pool 0000 not found."), NotFound),
        (LoadBalancer, pecan(""), Unsupported),
        (LoadBalancer, html, Transient),
        (KeyManager, pecan("Not Found. Sorry but your container is in another castle."), NotFound),
        (
            Identity,
            r#"{"error": {"code": 404, "message": "Could not find", "title": "Not Found"}}"#.into(),
            NotFound,
        ),
    ] {
        assert_eq!(judge(service, 404, &body).class(), class, "{service}: {body}");
        let anonymous = judge_with(service, 404, &[], &body);
        assert_eq!(anonymous.class(), Transient, "without a request id: {body}");
        assert!(!anonymous.is_not_found());
    }
}

#[test]
fn what_something_in_between_answers_is_no_word_of_the_service() {
    for (status, class) in [
        (403, ErrorClass::Transient),
        (409, ErrorClass::Transient),
        (500, ErrorClass::Transient),
        (502, ErrorClass::Transient),
        (504, ErrorClass::Transient),
        (400, ErrorClass::Invalid),
        (413, ErrorClass::Invalid),
        (401, ErrorClass::Unauthenticated),
        (429, ErrorClass::Throttled),
    ] {
        let page = "<!DOCTYPE html>\n<HTML><TITLE>\n 502 Bad\tGateway </TITLE><body>nginx</body></HTML>";
        let error = judge_with(Service::Compute, status, &[], page);
        assert_eq!(error.class(), class, "{status}");
        assert!(error.message().contains(r#"an HTML page titled "502 Bad Gateway""#), "{error}");
        assert_eq!(error.fault(), None);
    }
    assert_eq!(judge(Service::Compute, 502, "").message(), "an empty answer");
}

#[test]
fn retry_after_is_read_in_seconds_and_as_a_date_and_is_bounded() {
    for (value, expected) in [
        ("7", Some(7)),
        ("0", Some(0)),
        ("99999999999", Some(86400)),
        ("Sun, 15 Nov 2026 12:00:30 GMT", Some(30)),
        ("Sun, 15 Nov 2026 11:00:00 GMT", Some(0)),
        ("soon", None),
        ("-3", None),
        ("", None),
    ] {
        let error = judge_with(Service::Compute, 429, &[("retry-after", value)], "");
        assert_eq!(error.retry_after(), expected.map(Duration::from_secs), "{value:?}");
    }
}

#[test]
fn a_service_that_says_when_to_come_back_asks_us_to_slow_down() {
    let later = [("retry-after", "3")];
    for status in [413, 429, 503] {
        let error = judge_with(Service::Compute, status, &later, &nova("overLimit", status, "too many"));
        assert_eq!(error.class(), ErrorClass::Throttled, "{status}");
        assert_eq!(error.retry_after(), Some(Duration::from_secs(3)));
    }
    assert_eq!(judge(Service::Compute, 503, "").class(), ErrorClass::Transient);
}

#[test]
fn a_redirect_is_an_error_that_shows_only_where_it_leads() {
    let location = [("location", "https://other.example/v2?token=s3cret")];
    let error = judge_with(Service::Compute, 302, &location, "");
    assert_eq!(error.class(), ErrorClass::Invalid);
    assert!(
        error.to_string().contains("https://other.example") && !error.to_string().contains("s3cret"),
        "{error}"
    );
}

#[test]
fn a_request_id_that_is_none_is_not_shown() {
    for bad in ["req 1", "<script>", ""] {
        let error = judge_with(Service::Compute, 500, &[("x-openstack-request-id", bad)], "");
        assert_eq!(error.request_id(), None, "{bad}");
    }
    let error = judge_with(Service::Compute, 500, &[("x-compute-request-id", "req-9")], "");
    assert_eq!(error.request_id(), Some("req-9"));
}

#[test]
fn what_a_service_says_is_one_line_of_bounded_length() {
    let long = format!("'identity' is required\\n\\n{}", "x".repeat(5000));
    let body = format!(r#"{{"error": {{"code": 400, "message": "{long}", "title": "Bad Request"}}}}"#);
    let message = judge(Service::Identity, 400, &body).message().to_owned();
    assert!(message.chars().count() <= 401 && !message.contains('\n'), "{message}");
}

#[test]
fn a_dump_of_the_request_that_a_validator_prints_is_left_out() {
    let text = r"'identity' is a required property\n\nFailed validating 'required' in schema:\n {'type': 'object'}\n\nOn instance:\n {'password': 's3cr\\'t'}";
    let body = format!(r#"{{"error": {{"code": 400, "message": "{text}", "title": "Bad Request"}}}}"#);
    let error = judge(Service::Identity, 400, &body);
    assert_eq!(error.message(), "'identity' is a required property");
    let error = judge(
        Service::LoadBalancer,
        405,
        r#"{"code": 405, "title": "Method Not Allowed", "description": ""}"#,
    );
    assert_eq!(error.to_string(), "405 Method Not Allowed (request id req-1)");
}

proptest! {
    #[test]
    fn no_answer_makes_the_judge_panic_or_believe_a_404(status in 300u16..600, body: Vec<u8>, header: String) {
        for service in [Service::Compute, Service::Network, Service::LoadBalancer, Service::Identity] {
            let mut headers = HeaderMap::new();
            for name in ["x-openstack-request-id", "retry-after", "location"] {
                if let Ok(value) = HeaderValue::from_str(&header) {
                    headers.insert(name, value);
                }
            }
            let status = StatusCode::from_u16(status).unwrap();
            let error = classify(service, status, &headers, &body, NOW.parse().unwrap());
            prop_assert!(!error.is_not_found());
            prop_assert!(error.to_string().chars().count() < 1500);
        }
    }

    #[test]
    fn no_json_makes_the_judge_panic(kind: String, text: String, number: i64) {
        for body in [
            serde_json::json!({"NeutronError": {"type": kind, "message": text}}),
            serde_json::json!({"NeutronError": text}),
            serde_json::json!({"NeutronError": number}),
            serde_json::json!({"faultstring": text, "faultcode": number}),
            serde_json::json!({"error": {"message": number, "title": kind}}),
            serde_json::json!({kind.clone(): {"code": number, "message": text}}),
            serde_json::json!({"title": kind, "description": text, "code": 404}),
            serde_json::json!([kind, text]),
        ] {
            let error = judge(Service::Network, 404, &body.to_string());
            prop_assert!(!error.message().contains('\n'));
        }
    }
}
