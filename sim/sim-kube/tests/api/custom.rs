//! Custom resources, reviews, scale, and the typed reading of built-in kinds.

use http::Method;
use serde_json::{Value, json};
use sim_kube::{Config, SimKube, User};

fn server() -> SimKube {
    SimKube::new(Config::seeded(1))
}

fn definition() -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "ships.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced",
            "names": {"plural": "ships", "kind": "Ship", "shortNames": ["sh"]},
            "versions": [
                {"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                 "additionalPrinterColumns": [{"name": "Sails", "type": "integer", "jsonPath": ".spec.sails"}],
                 "schema": {"openAPIV3Schema": {"type": "object"}}},
                {"name": "v1beta1", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
            ],
        },
    })
}

const CRDS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const SHIPS: &str = "/apis/example.com/v1/namespaces/default/ships";

fn ship() -> Value {
    json!({"apiVersion": "example.com/v1", "kind": "Ship", "metadata": {"name": "a"},
        "spec": {"sails": 3, "anything": {"goes": null}}, "status": {"dropped": true}})
}

#[test]
fn a_definition_serves_its_resource_at_once_and_takes_it_away() {
    let server = server();
    assert_eq!(server.request(Method::GET, SHIPS, &Value::Null).0, 404);
    let (code, crd) = server.request(Method::POST, CRDS, &definition());
    assert_eq!(code, 201, "{crd}");
    assert_eq!(crd["status"]["acceptedNames"]["listKind"], "ShipList");
    let (code, made) = server.request(Method::POST, SHIPS, &ship());
    assert_eq!((code, &made["metadata"]["generation"]), (201, &json!(1)), "{made}");
    assert_eq!(made.get("status"), None, "a status is not taken on creation");
    let (_, beta) =
        server.request(Method::GET, "/apis/example.com/v1beta1/namespaces/default/ships/a", &Value::Null);
    assert_eq!((&beta["apiVersion"], &beta["spec"]["sails"]), (&json!("example.com/v1beta1"), &json!(3)));
    assert_eq!(server.request(Method::DELETE, &format!("{CRDS}/ships.example.com"), &Value::Null).0, 200);
    assert_eq!(server.request(Method::GET, SHIPS, &Value::Null).0, 404);
    assert!(server.stored("example.com", "ships").is_empty());
}

#[test]
fn generation_counts_changes_of_the_spec_only() {
    let server = server();
    server.request(Method::POST, CRDS, &definition());
    server.request(Method::POST, SHIPS, &ship());
    let one = format!("{SHIPS}/a");
    let patch = |path: &str, body: Value| {
        server.request_as(Method::PATCH, path, "application/merge-patch+json", &body).1["metadata"]["generation"].clone()
    };
    assert_eq!(patch(&one, json!({"metadata": {"labels": {"a": "b"}}})), 1);
    assert_eq!(patch(&format!("{one}/status"), json!({"status": {"ok": true}, "spec": {"sails": 9}})), 1);
    assert_eq!(patch(&one, json!({"spec": {"sails": 4}})), 2);
    let (_, found) = server.request(Method::GET, &one, &Value::Null);
    assert_eq!((&found["status"]["ok"], &found["spec"]["sails"]), (&json!(true), &json!(4)));
}

#[test]
fn an_update_of_a_custom_resource_needs_its_version() {
    let server = server();
    server.request(Method::POST, CRDS, &definition());
    server.request(Method::POST, SHIPS, &ship());
    let (code, status) = server.request(Method::PUT, &format!("{SHIPS}/a"), &ship());
    assert_eq!(code, 422);
    assert!(status["message"].as_str().unwrap().contains("must be specified for an update"));
}

#[test]
fn reviews_ask_the_authorizer_and_the_tokens() {
    let server = server();
    server.authorize_with(|access| access.user.name != "eve");
    server.add_token("t", User { name: "eve".into(), groups: vec!["spies".into()] });
    let review = |user: &str| {
        let body = json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview",
            "spec": {"user": user, "resourceAttributes": {"verb": "get", "resource": "nodes"}}});
        server.request(Method::POST, "/apis/authorization.k8s.io/v1/subjectaccessreviews", &body).1["status"]
            ["allowed"]
            .clone()
    };
    assert_eq!((review("eve"), review("bob")), (json!(false), json!(true)));
    let token = |token: &str| {
        let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview", "spec": {"token": token}});
        server.request(Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", &body).1["status"].clone()
    };
    assert_eq!(token("t")["user"]["username"], "eve");
    assert_eq!(token("x").get("authenticated"), None);
}

#[test]
fn a_token_of_a_service_account_speaks_for_it() {
    let server = server();
    let accounts = "/api/v1/namespaces/default/serviceaccounts";
    server.request(Method::POST, accounts, &json!({"metadata": {"name": "bob"}}));
    let (code, issued) = server.request(Method::POST, &format!("{accounts}/bob/token"), &json!({"spec": {}}));
    assert_eq!(code, 201);
    let body = json!({"apiVersion": "authentication.k8s.io/v1", "kind": "TokenReview",
        "spec": {"token": issued["status"]["token"]}});
    let (_, review) = server.request(Method::POST, "/apis/authentication.k8s.io/v1/tokenreviews", &body);
    assert_eq!(review["status"]["user"]["username"], "system:serviceaccount:default:bob");
    assert_eq!(server.request(Method::POST, &format!("{accounts}/eve/token"), &json!({})).0, 404);
}

