//! Rows of custom resources, from `additionalPrinterColumns`.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::columns::{Column, column};
use super::{age, since};
use crate::object::{name, text};
use crate::resource::Resource;

pub(super) fn columns(resource: &Resource) -> Vec<Column> {
    let mut columns = vec![column("Name")];
    if resource.columns.is_empty() {
        columns.push(column("Age").of("date"));
    }
    columns.extend(resource.columns.iter().map(|definition| {
        let own = column(text(definition, &["name"])).of(text(definition, &["type"]));
        let priority = definition.get("priority").and_then(Value::as_i64).unwrap_or(0);
        if priority > 0 { own.wide() } else { own }
    }));
    columns
}

pub(super) fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    let mut cells = vec![json!(name(object))];
    if resource.columns.is_empty() {
        cells.push(age(object, now));
    }
    cells.extend(resource.columns.iter().map(|definition| {
        let found = lookup(object, text(definition, &["jsonPath"]));
        match (text(definition, &["type"]), found) {
            ("date", Some(moment)) => json!(since(moment.as_str().unwrap_or_default(), now)),
            (_, Some(value)) => value.clone(),
            (_, None) => Value::Null,
        }
    }));
    cells
}

/// The value at a simple JSONPath: keys, indexes, and `[?(@.key=="value")]`.
fn lookup<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let mut rest = path;
    let mut found = object;
    while !rest.is_empty() {
        if let Some(after) = rest.strip_prefix("[?(@.") {
            let (condition, after) = after.split_once(")]")?;
            let (key, wanted) = condition.split_once("==")?;
            let wanted = wanted.trim().trim_matches(['"', '\'']);
            found = found.as_array()?.iter().find(|item| text(item, &[key.trim()]) == wanted)?;
            rest = after;
        } else if let Some(after) = rest.strip_prefix('[') {
            let (index, after) = after.split_once(']')?;
            found = match index.parse::<usize>() {
                Ok(index) => found.get(index)?,
                Err(_) => found.get(index.trim_matches(['"', '\'']))?,
            };
            rest = after;
        } else {
            let after = rest.strip_prefix('.').unwrap_or(rest);
            let end = escaped_end(after);
            let (key, after) = after.split_at(end);
            found = found.get(key.replace("\\.", "."))?;
            rest = after;
        }
    }
    Some(found)
}

/// Where a key ends: at the next unescaped dot or bracket.
fn escaped_end(path: &str) -> usize {
    let mut escaped = false;
    for (index, sign) in path.char_indices() {
        if (sign == '.' && !escaped) || sign == '[' {
            return index;
        }
        escaped = sign == '\\';
    }
    path.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_reach_conditions_by_their_type() {
        let object = json!({"status": {"conditions": [{"type": "A", "status": "False"}, {"type": "Ready", "status": "True"}]},
            "metadata": {"labels": {"a.b/c": "d"}}});
        assert_eq!(lookup(&object, ".status.conditions[?(@.type==\"Ready\")].status"), Some(&json!("True")));
        assert_eq!(lookup(&object, ".status.conditions[0].type"), Some(&json!("A")));
        assert_eq!(lookup(&object, ".metadata.labels.a\\.b/c"), Some(&json!("d")));
        assert_eq!(lookup(&object, ".spec.none"), None);
    }
}
