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

/// Which kinds of calls a stage made, for each target.
pub(crate) fn kinds(calls: &[Call]) -> Seen {
    let mut kinds: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    for call in calls {
        let outcome = if call.failed { " (failed)" } else { "" };
        kinds.entry(&call.target).or_default().insert(format!("{}{outcome}", call.op));
    }
    let listed = |kinds: BTreeSet<String>| kinds.into_iter().collect::<Vec<_>>().join(", ");
    kinds.into_iter().map(|(target, kinds)| (format!("cloud {target}: calls"), listed(kinds))).collect()
}

/// What calls have left in a cloud: load balancers with hosts and ports, and routes.
pub(crate) fn leave(calls: &[Call], cloud: &mut Seen) {
    for call in calls.iter().filter(|call| !call.failed) {
        let subject = |what: &str| format!("cloud {}: {what}", call.target);
        match call.op.as_str() {
            "ensure" => {
                cloud.insert(subject("ports"), call.ports.join(" "));
                cloud.insert(subject("hosts"), call.hosts.join(" "));
            }
            // Hosts can only be given to what is there: upstream may still try it while it deletes.
            "update" => drop(cloud.get_mut(&subject("hosts")).map(|hosts| *hosts = call.hosts.join(" "))),
            "create-route" => drop(cloud.insert(subject("exists"), "true".to_owned())),
            _delete => cloud.retain(|kept, _| !kept.starts_with(&subject(""))),
        }
    }
}

/// A kind of write to the API.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Write {
    pub(crate) resource: String,
    pub(crate) verb: String,
    /// The server did not take it: a conflict, mostly, and how many there are is chance.
    pub(crate) refused: bool,
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
    let code = line.get("responseStatus").and_then(|status| status.get("code")).and_then(Value::as_u64);
    let refused = code.is_none_or(|code| code >= 400);
    Ok(Audited { write: Write { resource, verb, refused }, is_empty })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(op: &str) -> Call {
        let hosts = vec!["a".to_owned()];
        Call { op: op.to_owned(), target: "default/x".to_owned(), hosts, ports: Vec::new(), failed: false }
    }

    #[test]
    fn hosts_are_left_only_with_a_load_balancer() {
        let mut cloud = Seen::new();
        leave(&[call("ensure"), call("update")], &mut cloud);
        assert_eq!(cloud.get("cloud default/x: hosts").map(String::as_str), Some("a"));
        leave(&[call("delete"), call("update")], &mut cloud);
        assert!(cloud.is_empty(), "{cloud:?}");
    }
}