#[test]
fn a_deployment_is_scaled_through_its_subresource() {
    let server = server();
    let path = "/apis/apps/v1/namespaces/default/deployments";
    let template =
        json!({"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [{"name": "c", "image": "i"}]}});
    let (code, made) = server.request(
        Method::POST,
        path,
        &json!({"apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": "d"}, "spec": {"selector": {"matchLabels": {"a": "b"}}, "template": template}}),
    );
    assert_eq!((code, &made["spec"]["replicas"]), (201, &json!(1)), "{made}");
    let scale = format!("{path}/d/scale");
    let body = json!({"spec": {"replicas": 4}});
    let (code, scaled) = server.request_as(Method::PATCH, &scale, "application/merge-patch+json", &body);
    assert_eq!(
        (code, &scaled["spec"]["replicas"], &scaled["status"]["selector"]),
        (200, &json!(4), &json!("a=b"))
    );
    let (_, found) = server.request(Method::GET, &format!("{path}/d"), &Value::Null);
    assert_eq!((&found["spec"]["replicas"], &found["metadata"]["generation"]), (&json!(4), &json!(2)));
}

#[test]
fn unknown_fields_of_typed_kinds_are_dropped_or_refused() {
    let server = server();
    let path = "/api/v1/namespaces/default/configmaps";
    let typo = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "dta": {"k": "v"}});
    let (code, refused) = server.request(Method::POST, &format!("{path}?fieldValidation=Strict"), &typo);
    assert_eq!(code, 400);
    assert_eq!(
        refused["message"],
        "ConfigMap in version \"v1\" cannot be handled as a ConfigMap: strict decoding error: unknown field \"dta\""
    );
    let (code, made) = server.request(Method::POST, path, &typo);
    assert_eq!((code, made.get("dta")), (201, None));
    let wrong = json!({"metadata": {"name": "b"}, "data": {"k": 1}});
    assert_eq!(server.request(Method::POST, path, &wrong).0, 400);
    let other = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "b"}});
    assert_eq!(server.request(Method::POST, path, &other).0, 400);
}

#[test]
fn a_deleted_collection_is_the_selected_one() {
    let server = server();
    let path = "/api/v1/namespaces/default/configmaps";
    for (name, app) in [("a", "x"), ("b", "y")] {
        let body = json!({"metadata": {"name": name, "labels": {"app": app}}});
        assert_eq!(server.request(Method::POST, path, &body).0, 201);
    }
    let (code, list) = server.request(Method::DELETE, &format!("{path}?labelSelector=app%3Dx"), &Value::Null);
    assert_eq!((code, list["items"].as_array().unwrap().len()), (200, 1));
    assert_eq!(server.stored("", "configmaps").len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_definition_waits_for_objects_that_are_held() {
    let server = SimKube::new(Config::seeded(7));
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "goners.y.io"},
        "spec": {
            "group": "y.io", "scope": "Cluster", "names": {"plural": "goners", "kind": "Goner"},
            "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}}],
        },
    });
    let ask = |method: Method, path: &str, body: &Value| server.request(method, path, body).0;
    assert_eq!(ask(Method::POST, definitions, &definition), 201);
    for (name, finalizers) in [("free", json!([])), ("held", json!(["x.io/hold"]))] {
        let object = json!({
            "apiVersion": "y.io/v1", "kind": "Goner", "metadata": {"name": name, "finalizers": finalizers},
        });
        assert_eq!(ask(Method::POST, "/apis/y.io/v1/goners", &object), 201);
    }
    let nothing = Value::Null;
    let one = format!("{definitions}/goners.y.io");
    assert_eq!(ask(Method::DELETE, &one, &nothing), 200);
    assert_eq!(ask(Method::GET, "/apis/y.io/v1/goners/free", &nothing), 404);
    let (code, held) = server.request(Method::GET, "/apis/y.io/v1/goners/held", &nothing);
    assert_eq!((code, held["metadata"]["deletionTimestamp"].is_string()), (200, true));
    let (_, waiting) = server.request(Method::GET, &one, &nothing);
    assert_eq!(waiting["metadata"]["finalizers"], json!(["customresourcecleanup.apiextensions.k8s.io"]));
    let patch = json!({"metadata": {"finalizers": null}});
    let kind = "application/merge-patch+json";
    assert_eq!(server.request_as(Method::PATCH, "/apis/y.io/v1/goners/held", kind, &patch).0, 200);
    assert_eq!(ask(Method::GET, &one, &nothing), 404);
    assert_eq!(ask(Method::GET, "/apis/y.io/v1/goners", &nothing), 404);
}
