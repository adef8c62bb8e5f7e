//! What the table and the manifests made from it must never hold, and what they must.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;

fn documents(text: &str) -> Vec<Value> {
    text.split("---\n").skip(1).map(|document| serde_saphyr::from_str(document).unwrap()).collect()
}

fn granted(document: &Value) -> BTreeSet<String> {
    let words = |value: &Value| -> Vec<String> {
        value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let rules = document["rules"].as_array().into_iter().flatten();
    rules
        .flat_map(|rule| {
            let resource = words(&rule["resources"]).concat();
            words(&rule["verbs"])
                .into_iter()
                .map(move |verb| format!("{verb} {resource}"))
                .collect::<Vec<_>>()
        })
        .collect()
}

#[test]
fn nothing_is_granted_that_is_commonly_over_granted() {
    for rule in Rights::common().with_extra("x-controller", Watches::Services).rules() {
        assert!(!rule.verbs.contains(&"*") && rule.resource != "*" && rule.group != "*", "{rule:?}");
        assert!(!["secrets", "endpoints", "persistentvolumes"].contains(&rule.resource), "{rule:?}");
        assert!(rule.resource != "configmaps" || !rule.names.is_empty(), "{rule:?}");
        assert!(!rule.why.is_empty());
    }
}

#[test]
fn one_identity_has_each_verb_once_and_no_right_on_service_accounts() {
    let documents = documents(&manifest("lease-ns", "ccm").unwrap());
    assert_eq!(documents.len(), 7, "an account, three roles and their bindings");
    let cluster_wide: Vec<_> = granted(&documents[1]).into_iter().collect();
    assert_eq!(
        cluster_wide,
        [
            "create events",
            "create subjectaccessreviews",
            "create tokenreviews",
            "delete nodes",
            "get namespaces",
            "list nodes",
            "list services",
            "patch events",
            "patch nodes",
            "patch nodes/status",
            "patch services/status",
            "watch nodes",
            "watch services",
        ]
    );
    assert_eq!(documents[3]["metadata"]["namespace"], "lease-ns");
    assert_eq!(granted(&documents[5]), BTreeSet::from(["get configmaps".to_owned()]));
    for document in &documents {
        assert!(!granted(document).iter().any(|right| right.contains("serviceaccounts")), "{document}");
    }
}

#[test]
fn with_accounts_of_their_own_the_process_cannot_write_and_gets_only_their_tokens() {
    let rights = Rights::common().with_extra("rack-label-controller", Watches::Nodes);
    let documents = documents(&rights.service_account_credentials_manifest("kube-system", "ccm").unwrap());
    let cluster_wide = granted(&documents[1]);
    assert!(!cluster_wide.iter().any(|right| right.starts_with("patch") && right != "patch events"));
    assert!(!cluster_wide.contains("delete nodes"), "{cluster_wide:?}");
    let in_system = documents[5]["rules"].as_array().unwrap();
    let accounts =
        json!(["node-controller", "service-controller", "route-controller", "rack-label-controller"]);
    let of = |resource: &str, verb: &str| {
        in_system.iter().find(|rule| rule["resources"] == json!([resource]) && rule["verbs"] == json!([verb]))
    };
    assert_eq!(of("serviceaccounts/token", "create").unwrap()["resourceNames"], accounts);
    assert_eq!(of("serviceaccounts", "get").unwrap()["resourceNames"], accounts);
    assert_eq!(of("serviceaccounts", "create").unwrap()["resourceNames"], Value::Null);
}

#[test]
fn each_controllers_account_is_bound_to_exactly_that_controllers_rights() {
    let rights = Rights::common().with_extra("rack-label-controller", Watches::Nodes);
    let documents = documents(&rights.service_account_credentials_manifest("ns", "ccm").unwrap());
    let of = |account: &str| -> Vec<String> {
        let bound = |document: &&Value| document["subjects"][0]["name"] == account;
        let binding = documents.iter().find(bound).unwrap();
        assert_eq!(binding["subjects"][0]["namespace"], "kube-system");
        let named = |document: &&Value| {
            document["kind"] == "ClusterRole" && document["metadata"]["name"] == binding["roleRef"]["name"]
        };
        granted(documents.iter().find(named).unwrap()).into_iter().collect()
    };
    let events = ["create events", "patch events"];
    assert_eq!(
        of("node-controller"),
        [&events[..1], &["delete nodes"], &events[1..], &["patch nodes", "patch nodes/status"]].concat()
    );
    assert_eq!(of("service-controller"), ["create events", "patch events", "patch services/status"]);
    assert_eq!(of("route-controller"), ["create events", "patch events", "patch nodes/status"]);
    assert_eq!(of("rack-label-controller"), ["create events", "patch events", "patch nodes"]);
}

#[test]
fn a_shadow_can_see_and_report_and_nothing_else() {
    let documents = documents(&shadow_manifest("ns", "shadow", "ccm").unwrap());
    let all: BTreeSet<String> = documents.iter().flat_map(granted).collect();
    let writes = ["patch", "update", "delete", "create"];
    let changing: Vec<_> =
        all.iter().filter(|right| writes.iter().any(|verb| right.starts_with(verb))).collect();
    let reviews = ["create subjectaccessreviews", "create tokenreviews"];
    assert_eq!(changing, [&["create configmaps"], &reviews[..], &["patch configmaps"]].concat());
    let role = &documents[5];
    assert_eq!(role["metadata"], json!({"name": "bowline-shadow-report", "namespace": "kube-system"}));
    assert_eq!(role["rules"][0]["resourceNames"], json!(["bowline-shadow-report"]));
    let names: Vec<_> = documents[6]["subjects"].as_array().unwrap().iter().map(|one| &one["name"]).collect();
    assert_eq!(names, ["shadow", "ccm"]);
}

#[test]
fn a_viewer_sees_what_managers_tell_of_themselves_and_nothing_of_the_cluster() {
    let documents = documents(&viewer_manifest("ns").unwrap());
    let kinds: Vec<_> = documents.iter().map(|one| one["kind"].as_str().unwrap()).collect();
    assert_eq!(kinds, ["ServiceAccount", "ClusterRole", "ClusterRoleBinding"]);
    assert_eq!(documents[0]["metadata"], json!({"name": "bowline-viewer", "namespace": "ns"}));
    assert_eq!(documents[0]["automountServiceAccountToken"], false);
    let paths = ["/bowline", "/bowline/live", "/bowline.json", "/metrics"];
    assert_eq!(documents[1]["rules"], json!([{"nonResourceURLs": paths, "verbs": ["get"]}]));
    assert_eq!(
        documents[2]["subjects"],
        json!([{"kind": "ServiceAccount", "name": "bowline-viewer", "namespace": "ns"}])
    );
}
