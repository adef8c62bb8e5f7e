//! Tables of patches and applies: what goes in, what must come out.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::apply::{ApplyError, applied};
use super::managed::{Manager, is_same_but_for_times, managed_after_update};
use super::{MergeSchema, PatchError, PatchKind, patched};

fn node() -> MergeSchema {
    MergeSchema::of("", "Node")
}

fn service() -> MergeSchema {
    MergeSchema::of("", "Service")
}

#[test]
fn a_json_patch_does_what_its_operations_say_and_takes_the_liberties_of_the_real_server() {
    let document = json!({"metadata": {"labels": {"a/b": "1"}}, "list": [1, 2, 3]});
    let cases = [
        (
            json!([{"op": "add", "path": "/list/-", "value": 4}]),
            json!({"metadata": {"labels": {"a/b": "1"}}, "list": [1, 2, 3, 4]}),
        ),
        (
            json!([{"op": "remove", "path": "/metadata/labels/a~1b"}]),
            json!({"metadata": {"labels": {}}, "list": [1, 2, 3]}),
        ),
        (
            json!([{"op": "replace", "path": "/new", "value": 1}]),
            json!({"metadata": {"labels": {"a/b": "1"}}, "list": [1, 2, 3], "new": 1}),
        ),
        (
            json!([{"op": "test", "path": "/new", "value": null}, {"op": "remove", "path": "/list"}]),
            json!({"metadata": {"labels": {"a/b": "1"}}}),
        ),
        (
            json!([{"op": "remove", "path": "/list/-1"}]),
            json!({"metadata": {"labels": {"a/b": "1"}}, "list": [1, 2]}),
        ),
        (json!([{"op": "move", "from": "/list", "path": "/metadata"}]), json!({"metadata": [1, 2, 3]})),
    ];
    for (patch, wanted) in cases {
        assert_eq!(patched(PatchKind::Json, &node(), &document, &patch), Ok(wanted), "{patch}");
    }
}

#[test]
fn a_json_patch_that_does_not_fit_is_rejected_and_one_that_is_none_is_a_bad_request() {
    let document = json!({"a": 1, "list": []});
    for patch in [
        json!([{"op": "test", "path": "/a", "value": 2}]),
        json!([{"op": "remove", "path": "/b"}]),
        json!([{"op": "add", "path": "/b/c", "value": 2}]),
        json!([{"op": "add", "path": "/list/7", "value": 2}]),
        json!([{"op": "frobnicate", "path": "/a"}]),
    ] {
        let error = patched(PatchKind::Json, &node(), &document, &patch).unwrap_err();
        assert!(matches!(error, PatchError::Rejected(_)), "{patch}: {error}");
        assert_eq!(error.status().get("code"), Some(&json!(422)));
    }
    let error = patched(PatchKind::Json, &node(), &document, &json!({})).unwrap_err();
    let wanted =
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp";
    assert_eq!(error, PatchError::BadRequest(wanted.to_owned()));
}

#[test]
fn a_merge_patch_replaces_lists_and_removes_by_null() {
    let document = json!({"spec": {"a": 1, "list": [1, 2]}});
    let patch = json!({"spec": {"a": null, "list": [3], "b": {"c": null, "d": 1}}});
    let wanted = json!({"spec": {"list": [3], "b": {"d": 1}}});
    assert_eq!(patched(PatchKind::Merge, &MergeSchema::custom(false), &document, &patch), Ok(wanted));
}

