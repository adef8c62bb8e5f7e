//! One function for each rule. `None` is: not broken.

use std::time::Duration;

use super::super::admin::not_external;
use super::super::decision::{Case, Decision, Step};
use super::super::evidence::Answer;
use super::super::mode::ManagerMode;
use super::super::observed::{KubeletEvidence, OurWorkload};
use super::super::preflight::checks;
use super::super::writers::{describe, others};
use super::super::{fence, outline, phase, snapshot};
use crate::api::{Manager, Phase};

type Rule = fn(&Case<'_>, &Decision) -> Option<String>;

/// All rules by name.
pub(super) const ALL: [(&str, Rule); 12] = [
    ("I1", one_writer),
    ("I2", nothing_made_in_adoption),
    ("I3", same_cluster_name),
    ("I4", nodes_proven_before_deletions),
    ("I5", one_writer_of_addresses),
    ("I6", taints_only_under_a_leader),
    ("I7", provider_ids_stay),
    ("I8", configuration_that_can_be_read),
    ("I9", version_after_rollout),
    ("I10", blocked_before_changes),
    ("I11", way_back_is_kept),
    ("I12", loss_stops_nothing),
];

fn strongest(case: &Case<'_>) -> ManagerMode {
    case.observed.ours.as_ref().map_or(ManagerMode::Absent, OurWorkload::strongest)
}

/// Whether the decision lets ours do more than any pod of it does now.
fn raises(case: &Case<'_>, decision: &Decision, test: fn(ManagerMode) -> bool) -> bool {
    !decision.hold && test(decision.mode) && !test(strongest(case))
}

fn one_writer(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let starts = decision.steps.iter().any(|step| matches!(step, Step::ScaleUp { .. }));
    if starts && (strongest(case) > ManagerMode::Absent || decision.mode > ManagerMode::Absent) {
        return Some("another manager would be started beside ours".to_owned());
    }
    let writers = others(case);
    let heedless: Vec<_> = writers.iter().filter(|writer| writer.is_heedless()).cloned().collect();
    if decision.mode.acts() && !decision.hold && !heedless.is_empty() {
        return Some(format!("ours would write beside another: {}", describe(&heedless)));
    }
    let is_unfenced = raises(case, decision, ManagerMode::acts) && !writers.is_empty();
    is_unfenced.then(|| format!("ours would begin to write while others may: {}", describe(&writers)))
}

fn nothing_made_in_adoption(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let phase = outline::effective_phase(&decision.status);
    let before = decision.status.snapshot.as_ref()?;
    let is_adoption = matches!(phase, Phase::ServiceOnly | Phase::Nodes) && decision.mode.acts();
    let moved = snapshot::moved(case, before);
    let (_, text) = moved.first().filter(|_| is_adoption && !decision.hold)?;
    Some(format!("{text}, and ours would go on"))
}

fn same_cluster_name(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let first = case.status.cluster_name.as_ref()?;
    let is_other = *first != case.spec.cluster_name && decision.mode.acts() && !decision.hold;
    is_other.then(|| format!("clusterName would become {} where it has been {first}", case.spec.cluster_name))
}

fn nodes_proven_before_deletions(case: &Case<'_>, decision: &Decision) -> Option<String> {
    if case.spec.manager == Manager::Upstream || !raises(case, decision, ManagerMode::deletes_nodes) {
        return None;
    }
    // What has run as all it can be was proven when it began; a workload that was lost is made again.
    let has_run = case
        .status
        .migration
        .as_ref()
        .is_some_and(|migration| migration.phase >= Phase::Full && migration.phase <= Phase::Steady);
    let Some(report) = case.observed.shadow.as_ref() else {
        return (!has_run)
            .then(|| "nodes could be deleted before anybody has seen that the cloud knows them".to_owned());
    };
    let unproven = report.nodes_absent.iter().chain(&report.nodes_unknown).next();
    unproven.map(|node| format!("node {node} could be deleted: the cloud does not know its machine"))
}

fn one_writer_of_addresses(case: &Case<'_>, decision: &Decision) -> Option<String> {
    if !raises(case, decision, ManagerMode::writes_nodes) {
        return None;
    }
    let own = not_external(case).into_iter().find(|(_, evidence)| *evidence == KubeletEvidence::Own)?;
    Some(format!("addresses of node {} would be written by its kubelet and by ours", own.0.name))
}

fn taints_only_under_a_leader(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let name = decision.steps.iter().find_map(|step| match step {
        Step::TaintNode { name, .. } => Some(name),
        _ => None,
    })?;
    let serves = case
        .observed
        .ours
        .as_ref()
        .is_some_and(|ours| ours.mode.is_some_and(|mode| mode.writes_nodes() && ours.runs_only(mode)));
    let is_healthy = serves && fence::is_ours(case) && decision.mode.writes_nodes();
    (!is_healthy).then(|| format!("node {name} would be tainted while nobody leads who would initialise it"))
}

fn provider_ids_stay(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let named = decision.steps.iter().find_map(|step| match step {
        Step::TaintNode { name, .. } => case.observed.node(name).filter(|node| node.provider_id.is_some()),
        _ => None,
    })?;
    Some(format!("node {} has a provider ID and would be initialised anew", named.name))
}

fn configuration_that_can_be_read(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let pods = case.observed.ours.iter().flat_map(OurWorkload::live);
    let lost =
        pods.filter_map(|pod| pod.config.as_ref()).find(|config| !decision.keep_configs.contains(config));
    if let Some(config) = lost {
        return Some(format!("configuration {config} would be pruned while a pod mounts it"));
    }
    // Where it cannot be read, the last good one is rendered; it may be applied again where it is what runs.
    let rolls_out = decision.mode.acts() && !decision.hold && !case.observed.runs_what_is_wanted();
    match &case.observed.preflight.config {
        Answer::Fail(why) if rolls_out => {
            Some(format!("a configuration would be rolled out that cannot be read: {why}"))
        }
        _ => None,
    }
}

fn version_after_rollout(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let is_early = decision.publish_version && !outline::is_converged(case);
    is_early.then(|| {
        format!("version {} would be published before it runs everywhere", case.observed.wanted_version)
    })
}

fn blocked_before_changes(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let before = case.status.migration.as_ref().map(outline::effective_phase).unwrap_or_default();
    let begins =
        before <= Phase::Preflight && matches!(decision.status.phase, Phase::AwaitAdmin | Phase::Relinquish);
    // Who is past the preflight by what runs has been asked before.
    if !begins || strongest(case).takes_lease() {
        return None;
    }
    let checks = checks(case, decision.status.kind?);
    let open = checks.iter().find(|check| check.holds_up())?;
    Some(format!("changes would begin although {} does not hold: {}", open.name, open.message()))
}

fn way_back_is_kept(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let removed = decision.steps.iter().find_map(|step| match step {
        Step::DeletePrevious { workload } => Some(workload),
        _ => None,
    })?;
    let before = case.status.migration.as_ref().filter(|before| before.phase == Phase::Steady);
    let lasted =
        before.and_then(|before| before.since).map(|since| case.now.duration_since(since).unsigned_abs());
    let wanted = Duration::from_secs(u64::from(case.spec.migration.keep_previous_hours) * 3600);
    let is_early = lasted.is_none_or(|lasted| lasted < wanted);
    is_early.then(|| {
        format!("{} would be removed before it was kept for {} hours", removed.key(), wanted.as_secs() / 3600)
    })
}

fn loss_stops_nothing(case: &Case<'_>, decision: &Decision) -> Option<String> {
    let changes = !decision.hold || !decision.steps.is_empty();
    if changes && !case.observed.unread.is_empty() {
        return Some("something would be changed although not everything could be read".to_owned());
    }
    // What was told to stop before is not stopped now.
    let works = strongest(case).acts() && phase::current(case).acts();
    let is_stopped = works && !decision.mode.acts() && !decision.hold;
    let is_told = case.spec.migration.rollback
        || matches!(
            decision.status.phase,
            Phase::Blocked | Phase::Relinquish | Phase::RollingBack | Phase::Previous
        );
    (is_stopped && !is_told).then(|| "a manager that works would be stopped without a reason".to_owned())
}
