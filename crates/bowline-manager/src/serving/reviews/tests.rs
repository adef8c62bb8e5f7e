//! What goes over the wire, seen by a stand-in for the API server.

use bowline_testkit::memory_cluster::MemoryCluster;
use serde_json::{Value, json};
use sim_kube::Verdict;

use super::*;

/// Reviews against a server that answers everything with `code` and `answer`.
fn against(code: u16, answer: &Value) -> (KubeReviews, MemoryCluster) {
    let (cluster, body) = (MemoryCluster::default(), answer.to_string());
    cluster.judge(move |_| Verdict::Answer { code, body: body.clone() });
    (KubeReviews::new(cluster.client()), cluster)
}

/// What the server was asked first: method with path, and body.
fn first(cluster: &MemoryCluster) -> (String, Value) {
    let request = cluster.log().remove(0).request;
    (format!("{} {}", request.method, request.path), request.json())
}

fn token_review(status: &Value) -> Value {
    json!({"kind": "TokenReview", "apiVersion": "authentication.k8s.io/v1", "spec": {}, "status": status})
}

#[tokio::test]
async fn a_token_review_carries_the_token_and_brings_back_its_owner() {
    let status = json!({"authenticated": true, "user": {
        "username": "system:serviceaccount:monitoring:prometheus", "uid": "u1",
        "groups": ["system:serviceaccounts"], "extra": {"k": ["v"]},
    }});
    let (reviews, seen) = against(201, &token_review(&status));
    let user = TokenReviewer::review(&reviews, "secret").await.unwrap().unwrap();
    assert_eq!(user.name, "system:serviceaccount:monitoring:prometheus");
    assert_eq!((user.uid.as_str(), &user.extra["k"]), ("u1", &vec!["v".to_owned()]));
    let (asked, body) = first(&seen);
    assert_eq!(asked, "POST /apis/authentication.k8s.io/v1/tokenreviews");
    assert_eq!(body["spec"]["token"], "secret");
}

#[tokio::test]
async fn a_token_that_is_not_good_has_no_owner_and_a_failed_review_is_an_error() {
    let (reviews, _) = against(201, &token_review(&json!({"authenticated": false})));
    assert_eq!(TokenReviewer::review(&reviews, "t").await, Ok(None));
    let (reviews, _) = against(201, &token_review(&json!({"error": "no authenticator answered"})));
    let error = TokenReviewer::review(&reviews, "t").await.unwrap_err();
    assert_eq!((error.message.as_str(), error.status), ("no authenticator answered", Some(201)));
}

#[tokio::test]
async fn an_access_review_describes_user_verb_and_path() {
    let answer = json!({
        "kind": "SubjectAccessReview", "apiVersion": "authorization.k8s.io/v1", "spec": {},
        "status": {"allowed": true, "reason": "RBAC"},
    });
    let (reviews, seen) = against(201, &answer);
    let user = User::new("jane", &["readers"]);
    let request = AccessRequest { user: &user, verb: "get", path: "/metrics" };
    let verdict = AccessReviewer::review(&reviews, request).await.unwrap();
    assert_eq!(verdict, AccessVerdict { allowed: true, reason: "RBAC".to_owned() });
    let (asked, body) = first(&seen);
    assert_eq!(asked, "POST /apis/authorization.k8s.io/v1/subjectaccessreviews");
    let spec = json!({
        "user": "jane", "groups": ["readers"], "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    });
    assert_eq!(body["spec"], spec);
}

fn failure(code: u16, reason: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "message": reason, "reason": reason, "code": code})
}

#[tokio::test]
async fn a_busy_server_is_worth_asking_again_and_a_refusal_is_not() {
    for (code, retriable) in [(503, true), (429, true), (500, true), (403, false), (422, false)] {
        let (reviews, _) = against(code, &failure(code, "reason"));
        let error = TokenReviewer::review(&reviews, "t").await.unwrap_err();
        assert_eq!((error.retriable, error.status), (retriable, Some(code)));
    }
}

#[tokio::test]
async fn a_missing_config_map_is_no_error_and_a_forbidden_one_is() {
    let (reviews, seen) = against(404, &failure(404, "NotFound"));
    assert_eq!(reviews.fetch().await, Ok(None));
    let path = "GET /api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
    assert_eq!(first(&seen).0, path);
    let (reviews, _) = against(403, &failure(403, "Forbidden"));
    assert!(!reviews.fetch().await.unwrap_err().retriable);
}
