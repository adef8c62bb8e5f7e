//! Tests of guarded writes on a scripted server.

use bowline_core::Unfenced;
use bowline_testkit::fence::TestFence;
use bytes::Bytes;
use http::{Method, Response};
use http_body_util::Full;
use k8s_openapi::api::{
    coordination::v1::Lease,
    core::v1::{ConfigMap, Service},
};
use serde_json::{Value, json};
use tokio::time::Instant;

use super::*;
use crate::{
    client::ClientFactory,
    scripted_api::{self, Answer, Log},
};

const DEADLINE: Duration = Duration::from_secs(10);

fn writer(answer: fn() -> Answer) -> (Writer, Log) {
    let (client, journal) = scripted_api::client(move |_| answer());
    (Writer::new(client, Arc::new(Unfenced), DEADLINE), journal)
}

fn failing(code: u16, reason: &'static str, message: &'static str, causes: Value) -> (Writer, Log) {
    let (client, journal) = scripted_api::client(move |_| {
        let body = json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason,
            "message": message, "details": {"causes": causes}});
        Answer::Json(code, body)
    });
    (Writer::new(client, Arc::new(Unfenced), DEADLINE), journal)
}

fn uid() -> Guard {
    Guard::Uid("u-1".into())
}

fn label() -> Change {
    Change::Merge(json!({"metadata": {"labels": {"a": "b"}}}))
}

