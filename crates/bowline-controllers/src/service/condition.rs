//! The condition of a Service: whether its load balancer is as it asks, and if not, what it waits for and why. Pure.
//!
//! A condition costs a write, so it is said with the status when all is well, and alone only when a person would ask: after
//! a long wait, a failure, a refusal. Services have no generation, so there is no `observedGeneration` to give: the reason
//! and the message are about the Service as it was when they were written.

use std::time::Duration;

use bowline_cloud::{ConditionStatus, ServiceCondition, Shortfall, ShortfallKind};
use tokio::time::Instant;

use super::memory::Task;
use super::message::{cut, fitting};
use super::said::Present;

/// A message of the same reason is not written again sooner than this: the texts of clouds carry request ids.
const REWORD_AFTER: Duration = Duration::from_secs(600);

/// The longest message that is kept: it is in the memory of every watcher of Services.
const LONGEST_MESSAGE_BYTES: usize = 512;

fn condition(status: ConditionStatus, reason: &str, message: &str) -> ServiceCondition {
    let message = cut(message, LONGEST_MESSAGE_BYTES).into();
    ServiceCondition { status, reason: reason.into(), message }
}

/// All is as wanted.
pub(super) fn ready() -> ServiceCondition {
    condition(ConditionStatus::True, "Ensured", "The load balancer is as the Service asks")
}

/// Nothing is left to do, and the Service does not have all that it asks for.
pub(super) fn falls_short(shortfalls: &[Shortfall]) -> Option<ServiceCondition> {
    let first = shortfalls.first()?;
    let messages: Vec<String> = shortfalls.iter().map(|one| one.message.clone()).collect();
    let message = fitting(&messages, LONGEST_MESSAGE_BYTES);
    let reason = match first.kind {
        ShortfallKind::InvalidValue => "InvalidValue",
        ShortfallKind::RecreationNeeded => "RecreationNeeded",
    };
    Some(condition(ConditionStatus::False, reason, &message))
}

/// It takes its time.
pub(super) fn waits(for_what: &str) -> ServiceCondition {
    let message = format!("Waiting for the cloud: {for_what}");
    condition(ConditionStatus::False, "WaitingForCloud", &message)
}

/// A step failed.
pub(super) fn failed(task: Task, error: &str) -> ServiceCondition {
    let reason = if task.is_removal() { "RemovalFailed" } else { "SyncFailed" };
    condition(
        ConditionStatus::False,
        reason,
        &format!("Tried again with a growing pause; the last failure: {error}"),
    )
}

/// What is in the cloud could not be seen.
pub(super) fn unknown(why: &str) -> ServiceCondition {
    let message = format!("The cloud does not say what is there, so nothing is changed: {why}");
    condition(ConditionStatus::Unknown, "CloudNotObserved", &message)
}

/// Only a person can mend it.
pub(super) fn refused(problems: &[String]) -> ServiceCondition {
    const BEGINS: &str = "Waiting for a change of the Service or of the cloud: ";
    let problems = fitting(problems, LONGEST_MESSAGE_BYTES - BEGINS.len());
    condition(ConditionStatus::False, "Refused", &format!("{BEGINS}{problems}"))
}

/// Safety rail SR-10 stopped a create.
pub(super) fn too_many_creates(why: &str) -> ServiceCondition {
    condition(ConditionStatus::False, "CreateHeld", why)
}

/// Safety rail SR-19 keeps a broken load balancer.
pub(super) fn replacement_held(why: &str) -> ServiceCondition {
    condition(ConditionStatus::False, "ReplacementHeld", why)
}

/// Adopt-only mode holds it.
pub(super) fn not_adopted(held: &str) -> ServiceCondition {
    condition(ConditionStatus::False, "NotAdopted", held)
}

/// Whether `wanted` is worth a write, given what is `there` and when that was written, if by us.
pub(super) fn is_news(
    there: &Present,
    written: Option<Instant>,
    wanted: &ServiceCondition,
    now: Instant,
) -> bool {
    let Some(there) = there.known() else { return true };
    let is_old = written.is_none_or(|at| now.saturating_duration_since(at) >= REWORD_AFTER);
    let only_other_words = there.status == wanted.status && there.reason == wanted.reason;
    !says_the_same(there, wanted) && (is_old || !only_other_words)
}

/// Whether both say the same. When all is well the reason tells everything, and the message is not kept.
pub(super) fn says_the_same(there: &ServiceCondition, wanted: &ServiceCondition) -> bool {
    let same_words = wanted.status == ConditionStatus::True || there.message == wanted.message;
    there.status == wanted.status && there.reason == wanted.reason && same_words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failure_is_news_once_and_its_other_words_after_a_while() {
        let now = Instant::now();
        let (one, other) = (failed(Task::Ensure, "502 (req-1)"), failed(Task::Ensure, "502 (req-2)"));
        let there = Present::Says(one.clone());
        assert!(is_news(&Present::Nothing, None, &one, now));
        assert!(is_news(&Present::Unknown, Some(now), &one, now), "the last write had no answer");
        assert!(!is_news(&there, None, &one, now), "the same words after a restart");
        assert!(!is_news(&there, Some(now), &other, now + Duration::from_secs(300)));
        assert!(is_news(&there, Some(now), &other, now + REWORD_AFTER));
        assert!(is_news(&there, Some(now), &waits("amphora boots"), now), "another reason");
        assert!(is_news(&there, Some(now), &ready(), now), "another status");
    }

    #[test]
    fn a_long_message_is_cut_between_characters() {
        let cut = unknown(&"ü".repeat(1000)).message;
        assert!(cut.len() <= LONGEST_MESSAGE_BYTES && cut.ends_with('ü'), "{}", cut.len());
    }

    #[test]
    fn every_reason_is_one_camel_case_word() {
        let short = |kind| falls_short(&[Shortfall { kind, message: "x".to_owned() }]).unwrap();
        let all = [
            ready(),
            short(ShortfallKind::InvalidValue),
            short(ShortfallKind::RecreationNeeded),
            waits("x"),
            failed(Task::Ensure, "x"),
            failed(Task::Remove, "x"),
            unknown("x"),
            refused(&["x".to_owned()]),
            too_many_creates("x"),
            replacement_held("x"),
            not_adopted("x"),
        ];
        for said in all {
            let is_word = said.reason.chars().all(|c| c.is_ascii_alphabetic());
            assert!(is_word && said.reason.starts_with(|c: char| c.is_ascii_uppercase()), "{}", said.reason);
        }
    }
}
