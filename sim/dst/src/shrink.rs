//! A failing case made short: actions and faults are taken away as long as the same rule is still broken.

use crate::action::Action;
use crate::case::Case;
use crate::fault::Source;
use crate::report::Report;
use crate::run::run;

/// How many runs shrinking may cost.
const RUNS: usize = 400;

/// The shortest case found that breaks the same rule as `report`.
#[must_use]
pub fn shrink(report: Report) -> Report {
    let Some(rule) = report.violations.first().map(|violation| violation.rule) else { return report };
    let mut runs = RUNS;
    let mut best = report;
    let mut fails = |case: &Case| -> Option<Report> {
        runs = runs.checked_sub(1)?;
        let report = run(case);
        report.violations.first().is_some_and(|violation| violation.rule == rule).then_some(report)
    };
    // From here on the faults are a list. The time of their end stays, or the story would end elsewhere.
    let listed = Case {
        faults: Source::Script(best.struck.clone()),
        faults_end: Some(best.case.end_of_faults()),
        ..best.case.clone()
    };
    let Some(report) = fails(&listed) else { return best };
    best = report;
    loop {
        let before = size(&best.case);
        best = without_faults(best, &mut fails);
        best = without_actions(best, &mut fails);
        if size(&best.case) == before {
            return best;
        }
    }
}

fn size(case: &Case) -> usize {
    let faults = if let Source::Script(script) = &case.faults { script.len() } else { 0 };
    case.actions.len() + faults
}

/// What has to stay: without it nothing could converge, and the story would be about something else.
fn makes_good(action: &Action) -> bool {
    matches!(action, Action::Quota(false) | Action::BreakConfig(false))
}

/// Takes away ever smaller parts.
fn without_actions(mut best: Report, fails: &mut impl FnMut(&Case) -> Option<Report>) -> Report {
    let mut chunk = best.case.actions.len().div_ceil(2);
    while chunk > 0 {
        let mut start = 0;
        while start < best.case.actions.len() {
            let mut case = best.case.clone();
            let end = (start + chunk).min(case.actions.len());
            let mut place = 0;
            case.actions.retain(|timed| {
                let within = (start..end).contains(&place);
                place += 1;
                !within || makes_good(&timed.action)
            });
            if case.actions.len() == best.case.actions.len() {
                start += chunk;
                continue;
            }
            match fails(&case) {
                Some(report) => best = report,
                None => start += chunk,
            }
        }
        chunk /= 2;
    }
    best
}

fn without_faults(mut best: Report, fails: &mut impl FnMut(&Case) -> Option<Report>) -> Report {
    let Source::Script(script) = best.case.faults.clone() else { return best };
    let mut chunk = script.len().div_ceil(2);
    while chunk > 0 {
        let mut start = 0;
        loop {
            let Source::Script(script) = best.case.faults.clone() else { return best };
            if start >= script.len() {
                break;
            }
            let kept =
                script.into_iter().enumerate().filter(|(place, _)| *place < start || *place >= start + chunk);
            let case =
                Case { faults: Source::Script(kept.map(|(_, fault)| fault).collect()), ..best.case.clone() };
            match fails(&case) {
                Some(report) => best = report,
                None => start += chunk,
            }
        }
        chunk /= 2;
    }
    best
}
