//! What is planned: creation, update, adoption, pruning. The server's part is tested on a real one.

use std::collections::{BTreeMap, BTreeSet};

use kube::api::DynamicObject;
use serde_json::{Value, json};

use super::*;
use crate::api::OWNER_LABEL;

fn id(kind: &str, name: &str) -> ObjectId {
    let kind = KINDS.iter().find(|row| row.kind == kind).unwrap();
    ObjectId {
        api_version: kind.api_version.to_owned(),
        kind: kind.kind.to_owned(),
        namespace: kind.is_namespaced.then(|| "kube-system".to_owned()),
        name: name.to_owned(),
    }
}

fn live(uid: &str, owner: Option<&str>) -> DynamicObject {
    let labels: Value = owner.map_or(json!({}), |owner| json!({ OWNER_LABEL: owner }));
    serde_json::from_value(json!({ "metadata": { "name": "x", "uid": uid, "labels": labels } })).unwrap()
}

fn seen(object: DynamicObject, preview: Option<Preview>) -> Seen {
    Seen { live: Some(object), preview }
}

fn recorded(entries: &[(&ObjectId, Option<&str>)]) -> Inventory {
    let mut inventory = Inventory::default();
    for (id, uid) in entries {
        inventory.record(Entry { id: (*id).clone(), uid: uid.map(str::to_owned), is_adopted: false });
    }
    inventory
}

fn planned(wanted: &[&ObjectId], seen: &[(&ObjectId, Seen)], inventory: &Inventory) -> Plan {
    planned_with(false, wanted, seen, inventory)
}

fn planned_with(
    adopt: bool,
    wanted: &[&ObjectId],
    seen: &[(&ObjectId, Seen)],
    inventory: &Inventory,
) -> Plan {
    let wanted: Vec<ObjectId> = wanted.iter().map(|id| (*id).clone()).collect();
    let seen: BTreeMap<ObjectId, Seen> =
        seen.iter().map(|(id, seen)| ((*id).clone(), seen.clone())).collect();
    plan(&wanted, &BTreeSet::new(), &seen, inventory, "main", adopt)
}

#[test]
fn what_is_missing_is_recorded_before_it_is_made() {
    let deployment = id("Deployment", "ccm");
    let plan = planned(&[&deployment], &[], &Inventory::lost());
    assert_eq!(plan.steps, [ApplyStep::Create(deployment.clone())]);
    assert_eq!(plan.intent, recorded(&[(&deployment, None)]));
}

#[test]
fn what_is_as_wanted_is_not_touched_and_not_written_again() {
    let deployment = id("Deployment", "ccm");
    let inventory = recorded(&[(&deployment, Some("u1"))]);
    let found = [(&deployment, seen(live("u1", Some("main")), Some(Preview::Same)))];
    let plan = planned(&[&deployment], &found, &inventory);
    assert_eq!(plan, Plan { intent: inventory, steps: vec![] });
}

#[test]
fn drift_is_repaired_on_the_very_object_that_was_seen() {
    let deployment = id("Deployment", "ccm");
    let inventory = recorded(&[(&deployment, Some("u1"))]);
    for (preview, step) in [
        (Preview::Changes, ApplyStep::Update { id: deployment.clone(), uid: "u1".to_owned() }),
        (Preview::Refused, ApplyStep::Recreate { id: deployment.clone(), uid: "u1".to_owned() }),
    ] {
        let found = [(&deployment, seen(live("u1", Some("main")), Some(preview)))];
        assert_eq!(planned(&[&deployment], &found, &inventory).steps, [step]);
    }
}

#[test]
fn a_crash_between_making_and_recording_loses_nothing() {
    let deployment = id("Deployment", "ccm");
    let found = [(&deployment, seen(live("u1", Some("main")), Some(Preview::Same)))];
    let plan = planned(&[&deployment], &found, &recorded(&[(&deployment, None)]));
    assert_eq!(plan.intent, recorded(&[(&deployment, Some("u1"))]));
    let removal = planned(&[], &found, &plan.intent);
    assert_eq!(removal.steps, [ApplyStep::Delete { id: deployment, uid: "u1".to_owned() }]);
}

