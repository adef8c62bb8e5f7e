//! What kubectl asks for, over HTTP: discovery, tables, kubeconfig.

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt as _, Full};
use serde_json::{Value, json};
use sim_kube::{Config, SimKube};
use tower::ServiceExt as _;

async fn get(server: &SimKube, path: &str, accept: &str) -> (u16, String, Value) {
    let request = Request::get(path).header("accept", accept).body(Full::<Bytes>::default()).unwrap();
    let response = server.clone().oneshot(request).await.unwrap();
    let kind = response.headers()["content-type"].to_str().unwrap().to_owned();
    let code = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (code, kind, serde_json::from_slice(&body).unwrap_or(Value::Null))
}

fn server() -> SimKube {
    SimKube::new(Config::seeded(1))
}

const TABLE: &str = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

#[tokio::test(start_paused = true)]
async fn discovery_comes_in_both_forms() {
    let server = server();
    let accept = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json";
    let (code, kind, list) = get(&server, "/apis", accept).await;
    assert_eq!((code, kind.contains("APIGroupDiscoveryList")), (200, true));
    assert!(list["items"].as_array().unwrap().iter().any(|group| group["metadata"]["name"] == "apps"));
    let (_, _, old) = get(&server, "/api/v1", "application/json").await;
    let services = old["resources"].as_array().unwrap().iter().find(|one| one["name"] == "services").unwrap();
    assert_eq!(services["shortNames"], json!(["svc"]));
    assert_eq!(get(&server, "/apis/nothing.example", "*/*").await.0, 404);
}

#[tokio::test(start_paused = true)]
async fn the_schema_says_that_patches_know_field_validation() {
    let (_, _, index) = get(&server(), "/openapi/v3", "application/json").await;
    let url = index["paths"]["apis/apps/v1"]["serverRelativeURL"].as_str().unwrap().to_owned();
    let (_, _, schema) = get(&server(), &url, "application/json").await;
    let patch = &schema["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"];
    assert_eq!(patch["x-kubernetes-group-version-kind"]["kind"], "Deployment");
    assert!(patch["parameters"].as_array().unwrap().iter().any(|one| one["name"] == "fieldValidation"));
}

#[tokio::test(start_paused = true)]
async fn tables_have_the_columns_and_cells_that_people_know() {
    let server = server();
    server
        .seed(json!({
            "apiVersion": "v1", "kind": "Service", "metadata": {"name": "web", "namespace": "default"},
            "spec": {"type": "LoadBalancer", "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"],
                "ports": [{"port": 80, "nodePort": 30080, "protocol": "TCP"}]},
            "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.7"}]}},
        }))
        .unwrap();
    tokio::time::advance(std::time::Duration::from_secs(90)).await;
    let (_, _, table) = get(&server, "/api/v1/namespaces/default/services/web", TABLE).await;
    let names: Vec<&str> = table["columnDefinitions"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["name"].as_str().unwrap())
        .collect();
    assert_eq!(names, ["Name", "Type", "Cluster-IP", "External-IP", "Port(s)", "Age", "Selector"]);
    let cells = json!(["web", "LoadBalancer", "10.96.0.9", "203.0.113.7", "80:30080/TCP", "90s", "<none>"]);
    assert_eq!(table["rows"][0]["cells"], cells);
    assert_eq!(table["rows"][0]["object"]["kind"], "PartialObjectMetadata");
    let (_, _, namespaces) = get(&server, "/api/v1/namespaces", TABLE).await;
    assert_eq!(namespaces["rows"].as_array().unwrap().len(), 4);
}

#[tokio::test(start_paused = true)]
async fn metadata_alone_is_served_and_nonsense_is_not_acceptable() {
    let server = server();
    let accept = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1";
    let (_, _, list) = get(&server, "/api/v1/namespaces", accept).await;
    assert_eq!(list["items"][0]["kind"], "PartialObjectMetadata");
    assert_eq!(get(&server, "/api/v1/namespaces", "application/vnd.kubernetes.protobuf").await.0, 406);
    assert_eq!(get(&server, "/healthz", "*/*").await.0, 200);
    assert_eq!(get(&server, "/nowhere", "*/*").await.1, "text/plain; charset=utf-8");
}

#[tokio::test]
async fn the_same_server_is_reached_over_a_socket() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let server = server();
    let serving = tokio::spawn(sim_kube::http::serve(server.clone(), listener));
    let config = kube::config::Kubeconfig::from_yaml(&sim_kube::http::kubeconfig(address)).unwrap();
    let config = kube::Config::from_custom_kubeconfig(config, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap();
    let client = kube::Client::try_from(config).unwrap();
    let api: kube::Api<k8s_openapi::api::core::v1::Namespace> = kube::Api::all(client.clone());
    assert_eq!(api.list(&kube::api::ListParams::default()).await.unwrap().items.len(), 4);
    assert_eq!(server.count(|entry| entry.request.verb == "list"), 1);
    let version = Request::get("/version").body(kube::client::Body::empty()).unwrap();
    let date = client.send(version).await.unwrap().headers()["date"].clone();
    assert!(date.to_str().unwrap().starts_with("Thu, 01 Jan 2026 00:"), "the cluster's clock: {date:?}");
    serving.abort();
}
