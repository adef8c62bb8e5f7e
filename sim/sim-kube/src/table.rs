//! Tables for people (`kubectl get`): columns and cells as the real server shows them.

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::object::{self, at, text};
use crate::resource::Resource;
use crate::shape::{RowObject, partial};

mod columns;
mod core_kinds;
mod custom;
mod workloads;

use columns::{Column, column};

/// The table of some objects; `meta` is its list metadata.
pub(crate) fn table(
    resource: &Resource,
    meta: &Value,
    objects: &[Value],
    row_object: RowObject,
    now: Timestamp,
) -> Value {
    let columns = columns(resource);
    let definitions: Vec<Value> = columns.iter().map(Column::definition).collect();
    let rows: Vec<Value> = objects
        .iter()
        .map(|object| {
            let cells: Vec<Value> = cells(resource, object, now);
            let mut row = json!({"cells": cells});
            let shown = match row_object {
                RowObject::Metadata => partial(object),
                RowObject::Whole => object.clone(),
                RowObject::Nothing => Value::Null,
            };
            object::map_of(&mut row).insert("object".into(), shown);
            row
        })
        .collect();
    json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": meta,
        "columnDefinitions": definitions, "rows": rows,
    })
}

fn columns(resource: &Resource) -> Vec<Column> {
    if !resource.builtin {
        return custom::columns(resource);
    }
    core_kinds::columns(resource)
        .or_else(|| workloads::columns(resource))
        .unwrap_or_else(|| vec![column("Name"), column("Age")])
}

fn cells(resource: &Resource, object: &Value, now: Timestamp) -> Vec<Value> {
    if !resource.builtin {
        return custom::cells(resource, object, now);
    }
    core_kinds::cells(resource, object, now)
        .or_else(|| workloads::cells(resource, object, now))
        .unwrap_or_else(|| vec![json!(object::name(object)), age(object, now)])
}

/// How long ago the object was created.
fn age(object: &Value, now: Timestamp) -> Value {
    json!(since(text(object, &["metadata", "creationTimestamp"]), now))
}

/// How long ago a moment was, or `<unknown>`.
fn since(moment: &str, now: Timestamp) -> String {
    match moment.parse::<Timestamp>() {
        Ok(then) => human(now.as_second() - then.as_second()),
        Err(_) => "<unknown>".into(),
    }
}

/// A duration as people read it: finer units while it is short.
fn human(seconds: i64) -> String {
    let (minutes, hours) = (seconds / 60, seconds / 3_600);
    let both = |big: i64, big_unit: &str, small: i64, small_unit: &str| {
        if small == 0 { format!("{big}{big_unit}") } else { format!("{big}{big_unit}{small}{small_unit}") }
    };
    match seconds {
        ..-1 => "<invalid>".into(),
        -1..0 => "0s".into(),
        0..120 => format!("{seconds}s"),
        120..600 => both(minutes, "m", seconds % 60, "s"),
        600..10_800 => format!("{minutes}m"),
        10_800..28_800 => both(hours, "h", minutes % 60, "m"),
        28_800..172_800 => format!("{hours}h"),
        172_800..691_200 => both(hours / 24, "d", hours % 24, "h"),
        691_200..63_072_000 => format!("{}d", hours / 24),
        63_072_000..252_288_000 => both(hours / 24 / 365, "y", hours / 24 % 365, "d"),
        _ => format!("{}y", hours / 24 / 365),
    }
}

/// The labels at a path as `a=b,c=d`, or `<none>`.
fn label_text(object: &Value, path: &[&str]) -> String {
    let pairs: Vec<String> = at(object, path)
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    or_none(&pairs.join(","))
}

fn or_none(text: &str) -> String {
    if text.is_empty() { "<none>".into() } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::human;

    #[test]
    fn ages_lose_precision_as_they_grow() {
        let shown: Vec<String> =
            [5, 119, 150, 599, 3_599, 10_860, 40_000, 180_000, 800_000, 70_000_000].map(human).to_vec();
        assert_eq!(shown, ["5s", "119s", "2m30s", "9m59s", "59m", "3h1m", "11h", "2d2h", "9d", "2y80d"]);
    }
}
