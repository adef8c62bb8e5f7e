//! Events: one store behind two APIs (core and events.k8s.io), and the rule about namespaces.

use serde_json::{Map, Value, json};

use crate::object::{self, map_of, text};
use crate::status::FieldError;

/// Names of the same thing in core and in events.k8s.io.
const PAIRS: &[(&str, &str)] = &[
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
    ("reportingComponent", "reportingController"),
];

/// Turns a stored event into the form of events.k8s.io.
pub(crate) fn to_events_api(event: &mut Value) {
    let map = map_of(event);
    PAIRS.iter().for_each(|(core, other)| rename(map, core, other));
    for key in ["reportingController", "reportingInstance"] {
        if map.get(key) == Some(&json!("")) {
            map.remove(key); // this API leaves them out when they are empty
        }
    }
}

/// Turns an event of events.k8s.io into the stored form.
pub(crate) fn to_core_api(event: &mut Value) {
    let map = map_of(event);
    PAIRS.iter().for_each(|(core, other)| rename(map, other, core));
    map.insert("apiVersion".into(), json!("v1"));
    for (key, empty) in [
        ("source", json!({})),
        ("reportingComponent", json!("")),
        ("reportingInstance", json!("")),
        ("involvedObject", json!({})),
    ] {
        map.entry(key).or_insert(empty);
    }
}

fn rename(map: &mut Map<String, Value>, from: &str, to: &str) {
    if let Some(value) = map.remove(from) {
        map.insert(to.into(), value);
    }
}

/// The event lives where its object lives; those of cluster-scoped objects live in `default`.
pub(super) fn validate(event: &Value) -> Vec<FieldError> {
    let namespace = object::namespace(event);
    let involved = text(event, &["involvedObject", "namespace"]);
    let wrong = if involved.is_empty() {
        !matches!(namespace, "default" | "kube-system")
    } else {
        involved != namespace
    };
    if !wrong {
        return Vec::new();
    }
    vec![FieldError::invalid("involvedObject.namespace", involved, "does not match event.namespace")]
}
