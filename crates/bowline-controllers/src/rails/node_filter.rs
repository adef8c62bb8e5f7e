//! `--node-filter`, the configured part of SR-4: a label selector that says which Nodes this manager handles. Pure.
//!
//! Nodes that it does not select are ignored by the node, lifecycle, route and IPAM controllers: no initialization, taint, label, address,
//! route or pod range, and no deletion. The filter does not affect load balancers: the label
//! `node.kubernetes.io/exclude-from-external-load-balancers` decides which Nodes are members, so a new filter cannot take a backend out of
//! service.
//!
//! The filter is no security boundary: a kubelet may change most labels of its own Node.

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use bowline_cloud::{NodeView, Pairs};

/// The maximum length of the name part of a label key, and of a label value.
const LONGEST_NAME: usize = 63;

/// The maximum length of the prefix of a label key.
const LONGEST_PREFIX: usize = 253;

/// The Nodes that this manager handles. Clones share the parsed selector; the default selects every Node.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NodeFilter(Arc<[Requirement]>);

/// One requirement on the labels of a Node. All requirements must hold.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Requirement {
    Exists(String),
    DoesNotExist(String),
    In(String, BTreeSet<String>),
    NotIn(String, BTreeSet<String>),
}

/// A part of a selector that cannot be parsed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{part:?}: {wanted}")]
pub struct SelectorProblem {
    /// The requirement as it was written.
    pub part: String,
    /// What is wrong with it and what is accepted.
    pub wanted: String,
}

impl NodeFilter {
    /// Parses a Kubernetes label selector: `a=b`, `a==b`, `a!=b`, `a in (x,y)`, `a notin (x,y)`, `a` and `!a`, joined by
    /// commas. Empty text selects every Node.
    ///
    /// # Errors
    ///
    /// Every requirement that cannot be parsed, not only the first.
    pub fn parse(text: &str) -> Result<Self, Vec<SelectorProblem>> {
        if text.trim().is_empty() {
            return Ok(Self::default());
        }
        let (mut requirements, mut problems) = (Vec::new(), Vec::new());
        for part in parts(text) {
            match requirement(part) {
                Ok(requirement) => requirements.push(requirement),
                Err(wanted) => problems.push(SelectorProblem { part: part.to_owned(), wanted }),
            }
        }
        if problems.is_empty() { Ok(Self(requirements.into())) } else { Err(problems) }
    }

    /// Whether every Node is selected, whatever its labels.
    #[must_use]
    pub fn selects_all(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether this manager handles a Node.
    #[must_use]
    pub fn selects(&self, node: &NodeView) -> bool {
        self.0.iter().all(|requirement| requirement.holds(&node.labels))
    }
}

impl Requirement {
    fn holds(&self, labels: &Pairs) -> bool {
        match self {
            Self::Exists(key) => labels.contains_key(key),
            Self::DoesNotExist(key) => !labels.contains_key(key),
            Self::In(key, values) => labels.get(key).is_some_and(|value| values.contains(value)),
            // As in Kubernetes, `notin` and `!=` also match a Node without the label.
            Self::NotIn(key, values) => labels.get(key).is_none_or(|value| !values.contains(value)),
        }
    }
}

impl fmt::Display for NodeFilter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<String> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join(","))
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let list =
            |values: &BTreeSet<String>| values.iter().map(String::as_str).collect::<Vec<_>>().join(",");
        match self {
            Self::Exists(key) => write!(f, "{key}"),
            Self::DoesNotExist(key) => write!(f, "!{key}"),
            Self::In(key, values) if values.len() == 1 => write!(f, "{key}={}", list(values)),
            Self::NotIn(key, values) if values.len() == 1 => write!(f, "{key}!={}", list(values)),
            Self::In(key, values) => write!(f, "{key} in ({})", list(values)),
            Self::NotIn(key, values) => write!(f, "{key} notin ({})", list(values)),
        }
    }
}

/// Splits a selector into requirements: commas in parentheses separate values, all others separate requirements.
fn parts(text: &str) -> Vec<&str> {
    let mut depth = 0_usize;
    let separates = |c: char| {
        match c {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    };
    text.split(separates).map(str::trim).collect()
}

fn requirement(part: &str) -> Result<Requirement, String> {
    if part.is_empty() {
        return Err("a requirement is missing between two commas, or at the beginning or end".to_owned());
    }
    if let Some(key) = part.strip_prefix('!') {
        return Ok(Requirement::DoesNotExist(label_key(key)?));
    }
    if part.contains(['(', ')']) {
        return set_based(part);
    }
    if let Some((key, value)) = part.split_once("!=") {
        return Ok(Requirement::NotIn(label_key(key)?, BTreeSet::from([label_value(value)?])));
    }
    if let Some((key, value)) = part.split_once("==").or_else(|| part.split_once('=')) {
        return Ok(Requirement::In(label_key(key)?, BTreeSet::from([label_value(value)?])));
    }
    Ok(Requirement::Exists(label_key(part)?))
}

fn set_based(part: &str) -> Result<Requirement, String> {
    const WANTED: &str = "use \"key in (value,…)\" or \"key notin (value,…)\"";
    let (head, rest) = part.split_once('(').ok_or(WANTED)?;
    let list = rest.strip_suffix(')').filter(|list| !list.contains(['(', ')'])).ok_or(WANTED)?;
    let mut words = head.split_whitespace();
    let (key, operator) = (words.next().ok_or(WANTED)?, words.next().ok_or(WANTED)?);
    if words.next().is_some() {
        return Err(WANTED.to_owned());
    }
    if list.trim().is_empty() {
        return Err(format!("the list of values is empty; {WANTED}"));
    }
    let key = label_key(key)?;
    let values = list.split(',').map(label_value).collect::<Result<_, _>>()?;
    match operator {
        "in" => Ok(Requirement::In(key, values)),
        "notin" => Ok(Requirement::NotIn(key, values)),
        other => Err(format!("{other:?} is no operator; {WANTED}")),
    }
}

fn label_key(text: &str) -> Result<String, String> {
    let key = text.trim();
    let (prefix, name) = key.split_once('/').map_or((None, key), |(prefix, name)| (Some(prefix), name));
    let is_prefix = |prefix: &str| {
        prefix.len() <= LONGEST_PREFIX
            && prefix.split('.').all(|part| {
                is_enclosed(part)
                    && part.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'-')
            })
    };
    if is_name(name) && !name.is_empty() && prefix.is_none_or(is_prefix) {
        return Ok(key.to_owned());
    }
    Err(format!(
        "{key:?} is no label key: an optional DNS name and '/', then 1 to {LONGEST_NAME} letters, digits, '-', '_' or '.', \
         beginning and ending with a letter or digit"
    ))
}