#[test]
fn what_somebody_else_made_is_refused_and_nothing_else_is_done_either() {
    let [account, role, old] =
        [id("ServiceAccount", "bowline-ccm-main"), id("ClusterRole", "bowline:main"), id("ConfigMap", "old")];
    let refused = [ApplyStep::Refuse { id: account.clone(), owner: None }];
    let old_one = (&old, seen(live("u1", Some("main")), None));
    for (preview, label) in
        [(Preview::Same, None), (Preview::Changes, None), (Preview::Refused, Some("main"))]
    {
        let found = [(&account, seen(live("theirs", label), Some(preview))), old_one.clone()];
        let inventory = recorded(&[(&old, Some("u1"))]);
        let plan = planned(&[&role, &account], &found, &inventory);
        assert_eq!(plan, Plan { intent: inventory, steps: refused.to_vec() });
    }
    // Nor what an earlier operator took over without being told to.
    let mut inventory = recorded(&[]);
    inventory.record(Entry { id: account.clone(), uid: Some("theirs".to_owned()), is_adopted: true });
    let found = [(&account, seen(live("theirs", Some("main")), Some(Preview::Same)))];
    assert_eq!(planned(&[&account], &found, &inventory).steps, refused);
    assert_eq!(planned_with(true, &[&account], &found, &inventory).steps, []);
    // Nor one that came between the intent and the making.
    let found = [(&account, seen(live("theirs", None), Some(Preview::Changes)))];
    assert_eq!(planned(&[&account], &found, &recorded(&[(&account, None)])).steps, refused);
}

#[test]
fn a_label_that_somebody_took_away_comes_back() {
    let deployment = id("Deployment", "bowline-ccm-main");
    let found = [(&deployment, seen(live("u1", None), Some(Preview::Changes)))];
    let plan = planned(&[&deployment], &found, &recorded(&[(&deployment, Some("u1"))]));
    assert_eq!(plan.steps, [ApplyStep::Update { id: deployment, uid: "u1".to_owned() }]);
}

#[test]
fn a_namespace_that_is_there_is_never_changed() {
    let namespace = id("Namespace", "payments");
    for owner in [None, Some("main"), Some("other")] {
        for inventory in [Inventory::lost(), recorded(&[]), recorded(&[(&namespace, Some("u1"))])] {
            for adopt in [false, true] {
                let found = [(&namespace, seen(live("u1", owner), Some(Preview::Changes)))];
                let plan = planned_with(adopt, &[&namespace], &found, &inventory);
                assert_eq!(plan, Plan { intent: inventory.clone(), steps: vec![] });
            }
        }
    }
}

#[test]
fn what_was_there_before_us_is_used_if_somebody_says_so_and_never_removed() {
    let account = id("ServiceAccount", "cloud-controller-manager");
    let found = [(&account, seen(live("theirs", None), Some(Preview::Changes)))];
    let used = planned_with(true, &[&account], &found, &Inventory::default());
    assert_eq!(used.steps, [ApplyStep::Update { id: account.clone(), uid: "theirs".to_owned() }]);
    assert!(used.intent.get(&account).unwrap().is_adopted);
    let ours = [(&account, seen(live("theirs", Some("main")), None))];
    let removal = planned(&[], &ours, &used.intent);
    assert_eq!((removal.steps, removal.intent.entries().len()), (vec![], 0));
}

#[test]
fn a_namesake_a_foreign_label_and_a_namespace_are_left_alone() {
    let config = id("ConfigMap", "old");
    let inventory = recorded(&[(&config, Some("u1"))]);
    for other in [live("u2", Some("main")), live("u1", None), live("u1", Some("else"))] {
        let plan = planned(&[], &[(&config, seen(other, None))], &inventory);
        assert_eq!((plan.steps, plan.intent.entries().len()), (vec![], 0));
    }
    let namespace = id("Namespace", "cloud");
    let found = [(&namespace, seen(live("u1", Some("main")), None))];
    assert_eq!(planned(&[], &found, &recorded(&[(&namespace, Some("u1"))])).steps, []);
}

#[test]
fn what_is_no_longer_wanted_goes_in_reverse_order_after_what_is_made() {
    let [role, binding, deployment] =
        [id("ClusterRole", "r"), id("ClusterRoleBinding", "b"), id("Deployment", "d")];
    let inventory = recorded(&[(&role, Some("u1")), (&binding, Some("u2"))]);
    let found =
        [(&role, seen(live("u1", Some("main")), None)), (&binding, seen(live("u2", Some("main")), None))];
    let delete = |id: &ObjectId, uid: &str| ApplyStep::Delete { id: id.clone(), uid: uid.to_owned() };
    let expected = [ApplyStep::Create(deployment.clone()), delete(&binding, "u2"), delete(&role, "u1")];
    assert_eq!(planned(&[&deployment], &found, &inventory).steps, expected);
}

