//! Scripts of requests that two servers get, whose answers are compared: text files whose blocks are one request each.
//!
//! A block is separated by an empty line from the next:
//!
//! ```text
//! # what it is about @label           the label keeps the answer for later blocks
//! POST /api/v1/nodes                  the request, in the words of the suite
//! Header: value                       as many as wanted
//! {"metadata": {}}                    the body, up to the empty line
//! ```
//!
//! `<label:/json/pointer>` is replaced by that part of the answer that was kept ([`filled`]).

use std::collections::BTreeMap;

use anyhow::{Context, bail};
use serde_json::Value;

/// What a server has answered to labelled blocks.
pub type Kept = BTreeMap<String, Value>;

/// One block of a script, whose request line and headers have the meaning that its suite gives them.
#[derive(Clone, Debug)]
pub struct Block<'a> {
    /// What it is about.
    pub title: &'a str,
    /// The name under which the answer is kept.
    pub label: Option<&'a str>,
    /// The line behind the title.
    pub request: &'a str,
    /// Names and values.
    pub headers: Vec<(&'a str, &'a str)>,
    /// All lines behind the headers.
    pub body: String,
}

/// Reads a script. Each block becomes a step of the suite.
///
/// # Errors
/// With the block that is none, or of which `step` makes none.
pub fn parse<'a, S>(text: &'a str, step: impl Fn(Block<'a>) -> anyhow::Result<S>) -> anyhow::Result<Vec<S>> {
    let blocks = text.split("\n\n").map(str::trim).filter(|text| !text.is_empty());
    let steps =
        blocks.map(|text| block(text).and_then(&step).with_context(|| format!("in the block\n{text}")));
    steps.collect()
}

fn block(text: &str) -> anyhow::Result<Block<'_>> {
    let mut lines = text.lines().peekable();
    let title = lines.next().and_then(|line| line.strip_prefix("# ")).context("no title")?;
    let (title, label) = title.rsplit_once(" @").map_or((title, None), |(title, label)| (title, Some(label)));
    let request = lines.next().context("no request line")?;
    let headers =
        std::iter::from_fn(|| lines.next_if(|line| header(line).is_some()).and_then(header)).collect();
    Ok(Block { title, label, request, headers, body: lines.collect::<Vec<_>>().join("\n") })
}

/// `Name: value`; bodies begin with a bracket, a quote or an angle.
fn header(line: &str) -> Option<(&str, &str)> {
    let (name, value) = line.split_once(": ")?;
    let plain = name.chars().all(|letter| letter.is_ascii_alphabetic() || letter == '-');
    (plain && name.starts_with(|letter: char| letter.is_ascii_uppercase())).then_some((name, value))
}

/// The answer that was kept under a label.
///
/// # Errors
/// When none was.
pub fn kept_value<'a>(kept: &'a Kept, label: &str) -> anyhow::Result<&'a Value> {
    kept.get(label).with_context(|| format!("nothing was kept as {label:?}"))
}

/// Replaces each `<label:/pointer>` by that part of the kept answer.
///
/// # Errors
/// When no such answer was kept, or it has no such part.
pub fn filled(text: &str, kept: &Kept) -> anyhow::Result<String> {
    let mut result = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('<') {
        let reference = after.split_once('>').and_then(|(inner, tail)| Some((inner.split_once(":/")?, tail)));
        result.push_str(before);
        let Some(((label, pointer), tail)) = reference else {
            result.push('<');
            rest = after;
            continue;
        };
        let whole = kept_value(kept, label)?;
        match whole.pointer(&format!("/{pointer}")) {
            Some(Value::String(text)) => result.push_str(text),
            Some(other) => result.push_str(&other.to_string()),
            None => bail!("what was kept as {label:?} has no /{pointer}: {whole}"),
        }
        rest = tail;
    }
    result.push_str(rest);
    Ok(result)
}