fn label_value(text: &str) -> Result<String, String> {
    let value = text.trim();
    if is_name(value) {
        return Ok(value.to_owned());
    }
    Err(format!(
        "{value:?} is no label value: up to {LONGEST_NAME} letters, digits, '-', '_' or '.', beginning and ending with a letter \
         or digit"
    ))
}

fn is_name(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    text.is_empty() || (text.len() <= LONGEST_NAME && is_enclosed(text) && text.bytes().all(inner))
}

/// Whether a text begins and ends with a letter or digit.
fn is_enclosed(text: &str) -> bool {
    let is_edge = |byte: Option<&u8>| byte.is_some_and(u8::is_ascii_alphanumeric);
    is_edge(text.as_bytes().first()) && is_edge(text.as_bytes().last())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(labels: &[(&str, &str)]) -> NodeView {
        let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        NodeView {
            labels: labels.collect::<std::collections::BTreeMap<_, _>>().into(),
            ..NodeView::default()
        }
    }

    fn selects(filter: &str, labels: &[(&str, &str)]) -> bool {
        NodeFilter::parse(filter).unwrap().selects(&node(labels))
    }

    #[test]
    fn every_operator_of_a_label_selector_means_what_it_means_in_kubernetes() {
        let gpu = [("pool", "gpu"), ("example.org/site", "")];
        for (filter, selected) in [
            ("", true),
            ("  ", true),
            ("pool=gpu", true),
            ("pool==gpu", true),
            (" pool = gpu ", true),
            ("pool=cpu", false),
            ("absent=gpu", false),
            ("pool!=gpu", false),
            ("pool!=cpu", true),
            ("absent!=gpu", true),
            ("pool in (gpu, cpu)", true),
            ("pool in(gpu)", true),
            ("pool in (cpu)", false),
            ("absent in (gpu)", false),
            ("pool notin (gpu,cpu)", false),
            ("pool notin (cpu)", true),
            ("absent notin (gpu)", true),
            ("pool", true),
            ("example.org/site", true),
            ("example.org/site=", true),
            ("pool=", false),
            ("absent", false),
            ("!pool", false),
            ("!absent", true),
            ("! absent", true),
            ("pool=gpu,absent", false),
            ("pool in (a,gpu),!absent,example.org/site", true),
        ] {
            assert_eq!(selects(filter, &gpu), selected, "{filter:?}");
        }
    }

    #[test]
    fn all_problems_of_a_selector_are_told_at_once() {
        let problems =
            NodeFilter::parse("ok=1,,-bad,a=b c,x within (y),y in (),z in (a,a/b),q>5").unwrap_err();
        let parts: Vec<&str> = problems.iter().map(|problem| problem.part.as_str()).collect();
        assert_eq!(parts, ["", "-bad", "a=b c", "x within (y)", "y in ()", "z in (a,a/b)", "q>5"]);
        assert!(problems[3].to_string().contains("\"within\" is no operator"), "{}", problems[3]);
    }

    #[test]
    fn unbalanced_parentheses_and_bad_keys_are_refused() {
        for bad in [
            "a in (b",
            "a in b)",
            "a in ((b))",
            "a b in (c)",
            "in (a)",
            "/a",
            "a/",
            "A.b/c",
            "a/b/c",
            "=x",
            "!",
        ] {
            assert!(NodeFilter::parse(bad).is_err(), "{bad:?}");
        }
        let long = "x".repeat(64);
        assert!(NodeFilter::parse(&long).is_err());
        assert!(NodeFilter::parse(&format!("a={long}")).is_err());
    }

    #[test]
    fn what_is_shown_parses_to_the_same() {
        for text in ["a=b,c!=d,e in (f,g),h notin (i,j),k,!l", ""] {
            let filter = NodeFilter::parse(text).unwrap();
            assert_eq!(filter.to_string(), text);
            assert_eq!(NodeFilter::parse(&filter.to_string()).unwrap(), filter);
        }
    }
}
