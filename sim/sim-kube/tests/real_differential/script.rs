//! The requests, as tables: text files whose blocks are one request each.
//!
//! A block is separated by an empty line from the next:
//!
//! ```text
//! # what it is about @label           the label keeps the answer for later blocks
//! PATCH-MERGE /api/v1/nodes/a         or any HTTP method
//! Header: value                       as many as wanted
//! {"metadata": {}}                    the body, up to the empty line
//! ```
//!
//! `<label:/json/pointer>` anywhere is replaced by that part of the kept answer, and a body `<label> + {…}` is the kept
//! answer with a merge patch laid over it.

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use serde_json::Value;

/// One request of a script.
#[derive(Clone, Debug)]
pub(crate) struct Step {
    pub(crate) title: String,
    pub(crate) label: Option<String>,
    pub(crate) method: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    pub(crate) body: String,
}

/// What a server has answered to labelled steps.
pub(crate) type Kept = BTreeMap<String, Value>;

/// Reads a script.
pub(crate) fn parse(text: &str) -> anyhow::Result<Vec<Step>> {
    let blocks = text.split("\n\n").map(str::trim).filter(|block| !block.is_empty());
    blocks.map(|block| step(block).with_context(|| format!("in the block\n{block}"))).collect()
}

fn step(block: &str) -> anyhow::Result<Step> {
    let mut lines = block.lines().peekable();
    let title = lines.next().and_then(|line| line.strip_prefix("# ")).context("no title")?;
    let (title, label) = match title.rsplit_once(" @") {
        Some((title, label)) => (title, Some(label.to_owned())),
        None => (title, None),
    };
    let request = lines.next().context("no request line")?;
    let (method, path) = request.split_once(' ').context("no path")?;
    let (method, content_type) = content_type_of(method);
    let mut headers = vec![("User-Agent".to_owned(), "differential/1.0 (test)".to_owned())];
    while let Some((name, value)) = lines.peek().and_then(|line| header(line)) {
        headers.push((name.to_owned(), value.to_owned()));
        lines.next();
    }
    let body: Vec<&str> = lines.collect();
    let body = body.join("\n");
    let has = |name: &str| headers.iter().any(|(other, _)| other.eq_ignore_ascii_case(name));
    if let (Some(content_type), false) = (content_type, has("content-type") || body.is_empty()) {
        headers.push(("Content-Type".to_owned(), content_type.to_owned()));
    }
    Ok(Step {
        title: title.to_owned(),
        label,
        method: method.to_owned(),
        path: path.to_owned(),
        headers,
        body,
    })
}

/// `Name: value`; bodies begin with a bracket, a quote or an angle.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(": ")?;
    let plain = name.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-');
    (plain && name.starts_with(|letter: char| letter.is_ascii_uppercase())).then_some((name, value))
}

fn content_type_of(method: &str) -> (&str, Option<&'static str>) {
    match method {
        "PATCH-JSON" => ("PATCH", Some("application/json-patch+json")),
        "PATCH-MERGE" => ("PATCH", Some("application/merge-patch+json")),
        "PATCH-STRATEGIC" => ("PATCH", Some("application/strategic-merge-patch+json")),
        "APPLY" => ("PATCH", Some("application/apply-patch+yaml")),
        other => (other, Some("application/json")),
    }
}

impl Step {
    /// The step as one server is asked, with what that server answered before.
    pub(crate) fn for_server(&self, kept: &Kept) -> anyhow::Result<Self> {
        let mut step = self.clone();
        step.path = filled(&self.path, kept)?;
        step.body = match self.body.split_once("> + ") {
            Some((label, patch)) if label.starts_with('<') && !label.contains(':') => {
                let mut value = kept_value(kept, &label[1..])?.clone();
                json_patch::merge(&mut value, &serde_json::from_str(&filled(patch, kept)?)?);
                value.to_string()
            }
            _ => filled(&self.body, kept)?,
        };
        Ok(step)
    }
}

fn kept_value<'a>(kept: &'a Kept, label: &str) -> anyhow::Result<&'a Value> {
    kept.get(label).with_context(|| format!("nothing was kept as {label:?}"))
}

/// Replaces each `<label:/pointer>`.
fn filled(text: &str, kept: &Kept) -> anyhow::Result<String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let reference = after.split_once('>').and_then(|(inner, tail)| Some((inner.split_once(":/")?, tail)));
        result.push_str(before);
        match reference {
            Some(((label, pointer), tail)) => {
                match kept_value(kept, label)?.pointer(&format!("/{pointer}")) {
                    Some(Value::String(text)) => result.push_str(text),
                    Some(other) => result.push_str(&other.to_string()),
                    None => bail!("what was kept as {label:?} has no /{pointer}"),
                }
                rest = tail;
            }
            None => {
                result.push('<');
                rest = after;
            }
        }
    }
    result.push_str(rest);
    Ok(result)
}
