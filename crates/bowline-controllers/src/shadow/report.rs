//! Builds a report within the size limit of a ConfigMap. Pure.

use bowline_cloud::shadow::{
    FORMAT, Finding, Mode, NodeReport, PlannedStep, ServiceCounts, ShadowReport, Verdict,
};
use k8s_openapi::jiff::Timestamp;

use super::ShadowOptions;
use super::look::Seen;
use crate::service::cut;

/// The maximum size of all findings in bytes. A ConfigMap may have about 1 MB, and applied data counts twice, the second time with escaped
/// quotes.
const MOST_BYTES: usize = 300_000;

/// The maximum number of Node names in one list.
const MOST_NAMES: usize = 500;

/// The maximum length of a text in a finding, in bytes.
const LONGEST_TEXT: usize = 512;

pub(super) fn compose(
    options: &ShadowOptions,
    seen: Seen,
    started_at: Timestamp,
    observed_at: Timestamp,
) -> ShadowReport {
    let Seen { project, cloud_problem, load_balancers, instances, services, nodes } = seen;
    let mut counts = ServiceCounts::default();
    services.iter().for_each(|finding| counts.add(finding.verdict, finding.held));
    let (findings, truncated) = listed(services, MOST_BYTES);
    ShadowReport {
        format: FORMAT,
        mode: options.mode,
        // In adopt-only mode only the leader runs the controllers and reports; in shadow mode there is no leader.
        leader: options.mode == Mode::AdoptOnly,
        version: options.version.clone(),
        cluster_name: options.cluster_name.to_string(),
        project,
        cloud_problem: cloud_problem.map(|text| cut(&text, LONGEST_TEXT).to_owned()),
        started_at,
        observed_at,
        holder: options.holder.clone(),
        load_balancers,
        instances,
        services: counts,
        findings,
        truncated,
        nodes: bounded(nodes),
    }
}

/// The findings to report, the worst first and then by name, as many as fit; and the number of those that do not.
fn listed(services: Vec<Finding>, most: usize) -> (Vec<Finding>, usize) {
    let mut worth: Vec<_> = services.into_iter().filter(is_worth_telling).map(shortened).collect();
    worth.sort_by(|one, other| {
        let key =
            |finding: &Finding| (!(finding.held || finding.verdict.blocks()), finding.verdict.severity());
        key(one).cmp(&key(other)).then_with(|| one.service.cmp(&other.service))
    });
    let mut bytes = 0;
    let fits = |finding: &&Finding| {
        bytes += serde_json::to_string(finding).map_or(most, |text| text.len());
        bytes <= most
    };
    let count = worth.iter().take_while(fits).count();
    let left = worth.len() - count;
    worth.truncate(count);
    (worth, left)
}

fn is_worth_telling(finding: &Finding) -> bool {
    finding.held || !matches!(finding.verdict, Verdict::Settled)
}

fn shortened(mut finding: Finding) -> Finding {
    let short = |text: &mut String| *text = cut(text, LONGEST_TEXT).to_owned();
    short(&mut finding.message);
    for PlannedStep { target, reason, .. } in &mut finding.planned {
        short(target);
        short(reason);
    }
    finding
}

fn bounded(mut nodes: NodeReport) -> NodeReport {
    let NodeReport { absent, foreign, unknown, without_provider_id, truncated, .. } = &mut nodes;
    for names in [absent, foreign, unknown, without_provider_id] {
        *truncated += names.len().saturating_sub(MOST_NAMES);
        names.truncate(MOST_NAMES);
    }
    nodes
}

#[cfg(test)]
mod tests {
    use super::*;

    fn finding(service: usize, verdict: Verdict) -> Finding {
        let (uid, message) = ("u".repeat(36), "ü".repeat(600));
        let service = format!("shop/web-{service:05}");
        Finding { service, uid, verdict, held: false, address: None, planned: Vec::new(), message }
    }

    #[test]
    fn the_worst_come_first_and_what_does_not_fit_is_counted() {
        let mut all: Vec<_> = (0..5000).map(|number| finding(number, Verdict::Changes)).collect();
        all.push(finding(9000, Verdict::Creates));
        all.push(finding(9001, Verdict::Deletes));
        all.push(finding(9002, Verdict::Settled));
        let (listed, left) = listed(all, MOST_BYTES);
        assert_eq!((listed[0].verdict, listed[1].verdict), (Verdict::Deletes, Verdict::Creates));
        assert_eq!(listed[2].service, "shop/web-00000");
        assert_eq!(listed.len() + left, 5002, "those that are settled are only counted");
        let bytes = serde_json::to_string(&listed).unwrap().len();
        assert!(left > 0 && bytes < MOST_BYTES + listed.len() * 2, "{bytes}");
        assert!(listed[0].message.len() <= LONGEST_TEXT);
    }

    #[test]
    fn of_very_many_nodes_some_are_named() {
        let foreign: Vec<_> = (0..5000).map(|number| format!("node-{number}")).collect();
        let nodes = bounded(NodeReport { foreign, ..NodeReport::default() });
        assert_eq!((nodes.foreign.len(), nodes.truncated), (MOST_NAMES, 4500));
    }
}
