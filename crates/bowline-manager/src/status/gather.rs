//! Builds an [`Overview`] from the notebook and the handles of the board. The page size of the query bounds the work.

mod balancer;
mod cloud;
mod nodes;
mod rails;
mod services;

use bowline_kube::lease::Leadership;

use super::board::Board;
use super::overview::{CheckRow, CheckState, LeaderRow, Listing, Overview, Problem, ReplicaRow};
use super::query::Query;
use crate::serving::CheckOutcome;
use crate::serving::health::Endpoint;
use crate::supervise::NOT_STARTED;

pub(super) use balancer::drawn;
pub(super) use services::unsettled;

/// The number of Nodes on a page.
const NODES_PER_PAGE: usize = 50;

/// The number of Services on a page: each is rendered with its load balancer and plan.
const SERVICES_PER_PAGE: usize = 25;

/// The maximum number of calls on the page.
const MOST_CALLS_SHOWN: usize = 60;

/// The maximum number of timeline entries on the page.
const MOST_MOMENTS_SHOWN: usize = 100;

/// Builds the whole overview for one query.
pub(super) fn overview(board: &Board, query: &Query) -> Overview {
    let now = board.clock.now();
    let (services, service_counts) = services::listing(board, query);
    let (nodes, node_counts) = nodes::listing(board, query);
    let cloud = cloud::rows(board, now);
    let checks = checks(board);
    let rails = rails::rows(board);
    let (calls, timeline) = {
        let notes = board.notebook.read();
        let calls = notes.calls.iter().rev().take(MOST_CALLS_SHOWN).cloned().collect();
        let timeline = notes.moments.iter().rev().take(MOST_MOMENTS_SHOWN).cloned().collect();
        (calls, timeline)
    };
    let problems = problems(board, &checks, &cloud);
    Overview {
        now,
        replica: replica(board),
        problems,
        services,
        service_counts,
        nodes,
        node_counts,
        cloud,
        calls,
        rails,
        checks,
        timeline,
    }
}

fn replica(board: &Board) -> ReplicaRow {
    let about = board.about.clone();
    ReplicaRow {
        component: about.component,
        version: about.version,
        identity: about.identity,
        started_at: board.started_at,
        cloud: about.cloud,
        cluster: about.cluster,
        leader: leader(board),
    }
}

fn leader(board: &Board) -> LeaderRow {
    let parts = board.parts();
    let Some((lease, leadership)) = &parts.lease else { return LeaderRow::Alone };
    let lease = lease.clone();
    match &*leadership.borrow() {
        Leadership::Leading { .. } => LeaderRow::Leads { lease },
        Leadership::Standby { holder } => LeaderRow::StandsBy { lease, holder: holder.clone() },
        Leadership::Lost { .. } => LeaderRow::Lost { lease },
    }
}

fn checks(board: &Board) -> Vec<CheckRow> {
    let outcomes = board.health.outcomes(Endpoint::Readyz);
    let row = |(name, outcome)| match outcome {
        CheckOutcome::Healthy => CheckRow { name, state: CheckState::Works, why: None },
        CheckOutcome::Degraded(why) if why.starts_with(NOT_STARTED) => {
            CheckRow { name, state: CheckState::Off, why: Some(why) }
        }
        CheckOutcome::Degraded(why) | CheckOutcome::Failed(why) => {
            CheckRow { name, state: CheckState::Look, why: Some(why) }
        }
    };
    outcomes.into_iter().map(row).collect()
}

/// The problems at the top of the page, for example an unreadable cloud, a lost identity or a pause.
fn problems(board: &Board, checks: &[CheckRow], cloud: &[super::overview::CloudRow]) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut tell = |what: &str, text: String| problems.push(Problem { what: what.to_owned(), text });
    if let Some(pause) = board.parts().fence.as_ref().and_then(|fence| fence.paused()) {
        tell("Paused", format!("{pause}: nothing is written to the cloud, Services or Nodes"));
    }
    if let Some(loss) = board.identity.watch().borrow().as_ref() {
        tell("The cloud does not know us", loss.to_string());
    }
    if let Some(why) = checks.iter().find(|check| check.name == "cloud").and_then(|check| check.why.as_ref())
    {
        tell("The cloud cannot be read", why.clone());
    }
    for row in cloud.iter().filter(|row| row.silent) {
        let last =
            row.answered_at.map_or("it has never given one since this process began".to_owned(), |at| {
                format!("the last one came at {}", at.strftime("%H:%M:%S UTC"))
            });
        tell(
            "The cloud cannot be read",
            format!(
                "its service {} gives no good answer: {last}. What is shown of it may be old",
                row.service
            ),
        );
    }
    for check in
        checks.iter().filter(|check| check.state == CheckState::Look && check.name.starts_with("informer-"))
    {
        let why = check.why.clone().unwrap_or_default();
        tell("The API server cannot be read", format!("{}: {why}", check.name));
    }
    problems
}

/// Selects one page of the matching rows, with the total numbers.
fn listing<S, T>(
    all: impl Iterator<Item = S>,
    total: usize,
    known: bool,
    (page, per_page): (usize, usize),
    row: impl Fn(&S) -> T,
) -> Listing<T> {
    let matching: Vec<S> = all.collect();
    let pages = matching.len().div_ceil(per_page).max(1);
    let page = page.clamp(1, pages);
    let rows = matching.iter().skip((page - 1) * per_page).take(per_page).map(row).collect();
    Listing { rows, matching: matching.len(), total, page, pages, known }
}
