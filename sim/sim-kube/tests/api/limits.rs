//! Where the server ends: ports that run out, tokens that expire, bodies, times and logs that are too long.

use std::time::Duration;

use bytes::Bytes;
use futures::StreamExt as _;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use k8s_openapi::api::core::v1::{ConfigMap, Node, Service};
use kube::api::{Api, DeleteParams, PostParams, WatchEvent, WatchParams};
use kube::{Client, ResourceExt as _};
use serde_json::{Value, json};
use sim_kube::{Config, SimKube};
use tower::ServiceExt as _;

use crate::cluster::{cluster, code, config_map, message, node, service};

async fn ask(server: &SimKube, request: Request<Full<Bytes>>) -> (u16, Value) {
    let response = server.clone().oneshot(request).await.unwrap();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn list_with(authorization: &str) -> Request<Full<Bytes>> {
    Request::get("/api/v1/nodes").header("authorization", authorization).body(Full::default()).unwrap()
}

#[tokio::test(start_paused = true)]
async fn node_ports_that_run_out_are_refused_and_come_back() {
    let config = Config { node_ports: 30_000..=30_002, ..Config::seeded(7) };
    let client = Client::new(SimKube::new(config), "default");
    let api: Api<Service> = Api::namespaced(client, "default");
    let ports = |count: u16| -> Value {
        let ports: Vec<Value> =
            (0..count).map(|one| json!({"port": 80 + one, "name": format!("p{one}")})).collect();
        json!({"type": "NodePort", "ports": ports})
    };
    let full = "Internal error occurred: failed to allocate a nodePort: range is full";
    let too_many = api.create(&PostParams::default(), &service("many", ports(4))).await.unwrap_err();
    assert_eq!((code(&too_many), message(&too_many).as_str()), (500, full));
    let all = api.create(&PostParams::default(), &service("all", ports(3))).await.unwrap();
    let mut given: Vec<i32> =
        all.spec.unwrap().ports.unwrap().iter().map(|port| port.node_port.unwrap()).collect();
    given.sort_unstable();
    assert_eq!(given, [30_000, 30_001, 30_002]);
    let one_more = api.create(&PostParams::default(), &service("more", ports(1))).await.unwrap_err();
    assert_eq!((code(&one_more), message(&one_more).as_str()), (500, full));
    api.delete("all", &DeleteParams::default()).await.unwrap();
    api.create(&PostParams::default(), &service("more", ports(1))).await.unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_health_check_never_gets_a_port_of_its_own_service() {
    for seed in 0..20 {
        let config = Config { node_ports: 30_000..=30_001, ..Config::seeded(seed) };
        let api: Api<Service> = Api::namespaced(Client::new(SimKube::new(config), "default"), "default");
        let spec = json!({"type": "LoadBalancer", "externalTrafficPolicy": "Local", "ports": [{"port": 80}]});
        let made = api.create(&PostParams::default(), &service("s", spec.clone())).await.unwrap();
        let spec_of_made = made.spec.unwrap();
        let own = spec_of_made.ports.unwrap()[0].node_port;
        assert_ne!(own, spec_of_made.health_check_node_port, "with seed {seed}");
        let next = api.create(&PostParams::default(), &service("t", spec)).await.unwrap_err();
        assert_eq!(code(&next), 500);
    }
}

#[tokio::test(start_paused = true)]
async fn only_who_says_nothing_is_the_admin() {
    let (server, _) = cluster();
    for unknown in ["Bearer nobody", "Basic YTpi", ""] {
        let (code, body) = ask(&server, list_with(unknown)).await;
        assert_eq!((code, &body["reason"]), (401, &json!("Unauthorized")), "{unknown:?}");
    }
    let user = sim_kube::User { name: "jane".into(), groups: Vec::new() };
    server.add_token("secret", user);
    assert_eq!(ask(&server, list_with("Bearer secret")).await.0, 200);
    server.authorize_with(|access| access.user.name != "jane");
    assert_eq!(ask(&server, list_with("Bearer secret")).await.0, 403);
    let nobody = Request::get("/api/v1/nodes").body(Full::default()).unwrap();
    assert_eq!(ask(&server, nobody).await.0, 200);
}

#[tokio::test(start_paused = true)]
async fn an_issued_token_is_good_until_it_expires() {
    let (server, _) = cluster();
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "robot"}});
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    assert_eq!(server.request(http::Method::POST, accounts, &account).0, 201);
    let wanted = json!({
        "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 600},
    });
    let (_, issued) = server.request(http::Method::POST, &format!("{accounts}/robot/token"), &wanted);
    let header = format!("Bearer {}", issued["status"]["token"].as_str().unwrap());
    tokio::time::advance(Duration::from_secs(599)).await;
    assert_eq!(ask(&server, list_with(&header)).await.0, 200);
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!(ask(&server, list_with(&header)).await.0, 401);
}

#[tokio::test(start_paused = true)]
async fn an_authorizer_may_look_at_the_server_that_asks_it() {
    let (server, client) = cluster();
    let seen = server.clone();
    server.authorize_with(move |access| access.verb == "list" || seen.stored("", "nodes").is_empty());
    let api: Api<Node> = Api::all(client.clone());
    api.create(&PostParams::default(), &node("a")).await.unwrap();
    assert_eq!(code(&api.create(&PostParams::default(), &node("b")).await.unwrap_err()), 403);
    let review = json!({
        "apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": {"verb": "list", "resource": "nodes"}},
    });
    let reviews = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews";
    server.authorize_with(|access| access.resource != "nodes");
    let (code, answer) = server.request(http::Method::POST, reviews, &review);
    assert_eq!((code, &answer["status"]["allowed"]), (201, &json!(false)));
}