#[test]
fn a_strategic_merge_patch_merges_lists_as_the_types_say() {
    let ports = |ports: Value| json!({"spec": {"ports": ports}});
    let cases = [
        // by key: merged; the server's own keep their places before what both have
        (
            ports(json!([{"port": 1, "name": "a"}, {"port": 2}])),
            ports(json!([{"port": 2, "name": "b"}, {"port": 3}])),
            ports(json!([{"port": 1, "name": "a"}, {"port": 2, "name": "b"}, {"port": 3}])),
        ),
        (
            ports(json!([{"port": 1}, {"port": 2}])),
            ports(json!([{"port": 1, "$patch": "delete"}])),
            ports(json!([{"port": 2}])),
        ),
        (
            ports(json!([{"port": 1}, {"port": 2}])),
            ports(json!([{"$patch": "replace"}, {"port": 9}])),
            ports(json!([{"port": 9}])),
        ),
        (
            ports(json!([{"port": 1}, {"port": 2}])),
            json!({"spec": {"$setElementOrder/ports": [{"port": 3}, {"port": 2}], "ports": [{"port": 3}, {"port": 1, "$patch": "delete"}]}}),
            ports(json!([{"port": 3}, {"port": 2}])),
        ),
        // sets: what is new comes first
        (
            json!({"metadata": {"finalizers": ["a", "b"]}}),
            json!({"metadata": {"finalizers": ["c"]}}),
            json!({"metadata": {"finalizers": ["c", "a", "b"]}}),
        ),
        (
            json!({"metadata": {"finalizers": ["a", "b"]}}),
            json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a"]}}),
            json!({"metadata": {"finalizers": ["b"]}}),
        ),
        // atomic
        (
            json!({"spec": {"externalIPs": ["1", "2"]}}),
            json!({"spec": {"externalIPs": ["3"]}}),
            json!({"spec": {"externalIPs": ["3"]}}),
        ),
        (
            json!({"status": {"loadBalancer": {"ingress": [{"ip": "1"}]}}}),
            json!({"status": {"loadBalancer": {"ingress": [{"ip": "2"}]}}}),
            json!({"status": {"loadBalancer": {"ingress": [{"ip": "2"}]}}}),
        ),
        // maps
        (
            json!({"metadata": {"labels": {"a": "1", "b": "2"}}}),
            json!({"metadata": {"labels": {"a": null, "c": "3"}}}),
            json!({"metadata": {"labels": {"b": "2", "c": "3"}}}),
        ),
        (
            json!({"spec": {"a": 1, "b": 2}}),
            json!({"spec": {"$retainKeys": ["b"], "b": 3}}),
            json!({"spec": {"b": 3}}),
        ),
        (
            json!({"spec": {"selector": {"a": "1"}}}),
            json!({"spec": {"selector": {"$patch": "replace", "b": "1"}}}),
            json!({"spec": {"selector": {"b": "1"}}}),
        ),
        (
            json!({"spec": {"selector": {"a": "1"}}}),
            json!({"spec": {"selector": {"$patch": "delete"}}}),
            json!({"spec": {"selector": {}}}),
        ),
    ];
    for (document, patch, wanted) in cases {
        assert_eq!(patched(PatchKind::Strategic, &service(), &document, &patch), Ok(wanted), "{patch}");
    }
}

#[test]
fn conditions_are_merged_by_type_and_taints_are_replaced() {
    let document = json!({"spec": {"taints": [{"key": "a"}]}, "status": {"conditions": [{"type": "Ready", "status": "True", "reason": "r"}]}});
    let patch = json!({"spec": {"taints": [{"key": "b"}]}, "status": {"conditions": [{"type": "NetworkUnavailable", "status": "False"}, {"type": "Ready", "status": "False"}]}});
    let result = patched(PatchKind::Strategic, &node(), &document, &patch).unwrap();
    assert_eq!(result.pointer("/spec/taints"), Some(&json!([{"key": "b"}])));
    let conditions = json!([{"type": "NetworkUnavailable", "status": "False"}, {"type": "Ready", "status": "False", "reason": "r"}]);
    assert_eq!(result.pointer("/status/conditions"), Some(&conditions));
}

#[test]
fn a_strategic_merge_patch_is_refused_for_custom_resources_and_without_its_keys() {
    let custom =
        patched(PatchKind::Strategic, &MergeSchema::custom(true), &json!({}), &json!({})).unwrap_err();
    assert_eq!(custom.status().get("code"), Some(&json!(415)));
    let document = json!({"spec": {"ports": [{"port": 1}]}});
    let patch = json!({"spec": {"ports": [{"name": "x"}]}});
    let error = patched(PatchKind::Strategic, &service(), &document, &patch).unwrap_err();
    assert_eq!(error.to_string(), "map: map[name:x] does not contain declared merge key: port");
}

const THEN: i64 = 1_700_000_000;

fn at(seconds: i64) -> Timestamp {
    Timestamp::from_second(THEN + seconds).unwrap()
}

fn by(name: &str) -> Manager {
    Manager { name: name.to_owned(), force: false, subresource: None, api_version: "v1".to_owned() }
}

fn forced(name: &str) -> Manager {
    Manager { force: true, ..by(name) }
}

#[expect(clippy::needless_pass_by_value, reason = "reads better in the tables below")]
fn config(rest: Value) -> Value {
    let mut config = json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": "s"}});
    json_patch::merge(&mut config, &rest);
    config
}

/// Who owns what, in the order of the entries.
fn owners(object: &Value) -> Vec<(String, Value)> {
    let entries =
        object.pointer("/metadata/managedFields").and_then(Value::as_array).cloned().unwrap_or_default();
    entries
        .iter()
        .map(|entry| (entry["manager"].as_str().unwrap().to_owned(), entry["fieldsV1"].clone()))
        .collect()
}

