//! The cloud services: how often they are called, the remaining rate limit, and which of them do not respond.

use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};

use crate::status::board::Board;
use crate::status::notebook::Notes;
use crate::status::overview::CloudRow;
use crate::status::rates::Rates;

/// The number of buckets in a minute.
const MINUTE: usize = 12;

/// After this many failed calls in a row, a cloud service counts as silent.
const SILENT_AFTER: usize = 3;

/// Older calls are ignored, because they do not describe the current state.
const LATELY: SignedDuration = SignedDuration::from_secs(300);

pub(super) fn rows(board: &Board, now: Timestamp) -> Vec<CloudRow> {
    let budgets = board.budget.standings();
    let notes = board.notebook.read();
    let elapsed = board.notebook.elapsed();
    let names: BTreeSet<&'static str> =
        notes.rates.keys().copied().chain(budgets.iter().map(|budget| budget.service)).collect();
    let row = |service: &'static str| {
        let lately = notes.rates.get(service).map(|rates: &Rates| rates.lately(elapsed)).unwrap_or_default();
        let minute = || lately.iter().rev().take(MINUTE);
        let budget = budgets.iter().find(|budget| budget.service == service);
        CloudRow {
            service: service.to_owned(),
            last_minute: minute().map(|(calls, _)| calls).sum(),
            failed_last_minute: minute().map(|(_, failed)| failed).sum(),
            per_second: budget.and_then(|budget| budget.per_second),
            burst: budget.map_or(0, |budget| budget.burst),
            left: budget.and_then(|budget| budget.left),
            paused_seconds: budget.and_then(|budget| budget.paused_for).map(|pause| pause.as_secs()),
            answered_at: answered_at(&notes, service),
            silent: is_silent(&notes, service, now),
            lately,
        }
    };
    names.into_iter().map(row).collect()
}

fn answered_at(notes: &Notes, service: &str) -> Option<Timestamp> {
    let answered = notes.calls.iter().rev().find(|call| call.service == service && !call.failed);
    answered.map(|call| call.at)
}

fn is_silent(notes: &Notes, service: &str, now: Timestamp) -> bool {
    let of_it = notes.calls.iter().rev().filter(|call| call.service == service);
    let recent = of_it.take_while(|call| now.duration_since(call.at) < LATELY);
    let last: Vec<bool> = recent.take(SILENT_AFTER).map(|call| call.failed).collect();
    last.len() == SILENT_AFTER && last.into_iter().all(|failed| failed)
}
