//! The cloud as a tower service in virtual time, and as an HTTP server.

#![expect(clippy::unwrap_used, reason = "an answer without what is looked for fails the test, as it should")]

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper_util::rt::TokioIo;
use serde_json::{Value, json};
use sim_openstack::{
    Config, Estate, EstateSize, Fault, MEMBER, ReplyLost, Rule, Service, SimService, clouds_yaml, seed, serve,
};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

const ROOT: &str = "http://openstack.sim";

fn start() -> (SimService, Estate) {
    let (cloud, estate) =
        seed(Config::at(ROOT), "2026-11-15T08:00:00Z".parse().unwrap(), &EstateSize::default());
    (SimService::on_tokio_time(cloud), estate)
}

fn request(method: Method, path: &str, token: &str, body: &Value) -> Request<Full<Bytes>> {
    let body = if body.is_null() { Bytes::new() } else { body.to_string().into() };
    Request::builder()
        .method(method)
        .uri(format!("{ROOT}{path}"))
        .header("x-auth-token", token)
        .body(Full::new(body))
        .unwrap()
}

async fn ask(
    service: &SimService,
    method: Method,
    path: &str,
    token: &str,
    body: &Value,
) -> Result<(StatusCode, Value), ReplyLost> {
    let response = service.clone().oneshot(request(method, path, token, body)).await?;
    let status = response.status();
    let bytes = response.into_body().collect().await.unwrap().to_bytes();
    Ok((status, serde_json::from_slice(&bytes).unwrap_or(Value::Null)))
}

fn login(service: &SimService) -> String {
    service.with(|cloud| cloud.login(MEMBER)).unwrap()
}

#[tokio::test(start_paused = true)]
async fn a_minute_of_boot_time_passes_in_virtual_time() {
    let (service, estate) = start();
    let token = login(&service);
    let wanted =
        json!({"loadbalancer": {"name": "lb", "vip_subnet_id": estate.subnet, "provider": "amphora"}});
    let path = "/load-balancer/v2/lbaas/loadbalancers";
    let (_, made) = ask(&service, Method::POST, path, &token, &wanted).await.unwrap();
    let path = format!("{path}/{}", made["loadbalancer"]["id"].as_str().unwrap());
    let start = Instant::now();
    loop {
        let (_, shown) = ask(&service, Method::GET, &path, &token, &Value::Null).await.unwrap();
        if shown["loadbalancer"]["provisioning_status"] == "ACTIVE" {
            break;
        }
        tokio::time::sleep(Duration::from_secs(1)).await;
    }
    assert_eq!(start.elapsed().as_secs(), 60);
    let polls = service
        .with(|cloud| cloud.log().count(Service::LoadBalancer, &Method::GET, "/v2/lbaas/loadbalancers/{id}"));
    assert_eq!(polls, 61);
}

#[tokio::test(start_paused = true)]
async fn a_lost_reply_hangs_and_its_effect_is_there() {
    let (service, _) = start();
    let token = login(&service);
    service.with(|cloud| cloud.faults().add(Rule::new(Fault::SilenceAfter).method(Method::POST).times(1)));
    let wanted = json!({"network": {"name": "n"}});
    let lost = ask(&service, Method::POST, "/network/v2.0/networks", &token, &wanted);
    assert!(tokio::time::timeout(Duration::from_secs(30), lost).await.is_err(), "it hangs");
    let (_, found) =
        ask(&service, Method::GET, "/network/v2.0/networks?name=n", &token, &Value::Null).await.unwrap();
    assert_eq!(found["networks"].as_array().unwrap().len(), 1);
    service.with(|cloud| cloud.faults().add(Rule::new(Fault::DisconnectBefore).times(1)));
    let closed = ask(&service, Method::GET, "/network/v2.0/networks", &token, &Value::Null).await;
    assert_eq!(closed.unwrap_err(), ReplyLost);
}

#[tokio::test(start_paused = true)]
async fn two_runs_with_one_seed_give_the_same_answers() {
    let run = || async {
        let (service, estate) = start();
        let token = login(&service);
        let wanted = json!({"port": {"network_id": estate.network}});
        let (_, port) = ask(&service, Method::POST, "/network/v2.0/ports", &token, &wanted).await.unwrap();
        tokio::time::sleep(Duration::from_secs(5)).await;
        let (_, servers) =
            ask(&service, Method::GET, "/compute/v2.1/servers/detail", &token, &Value::Null).await.unwrap();
        (token, port, servers)
    };
    assert_eq!(run().await, run().await);
}

#[tokio::test]
async fn the_http_server_answers_and_ends_when_told_to() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let config = Config::at(&format!("http://{address}"));
    assert!(clouds_yaml(&config).contains(&format!("auth_url: http://{address}/identity/v3")));
    let (cloud, _) = seed(config, jiff::Timestamp::now(), &EstateSize::default());
    let stop = CancellationToken::new();
    let server = tokio::spawn(serve(listener, SimService::on_tokio_time(cloud), stop.clone()));
    let stream = TcpStream::connect(address).await.unwrap();
    let (mut sender, connection) = hyper::client::conn::http1::handshake(TokioIo::new(stream)).await.unwrap();
    tokio::spawn(connection);
    for expected in [StatusCode::MULTIPLE_CHOICES, StatusCode::OK] {
        let path = if expected == StatusCode::OK { "/identity/v3" } else { "/identity" };
        let request = Request::builder()
            .uri(path)
            .header("host", address.to_string())
            .body(Full::<Bytes>::default())
            .unwrap();
        let response = sender.send_request(request).await.unwrap();
        assert_eq!(response.status(), expected, "on one connection that is kept");
        response.into_body().collect().await.unwrap();
    }
    drop(sender);
    stop.cancel();
    tokio::time::timeout(Duration::from_secs(10), server).await.unwrap().unwrap().unwrap();
}
