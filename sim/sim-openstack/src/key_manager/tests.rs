//! Secrets and containers through the API.

use http::StatusCode;
use serde_json::json;

use crate::seed::testing::Bench;

#[test]
fn a_certificate_container_names_its_secrets_and_belongs_to_its_project() {
    let mut bench = Bench::new();
    let secret = json!({"name": "cert", "payload": "PEM", "payload_content_type": "text/plain"});
    let made = bench.post("/key-manager/v1/secrets", &secret);
    assert_eq!(made.status, StatusCode::CREATED);
    let reference = made.body["secret_ref"].as_str().unwrap().to_owned();
    let container = json!({
        "type": "certificate", "name": "tls",
        "secret_refs": [{"name": "certificate", "secret_ref": reference}],
    });
    let made = bench.post("/key-manager/v1/containers", &container);
    assert_eq!(made.status, StatusCode::CREATED);
    let id = made.body["container_ref"].as_str().unwrap().rsplit('/').next().unwrap().to_owned();
    let shown = bench.get(&format!("/key-manager/v1/containers/{id}"));
    assert_eq!(shown.body["secret_refs"][0]["secret_ref"], reference.as_str());
    let secret_path = reference.replace(&bench.root(), "");
    assert_eq!(bench.get(&format!("{secret_path}/payload")).text, "PEM");
    assert!(bench.get("/key-manager/v1/secrets").body["total"] == 1);
}

#[test]
fn what_is_not_there_is_not_found() {
    let mut bench = Bench::new();
    let id = "00000000-0000-0000-0000-000000000000";
    assert_eq!(bench.get(&format!("/key-manager/v1/containers/{id}")).status, StatusCode::NOT_FOUND);
    assert_eq!(bench.get(&format!("/key-manager/v1/secrets/{id}")).status, StatusCode::NOT_FOUND);
    let bad = json!({"type": "generic", "secret_refs": [{"name": "a", "secret_ref": id}]});
    assert_eq!(bench.post("/key-manager/v1/containers", &bad).status, StatusCode::NOT_FOUND);
}
