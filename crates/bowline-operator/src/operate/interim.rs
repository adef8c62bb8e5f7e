//! Until the phases are decided elsewhere: a cluster without another manager, from nothing to all controllers.

use std::time::Duration;

use crate::api::{MigrationStatus, Phase, PhaseChange};
use crate::migration::{Case, Decision, ManagerMode};
use crate::rollout::Rollout;

/// Decides.
pub(super) fn decide(case: Case<'_>) -> Decision {
    let is_done = case.observed.ours.as_ref().is_some_and(|ours| ours.rollout == Rollout::Complete);
    let phase = if is_done { Phase::Steady } else { Phase::Full };
    let old = case.status.migration.clone().unwrap_or_default();
    let is_new = old.phase != phase || old.since.is_none();
    let mut history = old.history.clone();
    if is_new {
        history.push(PhaseChange { phase, at: case.now, because: "the rollout says so".to_owned() });
    }
    let status = MigrationStatus {
        phase,
        since: if is_new { Some(case.now) } else { old.since },
        percent: if is_done { 100 } else { 80 },
        history,
        ..old
    };
    Decision {
        status,
        mode: ManagerMode::Full,
        steps: Vec::new(),
        notes: Vec::new(),
        conditions: Vec::new(),
        message: String::new(),
        look_again: Duration::from_secs(60),
        publish_version: is_done,
        keep_configs: case.observed.ours.iter().flat_map(|ours| ours.live()).filter_map(|pod| pod.config.clone()).collect(),
        violations: Vec::new(),
    }
}
