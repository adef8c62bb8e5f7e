//! What is in a cloud, with ids, times, addresses and node ports replaced by what they stand for: so that what two managers
//! made for two namesakes can be compared.

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

/// Fields that differ between any two things.
const PASSING: [&str; 11] = [
    "id",
    "created_at",
    "updated_at",
    "revision_number",
    "operating_status",
    "provisioning_status",
    "tenant_id",
    "project_id",
    "mac_address",
    "security_group_id",
    "standard_attr_id",
];

/// Tags that Bowline adds beside those of OCCM.
const OURS: &str = "bowline-";

/// What belongs to the Services of one namespace, by kind and name. `words` are what else is different: texts and what they
/// stand for.
pub(crate) fn of_namespace(
    contents: &Value,
    namespace: &str,
    words: &[(String, String)],
) -> BTreeMap<String, Value> {
    let mut words: Vec<(String, String)> = words.to_vec();
    let rows = |kind: &str| contents[kind].as_array().cloned().unwrap_or_default();
    for kind in ["loadbalancers", "listeners", "pools", "healthmonitors", "security_groups"] {
        for row in rows(kind) {
            words.push((text(&row["id"]), format!("<{kind} {}>", text(&row["name"]))));
        }
    }
    for row in rows("loadbalancers") {
        let name = text(&row["name"]);
        words.push((text(&row["vip_port_id"]), format!("<port of {name}>")));
        words.push((text(&row["vip_address"]), format!("<address of {name}>")));
    }
    for row in rows("floatingips") {
        let what = text(&row["description"]);
        words.push((text(&row["id"]), format!("<floating ip {what}>")));
        words.push((text(&row["floating_ip_address"]), format!("<floating address {what}>")));
    }
    for member in contents["members"]
        .as_object()
        .into_iter()
        .flat_map(Map::values)
        .filter_map(Value::as_array)
        .flatten()
    {
        words.push((text(&member["id"]), format!("<member {}>", text(&member["name"]))));
    }
    words.push((format!("_{namespace}_"), "_<namespace>_".to_owned()));
    words.push((format!("{namespace}/"), "<namespace>/".to_owned()));
    words.push((format!("-{namespace}-"), "-<namespace>-".to_owned()));
    // The longest first: an address may be the beginning of another.
    words.sort_by_key(|(word, _)| std::cmp::Reverse(word.len()));
    let mut found = BTreeMap::new();
    let mut keep = |kind: &str, name: String, row: Value| {
        found.insert(format!("{kind} {}", replaced(&name, &words)), normal(row, &words));
    };
    let ours = |row: &Value, field: &str| text(&row[field]).contains(namespace);
    for kind in ["loadbalancers", "listeners", "pools", "healthmonitors", "security_groups"] {
        for row in rows(kind).into_iter().filter(|row| ours(row, "name")) {
            if kind == "pools" {
                let members = contents["members"][text(&row["id"])].clone();
                keep("members", text(&row["name"]), sorted(&members));
            }
            keep(kind, text(&row["name"]), row);
        }
    }
    for row in rows("floatingips").into_iter().filter(|row| ours(row, "description")) {
        keep("floatingips", text(&row["description"]), row);
    }
    found
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn sorted(list: &Value) -> Value {
    let mut rows = list.as_array().cloned().unwrap_or_default();
    rows.sort_by_key(|row| text(&row["name"]));
    json!(rows)
}

fn normal(value: Value, words: &[(String, String)]) -> Value {
    match value {
        Value::Object(fields) => {
            let kept = fields.into_iter().filter(|(key, _)| !PASSING.contains(&key.as_str()));
            kept.map(|(key, value)| (key, normal(value, words))).collect::<Map<_, _>>().into()
        }
        Value::Array(items) => {
            let own = |item: &Value| item.as_str().is_some_and(|tag| tag.starts_with(OURS));
            let mut items: Vec<Value> =
                items.into_iter().filter(|item| !own(item)).map(|item| whole(item, words)).collect();
            items.sort_by_key(ToString::to_string);
            items.into()
        }
        Value::String(text) => replaced(&text, words).into(),
        Value::Number(number) => {
            let word = words.iter().find(|(word, _)| *word == number.to_string());
            word.map_or(Value::Number(number), |(_, meaning)| meaning.clone().into())
        }
        other => other,
    }
}

/// Of a reference only the id matters, and it is replaced by what it stands for.
fn whole(item: Value, words: &[(String, String)]) -> Value {
    match &item {
        Value::Object(fields) if fields.len() == 1 && fields.contains_key("id") => {
            replaced(&text(&fields["id"]), words).into()
        }
        _ => normal(item, words),
    }
}

fn replaced(text: &str, words: &[(String, String)]) -> String {
    words.iter().filter(|(word, _)| !word.is_empty()).fold(text.to_owned(), |text, (word, meaning)| {
        if text.contains(word.as_str()) { text.replace(word, meaning) } else { text }
    })
}

/// What differs, in words.
pub(crate) fn differences(theirs: &BTreeMap<String, Value>, ours: &BTreeMap<String, Value>) -> Vec<String> {
    let mut found = Vec::new();
    let names: std::collections::BTreeSet<_> = theirs.keys().chain(ours.keys()).collect();
    for name in names {
        match (theirs.get(name), ours.get(name)) {
            (Some(theirs), Some(ours)) => compare(name, theirs, ours, &mut found),
            (theirs, _) => {
                found.push(format!("{name}: only {}", if theirs.is_some() { "OCCM's" } else { "ours" }));
            }
        }
    }
    found
}

fn compare(at: &str, theirs: &Value, ours: &Value, found: &mut Vec<String>) {
    match (theirs, ours) {
        (Value::Object(left), Value::Object(right)) => {
            for key in left.keys().chain(right.keys().filter(|key| !left.contains_key(*key))) {
                compare(&format!("{at}.{key}"), &theirs[key], &ours[key], found);
            }
        }
        (Value::Array(left), Value::Array(right)) if left.len() == right.len() => {
            for (index, (left, right)) in left.iter().zip(right).enumerate() {
                compare(&format!("{at}[{index}]"), left, right, found);
            }
        }
        _ if theirs != ours => found.push(format!("{at}: OCCM {theirs}, ours {ours}")),
        _ => {}
    }
}
