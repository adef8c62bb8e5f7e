//! From objects to what is printed. Pure: the time is handed in.

use bowline_kube::terminal::line_of;
use jiff::Timestamp;
use serde::Serialize;

use crate::api::{AdminStep, CloudControllerManager, MigrationKind, Phase};

/// What is told of one object.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Report {
    /// Its name.
    pub name: String,
    /// The platform.
    pub platform: String,
    /// The phase; none if the operator has not looked at it yet.
    pub phase: Option<Phase>,
    /// What is migrated from.
    pub kind: Option<MigrationKind>,
    /// How far it is, in percent.
    pub percent: u8,
    /// Since when it is in this phase.
    pub since: Option<Timestamp>,
    /// Why it does not go on, in one word.
    pub blocked: Option<String>,
    /// The phase that it is blocked in.
    pub came_from: Option<Phase>,
    /// What it waits for.
    pub message: Option<String>,
    /// What is to be done by hand.
    pub steps: Vec<AdminStep>,
    /// Checks that do not hold, each with its text.
    pub checks: Vec<String>,
}

impl Report {
    /// Whether it does not go on until a person has done or decided something.
    #[must_use]
    pub fn waits_for_a_person(&self) -> bool {
        matches!(self.phase, Some(Phase::Blocked | Phase::AwaitAdmin))
            || self.steps.iter().any(|step| !step.done)
    }
}

/// What the operator says in conditions of its own; the others are checks.
const NO_CHECKS: [&str; 5] = ["Available", "Progressing", "Degraded", "Upgradeable", "ActionRequired"];

/// What is told of an object.
#[must_use]
pub fn report(object: &CloudControllerManager) -> Report {
    let status = object.status.clone().unwrap_or_default();
    let migration = status.migration.clone();
    let checks = status.conditions.iter().filter(|condition| {
        !NO_CHECKS.contains(&condition.type_.as_str())
            && condition.status != "True"
            && condition.reason != "NotAsked"
    });
    let checks =
        checks.map(|condition| format!("{} ({}): {}", condition.type_, condition.reason, condition.message));
    let checks = checks.collect();
    let known = migration.clone().unwrap_or_default();
    Report {
        name: object.metadata.name.clone().unwrap_or_default(),
        platform: status.platform.unwrap_or_else(|| format!("{:?}", object.spec.platform)),
        phase: migration.map(|migration| migration.phase),
        kind: known.kind,
        percent: known.percent,
        since: known.since,
        blocked: known.blocked,
        came_from: known.came_from,
        message: status.message,
        steps: known.steps,
        checks,
    }
}

/// All of them, for people.
#[must_use]
pub fn to_text(reports: &[Report], now: Timestamp) -> String {
    if reports.is_empty() {
        return "There is no CloudControllerManager in this cluster.\n".to_owned();
    }
    reports.iter().map(|report| one(report, now)).collect::<Vec<_>>().join("\n")
}

fn one(report: &Report, now: Timestamp) -> String {
    let mut text = headline(report, now);
    if let Some(message) = &report.message {
        line(&mut text, &format!("  {message}"));
    }
    if !report.checks.is_empty() {
        line(&mut text, "  Checks that do not hold:");
        report.checks.iter().for_each(|check| line(&mut text, &format!("    {check}")));
    }
    let open = report.steps.iter().filter(|step| !step.done).count();
    if !report.steps.is_empty() {
        line(&mut text, &format!("  To be done by you ({open} of {} are open):", report.steps.len()));
    }
    for (step, number) in report.steps.iter().zip(1_usize..) {
        let mark = if step.done { "done" } else { "open" };
        line(&mut text, &format!("  {number:>3}. [{mark}] {}: {}", step.on, step.what));
        step.commands.iter().for_each(|command| line(&mut text, &format!("           {command}")));
    }
    text
}

fn headline(report: &Report, now: Timestamp) -> String {
    let Report { name, platform, percent, .. } = report;
    let Some(phase) = report.phase else {
        return line_of(format!("{name} ({platform}): the operator has not looked at it yet; does it run?"));
    };
    let from = report.kind.map(|kind| format!(", from {kind:?}")).unwrap_or_default();
    let place = match (&report.blocked, report.came_from) {
        (Some(reason), Some(came_from)) => format!("{phase} ({reason}) in {came_from}"),
        (Some(reason), None) => format!("{phase} ({reason})"),
        (None, _) => phase.to_string(),
    };
    let since = report.since.map(|since| format!(", for {}", age(since, now))).unwrap_or_default();
    line_of(format!("{name} ({platform}{from}): {percent}% {place}{since}"))
}

fn line(text: &mut String, line: &str) {
    text.push_str(&line_of(line));
}

/// The age in its largest unit, as kubectl has it.
fn age(since: Timestamp, now: Timestamp) -> String {
    let seconds = now.duration_since(since).as_secs().max(0);
    match seconds {
        0..120 => format!("{seconds}s"),
        120..7200 => format!("{}m", seconds / 60),
        7200..172_800 => format!("{}h", seconds / 3600),
        _ => format!("{}d", seconds / 86_400),
    }
}
