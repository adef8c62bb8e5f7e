//! What happens to a call, and to the token that all share, when Keystone or one of the services refuses.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use openstack_client::{
    Client, Error, ErrorClass, FlavorId, LoadBalancerId, Outcome, PortId, Service, network::PortUpdate,
};
use serde_json::{Value, json};
use tokio::time::{Instant, advance};

use crate::cloud::{Asked, Cloud, PROJECT, Reply, token};

const HOUR: Duration = Duration::from_secs(3600);

fn flavor(_: &Asked) -> Reply {
    Reply::ok(&json!({"flavor": {"id": "1", "name": "m1.tiny"}}))
}

async fn ask(client: &Client) -> Result<(), Error> {
    client.compute().flavor(&FlavorId::new("1").unwrap()).await.map(drop)
}

async fn delete_balancer(client: &Client) -> Result<(), Error> {
    let id = LoadBalancerId::new("lb1").unwrap();
    client.load_balancer().delete_load_balancer(&id, true).await
}

/// A Keystone whose first token is good, and which then answers `later`.
fn once_and_then(later: Reply) -> impl Fn(&Asked) -> Reply + Send + Sync + 'static {
    let issued = AtomicU64::new(0);
    move |_| match issued.fetch_add(1, Ordering::SeqCst) {
        0 => token("token-1", HOUR),
        _ => later.clone(),
    }
}

fn keystone_404() -> Reply {
    Reply::json(404, &json!({"error": {"code": 404, "title": "Not Found", "message": "Could not find."}}))
}

#[tokio::test(start_paused = true)]
async fn a_404_of_keystone_is_never_the_absence_of_what_was_asked_for() {
    let cloud = Cloud::new(flavor).keystone(|_| keystone_404());
    let error = delete_balancer(&cloud.client()).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::NotSent), "{error}");
    assert_eq!((error.service(), error.status()), (Some(Service::Identity), Some(404)));
    assert_eq!(cloud.client().identity().await.unwrap_err().class(), ErrorClass::Transient);

    let cloud = Cloud::new(|_| Reply::unauthorized()).keystone(once_and_then(keystone_404()));
    let error = delete_balancer(&cloud.client()).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::Refused), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_404_at_the_root_of_a_service_is_never_the_absence_of_what_was_asked_for() {
    let cloud = Cloud::new(|_| {
        Reply::json(404, &json!({"itemNotFound": {"code": 404, "message": "Flavor 1 could not be found."}}))
    })
    .keystone(|_| with_catalog(&[("compute", "R", "http://n.test")]));
    let error = ask(&cloud.client()).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::NotSent), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_change_that_was_never_sent_is_known_not_to_have_happened() {
    for keystone in [Reply::text(503, "down"), Reply::Broken("connection reset"), Reply::unauthorized()] {
        let cloud = Cloud::new(flavor).keystone(move |_| keystone.clone());
        assert_eq!(delete_balancer(&cloud.client()).await.unwrap_err().outcome(), Outcome::NotSent);
        assert!(cloud.calls().is_empty());
    }
    let cloud = Cloud::new(|_| Reply::unauthorized()).keystone(once_and_then(Reply::text(503, "down")));
    let error = delete_balancer(&cloud.client()).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::Refused));
}

/// A token for another project than the usual one.
fn foreign_token() -> Reply {
    let Reply::Answer { status, headers, body } = token("foreign", HOUR) else { panic!() };
    let body = String::from_utf8(body.to_vec()).unwrap().replace(PROJECT, "0123456789abcdef");
    Reply::Answer { status, headers, body: body.into() }
}

#[tokio::test(start_paused = true)]
async fn a_renewed_token_for_another_project_is_not_used() {
    let cloud = Cloud::new(flavor).keystone(once_and_then(foreign_token()));
    let client = cloud.client();
    ask(&client).await.unwrap();
    advance(Duration::from_secs(3596)).await;
    let error = ask(&client).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Unauthenticated, Outcome::NotSent));
    assert!(error.message().contains("0123456789abcdef") && error.message().contains(PROJECT), "{error}");
    advance(Duration::from_secs(700)).await;
    ask(&client).await.unwrap_err();
    assert!(cloud.calls().iter().all(|call| call.header("x-auth-token") == "token-1"));
    assert_eq!(cloud.logins(), 3, "it is asked for again after a pause");
}

#[tokio::test(start_paused = true)]
async fn one_service_that_refuses_every_token_does_not_use_them_up_for_the_others() {
    let cloud = Cloud::new(|asked| match asked.host.as_str() {
        "octavia.test" => Reply::unauthorized(),
        _ => flavor(asked),
    });
    let client = cloud.client();
    for _ in 0..20 {
        let error = delete_balancer(&client).await.unwrap_err();
        assert_eq!(
            (error.class(), error.service()),
            (ErrorClass::Unauthenticated, Some(Service::LoadBalancer))
        );
        ask(&client).await.unwrap();
        advance(Duration::from_secs(1)).await;
    }
    assert_eq!(cloud.logins(), 2, "within the first half minute");
    advance(Duration::from_secs(30)).await;
    delete_balancer(&client).await.unwrap_err();
    assert_eq!(cloud.logins(), 3);
}