#[test]
fn a_creator_owns_all_it_sent_but_the_objects_identity() {
    let object = config(
        json!({"metadata": {"labels": {"a": "1"}, "uid": "u"}, "spec": {"selector": {"x": "y"}, "ports": [{"port": 80, "protocol": "TCP"}]}, "status": {"loadBalancer": {}}}),
    );
    let result = managed_after_update(None, &object, &by("me"), at(0), &service());
    let fields = json!({
        "f:metadata": {"f:labels": {".": {}, "f:a": {}}},
        "f:spec": {
            "f:selector": {},
            "f:ports": {".": {}, "k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:protocol": {}}},
        },
    });
    assert_eq!(owners(&result), [("me".to_owned(), fields)]);
    assert_eq!(result.pointer("/metadata/managedFields/0/time"), Some(&json!("2023-11-14T22:13:20Z")));
}

#[test]
fn an_update_takes_over_what_it_changes_and_a_removal_ends_ownership() {
    let object = config(json!({"spec": {"type": "ClusterIP", "externalName": "x"}}));
    let first = managed_after_update(None, &object, &by("one"), at(0), &service());
    let mut changed = first.clone();
    changed["spec"] = json!({"type": "NodePort"});
    let second = managed_after_update(Some(&first), &changed, &by("two"), at(5), &service());
    assert_eq!(owners(&second), [("two".to_owned(), json!({"f:spec": {"f:type": {}}}))]);
    let same = managed_after_update(Some(&second), &second, &by("three"), at(9), &service());
    assert_eq!(same, second, "who changes nothing owns nothing");
    assert!(is_same_but_for_times(&same, &second));
}

#[test]
fn a_write_of_the_status_owns_status_only_and_of_the_object_everything_else() {
    let first = managed_after_update(
        None,
        &config(json!({"spec": {"type": "LoadBalancer"}})),
        &by("one"),
        at(0),
        &service(),
    );
    let mut changed = first.clone();
    changed["status"] = json!({"loadBalancer": {"ingress": [{"ip": "1.2.3.4"}]}});
    changed["spec"]["type"] = json!("ClusterIP");
    let manager = Manager { subresource: Some("status".to_owned()), ..by("two") };
    let second = managed_after_update(Some(&first), &changed, &manager, at(1), &service());
    let wanted = [
        ("one".to_owned(), json!({"f:spec": {"f:type": {}}})),
        ("two".to_owned(), json!({"f:status": {"f:loadBalancer": {"f:ingress": {}}}})),
    ];
    assert_eq!(owners(&second), wanted);
}

#[test]
fn an_empty_list_of_managed_fields_ends_the_tracking() {
    let first = managed_after_update(
        None,
        &config(json!({"spec": {"type": "NodePort"}})),
        &by("one"),
        at(0),
        &service(),
    );
    let mut reset = first.clone();
    reset["metadata"]["managedFields"] = json!([]);
    let second = managed_after_update(Some(&first), &reset, &by("two"), at(1), &service());
    assert_eq!(owners(&second), []);
}

#[test]
fn an_apply_creates_changes_and_removes_its_own_fields() {
    let create = config(
        json!({"metadata": {"labels": {"a": "1", "b": "2"}}, "spec": {"ports": [{"port": 80, "name": "x"}]}}),
    );
    let first = applied(None, &create, &by("me"), at(0), &service()).unwrap();
    assert_eq!(first["metadata"]["labels"], json!({"a": "1", "b": "2"}));
    let fields = json!({
        "f:metadata": {"f:labels": {"f:a": {}, "f:b": {}}},
        "f:spec": {"f:ports": {"k:{\"port\":80,\"protocol\":\"TCP\"}": {".": {}, "f:port": {}, "f:name": {}}}},
    });
    assert_eq!(owners(&first), [("me".to_owned(), fields)]);

    let change = config(json!({"metadata": {"labels": {"a": "3"}}, "spec": {"ports": [{"port": 81}]}}));
    let second = applied(Some(&first), &change, &by("me"), at(5), &service()).unwrap();
    assert_eq!(second["metadata"]["labels"], json!({"a": "3"}));
    assert_eq!(second["spec"]["ports"], json!([{"port": 81}]));

    let again = applied(Some(&second), &change, &by("me"), at(9), &service()).unwrap();
    assert_eq!(again, second, "an apply of the same changes nothing, not even a time");
}

#[test]
fn an_apply_conflicts_with_other_owners_until_it_is_forced() {
    let first =
        applied(None, &config(json!({"spec": {"type": "NodePort"}})), &by("one"), at(0), &service()).unwrap();
    let other = config(json!({"spec": {"type": "ClusterIP"}}));
    let error = applied(Some(&first), &other, &by("two"), at(1), &service()).unwrap_err();
    assert_eq!(error.to_string(), "Apply failed with 1 conflict: conflict with \"one\": .spec.type");
    let cause =
        json!({"reason": "FieldManagerConflict", "message": "conflict with \"one\"", "field": ".spec.type"});
    assert_eq!(error.status().pointer("/details/causes"), Some(&json!([cause])));
    let second = applied(Some(&first), &other, &forced("two"), at(1), &service()).unwrap();
    assert_eq!(second["spec"]["type"], "ClusterIP");
    assert_eq!(owners(&second), [("two".to_owned(), json!({"f:spec": {"f:type": {}}}))]);
}

