//! `values.yaml`: the defaults, each with a comment.

use serde_json::Value;

use super::Row;
use super::rows::{GROUPS, ROWS};
use crate::{PackagingError, yaml};

/// No comment is wider than this.
const WIDTH: usize = 118;

/// The text of `values.yaml`.
///
/// # Errors
///
/// If a default in the table is no JSON, or has no YAML.
pub fn values() -> Result<String, PackagingError> {
    let mut text = "# Generated from tests/packaging/deploy/src/chart/rows.rs by `cargo xtask gen`. Do not edit.\n\
                    # Every value is checked against values.schema.json; what the values of OCCM's chart become: README.md.\n"
        .to_owned();
    let mut open = "";
    for row in ordered() {
        let (group, name) = row.path.split_once('.').map_or(("", row.path), |(group, name)| (group, name));
        if group != open || group.is_empty() {
            text.push('\n');
        }
        if group != open && !group.is_empty() {
            let doc = GROUPS.iter().find(|(path, _)| *path == group).map_or("", |(_, doc)| doc);
            text.push_str(&comment("", doc));
            text.push_str(&format!("{group}:\n"));
        }
        open = group;
        let indent = if group.is_empty() { "" } else { "  " };
        text.push_str(&comment(indent, row.doc));
        text.push_str(&entry(indent, name, &default(row)?)?);
    }
    Ok(text)
}

/// The rows with those of one group together, in the order of the first of them.
fn ordered() -> Vec<&'static Row> {
    let group = |row: &Row| row.path.split_once('.').map_or(row.path, |(group, _)| group);
    let mut groups: Vec<&str> = Vec::new();
    for row in ROWS {
        if !groups.contains(&group(row)) {
            groups.push(group(row));
        }
    }
    groups.iter().flat_map(|wanted| ROWS.iter().filter(move |row| group(row) == *wanted)).collect()
}

/// A row's default.
pub(super) fn default(row: &Row) -> Result<Value, PackagingError> {
    serde_json::from_str(row.default)
        .map_err(|error| PackagingError::Json { what: format!("the default of {}", row.path), error })
}

fn entry(indent: &str, name: &str, value: &Value) -> Result<String, PackagingError> {
    let is_long = match value {
        Value::Array(items) => !items.is_empty(),
        Value::Object(fields) => !fields.is_empty(),
        _ => false,
    };
    if !is_long {
        return Ok(format!("{indent}{name}: {value}\n"));
    }
    let lines = yaml(name, value)?;
    let lines = lines.lines().map(|line| format!("{indent}  {line}\n")).collect::<String>();
    Ok(format!("{indent}{name}:\n{lines}"))
}

/// A comment of as many lines as it takes.
fn comment(indent: &str, text: &str) -> String {
    let mut lines = vec![format!("{indent}#")];
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= WIDTH => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(format!("{indent}# {word}")),
        }
    }
    lines.into_iter().map(|line| line + "\n").collect()
}
