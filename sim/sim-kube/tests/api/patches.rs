//! Patches and server-side apply through the whole server.

use k8s_openapi::api::core::v1::{Node, Service};
use kube::api::{Api, Patch, PatchParams, PostParams};
use serde_json::json;

use crate::cluster::{cluster, code, message, node, service};

#[tokio::test(start_paused = true)]
async fn strategic_patches_merge_lists_by_their_keys() {
    let (_, client) = cluster();
    let api: Api<Node> = Api::all(client);
    api.create(&PostParams::default(), &node("n")).await.unwrap();
    let status =
        |kind: &str, status: &str| json!({"status": {"conditions": [{"type": kind, "status": status}]}});
    for (kind, value) in [("Ready", "True"), ("NetworkUnavailable", "True"), ("Ready", "False")] {
        let patch = Patch::Strategic(status(kind, value));
        api.patch_status("n", &PatchParams::default(), &patch).await.unwrap();
    }
    let conditions = api.get("n").await.unwrap().status.unwrap().conditions.unwrap();
    let mut shown: Vec<(String, String)> =
        conditions.into_iter().map(|one| (one.type_, one.status)).collect();
    shown.sort();
    assert_eq!(shown, [("NetworkUnavailable".into(), "True".into()), ("Ready".into(), "False".into())]);
}

#[tokio::test(start_paused = true)]
async fn a_json_patch_whose_test_fails_changes_nothing() {
    let (server, client) = cluster();
    let api: Api<Node> = Api::all(client);
    api.create(&PostParams::default(), &node("n")).await.unwrap();
    let before = server.resource_version();
    let patch: json_patch::Patch = serde_json::from_value(json!([
        {"op": "test", "path": "/metadata/name", "value": "other"},
        {"op": "add", "path": "/metadata/labels", "value": {"a": "b"}},
    ]))
    .unwrap();
    let refused = api.patch("n", &PatchParams::default(), &Patch::<()>::Json(patch)).await.unwrap_err();
    assert_eq!(code(&refused), 422);
    assert_eq!(server.resource_version(), before);
}

#[tokio::test(start_paused = true)]
async fn a_patch_with_an_old_version_conflicts() {
    let (_, client) = cluster();
    let api: Api<Node> = Api::all(client);
    let made = api.create(&PostParams::default(), &node("n")).await.unwrap();
    let patch = |label: &str| {
        Patch::Merge(
            json!({"metadata": {"resourceVersion": made.metadata.resource_version, "labels": {"a": label}}}),
        )
    };
    api.patch("n", &PatchParams::default(), &patch("one")).await.unwrap();
    assert_eq!(code(&api.patch("n", &PatchParams::default(), &patch("two")).await.unwrap_err()), 409);
}

#[tokio::test(start_paused = true)]
async fn an_applied_object_is_made_owned_and_defended() {
    let (server, client) = cluster();
    let api: Api<Service> = Api::namespaced(client, "default");
    let config = |port: u16| {
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "labels": {"a": "b"}},
            "spec": {"ports": [{"port": port, "name": "web"}]}})
    };
    let one = PatchParams::apply("one");
    let made = api.patch("s", &one, &Patch::Apply(config(80))).await.unwrap();
    assert_eq!(made.metadata.managed_fields.unwrap()[0].manager.as_deref(), Some("one"));
    let before = server.resource_version();
    api.patch("s", &one, &Patch::Apply(config(80))).await.unwrap();
    assert_eq!(server.resource_version(), before, "the same again is no change");
    let theirs =
        json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s", "labels": {"a": "c"}}});
    let refused = api.patch("s", &PatchParams::apply("two"), &Patch::Apply(&theirs)).await.unwrap_err();
    assert_eq!(code(&refused), 409);
    assert!(message(&refused).contains("conflict with \"one\""), "{}", message(&refused));
    let forced = api.patch("s", &PatchParams::apply("two").force(), &Patch::Apply(&theirs)).await.unwrap();
    assert_eq!(forced.metadata.labels.unwrap()["a"], "c");
    let kept = api
        .patch(
            "s",
            &one,
            &Patch::Apply(json!({"apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "s"}, "spec": {"ports": [{"port": 80, "name": "web"}]}})),
        )
        .await
        .unwrap();
    assert_eq!(kept.metadata.labels.unwrap()["a"], "c", "what another owns stays when the first lets go");
}

#[tokio::test(start_paused = true)]
async fn plain_writes_are_noted_with_their_manager() {
    let (_, client) = cluster();
    let api: Api<Service> = Api::namespaced(client, "default");
    let params = PostParams { field_manager: Some("me".into()), ..PostParams::default() };
    let made = api.create(&params, &service("s", json!({"ports": [{"port": 80}]}))).await.unwrap();
    let entry = &made.metadata.managed_fields.unwrap()[0];
    assert_eq!((entry.manager.as_deref(), entry.operation.as_deref()), (Some("me"), Some("Update")));
}
