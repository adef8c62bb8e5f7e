//! Which metrics and labels an expression uses. Only names: whether the expression makes sense is for promtool to say.

use std::collections::{BTreeMap, BTreeSet};

/// A metric that an expression uses, and the labels that it asks of it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Metric {
    /// Its name.
    pub name: String,
    /// Labels that are compared, or that something is grouped by.
    pub labels: BTreeSet<String>,
}

/// Words that are neither functions nor metrics.
const WORDS: [&str; 11] =
    ["and", "or", "unless", "by", "without", "on", "ignoring", "group_left", "group_right", "bool", "offset"];

/// The metrics of an expression. A label that something is grouped by is asked of all of them but for those that are there for a join only.
#[must_use]
pub fn metrics(expr: &str) -> Vec<Metric> {
    let tokens = tokens(expr);
    let mut found: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    let mut grouped = BTreeSet::new();
    let mut joined = BTreeSet::new();
    let mut is_join = false;
    let mut index = 0;
    while let Some(token) = tokens.get(index) {
        let next = tokens.get(index + 1).map(String::as_str);
        index += 1;
        if !token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            continue;
        }
        if WORDS.contains(&token.as_str()) {
            if next == Some("(") && token != "and" && token != "or" && token != "unless" {
                let labels = list(&tokens, &mut index, ")");
                if token == "by" {
                    grouped.extend(labels);
                }
                is_join |= token == "on";
            }
        } else if ![Some("("), Some("by"), Some("without")].contains(&next) {
            let labels = if next == Some("{") { list(&tokens, &mut index, "}") } else { Vec::new() };
            found.entry(token.clone()).or_default().extend(labels);
            // A join is with the next metric, also where functions are around it.
            if std::mem::take(&mut is_join) {
                joined.insert(token.clone());
            }
        }
    }
    let metric = |(name, mut labels): (String, BTreeSet<String>)| {
        if !joined.contains(&name) {
            labels.extend(grouped.iter().cloned());
        }
        Metric { name, labels }
    };
    found.into_iter().map(metric).collect()
}

/// The names between brackets; `index` is at the opening one and comes behind the closing one.
fn list(tokens: &[String], index: &mut usize, close: &str) -> Vec<String> {
    let mut names = Vec::new();
    *index += 1;
    while let Some(token) = tokens.get(*index) {
        *index += 1;
        if token == close {
            break;
        }
        if token.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
            names.push(token.clone());
        }
    }
    names
}

/// Names and signs. Texts, ranges and numbers are left out.
fn tokens(expr: &str) -> Vec<String> {
    let mut tokens = Vec::new();
    let mut rest = expr.chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '"' => while rest.next().is_some_and(|c| c != '"') {},
            '[' => while rest.next().is_some_and(|c| c != ']') {},
            c if c.is_ascii_alphanumeric() || c == '_' || c == ':' => {
                let mut word = c.to_string();
                while let Some(c) = rest.next_if(|c| c.is_ascii_alphanumeric() || "_:.".contains(*c)) {
                    word.push(c);
                }
                tokens.push(word);
            }
            c if c.is_whitespace() => {}
            c => tokens.push(c.to_string()),
        }
    }
    tokens
}
