//! Objects through kube's client: versions, conflicts, deletion, selectors, faults.

use std::collections::BTreeMap;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{ConfigMap, Event, Namespace, Node, Service};
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Error, ResourceExt as _};
use serde_json::json;
use sim_kube::{ApiError, Interceptor, Reply, RequestInfo, Verdict};

use crate::cluster::{cluster, code, config_map, from, message, node, service};

#[tokio::test(start_paused = true)]
async fn an_object_is_created_read_changed_and_deleted() {
    let (_, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let made = api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap();
    assert!(made.uid().is_some() && made.creation_timestamp().is_some());
    let mut changed = api.get("a").await.unwrap();
    changed.data = Some(BTreeMap::from([("k".to_owned(), "v".to_owned())]));
    let replaced = api.replace("a", &PostParams::default(), &changed).await.unwrap();
    assert_ne!(replaced.resource_version(), made.resource_version());
    let stale = api.replace("a", &PostParams::default(), &changed).await.unwrap_err();
    assert_eq!(code(&stale), 409);
    assert_eq!(
        message(&stale),
        "Operation cannot be fulfilled on configmaps \"a\": the object has been modified; please apply your changes \
         to the latest version and try again"
    );
    api.delete("a", &DeleteParams::default()).await.unwrap();
    let gone = api.get("a").await.unwrap_err();
    assert_eq!((code(&gone), message(&gone).as_str()), (404, "configmaps \"a\" not found"));
}

#[tokio::test(start_paused = true)]
async fn a_change_that_changes_nothing_keeps_the_version() {
    let (server, client) = cluster();
    let api: Api<Node> = Api::all(client);
    let made = api.create(&PostParams::default(), &node("n")).await.unwrap();
    let before = server.resource_version();
    let same = api.replace("n", &PostParams::default(), &made).await.unwrap();
    let patch = Patch::Merge(json!({"metadata": {"labels": {}}}));
    api.patch("n", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(same.resource_version(), made.resource_version());
    assert_eq!(server.resource_version(), before);
}

#[tokio::test(start_paused = true)]
async fn a_name_is_taken_once_and_must_be_valid() {
    let (_, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap();
    let twice = api.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap_err();
    assert_eq!((code(&twice), message(&twice).as_str()), (409, "configmaps \"a\" already exists"));
    let wrong = api.create(&PostParams::default(), &config_map("A_b", json!({}))).await.unwrap_err();
    assert_eq!(code(&wrong), 422);
    assert!(
        message(&wrong)
            .starts_with("ConfigMap \"A_b\" is invalid: metadata.name: Invalid value: \"A_b\": a lowercase")
    );
    let nowhere: Api<ConfigMap> = Api::namespaced(client, "nowhere");
    let missing = nowhere.create(&PostParams::default(), &config_map("a", json!({}))).await.unwrap_err();
    assert_eq!((code(&missing), message(&missing).as_str()), (404, "namespaces \"nowhere\" not found"));
}

#[tokio::test(start_paused = true)]
async fn generated_names_uids_and_addresses_come_from_the_seed() {
    let run = || async {
        let (_, client) = cluster();
        let api: Api<Service> = Api::namespaced(client, "default");
        let mut wanted = service("", json!({"type": "NodePort", "ports": [{"port": 80}]}));
        wanted.metadata.name = None;
        wanted.metadata.generate_name = Some("web-".into());
        api.create(&PostParams::default(), &wanted).await.unwrap()
    };
    let (one, other) = (run().await, run().await);
    assert_eq!(one, other);
    assert!(one.name_any().starts_with("web-") && one.name_any().len() == 9);
}

#[tokio::test(start_paused = true)]
async fn status_and_spec_are_written_apart() {
    let (_, client) = cluster();
    let api: Api<Service> = Api::namespaced(client, "default");
    let spec = json!({"type": "LoadBalancer", "ports": [{"port": 80}]});
    api.create(&PostParams::default(), &service("s", spec)).await.unwrap();
    let both = json!({
        "spec": {"sessionAffinity": "ClientIP"},
        "status": {"loadBalancer": {"ingress": [{"ip": "203.0.113.9"}]}},
    });
    let after_status = api.patch_status("s", &PatchParams::default(), &Patch::Merge(&both)).await.unwrap();
    let ingress = after_status.status.unwrap().load_balancer.unwrap().ingress.unwrap();
    assert_eq!(ingress[0].ip_mode.as_deref(), Some("VIP"));
    assert_eq!(after_status.spec.unwrap().session_affinity.as_deref(), Some("None"));
    let none = json!({"status": {"loadBalancer": null}, "spec": {"sessionAffinity": "ClientIP"}});
    let after_main = api.patch("s", &PatchParams::default(), &Patch::Merge(&none)).await.unwrap();
    assert_eq!(after_main.spec.unwrap().session_affinity.as_deref(), Some("ClientIP"));
    assert!(after_main.status.unwrap().load_balancer.unwrap().ingress.is_some());
}

#[tokio::test(start_paused = true)]
async fn pages_show_one_moment_even_while_objects_change() {
    let (_, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    for name in ["a", "b", "c", "d", "e"] {
        api.create(&PostParams::default(), &config_map(name, json!({}))).await.unwrap();
    }
    let first = api.list(&ListParams::default().limit(2)).await.unwrap();
    assert_eq!(first.metadata.remaining_item_count, Some(3));
    api.delete("c", &DeleteParams::default()).await.unwrap();
    api.create(&PostParams::default(), &config_map("cc", json!({}))).await.unwrap();
    let token = first.metadata.continue_.clone().unwrap();
    let second = api.list(&ListParams::default().limit(10).continue_token(&token)).await.unwrap();
    let names: Vec<String> = first.iter().chain(second.iter()).map(kube::ResourceExt::name_any).collect();
    assert_eq!(names, ["a", "b", "c", "d", "e"]);
    assert_eq!(second.metadata.resource_version, first.metadata.resource_version);
}

#[tokio::test(start_paused = true)]
async fn a_page_of_a_forgotten_moment_is_expired() {
    let (server, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    for name in ["a", "b", "c"] {
        api.create(&PostParams::default(), &config_map(name, json!({}))).await.unwrap();
    }
    let first = api.list(&ListParams::default().limit(1)).await.unwrap();
    api.delete("c", &DeleteParams::default()).await.unwrap();
    server.compact();
    let token = first.metadata.continue_.unwrap();
    let late = api.list(&ListParams::default().limit(1).continue_token(&token)).await.unwrap_err();
    assert_eq!(code(&late), 410);
}

#[tokio::test(start_paused = true)]
async fn selectors_choose_by_labels_and_fields() {
    let (_, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client.clone(), "default");
    api.create(&PostParams::default(), &config_map("a", json!({"app": "web"}))).await.unwrap();
    api.create(&PostParams::default(), &config_map("b", json!({"app": "db"}))).await.unwrap();
    let names = |list: kube::api::ObjectList<ConfigMap>| {
        list.iter().map(kube::ResourceExt::name_any).collect::<Vec<_>>()
    };
    let web = api.list(&ListParams::default().labels("app in (web)")).await.unwrap();
    assert_eq!(names(web), ["a"]);
    let named = api.list(&ListParams::default().fields("metadata.name!=a")).await.unwrap();
    assert_eq!(names(named), ["b"]);
    let nodes: Api<Node> = Api::all(client);
    let unknown = nodes.list(&ListParams::default().fields("spec.color=red")).await.unwrap_err();
    assert_eq!((code(&unknown), message(&unknown).as_str()), (400, "field label not supported: spec.color"));
}

#[tokio::test(start_paused = true)]
async fn finalizers_hold_an_object_until_the_last_is_gone() {
    let (_, client) = cluster();
    let api: Api<Node> = Api::all(client);
    let mut held = node("n");
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &held).await.unwrap();
    let marked = api.delete("n", &DeleteParams::default()).await.unwrap().left().unwrap();
    assert!(marked.metadata.deletion_timestamp.is_some());
    let more = Patch::Merge(json!({"metadata": {"finalizers": ["example.com/hold", "example.com/more"]}}));
    let refused = api.patch("n", &PatchParams::default(), &more).await.unwrap_err();
    assert!(message(&refused).contains("no new finalizers can be added if the object is being deleted"));
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("n", &PatchParams::default(), &none).await.unwrap();
    assert_eq!(code(&api.get("n").await.unwrap_err()), 404);
}

#[tokio::test(start_paused = true)]
async fn a_deletion_with_the_wrong_uid_or_version_does_nothing() {
    let (_, client) = cluster();
    let api: Api<Node> = Api::all(client);
    let made = api.create(&PostParams::default(), &node("n")).await.unwrap();
    let only_if = |uid: Option<&str>, resource_version: Option<&str>| {
        let (uid, resource_version) = (uid.map(str::to_owned), resource_version.map(str::to_owned));
        DeleteParams {
            preconditions: Some(Preconditions { uid, resource_version }),
            ..DeleteParams::default()
        }
    };
    for params in [only_if(Some("other"), None), only_if(None, Some("1"))] {
        assert_eq!(code(&api.delete("n", &params).await.unwrap_err()), 409);
    }
    let params = only_if(made.uid().as_deref(), made.resource_version().as_deref());
    assert!(api.delete("n", &params).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_dry_run_answers_and_changes_nothing() {
    let (server, client) = cluster();
    let api: Api<Service> = Api::namespaced(client, "default");
    let before = server.resource_version();
    let params = PostParams { dry_run: true, ..PostParams::default() };
    let shown = api.create(&params, &service("s", json!({"ports": [{"port": 80}]}))).await.unwrap();
    assert!(shown.spec.unwrap().cluster_ip.is_some());
    assert_eq!(code(&api.get("s").await.unwrap_err()), 404);
    assert_eq!(server.resource_version(), before);
}

fn owned(name: &str, owner: &ConfigMap, blocks: bool) -> ConfigMap {
    let mut dependent = config_map(name, json!({}));
    dependent.metadata.owner_references = Some(vec![from(json!({
        "apiVersion": "v1", "kind": "ConfigMap", "name": owner.name_any(), "uid": owner.uid(),
        "blockOwnerDeletion": blocks,
    }))]);
    dependent
}

#[tokio::test(start_paused = true)]
async fn dependents_go_with_their_owner_or_are_orphaned() {
    let (_, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let create = PostParams::default();
    for (params, left) in [
        (DeleteParams::background(), false),
        (DeleteParams::foreground(), false),
        (DeleteParams::orphan(), true),
    ] {
        let owner = api.create(&create, &config_map("owner", json!({}))).await.unwrap();
        api.create(&create, &owned("child", &owner, true)).await.unwrap();
        api.delete("owner", &params).await.unwrap();
        assert_eq!(code(&api.get("owner").await.unwrap_err()), 404);
        assert_eq!(api.get_opt("child").await.unwrap().is_some(), left, "{params:?}");
    }
    assert_eq!(api.get("child").await.unwrap().metadata.owner_references, None);
}

#[tokio::test(start_paused = true)]
async fn a_foreground_deletion_waits_for_a_held_dependent() {
    let (_, client) = cluster();
    let api: Api<ConfigMap> = Api::namespaced(client, "default");
    let owner = api.create(&PostParams::default(), &config_map("owner", json!({}))).await.unwrap();
    let mut child = owned("child", &owner, true);
    child.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    api.create(&PostParams::default(), &child).await.unwrap();
    api.delete("owner", &DeleteParams::foreground()).await.unwrap();
    let waiting = api.get("owner").await.unwrap();
    assert_eq!(waiting.finalizers(), ["foregroundDeletion"]);
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    api.patch("child", &PatchParams::default(), &none).await.unwrap();
    assert!(api.get_opt("owner").await.unwrap().is_none());
}

#[tokio::test(start_paused = true)]
async fn a_namespace_takes_its_contents_along_and_waits_for_what_is_held() {
    let (_, client) = cluster();
    let namespaces: Api<Namespace> = Api::all(client.clone());
    let ns: Namespace = from(json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}}));
    namespaces.create(&PostParams::default(), &ns).await.unwrap();
    let inside: Api<ConfigMap> = Api::namespaced(client, "team");
    inside.create(&PostParams::default(), &config_map("free", json!({}))).await.unwrap();
    let mut held = config_map("held", json!({}));
    held.metadata.finalizers = Some(vec!["example.com/hold".into()]);
    inside.create(&PostParams::default(), &held).await.unwrap();
    namespaces.delete("team", &DeleteParams::default()).await.unwrap();
    let ending = namespaces.get("team").await.unwrap();
    assert_eq!(ending.status.unwrap().phase.as_deref(), Some("Terminating"));
    assert!(inside.get_opt("free").await.unwrap().is_none());
    let late = inside.create(&PostParams::default(), &config_map("late", json!({}))).await.unwrap_err();
    assert_eq!(code(&late), 403);
    let none = Patch::Merge(json!({"metadata": {"finalizers": null}}));
    inside.patch("held", &PatchParams::default(), &none).await.unwrap();
    assert!(namespaces.get_opt("team").await.unwrap().is_none());
    assert_eq!(code(&namespaces.delete("default", &DeleteParams::default()).await.unwrap_err()), 403);
}

#[tokio::test(start_paused = true)]
async fn leases_need_a_version_to_be_replaced_and_may_be_put_into_place() {
    let (_, client) = cluster();
    let api: Api<Lease> = Api::namespaced(client, "kube-system");
    let lease: Lease = from(json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": {"name": "l"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15},
    }));
    api.replace("l", &PostParams::default(), &lease).await.unwrap();
    let blind = api.replace("l", &PostParams::default(), &lease).await.unwrap_err();
    assert_eq!(code(&blind), 422);
    assert!(message(&blind).contains("metadata.resourceVersion"), "{blind}");
}

#[tokio::test(start_paused = true)]
async fn events_are_the_same_in_both_apis() {
    let (_, client) = cluster();
    let core: Api<Event> = Api::namespaced(client.clone(), "default");
    let modern: Api<k8s_openapi::api::events::v1::Event> = Api::namespaced(client, "default");
    let event: k8s_openapi::api::events::v1::Event = from(json!({
        "apiVersion": "events.k8s.io/v1", "kind": "Event", "metadata": {"name": "e"},
        "regarding": {"kind": "Service", "name": "s", "namespace": "default"}, "note": "it happened",
        "reason": "Happened", "type": "Normal", "reportingController": "c", "reportingInstance": "i", "action": "do",
        "eventTime": "2026-01-01T00:00:00.000000Z",
    }));
    modern.create(&PostParams::default(), &event).await.unwrap();
    let chosen = ListParams::default().fields("involvedObject.name=s,reason=Happened");
    let found = core.list(&chosen).await.unwrap();
    assert_eq!(found.items[0].message.as_deref(), Some("it happened"));
    assert_eq!(modern.get("e").await.unwrap().note.as_deref(), Some("it happened"));
}

#[tokio::test(start_paused = true)]
async fn an_interceptor_refuses_before_and_loses_after() {
    struct Faults;
    impl Interceptor for Faults {
        fn before(&self, request: &RequestInfo) -> Verdict {
            match request.name.as_str() {
                "busy" => Verdict::Refuse(ApiError::too_many_requests(3)),
                "slow" => Verdict::Delay(Duration::from_secs(7)),
                _ => Verdict::Pass,
            }
        }
        fn after(&self, request: &RequestInfo, _: u16) -> Reply {
            if request.verb == "create" { Reply::Lose } else { Reply::Deliver }
        }
    }
    let (server, client) = cluster();
    server.intercept(Faults);
    let api: Api<Node> = Api::all(client);
    assert_eq!(code(&api.get("busy").await.unwrap_err()), 429);
    let begun = tokio::time::Instant::now();
    assert_eq!(code(&api.get("slow").await.unwrap_err()), 404);
    assert_eq!(begun.elapsed(), Duration::from_secs(7));
    assert!(!matches!(api.create(&PostParams::default(), &node("n")).await.unwrap_err(), Error::Api(_)));
    assert!(api.get("n").await.is_ok(), "the effect is there although the reply was lost");
    assert_eq!(server.writes(), 1);
    assert_eq!(server.count(|entry| entry.request.resource == "nodes" && entry.code == 429), 1);
}

#[tokio::test(start_paused = true)]
async fn who_may_not_is_told_so() {
    let (server, client) = cluster();
    server.authorize_with(|access| access.verb != "delete");
    let api: Api<Node> = Api::all(client);
    api.create(&PostParams::default(), &node("n")).await.unwrap();
    let refused = api.delete("n", &DeleteParams::default()).await.unwrap_err();
    assert_eq!(
        message(&refused),
        "nodes \"n\" is forbidden: User \"system:admin\" cannot delete resource \"nodes\" in API group \"\" at the cluster scope"
    );
}

#[tokio::test(start_paused = true)]
async fn tests_reach_objects_without_requests() {
    let (server, client) = cluster();
    let nodes = server.objects::<Node>("");
    nodes.create(&node("n")).unwrap();
    let edited = nodes
        .edit("n", |node| {
            node.metadata.labels = Some(BTreeMap::from([("a".to_owned(), "b".to_owned())]));
            node.status.get_or_insert_default().phase = Some("Running".into());
        })
        .unwrap();
    assert_eq!(edited.status.unwrap().phase.as_deref(), Some("Running"));
    assert_eq!(nodes.list().unwrap().len(), 1);
    server
        .seed(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "m"}, "status": {"phase": "Pending"}}))
        .unwrap();
    let api: Api<Node> = Api::all(client);
    assert_eq!(api.get("m").await.unwrap().status.unwrap().phase.as_deref(), Some("Pending"));
    nodes.delete("n").unwrap();
    assert!(nodes.get("n").unwrap().is_none());
    assert_eq!(server.log().len(), 1, "only the client's own request is logged");
}
