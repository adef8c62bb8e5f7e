//! Failures: each with its class, its request id, and nothing that must not be shown.

use std::time::Duration;

use openstack_client::{
    Client, Error, ErrorClass, FlavorId, LoadBalancerId, Outcome, ServerId, Timeouts, Transport,
};
use serde_json::json;
use tokio::time::Instant;

use crate::cloud::{Cloud, Reply};

async fn server(cloud: &Cloud) -> Result<(), Error> {
    cloud.client().compute().server(&ServerId::new("s1").unwrap()).await.map(drop)
}

#[tokio::test(start_paused = true)]
async fn an_error_says_what_was_asked_what_came_and_by_which_request() {
    let cloud = Cloud::new(|_| {
        Reply::json(
            409,
            &json!({"faultcode": "Client", "debuginfo": null,
        "faultstring": "Load Balancer lb1 is immutable and cannot be updated."}),
        )
    });
    let id = LoadBalancerId::new("lb1").unwrap();
    let error = cloud.client().load_balancer().delete_load_balancer(&id, true).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Busy);
    assert_eq!(
        error.to_string(),
        "DELETE /v2.0/lbaas/loadbalancers/lb1 of load-balancer: 409 Client: Load Balancer lb1 is immutable and cannot be \
         updated. (request id req-1)"
    );
}

#[tokio::test(start_paused = true)]
async fn only_the_service_s_own_404_is_a_404() {
    let real = json!({"itemNotFound": {"code": 404, "message": "Instance s1 could not be found."}});
    assert!(server(&Cloud::new(move |_| Reply::json(404, &real))).await.unwrap_err().is_not_found());
    for lie in [
        Reply::text(404, "<html><title>404 Not Found</title></html>"),
        Reply::text(404, r#"{"itemNotFound": {"code": 404, "message": "Instance s1 could not be found."}}"#),
        Reply::json(404, &json!({"message": "x", "code": "404 Not Found", "title": "Not Found"})),
        Reply::text(404, ""),
    ] {
        let error = server(&Cloud::new(move |_| lie.clone())).await.unwrap_err();
        assert!(!error.is_not_found(), "{error}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_success_that_cannot_be_read_is_a_failure_that_may_pass() {
    for body in ["", "<html>login here</html>", r#"{"server": {"id": "s1", "na"#, "{}", "null", "[1]"] {
        let error = server(&Cloud::new(move |_| Reply::text(200, body))).await.unwrap_err();
        assert_eq!((error.class(), error.status()), (ErrorClass::Transient, Some(200)), "{body}");
        assert!(error.to_string().contains("cannot be understood"), "{error}");
    }
    let error =
        server(&Cloud::new(|_| Reply::text(200, r#"{"server": {"id": "s1", "na"#))).await.unwrap_err();
    assert!(error.to_string().contains("cut off after 27 bytes"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_service_that_does_not_answer_is_given_up_at_the_time_limit_and_the_effect_is_unknown() {
    let cloud = Cloud::new(|_| Reply::Silence);
    let limits = Timeouts { total: Duration::from_secs(7), ..Timeouts::default() };
    let client = Client::new(Transport::new(cloud.clone(), limits), Cloud::settings());
    client.identity().await.unwrap();
    let since = Instant::now();
    let error = client.compute().server(&ServerId::new("s1").unwrap()).await.unwrap_err();
    assert_eq!(since.elapsed(), Duration::from_secs(7));
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::Unknown));
    assert!(error.to_string().contains("no complete answer within 7s"), "{error}");

    let limits = Timeouts { read: Duration::from_secs(3), ..Timeouts::default() };
    let client = Client::new(Transport::new(cloud, limits), Cloud::settings());
    let since = Instant::now();
    let error = client.compute().server(&ServerId::new("s1").unwrap()).await.unwrap_err();
    assert_eq!(since.elapsed(), Duration::from_secs(3));
    assert!(error.to_string().contains("nothing was heard for 3s"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_breaks_leaves_the_effect_unknown() {
    let error = server(&Cloud::new(|_| Reply::Broken("connection reset"))).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::Unknown));
    assert!(error.to_string().contains("connection reset"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_redirect_is_not_followed() {
    let cloud =
        Cloud::new(|_| Reply::text(301, "").with("location", "https://elsewhere.test/v2.1/flavors/1"));
    let error = cloud.client().compute().flavor(&FlavorId::new("1").unwrap()).await.unwrap_err();
    assert_eq!(error.class(), ErrorClass::Invalid);
    assert!(cloud.calls().iter().all(|call| call.host == "nova.test"), "the token stays where it belongs");
}