#[tokio::test(start_paused = true)]
async fn nothing_is_sent_while_the_fence_is_closed() {
    let (client, journal) = scripted_api::client(|asked| Answer::ok(asked.body.clone()));
    let fence = TestFence::closed();
    let writer = Writer::new(client, Arc::new(fence.clone()), DEADLINE);
    let closed = [
        writer.delete_node("n", "u-1").await.map(drop),
        writer.patch::<Node>(None, "n", &uid(), label()).await.map(drop),
        writer.patch_status::<Service>(Some("shop"), "web", &uid(), label()).await.map(drop),
    ];
    for result in closed {
        assert_eq!(result.unwrap_err().class(), WriteClass::Fenced);
    }
    assert_eq!(journal.count(), 0);
    fence.open();
    writer.delete_node("n", "u-1").await.unwrap();
    assert_eq!(journal.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn what_is_applied_is_fenced_and_names_its_manager_and_nothing_of_a_former_object() {
    let (client, journal) = scripted_api::client(|asked| Answer::ok(asked.body.clone()));
    let fence = TestFence::closed();
    let writer = Writer::new(client, Arc::new(fence.clone()), DEADLINE);
    let content = json!({"apiVersion": "v1", "kind": "ConfigMap", "data": {"a": "b"}});
    let apply = || writer.apply_own::<ConfigMap>(Some("shop"), "web", "me", content.clone());
    assert_eq!(apply().await.unwrap_err().class(), WriteClass::Fenced);
    assert_eq!(journal.count(), 0);
    fence.open();
    apply().await.unwrap();
    assert_eq!(journal.count(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_write_that_waits_for_the_budget_while_the_fence_closes_is_never_sent() {
    let (server, journal) = scripted_api::service(|asked| Answer::ok(asked.body.clone()));
    let config = kube::Config::new("https://api.example".parse().unwrap());
    let client = ClientFactory::new(config, "t", "0", 0.2, 1).wrap("t", server);
    let fence = TestFence::default();
    let writer = Writer::new(client, Arc::new(fence.clone()), DEADLINE);
    writer.delete_node("first", "u-1").await.unwrap();
    let (began, closing) = (Instant::now(), async {
        tokio::time::sleep(Duration::from_secs(2)).await;
        fence.close();
    });
    let (waited, ()) = tokio::join!(writer.delete_node("second", "u-2"), closing);
    assert_eq!(waited.unwrap_err().class(), WriteClass::Fenced);
    assert_eq!((began.elapsed().as_secs(), journal.count()), (5, 1));
    fence.open();
    writer.delete_node("third", "u-3").await.unwrap();
    assert_eq!((began.elapsed().as_secs(), journal.count()), (5, 2), "what was not sent is not paid for");
}

#[tokio::test(start_paused = true)]
async fn a_node_is_deleted_by_name_and_uid() {
    let (writer, journal) = writer(|| Answer::ok(json!({"kind": "Status", "status": "Success"})));
    assert_eq!(writer.delete_node("n1", "u-1").await, Ok(Deletion::Deleted));
    let seen = &journal.all()[0];
    assert_eq!((&seen.method, seen.path.as_str()), (&Method::DELETE, "/api/v1/nodes/n1"));
    assert_eq!(seen.body["preconditions"], json!({"uid": "u-1"}));
}

#[tokio::test(start_paused = true)]
async fn a_deletion_without_a_uid_is_refused_here() {
    let (writer, journal) = writer(|| Answer::ok(json!({})));
    assert_eq!(writer.delete_node("n1", "").await.unwrap_err().class(), WriteClass::Invalid);
    assert_eq!(journal.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_node_that_is_gone_or_replaced_is_told_apart() {
    let (gone, _) = failing(404, "NotFound", "nodes \"n\" not found", json!([]));
    assert_eq!(gone.delete_node("n", "u-1").await, Ok(Deletion::AlreadyGone));
    for message in [
        "Operation cannot be fulfilled on nodes \"n\": the UID in the precondition (u-1) does not match the UID in record (u-2)",
        "Operation cannot be fulfilled on nodes \"n\": Precondition failed: UID in precondition: u-1, UID in object meta: u-2",
    ] {
        let (replaced, _) = failing(409, "Conflict", message, json!([]));
        let error = replaced.delete_node("n", "u-1").await.unwrap_err();
        assert_eq!(error, WriteError::Replaced { what: "delete nodes n".into(), uid: "u-1".into() });
    }
    let (busy, _) = failing(409, "Conflict", "the object has been modified", json!([]));
    assert_eq!(busy.delete_node("n", "u-1").await.unwrap_err().class(), WriteClass::Conflict);
}

#[tokio::test(start_paused = true)]
async fn a_patch_of_a_replaced_object_is_not_an_invalid_patch() {
    let immutable = json!([{"field": "metadata.uid", "message": "field is immutable"}]);
    let (merge, _) = failing(422, "Invalid", "Node \"n\" is invalid", immutable);
    let error = merge.patch::<Node>(None, "n", &uid(), label()).await.unwrap_err();
    assert!(matches!(error, WriteError::Replaced { .. }), "{error}");
    let (json_patch, _) = failing(422, "Invalid", "the server rejected our request", json!([]));
    let change = Change::Json(vec![json!({"op": "remove", "path": "/metadata/finalizers"})]);
    let error = json_patch.patch::<Node>(None, "n", &uid(), change).await.unwrap_err();
    assert_eq!(error.class(), WriteClass::Conflict, "the server does not say which test failed");
    let other = json!([{"field": "spec.podCIDR", "message": "may not be changed"}]);
    let (invalid, _) = failing(422, "Invalid", "Node \"n\" is invalid: spec.podCIDR", other);
    let error = invalid.patch::<Node>(None, "n", &uid(), label()).await.unwrap_err();
    assert_eq!(error.class(), WriteClass::Invalid);
}

#[tokio::test(start_paused = true)]
async fn a_patch_carries_its_version_and_returns_the_new_one() {
    let (writer, journal) = writer(|| {
        Answer::ok(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"resourceVersion": "8"}}))
    });
    let guard = Guard::ResourceVersion("7".into());
    let change = Change::Strategic(json!({"spec": {"taints": null}}));
    let written = writer.patch::<Node>(None, "n", &guard, change).await.unwrap();
    assert_eq!(written, Written::Changed { resource_version: Some("8".into()) });
    let seen = &journal.all()[0];
    assert_eq!(seen.body, json!({"metadata": {"resourceVersion": "7"}, "spec": {"taints": null}}));
    assert_eq!(seen.headers["content-type"], "application/strategic-merge-patch+json");
    let (stale, _) = failing(409, "Conflict", "the object has been modified", json!([]));
    let error = stale.patch::<Node>(None, "n", &guard, label()).await.unwrap_err();
    assert_eq!(error.class(), WriteClass::Conflict);
}

#[tokio::test(start_paused = true)]
async fn a_status_is_patched_through_its_subresource() {
    let (writer, journal) = writer(|| Answer::ok(json!({"metadata": {}})));
    let change = Change::Merge(json!({"status": {"loadBalancer": {"ingress": null}}}));
    writer.patch_status::<Service>(Some("shop"), "web", &uid(), change).await.unwrap();
    let seen = &journal.all()[0];
    assert_eq!(seen.path, "/api/v1/namespaces/shop/services/web/status");
    assert_eq!(seen.body["metadata"]["uid"], "u-1");
}

#[tokio::test(start_paused = true)]
async fn an_empty_patch_is_not_sent() {
    let (writer, journal) = writer(|| Answer::ok(json!({})));
    let hollow = Change::Strategic(json!({"metadata": {"labels": {}}}));
    assert_eq!(writer.patch::<Node>(None, "n", &uid(), hollow).await, Ok(Written::Unchanged));
    assert_eq!(
        writer.patch_status::<Node>(None, "n", &uid(), Change::Json(vec![])).await,
        Ok(Written::Unchanged)
    );
    assert_eq!(journal.count(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_silent_server_is_given_up_at_the_deadline_after_one_request() {
    let (client, journal) = scripted_api::client(|_| Answer::Silence);
    let writer = Writer::new(client, Arc::new(Unfenced), DEADLINE);
    let start = Instant::now();
    let error = writer.delete_node("n", "u-1").await.unwrap_err();
    assert_eq!((start.elapsed(), journal.count()), (DEADLINE, 1));
    assert_eq!(error.class(), WriteClass::Transient);
    assert!(error.to_string().contains("may have taken effect"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn overload_and_failure_are_transient_and_say_when_to_come_back() {
    let (client, _) = scripted_api::client(|_| {
        let response = Response::builder().status(429).header("retry-after", "3");
        Answer::Whole(response.body(Full::new(Bytes::from_static(b"\"Too many requests\""))).unwrap())
    });
    let writer = Writer::new(client, Arc::new(Unfenced), DEADLINE);
    let error = writer.delete_node("n", "u-1").await.unwrap_err();
    assert_eq!((error.class(), error.retry_after()), (WriteClass::Transient, Some(Duration::from_secs(3))));
    for code in [500, 502, 503, 504] {
        let (broken, _) = failing(code, "InternalError", "boom", json!([]));
        assert_eq!(broken.delete_node("n", "u-1").await.unwrap_err().class(), WriteClass::Transient);
    }
}

#[tokio::test(start_paused = true)]
async fn a_404_that_is_not_from_the_api_server_does_not_mean_gone() {
    let (proxy, _) = writer(|| Answer::Json(404, json!("<html>no backend</html>")));
    assert_eq!(proxy.delete_node("n", "u-1").await.unwrap_err().class(), WriteClass::Transient);
}

#[tokio::test(start_paused = true)]
async fn a_token_that_is_not_accepted_may_be_rotating() {
    let (stale, _) = failing(401, "Unauthorized", "Unauthorized", json!([]));
    let error = stale.delete_node("n", "u-1").await.unwrap_err();
    assert_eq!(error.class(), WriteClass::Transient);
    assert!(error.to_string().contains("credentials"), "{error}");
}

#[tokio::test(start_paused = true)]
async fn a_missing_right_names_the_verb_and_the_resource_to_grant() {
    let (denied, _) = failing(403, "Forbidden", "user cannot", json!([]));
    let error = denied.delete_node("n", "u-1").await.unwrap_err().to_string();
    assert!(error.contains("grant verb \"delete\" on resource \"nodes\""), "{error}");
    let error =
        denied.patch_status::<Service>(Some("s"), "w", &uid(), label()).await.unwrap_err().to_string();
    assert!(error.contains("verb \"patch\" on resource \"services/status\""), "{error}");
    let error = denied.patch::<Lease>(Some("s"), "w", &uid(), label()).await.unwrap_err().to_string();
    assert!(error.contains("resource \"leases.coordination.k8s.io\""), "{error}");
}
