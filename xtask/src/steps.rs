//! Numbered progress with the time each step took, and a summary at the end.

use std::collections::BTreeMap;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::ahead::{Ahead, log_of};
use crate::run::elapsed;

/// What a step does.
type Action = fn() -> anyhow::Result<()>;

/// A named part of a longer run.
pub(crate) struct Step {
    name: &'static str,
    action: Action,
    ahead: Option<Early>,
}

/// How a step is begun before its turn.
struct Early {
    /// With which step.
    with: &'static str,
    /// What does the same as the action.
    command: fn() -> anyhow::Result<Command>,
}

/// A step with its name.
pub(crate) fn step(name: &'static str, action: Action) -> Step {
    Step { name, action, ahead: None }
}

impl Step {
    /// Begun in the background together with an earlier step; at its own turn, it is waited for.
    pub(crate) fn begun_with(self, with: &'static str, command: fn() -> anyhow::Result<Command>) -> Self {
        Self { ahead: Some(Early { with, command }), ..self }
    }
}

/// How long a step took: in its turn, and before in the background.
struct Took {
    turn: Duration,
    before: Option<Duration>,
}

/// Runs the steps one after the other and stops at the first that fails, also of those in the background.
pub(crate) fn run_all(steps: &[Step]) -> anyhow::Result<()> {
    let start = Instant::now();
    let mut times = Vec::with_capacity(steps.len());
    let mut background = BTreeMap::new();
    for (index, step) in steps.iter().enumerate() {
        let position = format!("[{}/{}]", index + 1, steps.len());
        println!("{position} {}", step.name);
        background.extend(begin(steps, step.name)?);
        let start = Instant::now();
        let early = background.remove(step.name);
        let before = early.as_ref().map(Ahead::age);
        early
            .map_or_else(step.action, Ahead::join)
            .with_context(|| format!("step {position} {} failed", step.name))?;
        println!("{position} {}: done in {}\n", step.name, elapsed(start.elapsed()));
        times.push(Took { turn: start.elapsed(), before });
        stop_if_failed(&mut background)?;
    }
    print!("{}", summary(steps, &times, start.elapsed()));
    Ok(())
}

/// Begins what is begun together with a step.
fn begin(steps: &[Step], with: &str) -> anyhow::Result<Vec<(&'static str, Ahead)>> {
    let mut begun = Vec::new();
    for step in steps {
        let Some(early) = step.ahead.as_ref().filter(|early| early.with == with) else { continue };
        println!("      in the background from here on: {}", step.name);
        let ahead = Ahead::begin(&(early.command)()?, log_of(step.name)?)
            .with_context(|| format!("begin {} in the background", step.name))?;
        begun.push((step.name, ahead));
    }
    Ok(begun)
}

/// Nobody should wait for the turn of what has failed already.
fn stop_if_failed(background: &mut BTreeMap<&'static str, Ahead>) -> anyhow::Result<()> {
    let mut failed = None;
    for (name, ahead) in background.iter_mut() {
        if ahead.has_failed()? {
            failed = Some(*name);
        }
    }
    let failed = failed.and_then(|name| background.remove(name).map(|ahead| (name, ahead)));
    failed.map_or(Ok(()), |(name, ahead)| {
        ahead.join().with_context(|| format!("{name} failed in the background, before its turn"))
    })
}

fn summary(steps: &[Step], times: &[Took], total: Duration) -> String {
    let lines = steps.iter().zip(times).map(|(step, took)| {
        let before = took.before.map(|before| format!(", after {} in the background", elapsed(before)));
        format!("{:>8}  {}{}\n", elapsed(took.turn), step.name, before.unwrap_or_default())
    });
    format!("All {} steps passed:\n{}{:>8}  in all\n", steps.len(), lines.collect::<String>(), elapsed(total))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_failure_stops_the_run_and_is_named() {
        let steps = [
            step("fine", || Ok(())),
            step("broken", || anyhow::bail!("why")),
            step("never reached", || panic!("a step ran after a failure")),
        ];
        let error = format!("{:#}", run_all(&steps).unwrap_err());
        assert_eq!(error, "step [2/3] broken failed: why");
    }

    fn shell(script: &str) -> anyhow::Result<Command> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Ok(command)
    }

    #[test]
    fn what_is_begun_early_is_waited_for_in_its_turn_and_not_done_twice() {
        let again: Action = || panic!("it was done in the background already");
        let steps = [
            step("first", || Ok(())),
            step("fine", again).begun_with("first", || shell("exit 0")),
            step("broken", again).begun_with("fine", || shell("exit 3")),
        ];
        let error = format!("{:#}", run_all(&steps).unwrap_err());
        assert!(error.contains("broken failed") && error.contains("exit status: 3"), "{error}");
    }

    #[test]
    fn a_failure_in_the_background_stops_the_run_before_its_turn() {
        let mut ahead = Ahead::begin(&shell("exit 3").unwrap(), log_of("broken early").unwrap()).unwrap();
        while !ahead.has_failed().unwrap() {
            std::thread::yield_now();
        }
        let mut background = BTreeMap::from([("broken early", ahead)]);
        let error = format!("{:#}", stop_if_failed(&mut background).unwrap_err());
        assert!(error.starts_with("broken early failed in the background"), "{error}");
    }

    #[test]
    fn the_summary_has_a_line_for_each_step_and_the_total() {
        let steps = [step("one", || Ok(())), step("two", || Ok(()))];
        let took = |turn, before: Option<u64>| Took {
            turn: Duration::from_secs(turn),
            before: before.map(Duration::from_secs),
        };
        let text = summary(&steps, &[took(1, None), took(70, Some(20))], Duration::from_secs(71));
        assert_eq!(
            text,
            "All 2 steps passed:\n    1.0s  one\n   1m10s  two, after 20s in the background\n   1m11s  in all\n"
        );
    }
}
