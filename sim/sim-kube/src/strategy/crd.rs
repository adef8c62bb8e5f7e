//! CustomResourceDefinitions: names, conditions, and when they are served.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{self, list, map_at, text};
use crate::resource::{BucketKey, Resource};
use crate::status::FieldError;
use crate::verbs::seconds;

/// What holds a definition until its objects are gone.
pub(crate) const CLEANUP: &str = "customresourcecleanup.apiextensions.k8s.io";

pub(crate) fn is_definition(resource: &Resource) -> bool {
    resource.is("apiextensions.k8s.io", "customresourcedefinitions")
}

/// Where a definition's objects are kept.
pub(crate) fn bucket(crd: &Value) -> BucketKey {
    let (group, plural) = (text(crd, &["spec", "group"]), text(crd, &["spec", "names", "plural"]));
    (group.to_owned(), plural.to_owned())
}

pub(super) fn default_new(object: &mut Value) {
    default_change(object);
}

pub(super) fn default_change(object: &mut Value) {
    let kind = text(object, &["spec", "names", "kind"]).to_owned();
    let names = map_at(object, &["spec", "names"]);
    names.entry("singular").or_insert_with(|| json!(kind.to_lowercase()));
    names.entry("listKind").or_insert_with(|| json!(format!("{kind}List")));
    map_at(object, &["spec"]).entry("conversion").or_insert_with(|| json!({"strategy": "None"}));
}

pub(super) fn validate(object: &Value) -> Vec<FieldError> {
    let (group, plural) = (text(object, &["spec", "group"]), text(object, &["spec", "names", "plural"]));
    let mut errors = Vec::new();
    let wanted = format!("{plural}.{group}");
    let name = object::name(object);
    if name != wanted {
        errors.push(FieldError::invalid("metadata.name", name, "must be spec.names.plural+\".\"+spec.group"));
    }
    if list(object, &["spec", "versions"]).is_empty() {
        errors.push(FieldError::required("spec.versions", "must have at least one version"));
    }
    let storage = list(object, &["spec", "versions"])
        .iter()
        .filter(|version| version.get("storage") == Some(&json!(true)))
        .count();
    if storage != 1 {
        let why = "must have exactly one version marked as storage version";
        errors.push(FieldError::invalid("spec.versions", json!([]), why));
    }
    errors
}

/// Notes in the status that the definition is on its way out.
pub(crate) fn end(crd: &mut Value, now: &str) {
    let mut conditions = list(crd, &["status", "conditions"]).to_vec();
    conditions.push(json!({
        "type": "Terminating", "status": "True", "reason": "InstanceDeletionPending", "lastTransitionTime": now,
        "message": "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
    }));
    map_at(crd, &["status"]).insert("conditions".into(), json!(conditions));
}

/// The definition with the status of one that is served, or `None` when it says so already.
pub(crate) fn established(crd: &Value, now: Timestamp) -> Option<Value> {
    let done = list(crd, &["status", "conditions"]).iter().any(|condition| {
        text(condition, &["type"]) == "Established" && text(condition, &["status"]) == "True"
    });
    let accepted = object::at(crd, &["status", "acceptedNames"]);
    let names = object::at(crd, &["spec", "names"]).cloned().unwrap_or_else(|| json!({}));
    if done && accepted == Some(&names) {
        return None;
    }
    let time = seconds(now);
    let condition = |kind: &str, reason: &str, message: &str| json!({"type": kind, "status": "True", "reason": reason, "message": message, "lastTransitionTime": time});
    let storage: Vec<&str> = list(crd, &["spec", "versions"])
        .iter()
        .filter(|version| version.get("storage") == Some(&json!(true)))
        .map(|version| text(version, &["name"]))
        .collect();
    let mut object = crd.clone();
    object::map_of(&mut object).insert(
        "status".into(),
        json!({
            "acceptedNames": names,
            "conditions": [
                condition("NamesAccepted", "NoConflicts", "no conflicts found"),
                condition("Established", "InitialNamesAccepted", "the initial names have been accepted"),
            ],
            "storedVersions": storage,
        }),
    );
    Some(object)
}