#[test]
fn a_conflict_with_an_updater_names_its_version() {
    let first = managed_after_update(
        None,
        &config(json!({"spec": {"type": "NodePort", "sessionAffinity": "None"}})),
        &by("one"),
        at(0),
        &service(),
    );
    let other = config(json!({"spec": {"type": "ClusterIP", "sessionAffinity": "ClientIP"}}));
    let error = applied(Some(&first), &other, &by("two"), at(1), &service()).unwrap_err();
    let wanted = "Apply failed with 2 conflicts: conflicts with \"one\" using v1:\n\
                  - .spec.sessionAffinity\n- .spec.type";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn a_field_that_two_apply_stays_until_both_let_go() {
    let both = config(json!({"metadata": {"labels": {"a": "1"}}}));
    let none = config(json!({"spec": {"type": "NodePort"}}));
    let first = applied(None, &both, &by("one"), at(0), &service()).unwrap();
    let second = applied(Some(&first), &both, &by("two"), at(1), &service()).unwrap();
    let third = applied(Some(&second), &none, &by("one"), at(2), &service()).unwrap();
    assert_eq!(third["metadata"]["labels"], json!({"a": "1"}));
    let fourth = applied(Some(&third), &none, &by("two"), at(3), &service()).unwrap();
    assert_eq!(fourth["metadata"].get("labels"), None);
}

#[test]
fn items_that_only_the_server_has_keep_their_places() {
    let live =
        config(json!({"spec": {"ports": [{"port": 1, "protocol": "TCP"}, {"port": 2, "protocol": "TCP"}]}}));
    let live = managed_after_update(None, &live, &by("other"), at(0), &service());
    let apply = config(json!({"spec": {"ports": [{"port": 3}, {"port": 2, "name": "b"}]}}));
    let result = applied(Some(&live), &apply, &by("me"), at(1), &service()).unwrap();
    let ports: Vec<_> =
        result["spec"]["ports"].as_array().unwrap().iter().map(|port| port["port"].clone()).collect();
    assert_eq!(ports, [1, 3, 2]);
}

#[test]
fn a_custom_resource_is_applied_without_a_schema() {
    let schema = MergeSchema::custom(false);
    let manager = Manager { api_version: "x.io/v1".to_owned(), ..by("me") };
    let object = json!({"apiVersion": "x.io/v1", "kind": "X", "metadata": {"name": "x"}, "spec": {"a": {"b": 1}, "list": [1]}});
    let first = applied(None, &object, &manager, at(0), &schema).unwrap();
    let fields = json!({"f:spec": {".": {}, "f:a": {".": {}, "f:b": {}}, "f:list": {}}});
    assert_eq!(owners(&first), [("me".to_owned(), fields)]);
}

#[test]
fn a_configuration_for_another_version_or_with_doubled_items_is_refused() {
    let other = json!({"apiVersion": "v2", "kind": "Service", "metadata": {"name": "s"}});
    let error = applied(None, &other, &by("me"), at(0), &service()).unwrap_err();
    assert!(matches!(error, ApplyError::BadRequest(_)), "{error}");
    let doubled =
        config(json!({"metadata": {"namespace": "n"}, "spec": {"ports": [{"port": 1}, {"port": 1}]}}));
    let error = applied(None, &doubled, &by("me"), at(0), &service()).unwrap_err();
    let wanted = "failed to create typed patch object (n/s; /v1, Kind=Service): .spec.ports: duplicate entries for key [port=1,protocol=\"TCP\"]";
    assert_eq!(error.to_string(), wanted);
}

#[test]
fn kubectl_may_take_its_own_client_side_fields_and_its_annotation_follows() {
    let key = "kubectl.kubernetes.io/last-applied-configuration";
    let applied_before = config(json!({"spec": {"type": "NodePort"}}));
    let live = config(
        json!({"metadata": {"annotations": {key: applied_before.to_string()}}, "spec": {"type": "NodePort"}}),
    );
    let live = managed_after_update(None, &live, &by("kubectl-client-side-apply"), at(0), &service());
    let now = config(json!({"spec": {"type": "ClusterIP"}}));
    let result = applied(Some(&live), &now, &by("kubectl"), at(1), &service()).unwrap();
    assert_eq!(result["spec"]["type"], "ClusterIP");
    assert_eq!(result["metadata"]["annotations"][key], format!("{now}\n"));
}
