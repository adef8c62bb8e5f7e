//! Rows of pods and of the kinds that make pods.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::columns::{Column, column};
use super::{age, label_text, or_none};
use crate::object::{at, is_deleting, list, name, text};
use crate::resource::Resource;

pub(super) fn columns(resource: &Resource) -> Option<Vec<Column>> {
    let wide = |names: &[&str]| names.iter().map(|name| column(name).wide()).collect::<Vec<_>>();
    let mut all: Vec<Column> = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => {
            let mut all: Vec<Column> = ["Name", "Ready", "Status", "Restarts", "Age"].map(column).to_vec();
            all.extend(wide(&["IP", "Node", "Nominated Node", "Readiness Gates"]));
            return Some(all);
        }
        ("apps", "deployments") => ["Name", "Ready", "Up-to-date", "Available", "Age"].map(column).to_vec(),
        ("apps", "daemonsets") => {
            let mut all = vec![column("Name")];
            all.extend(
                ["Desired", "Current", "Ready", "Up-to-date", "Available"]
                    .map(|name| column(name).of("integer")),
            );
            all.extend([column("Node Selector"), column("Age")]);
            all
        }
        ("apps", "replicasets") => {
            let mut all = vec![column("Name")];
            all.extend(["Desired", "Current", "Ready"].map(|name| column(name).of("integer")));
            all.push(column("Age"));
            all
        }
        ("apps", "statefulsets") => {
            let mut all = ["Name", "Ready", "Age"].map(column).to_vec();
            all.extend(wide(&["Containers", "Images"]));
            return Some(all);
        }
        _ => return None,
    };
    all.extend(wide(&["Containers", "Images", "Selector"]));
    Some(all)
}

pub(super) fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let number = |part, key| at(object, &[part, key]).and_then(Value::as_i64).unwrap_or(0);
    let own = json!(name(object));
    let ready = || json!(format!("{}/{}", number("status", "readyReplicas"), number("spec", "replicas")));
    let mut cells = match (resource.group.as_str(), resource.plural.as_str()) {
        ("", "pods") => return Some(pod(object, now)),
        ("apps", "deployments") => vec![
            own,
            ready(),
            json!(number("status", "updatedReplicas").to_string()),
            json!(number("status", "availableReplicas").to_string()),
            age(object, now),
        ],
        ("apps", "daemonsets") => vec![
            own,
            json!(number("status", "desiredNumberScheduled")),
            json!(number("status", "currentNumberScheduled")),
            json!(number("status", "numberReady")),
            json!(number("status", "updatedNumberScheduled")),
            json!(number("status", "numberAvailable")),
            json!(label_text(object, &["spec", "template", "spec", "nodeSelector"])),
            age(object, now),
        ],
        ("apps", "replicasets") => vec![
            own,
            json!(number("spec", "replicas")),
            json!(number("status", "replicas")),
            json!(number("status", "readyReplicas")),
            age(object, now),
        ],
        ("apps", "statefulsets") => vec![own, ready(), age(object, now)],
        _ => return None,
    };
    let containers = list(object, &["spec", "template", "spec", "containers"]);
    let joined = |key| json!(containers.iter().map(|one| text(one, &[key])).collect::<Vec<_>>().join(","));
    cells.extend([joined("name"), joined("image")]);
    if resource.plural != "statefulsets" {
        cells.push(json!(label_text(object, &["spec", "selector", "matchLabels"])));
    }
    Some(cells)
}

fn pod(pod: &Value, now: Timestamp) -> Vec<Value> {
    let statuses = list(pod, &["status", "containerStatuses"]);
    let ready = statuses.iter().filter(|one| one.get("ready") == Some(&json!(true))).count();
    let restarts: i64 =
        statuses.iter().filter_map(|one| one.get("restartCount").and_then(Value::as_i64)).sum();
    let total = list(pod, &["spec", "containers"]).len();
    let status = match (is_deleting(pod), text(pod, &["status", "reason"])) {
        (true, _) => "Terminating",
        (false, "") => text(pod, &["status", "phase"]),
        (false, reason) => reason,
    };
    vec![
        json!(name(pod)),
        json!(format!("{ready}/{total}")),
        json!(status),
        json!(restarts.to_string()),
        age(pod, now),
        json!(or_none(text(pod, &["status", "podIP"]))),
        json!(or_none(text(pod, &["spec", "nodeName"]))),
        json!(or_none(text(pod, &["status", "nominatedNodeName"]))),
        json!("<none>"),
    ]
}