#[tokio::test(start_paused = true)]
async fn a_watch_for_ever_begins_like_any_other() {
    let (server, _) = cluster();
    let path = format!("/api/v1/namespaces?watch=true&timeoutSeconds={}", i64::MAX);
    let request = Request::get(path).body(Full::<Bytes>::default()).unwrap();
    let response = server.clone().oneshot(request).await.unwrap();
    let mut frames = response.into_body().into_data_stream();
    assert!(frames.next().await.unwrap().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_body_of_more_than_three_mebibytes_is_refused() {
    let (server, _) = cluster();
    let long = "x".repeat(3 * 1_024 * 1_024 + 1);
    let request = Request::post("/api/v1/namespaces/default/configmaps")
        .header("content-type", "application/json")
        .body(Full::from(long))
        .unwrap();
    let (code, body) = ask(&server, request).await;
    assert_eq!((code, &body["reason"]), (413, &json!("RequestEntityTooLarge")));
}

#[tokio::test(start_paused = true)]
async fn a_virtual_clock_begins_when_it_is_made() {
    let config = Config::seeded(1);
    let start = jiff::Timestamp::from_second(1_767_225_600).unwrap();
    tokio::time::advance(Duration::from_secs(5)).await;
    assert_eq!(config.clock.now(), start + Duration::from_secs(5));
}

#[tokio::test(start_paused = true)]
async fn an_object_seeded_over_another_is_another_object() {
    let (server, client) = cluster();
    let seed = |value: &str| {
        server.seed(json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "default"},
            "data": {"k": value},
        }))
    };
    let start = server.resource_version().to_string();
    seed("one").unwrap();
    seed("two").unwrap();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let stream = api.watch(&WatchParams::default(), &start).await.unwrap();
    let events: Vec<_> = stream.take(3).map(Result::unwrap).collect().await;
    let told: Vec<(&str, Option<String>)> = events
        .iter()
        .map(|event| match event {
            WatchEvent::Added(one) => ("ADDED", one.uid()),
            WatchEvent::Deleted(one) => ("DELETED", one.uid()),
            _ => ("other", None),
        })
        .collect();
    assert_eq!([told[0].0, told[1].0, told[2].0], ["ADDED", "DELETED", "ADDED"]);
    assert!(told[0].1 == told[1].1 && told[1].1 != told[2].1, "{told:?}");
    let nowhere =
        json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "c", "namespace": "x"}});
    assert!(server.seed(nowhere).unwrap_err().to_string().contains("namespaces \"x\" not found"));
}

#[tokio::test(start_paused = true)]
async fn writes_are_counted_although_the_log_forgets_them() {
    let server = SimKube::new(Config { log_limit: 2, ..Config::seeded(1) });
    let api: Api<ConfigMap> = Api::namespaced(Client::new(server.clone(), "default"), "default");
    for name in ["a", "b", "c", "d", "e"] {
        api.create(&PostParams::default(), &config_map(name, json!({}))).await.unwrap();
    }
    assert_eq!((server.writes(), server.log().len(), server.dropped_entries()), (5, 2, 3));
    server.clear_log();
    assert_eq!((server.writes(), server.dropped_entries()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn an_event_lives_for_an_hour_after_its_last_change() {
    let (server, _) = cluster();
    let path = "/api/v1/namespaces/default/events";
    for name in ["old", "renewed"] {
        let event = json!({
            "apiVersion": "v1", "kind": "Event", "metadata": {"name": name},
            "involvedObject": {"kind": "Service", "namespace": "default", "name": "s"}, "count": 1,
        });
        assert_eq!(server.request(http::Method::POST, path, &event).0, 201);
    }
    tokio::time::advance(Duration::from_secs(1_800)).await;
    let again = json!({"count": 2});
    let (kind, renewed) = ("application/merge-patch+json", format!("{path}/renewed"));
    assert_eq!(server.request_as(http::Method::PATCH, &renewed, kind, &again).0, 200);
    let code = |name: &str| server.request(http::Method::GET, &format!("{path}/{name}"), &Value::Null).0;
    tokio::time::advance(Duration::from_secs(1_799)).await;
    assert_eq!((code("old"), code("renewed")), (200, 200));
    tokio::time::advance(Duration::from_secs(1)).await;
    assert_eq!((code("old"), code("renewed")), (404, 200));
    tokio::time::advance(Duration::from_secs(1_800)).await;
    assert_eq!(code("renewed"), 404);
}

#[tokio::test(start_paused = true)]
async fn a_log_of_long_bodies_is_bounded_in_bytes() {
    let server = SimKube::new(Config { log_bytes: 5_000, ..Config::seeded(1) });
    let api: Api<ConfigMap> = Api::namespaced(Client::new(server.clone(), "default"), "default");
    for name in ["a", "b", "c", "d"] {
        let long = json!({"x": "y".repeat(60)});
        let mut map = config_map(name, long);
        map.data = Some([("k".to_owned(), "v".repeat(2_000))].into());
        api.create(&PostParams::default(), &map).await.unwrap();
    }
    assert_eq!((server.log().len(), server.dropped_entries(), server.writes()), (2, 2, 4));
}