#[tokio::test(start_paused = true)]
async fn the_others_go_on_with_the_old_token_until_the_new_one_is_there() {
    let cloud = Cloud::new(|asked| match (asked.host.as_str(), asked.header("x-auth-token")) {
        ("octavia.test", "token-1") => Reply::unauthorized(),
        ("octavia.test", _) => Reply::text(204, ""),
        _ => flavor(asked),
    })
    .keystone(once_and_then(token("token-2", HOUR).after(Duration::from_secs(20))));
    let client = cloud.client();
    ask(&client).await.unwrap();
    let since = Instant::now();
    let others = async {
        tokio::time::sleep(Duration::from_secs(5)).await;
        ask(&client).await.unwrap();
        since.elapsed()
    };
    let (deleted, others) = tokio::join!(delete_balancer(&client), others);
    deleted.unwrap();
    assert_eq!(others, Duration::from_secs(5));
    assert_eq!(since.elapsed(), Duration::from_secs(20));
}

#[tokio::test(start_paused = true)]
async fn a_request_for_a_token_that_dies_on_its_way_is_followed_by_another() {
    let issued = AtomicU64::new(0);
    let cloud = Cloud::new(flavor).keystone(move |_| match issued.fetch_add(1, Ordering::SeqCst) {
        0 => panic!("the task dies, as this test wants"),
        _ => token("token-2", HOUR),
    });
    let client = cloud.client();
    let error = ask(&client).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Transient, Outcome::NotSent));
    advance(Duration::from_secs(2)).await;
    ask(&client).await.unwrap();
}

/// A token with one endpoint for each of these: type, region, address.
fn with_catalog(endpoints: &[(&str, &str, &str)]) -> Reply {
    let Reply::Answer { status, headers, body } = token("token", HOUR) else { panic!() };
    let mut body: Value = serde_json::from_slice(&body).unwrap();
    let entry = |(kind, region, url): &(&str, &str, &str)| json!({"type": kind, "endpoints": [{"interface": "public", "region": region, "url": url}]});
    body["token"]["catalog"] = endpoints.iter().map(entry).collect();
    Reply::Answer { status, headers, body: body.to_string().into() }
}

#[tokio::test(start_paused = true)]
async fn a_catalog_in_another_order_does_not_lead_to_another_region() {
    let (one, two) = (("compute", "One", "http://one.test/v2.1"), ("compute", "Two", "http://two.test/v2.1"));
    let octavia = ("load-balancer", "Two", "http://octavia.two.test");
    let issued = AtomicU64::new(0);
    let cloud = Cloud::new(flavor).keystone(move |_| match issued.fetch_add(1, Ordering::SeqCst) {
        0 => with_catalog(&[one, two, octavia]),
        1 => with_catalog(&[two, one, octavia]),
        _ => with_catalog(&[two, octavia]),
    });
    let client = cloud.client();
    assert!(client.has(Service::LoadBalancer).await.unwrap(), "no region is chosen yet");
    for _ in 0..2 {
        ask(&client).await.unwrap();
        advance(Duration::from_secs(3596)).await;
    }
    assert!(cloud.calls().iter().all(|call| call.host == "one.test"));
    assert!(!client.has(Service::LoadBalancer).await.unwrap());
    let error = ask(&client).await.unwrap_err();
    assert_eq!((error.class(), error.outcome()), (ErrorClass::Unsupported, Outcome::NotSent));
    assert!(error.to_string().contains("\"One\""), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_404_on_a_write_is_believed_only_about_what_the_path_names() {
    let says = |kind: &'static str, text: &'static str| {
        Cloud::new(move |_| {
            Reply::json(404, &json!({"NeutronError": {"type": kind, "message": text, "detail": ""}}))
        })
    };
    let update = async |cloud: Cloud| {
        let (id, update) = (PortId::new("p1").unwrap(), PortUpdate::default());
        cloud.client().network().update_port(&id, &update, None).await.unwrap_err()
    };
    let gone = update(says("PortNotFound", "Port p1 could not be found.")).await;
    assert_eq!(gone.class(), ErrorClass::NotFound);
    let other = update(says("SecurityGroupNotFound", "Security group p12 does not exist.")).await;
    assert_eq!((other.class(), other.outcome()), (ErrorClass::Conflict, Outcome::Refused), "{other}");
    assert_eq!(other.fault(), Some("SecurityGroupNotFound"));
}
