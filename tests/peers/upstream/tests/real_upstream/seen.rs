//! What can be seen of one side at one moment, flattened: a subject ("node plain: taints") and a text for each.
//!
//! What must differ between two clusters (UIDs, times, node ports) is left out or named; everything else is kept.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Event, Node, Service};
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Value, json};

/// Subject and text.
pub(crate) type Seen = BTreeMap<String, String>;

/// What is behind a UID: "Node plain".
pub(crate) type Uids = BTreeMap<String, String>;

/// All Nodes and Services.
pub(crate) async fn look(client: &Client, uids: &mut Uids) -> anyhow::Result<Seen> {
    let mut seen = Seen::new();
    for node in Api::<Node>::all(client.clone()).list(&ListParams::default()).await? {
        see_node(&serde_json::to_value(node)?, &mut seen, uids);
    }
    for service in Api::<Service>::all(client.clone()).list(&ListParams::default()).await? {
        let service = serde_json::to_value(service)?;
        if service["metadata"]["name"] != "kubernetes" {
            see_service(&service, &mut seen, uids);
        }
    }
    Ok(seen)
}

fn see_node(node: &Value, seen: &mut Seen, uids: &mut Uids) {
    let name = text(&node["metadata"]["name"]);
    uids.insert(text(&node["metadata"]["uid"]), format!("Node {name}"));
    let mut note = |what: &str, value: &Value| seen.insert(format!("node {name}: {what}"), plain(value));
    note("exists", &json!(true));
    note("labels", &node["metadata"]["labels"]);
    note("annotations", &node["metadata"]["annotations"]);
    note("taints", &node["spec"]["taints"]);
    note("provider ID", &node["spec"]["providerID"]);
    note("pod CIDRs", &node["spec"]["podCIDRs"]);
    note("addresses", &node["status"]["addresses"]);
    note("conditions", &without_times(&node["status"]["conditions"]));
}

fn see_service(service: &Value, seen: &mut Seen, uids: &mut Uids) {
    let name = text(&service["metadata"]["name"]);
    uids.insert(text(&service["metadata"]["uid"]), format!("Service {name}"));
    let mut note = |what: &str, value: &Value| seen.insert(format!("service {name}: {what}"), plain(value));
    note("exists", &json!(true));
    note("type", &service["spec"]["type"]);
    note("finalizers", &service["metadata"]["finalizers"]);
    note("annotations", &service["metadata"]["annotations"]);
    note("labels", &service["metadata"]["labels"]);
    note("load balancer", &service["status"]["loadBalancer"]);
    note("conditions", &without_times(&service["status"]["conditions"]));
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

/// Nothing and an empty list or map are the same to every reader.
fn plain(value: &Value) -> String {
    match value {
        Value::Null => "-".to_owned(),
        Value::Array(items) if items.is_empty() => "-".to_owned(),
        Value::Object(fields) if fields.is_empty() => "-".to_owned(),
        value => value.to_string(),
    }
}

fn without_times(conditions: &Value) -> Value {
    let mut conditions = conditions.clone();
    for condition in conditions.as_array_mut().into_iter().flatten() {
        for time in ["lastHeartbeatTime", "lastTransitionTime"] {
            if let Some(fields) = condition.as_object_mut() {
                fields.remove(time);
            }
        }
    }
    conditions
}

/// All events of the managers, with how often each was told.
pub(crate) async fn events(client: &Client, uids: &Uids) -> anyhow::Result<BTreeMap<String, i32>> {
    let mut told = BTreeMap::new();
    for event in Api::<Event>::all(client.clone()).list(&ListParams::default()).await? {
        // The API server tells that it repairs the addresses of its own Service, if it comes to look before it has noted them.
        if event
            .reporting_component
            .as_deref()
            .is_some_and(|name| name.ends_with("allocator-repair-controller"))
        {
            continue;
        }
        let count = event.count.unwrap_or(1);
        *told.entry(describe(&serde_json::to_value(event)?, uids)).or_default() += count;
    }
    Ok(told)
}

fn describe(event: &Value, uids: &Uids) -> String {
    let about = &event["involvedObject"];
    let uid = text(&about["uid"]);
    let behind = uids.get(&uid).cloned().unwrap_or_else(|| format!("unknown UID {uid:?}"));
    let mut message = text(&event["message"]);
    for (uid, name) in uids {
        // The default name of a load balancer is made from the UID.
        let balancer: String = format!("a{}", uid.replace('-', "")).chars().take(32).collect();
        message = message.replace(uid, &format!("<UID of {name}>"));
        message = message.replace(&balancer, &format!("<load balancer of {name}>"));
    }
    format!(
        "{} {} {} on {} {} {} ({behind}) in {}: {}",
        text(&event["source"]["component"]),
        text(&event["type"]),
        text(&event["reason"]),
        text(&about["apiVersion"]),
        text(&about["kind"]),
        text(&about["name"]),
        text(&event["metadata"]["namespace"]),
        without_duration(message.trim_start_matches("(combined from similar events): ")),
    )
}

/// How long something took is different each time: the word after "after" if it is a duration.
fn without_duration(message: &str) -> String {
    let mut words: Vec<&str> = message.split(' ').collect();
    for at in 1..words.len() {
        if words[at - 1] == "after" && words[at].starts_with(|c: char| c.is_ascii_digit()) {
            words[at] = "<time>:";
        }
    }
    words.join(" ")
}
