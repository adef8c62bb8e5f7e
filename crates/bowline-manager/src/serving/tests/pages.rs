//! What the endpoints show.

use std::sync::Arc;
use std::sync::atomic::AtomicI64;

use http::Method;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use serde_json::{Value, json};

use super::client::Ask;
use super::fixture::Fixture;
use crate::serving::{CheckSets, MetricsPage};

#[tokio::test]
async fn each_check_has_a_path_of_its_own() {
    let fixture = Fixture::default();
    fixture.health.add("node-controller", CheckSets::ALL, || Err("stuck".to_owned()));
    let server = fixture.start().await;
    let token = server.loopback_token.clone();
    let good = server.ask(Ask::get("/livez/leaderElection").token(&token)).await;
    assert_eq!((good.status.as_u16(), good.body.as_str()), (200, "ok"));
    assert_eq!(server.status(Ask::get("/readyz/node-controller").token(&token)).await, 500);
    assert_eq!(server.status(Ask::get("/healthz/no-such-check").token(&token)).await, 404);
    assert_eq!(server.status(Ask::get("/healthz/leaderElection")).await, 403, "only /healthz itself is open");
}

#[tokio::test]
async fn a_failing_check_is_500_and_can_be_left_out() {
    let fixture = Fixture::default();
    fixture.health.add("node-controller", CheckSets::ALL, || Err("stuck".to_owned()));
    let server = fixture.start().await;
    let reply = server.ask(Ask::get("/healthz")).await;
    assert_eq!(reply.status, 500);
    assert!(reply.body.contains("[-]node-controller failed: reason withheld\n"), "{}", reply.body);
    assert!(!reply.body.contains("stuck"), "{}", reply.body);
    assert_eq!(server.status(Ask::get("/healthz?exclude=node-controller")).await, 200);
    let slis = server.ask(Ask::get("/metrics/slis").token("good")).await;
    assert!(slis.body.contains(r#"kubernetes_healthcheck{name="node-controller",type="healthz"} 0"#));
}

#[tokio::test]
async fn metrics_are_openmetrics_and_hooks_run_before_each_scrape() {
    let gauge = Gauge::<i64, AtomicI64>::default();
    let mut registry = Registry::default();
    registry.register("scrapes", "Scrapes", gauge.clone());
    let page = MetricsPage::of(Arc::new(registry)).before_scrape(move || {
        gauge.inc_by(1);
    });
    let server = Fixture { metrics: page, ..Fixture::default() }.start().await;
    assert_eq!(server.status(Ask::get("/metrics").token("good")).await, 200);
    let reply = server.ask(Ask::get("/metrics").token("good")).await;
    assert_eq!(reply.headers["content-type"], "application/openmetrics-text; version=1.0.0; charset=utf-8");
    assert_eq!(reply.headers["cache-control"], "no-cache, private");
    assert!(reply.body.contains("\nscrapes 2\n") && reply.body.ends_with("# EOF\n"), "{}", reply.body);
}

#[tokio::test]
async fn configz_is_the_versioned_object_under_its_group() {
    let server = Fixture::default().start().await;
    let reply = server.ask(Ask::get("/configz").token("admin")).await;
    assert_eq!(reply.headers["content-type"], "application/json");
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    let config = &body["cloudcontrollermanager.config.k8s.io"];
    assert_eq!(config["kind"], "CloudControllerManagerConfiguration");
    assert_eq!(config["apiVersion"], "cloudcontrollermanager.config.k8s.io/v1alpha1");
}

#[tokio::test]
async fn the_index_lists_the_paths_and_others_are_404() {
    let server = Fixture::default().start().await;
    let reply = server.ask(Ask::get("/").token("admin")).await;
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    let expected = [
        "/",
        "/configz",
        "/debug/flags/v",
        "/flagz",
        "/healthz",
        "/livez",
        "/metrics",
        "/metrics/slis",
        "/readyz",
        "/statusz",
    ];
    assert_eq!(body, json!({ "paths": expected }));
    for path in expected {
        assert_eq!(server.status(Ask::get(path).token("admin")).await, 200, "{path}");
    }
    assert_eq!(server.status(Ask::get("/nope").token("admin")).await, 404);
    assert_eq!(server.status(Ask::get("/nope")).await, 403, "who may not look learns nothing");
}

#[tokio::test]
async fn pages_for_people_name_the_component() {
    let server = Fixture::default().start().await;
    let status = server.ask(Ask::get("/statusz").token("admin")).await;
    assert!(status.body.contains("cloud-controller-manager statusz"), "{}", status.body);
    assert!(status.body.contains("Binary version: v9.9.9"), "{}", status.body);
    let flags = server.ask(Ask::get("/flagz").token("admin")).await;
    assert!(flags.body.ends_with("\nv=2\n"), "{}", flags.body);
}

#[tokio::test]
async fn the_log_level_can_be_read_and_set() {
    let server = Fixture::default().start().await;
    let put = |body| Ask { method: Method::PUT, body, ..Ask::get("/debug/flags/v").token("admin") };
    assert_eq!(server.status(put("4")).await, 200);
    assert_eq!(server.ask(Ask::get("/debug/flags/v").token("admin")).await.body, "4\n");
    assert_eq!(server.status(put("loud")).await, 400);
    assert_eq!(server.ask(Ask::get("/debug/flags/v").token("admin")).await.body, "4\n");
}

#[tokio::test]
async fn other_methods_are_not_allowed() {
    let server = Fixture::default().start().await;
    for path in ["/healthz", "/metrics", "/debug/flags/v"] {
        let post = Ask { method: Method::POST, ..Ask::get(path).token("admin") };
        assert_eq!(server.status(post).await, 405, "{path}");
    }
}

#[tokio::test]
async fn a_panic_in_a_page_is_500_and_the_server_lives() {
    let metrics = MetricsPage::new(|| panic!("a bug"));
    let server = Fixture { metrics, ..Fixture::default() }.start().await;
    assert_eq!(server.status(Ask::get("/metrics").token("good")).await, 500);
    assert_eq!(server.status(Ask::get("/healthz")).await, 200);
}
