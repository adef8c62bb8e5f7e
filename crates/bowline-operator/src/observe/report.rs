//! The report of our manager: what it would do, or holds back. Only what decisions need is read; a report of another form, or one
//! that cannot be read, says nothing.

use jiff::Timestamp;
use k8s_openapi::api::core::v1::ConfigMap;
use serde::Deserialize;

use crate::migration::{ManagerMode, ShadowFacts, ShadowFinding, WouldDo};

/// The key of the report in its ConfigMap.
pub const REPORT_KEY: &str = "report.json";
/// The form that is understood.
const FORMAT: u32 = 1;

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Report {
    format: u32,
    mode: String,
    leader: bool,
    cluster_name: String,
    #[serde(default)]
    cloud_problem: Option<String>,
    started_at: Timestamp,
    observed_at: Timestamp,
    holder: String,
    load_balancers: Availability,
    instances: Availability,
    services: Counts,
    #[serde(default)]
    findings: Vec<Finding>,
    nodes: Nodes,
}

#[derive(Deserialize)]
struct Availability {
    state: String,
    #[serde(default)]
    message: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct Counts {
    total: usize,
    settled: usize,
    paused: usize,
    waits: usize,
    creates: usize,
    deletes: usize,
    readdresses: usize,
    blocked: usize,
    unknown: usize,
}

#[derive(Deserialize)]
struct Finding {
    service: String,
    verdict: String,
    #[serde(default)]
    held: bool,
    #[serde(default)]
    message: String,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
struct Nodes {
    present: usize,
    absent: Vec<String>,
    foreign: Vec<String>,
    unknown: Vec<String>,
}

/// What the report says, if there is one that is understood.
#[must_use]
pub fn shadow_facts(stored: &ConfigMap) -> Option<ShadowFacts> {
    let text = stored.data.as_ref()?.get(REPORT_KEY)?;
    let report: Report = serde_json::from_str(text).ok().filter(|report: &Report| report.format == FORMAT)?;
    let Counts { total, settled, paused, waits, creates, deletes, readdresses, blocked, unknown } =
        report.services;
    let problem = report.cloud_problem.clone().or_else(|| missing(&report));
    let (cloud_known, nodes) = (problem.is_none() && report.nodes.unknown.is_empty(), report.nodes);
    Some(ShadowFacts {
        observed_at: report.observed_at,
        started_at: report.started_at,
        mode: match report.mode.as_str() {
            "Shadow" => Some(ManagerMode::Shadow),
            "AdoptOnly" => Some(ManagerMode::ServiceOnly),
            _ => None,
        },
        leader: report.leader,
        holder: report.holder,
        cluster_name: report.cluster_name,
        services: total,
        settled: settled + paused,
        blocking: waits + creates + deletes + readdresses + blocked + unknown,
        findings: report.findings.into_iter().map(finding).collect(),
        cloud_known,
        cloud_problem: problem,
        nodes_present: nodes.present,
        nodes_absent: nodes.absent,
        nodes_unknown: nodes.unknown,
        nodes_foreign: nodes.foreign,
    })
}

/// What the cloud does not say now. What it never has is no such thing.
fn missing(report: &Report) -> Option<String> {
    [("load balancers", &report.load_balancers), ("machines", &report.instances)].into_iter().find_map(
        |(what, found)| match found.state.as_str() {
            "Available" | "Unsupported" => None,
            _ => Some(format!("{what}: {}", found.message.as_deref().unwrap_or("not available now"))),
        },
    )
}

fn finding(finding: Finding) -> ShadowFinding {
    let would = match finding.verdict.as_str() {
        "Deletes" => WouldDo::Delete,
        "Readdresses" => WouldDo::Readdress,
        "Creates" => WouldDo::Create,
        "Waits" => WouldDo::Wait,
        "Blocked" => WouldDo::Block,
        "Refused" => WouldDo::Refuse,
        "Changes" => WouldDo::Change,
        _ => WouldDo::Unknown,
    };
    ShadowFinding { service: finding.service, would, held: finding.held, message: finding.message }
}
