//! Who says that a phase may begin.

use super::decision::Case;
use crate::api::{Approval, Manager, MigrationKind, Phase};

/// Phases that change something. Between `Relinquish` and `Fence` nobody writes, so that one yes is for both; the rest only looks.
const CHANGING: [Phase; 4] = [Phase::Relinquish, Phase::ServiceOnly, Phase::Nodes, Phase::Full];

/// What a person has to say before a phase may begin; `None` if it may.
pub(super) fn missing(case: &Case<'_>, kind: MigrationKind, next: Phase) -> Option<String> {
    let migration = &case.spec.migration;
    if !CHANGING.contains(&next) || migration.approve.contains(&next) || kind == MigrationKind::Upgrade {
        return None;
    }
    // The upstream managers cannot tell what they would do: a person has to have looked.
    let is_blind = case.spec.manager == Manager::Upstream
        && next == Phase::Relinquish
        && matches!(kind, MigrationKind::InTree | MigrationKind::OtherManager | MigrationKind::Embedded);
    if migration.approval == Approval::Automatic && !is_blind {
        return None;
    }
    let mut all: Vec<String> =
        migration.approve.iter().map(|phase| format!("{:?}", phase.to_string())).collect();
    all.push(format!("{:?}", next.to_string()));
    let why = if is_blind {
        "the upstream manager has no shadow mode, so a person has to say that the hand-over is right. "
    } else {
        ""
    };
    Some(format!(
        "{why}phase {next} waits for approval: kubectl patch ccm {} --type merge -p '{{\"spec\":{{\"migration\":{{\"approve\":[{}]}}}}}}'",
        case.name,
        all.join(",")
    ))
}
