use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::*;
use crate::render::fixture::{PLATFORMS, facts, spec};
use crate::render::{ManagerMode, plain};

fn words(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
}

/// Every verb on every resource that a role grants.
fn granted(rules: &Value) -> BTreeSet<(String, String, String)> {
    let mut all = BTreeSet::new();
    for rule in rules.as_array().into_iter().flatten() {
        for (group, resource) in words(&rule["apiGroups"]).iter().flat_map(|group| {
            words(&rule["resources"]).into_iter().map(move |resource| (group.clone(), resource))
        }) {
            let verbs = words(&rule["verbs"]);
            all.extend(verbs.into_iter().map(|verb| (group.clone(), resource.clone(), verb)));
        }
    }
    all
}

#[test]
fn the_operator_is_two_hardened_pods_that_start_before_the_network() {
    let objects = objects("registry.example/bowline:v1").unwrap();
    let kinds: Vec<_> = objects.iter().map(|object| object.kind.as_str()).collect();
    assert_eq!(kinds[..3], ["CustomResourceDefinition", "Namespace", "ServiceAccount"]);
    let deployment = objects.iter().find(|object| object.kind == "Deployment").unwrap();
    assert_eq!(deployment.body["spec"]["replicas"], 2);
    let pod = &deployment.body["spec"]["template"]["spec"];
    assert_eq!(pod["hostNetwork"], true);
    assert_eq!(pod["securityContext"]["runAsNonRoot"], true);
    assert_eq!(pod["containers"][0]["securityContext"]["capabilities"]["drop"], json!(["ALL"]));
    assert_eq!(pod["containers"][0]["args"], json!(["operator", "run"]));
}

#[test]
fn the_operator_holds_every_right_that_it_grants() {
    let own = granted(&serde_json::to_value(role()).unwrap()["rules"]);
    for (platform, manager) in PLATFORMS {
        let spec = spec(platform, manager, &json!({}));
        for mode in ManagerMode::ALL {
            let Ok(objects) = plain(&spec, "cloud", mode, &facts()) else { continue };
            for object in objects.iter().filter(|object| object.kind.ends_with("Role")) {
                let missing: Vec<_> = granted(&object.body["rules"]).difference(&own).cloned().collect();
                assert!(missing.is_empty(), "{platform} {object}: {missing:?}");
            }
        }
    }
}

#[test]
fn the_operator_has_no_wildcard_and_cannot_raise_its_rights() {
    for right in rights() {
        assert!(!right.why.is_empty());
        for word in right.verbs.iter().chain(right.resources) {
            assert!(!["*", "escalate", "bind", "impersonate"].contains(word), "{right:?}");
        }
    }
}

#[test]
fn every_kind_that_is_applied_may_be_kept() {
    let own = granted(&serde_json::to_value(role()).unwrap()["rules"]);
    for (platform, manager) in PLATFORMS {
        for object in plain(
            &spec(platform, manager, &json!({ "namespace": "n" })),
            "cloud",
            ManagerMode::Full,
            &facts(),
        )
        .unwrap()
        {
            let plural = match object.kind.to_lowercase() {
                kind if kind.ends_with('y') => format!("{}ies", kind.trim_end_matches('y')),
                kind => format!("{kind}s"),
            };
            for verb in ["get", "create", "patch"] {
                let right = (object.group().to_owned(), plural.clone(), verb.to_owned());
                assert!(own.contains(&right), "{right:?}");
            }
        }
    }
}
