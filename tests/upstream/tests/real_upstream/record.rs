//! What one side did: what was seen after each stage, the calls to its cloud, its events, and what it wrote to the API.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use crate::seen::Seen;

/// All of it.
#[derive(Debug, Default)]
pub(crate) struct Record {
    pub(crate) stages: Vec<StageRecord>,
    pub(crate) events: BTreeMap<String, i32>,
    pub(crate) writes: BTreeMap<Write, usize>,
}

/// After one stage.
#[derive(Debug)]
pub(crate) struct StageRecord {
    pub(crate) name: &'static str,
    /// Whether what the stage waits for came about.
    pub(crate) arrived: bool,
    pub(crate) seen: Seen,
    pub(crate) calls: Vec<Call>,
}

/// One call that changed the cloud, or tried to.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(crate) struct Call {
    pub(crate) op: String,
    pub(crate) target: String,
    #[serde(default)]
    pub(crate) hosts: Vec<String>,
    #[serde(default)]
    pub(crate) ports: Vec<String>,
    #[serde(default)]
    pub(crate) failed: bool,
}

/// What the calls of a stage come to, as subjects and texts: for each target which kinds of calls were made, and with
/// which hosts and ports it was left.
pub(crate) fn summary(calls: &[Call]) -> Seen {
    let mut kinds: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    let mut seen = Seen::new();
    for call in calls {
        let outcome = if call.failed { " (failed)" } else { "" };
        kinds.entry(&call.target).or_default().insert(format!("{}{outcome}", call.op));
        if matches!(call.op.as_str(), "ensure" | "update") && !call.failed {
            seen.insert(format!("cloud {}: hosts", call.target), call.hosts.join(" "));
        }
        if call.op == "ensure" && !call.failed {
            seen.insert(format!("cloud {}: ports", call.target), call.ports.join(" "));
        }
    }
    for (target, kinds) in kinds {
        let kinds: Vec<_> = kinds.into_iter().collect();
        seen.insert(format!("cloud {target}: calls"), kinds.join(", "));
    }
    seen
}

/// A kind of write to the API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Write {
    pub(crate) resource: String,
    pub(crate) verb: String,
}

/// One line of the audit log.
#[derive(Debug)]
pub(crate) struct Audited {
    pub(crate) write: Write,
    /// Whether it was a patch that says nothing.
    pub(crate) is_empty: bool,
}

/// Reads a line of the audit log.
pub(crate) fn audited(line: &str) -> anyhow::Result<Audited> {
    let line: Value = serde_json::from_str(line)?;
    let about = line.get("objectRef").context("no objectRef")?;
    let part = |name: &str| about.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
    let resource = match (part("resource"), part("subresource")) {
        (resource, sub) if sub.is_empty() => resource,
        (resource, sub) => format!("{resource}/{sub}"),
    };
    let verb = line.get("verb").and_then(Value::as_str).unwrap_or_default().to_owned();
    let body = line.get("requestObject");
    let is_empty = verb == "patch" && body.and_then(Value::as_object).is_some_and(serde_json::Map::is_empty);
    Ok(Audited { write: Write { resource, verb }, is_empty })
}
