//! Events: one store behind two APIs (core and events.k8s.io), and what they must say.

use serde_json::{Map, Value, json};

use crate::object::{self, map_of, text};
use crate::status::FieldError;
use crate::verbs::qualified_name_faults;

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

/// What every event must be like; `controller` is how the request's API names the field of who reports.
pub(super) fn validate(event: &Value, controller: &'static str) -> Vec<FieldError> {
    let (namespace, involved) = (object::namespace(event), text(event, &["involvedObject", "namespace"]));
    let is_new = is_set(event, "eventTime");
    // Events about objects without a namespace live in `default`, those of the new style in `kube-system` too.
    let wrong = match (is_new, involved.is_empty()) {
        (false, true) => namespace != "default",
        (false, false) => involved != namespace,
        (true, true) => !matches!(namespace, "default" | "kube-system"),
        (true, false) => false,
    };
    let mut errors = Vec::new();
    if wrong {
        let why = "does not match event.namespace";
        errors.push(FieldError::invalid("involvedObject.namespace", involved, why));
    }
    if is_new {
        errors.extend(of_new_style(event, controller));
    }
    errors
}

fn of_new_style(event: &Value, controller: &'static str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let reporter = text(event, &["reportingComponent"]);
    if reporter.is_empty() {
        errors.push(FieldError::required(controller, ""));
    }
    errors.extend(
        qualified_name_faults(reporter).into_iter().map(|why| FieldError::invalid(controller, reporter, why)),
    );
    for (key, limit, needed) in [
        ("reportingInstance", 128, true),
        ("action", 128, true),
        ("reason", 128, true),
        ("message", 1_024, false),
    ] {
        let found = text(event, &[key]);
        if found.is_empty() && needed {
            errors.push(FieldError::required(key, ""));
        } else if found.len() > limit {
            errors.push(FieldError::invalid(key, "", format!("can have at most {limit} characters")));
        }
    }
    errors
}

/// What events.k8s.io demands of a new event besides.
pub(super) fn validate_strictly(event: &Value) -> Vec<FieldError> {
    let mut errors = validate(event, "reportingController");
    if let Some(series) = object::at(event, &["series"]) {
        if series.get("count").and_then(Value::as_i64).unwrap_or_default() < 2 {
            errors.push(FieldError::invalid("series.count", "", "should be at least 2"));
        }
        if !is_set(series, "lastObservedTime") {
            errors.push(FieldError::required("series.lastObservedTime", ""));
        }
    }
    if !is_set(event, "eventTime") {
        errors.push(FieldError::required("eventTime", ""));
    }
    let kind = text(event, &["type"]);
    if !matches!(kind, "Normal" | "Warning") {
        errors.push(FieldError::invalid("type", "", format!("has invalid value: {kind}")));
    }
    let source = ["component", "host"].iter().any(|key| !text(event, &["source", key]).is_empty());
    let count = event.get("count").and_then(Value::as_i64).unwrap_or_default() != 0;
    for (key, set) in [
        ("firstTimestamp", is_set(event, "firstTimestamp")),
        ("lastTimestamp", is_set(event, "lastTimestamp")),
        ("count", count),
        ("source", source),
    ] {
        if set {
            errors.push(FieldError::invalid(key, "", "needs to be unset"));
        }
    }
    errors
}

fn is_set(value: &Value, key: &str) -> bool {
    object::at(value, &[key]).is_some()
}
