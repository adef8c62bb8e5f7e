//! Recorded exchanges, read from the data files.

use std::collections::BTreeMap;

use cloud_differential::{Answer, Cut};
use serde::Deserialize;
use serde_json::Value;

const FILES: [&str; 7] = [
    include_str!("discovery.jsonl"),
    include_str!("identity.jsonl"),
    include_str!("compute.jsonl"),
    include_str!("network.jsonl"),
    include_str!("load_balancer.jsonl"),
    include_str!("load_balancer_ovn.jsonl"),
    include_str!("load_balancer_amphora.jsonl"),
];

/// One request with its answer.
#[derive(Clone, Debug, Deserialize)]
pub(crate) struct Exchange {
    pub(crate) name: String,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) request_headers: BTreeMap<String, String>,
    pub(crate) request_body: Value,
    #[serde(flatten)]
    pub(crate) answer: Answer,
    /// Lists of which most entries were left out, by their place, with the length they really had.
    #[serde(default)]
    pub(crate) cut: Cut,
}

/// All of them by name.
pub(crate) fn load() -> BTreeMap<String, Exchange> {
    let lines = FILES.iter().flat_map(|file| file.lines());
    let exchanges = lines.map(|line| serde_json::from_str::<Exchange>(line).unwrap());
    exchanges.map(|exchange| (exchange.name.clone(), exchange)).collect()
}