#[test]
fn what_pods_still_use_is_kept_and_stays_in_the_inventory() {
    let config = id("ConfigMap", "config-1");
    let inventory = recorded(&[(&config, Some("u1"))]);
    let seen = BTreeMap::from([(config.clone(), seen(live("u1", Some("main")), None))]);
    let plan = plan(&[], &BTreeSet::from([config]), &seen, &inventory, "main", false);
    assert_eq!(plan, Plan { intent: inventory, steps: vec![] });
}

#[test]
fn another_resources_object_is_refused_and_one_that_is_being_deleted_is_awaited() {
    let role = id("ClusterRole", "r");
    let found = [(&role, seen(live("u1", Some("other")), Some(Preview::Changes)))];
    let refused = ApplyStep::Refuse { id: role.clone(), owner: Some("other".to_owned()) };
    for adopt in [false, true] {
        let plan = planned_with(adopt, &[&role], &found, &Inventory::default());
        assert_eq!(plan.steps, std::slice::from_ref(&refused), "not even by adoption");
    }
    let mut ending = live("u1", Some("main"));
    ending.metadata.deletion_timestamp = Some(serde_json::from_value(json!("2026-01-01T00:00:00Z")).unwrap());
    let found = [(&role, seen(ending, None))];
    assert_eq!(planned(&[&role], &found, &Inventory::default()).steps, [ApplyStep::Await(role.clone())]);
}

#[test]
fn a_lost_inventory_is_made_anew_from_the_labels() {
    let [ours, theirs] = [id("Deployment", "ours"), id("ServiceAccount", "theirs")];
    let found = [
        (&ours, seen(live("u1", Some("main")), Some(Preview::Same))),
        (&theirs, seen(live("u2", None), Some(Preview::Changes))),
    ];
    let plan = planned_with(true, &[&ours, &theirs], &found, &Inventory::lost());
    assert!(!plan.intent.get(&ours).unwrap().is_adopted && plan.intent.get(&theirs).unwrap().is_adopted);
}

#[test]
fn an_inventory_is_read_as_it_was_written_and_an_unreadable_one_is_no_empty_one() {
    let role = id("ClusterRole", "r");
    let inventory = recorded(&[(&role, Some("u1")), (&id("ConfigMap", "c"), None)]);
    let stored = inventory.config_map("main", "kube-system").unwrap();
    assert_eq!(stored.metadata.name.as_deref(), Some("bowline-inventory-main"));
    assert_eq!(Inventory::read("x", Some(&stored)).unwrap(), inventory);
    assert!(Inventory::read("x", None).unwrap().is_lost());
    for data in [json!({}), json!({ "inventory.json": "[{" })] {
        let broken = serde_json::from_value(json!({ "data": data })).unwrap();
        let error = Inventory::read("bowline-inventory-main", Some(&broken)).unwrap_err().to_string();
        assert!(
            error.contains("bowline-inventory-main") && error.contains("delete the ConfigMap"),
            "{error}"
        );
    }
}

#[test]
fn only_objects_of_known_kinds_with_their_namespace_are_applied() {
    let object = |value| crate::render::Object::untyped(value).unwrap();
    let metadata = json!({ "name": "x", "namespace": "n", "resourceVersion": "7", "uid": "u" });
    let good = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "status": {} });
    let (id, ready) = prepare(object(good), "main").unwrap();
    assert_eq!(id.to_string(), "ConfigMap n/x");
    assert_eq!(ready.metadata.labels.unwrap()[OWNER_LABEL], "main");
    assert_eq!((ready.metadata.uid, ready.metadata.resource_version), (None, None));
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "x", "namespace": "n" } });
    let error = prepare(object(pod), "main").unwrap_err().to_string();
    assert!(error.starts_with("unhandled type Pod of v1"), "{error}");
    let nowhere = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "x" } });
    assert!(prepare(object(nowhere), "main").is_err());
}

#[test]
fn times_and_versions_are_no_difference_but_owners_of_fields_are() {
    let object = |version: &str, time: &str, manager: &str| -> DynamicObject {
        serde_json::from_value(json!({ "metadata": { "name": "x", "resourceVersion": version,
            "managedFields": [{ "manager": manager, "time": time }] }, "spec": { "a": 1 } }))
        .unwrap()
    };
    let one = object("1", "2026-01-01T00:00:00Z", "a");
    assert!(!differs(&one, &object("2", "2026-01-02T00:00:00Z", "a")));
    assert!(differs(&one, &object("1", "2026-01-01T00:00:00Z", "b")));
}
