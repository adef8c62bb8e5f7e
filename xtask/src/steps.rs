//! Numbered progress with the time each step took, and a summary at the end.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

use anyhow::Context;

use crate::run::elapsed;

/// When the first step began.
static BEGUN: OnceLock<Instant> = OnceLock::new();

/// How long the steps have taken so far.
pub(crate) fn so_far() -> Duration {
    BEGUN.get().map(Instant::elapsed).unwrap_or_default()
}

/// What a step does.
type Action = fn() -> anyhow::Result<()>;

/// A named part of a longer run.
pub(crate) struct Step {
    name: &'static str,
    action: Action,
}

/// A step with its name.
pub(crate) fn step(name: &'static str, action: Action) -> Step {
    Step { name, action }
}

/// Runs the steps one after the other and stops at the first that fails.
pub(crate) fn run_all(steps: &[Step]) -> anyhow::Result<()> {
    let start = *BEGUN.get_or_init(Instant::now);
    let mut times = Vec::with_capacity(steps.len());
    for (index, step) in steps.iter().enumerate() {
        let position = format!("[{}/{}]", index + 1, steps.len());
        println!("{position} {}", step.name);
        let start = Instant::now();
        (step.action)().with_context(|| format!("step {position} {} failed", step.name))?;
        println!("{position} {}: done in {}\n", step.name, elapsed(start.elapsed()));
        times.push(start.elapsed());
    }
    print!("{}", summary(steps, &times, start.elapsed()));
    Ok(())
}

fn summary(steps: &[Step], times: &[Duration], total: Duration) -> String {
    let lines = steps.iter().zip(times).map(|(step, time)| format!("{:>8}  {}\n", elapsed(*time), step.name));
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

    #[test]
    fn the_summary_has_a_line_for_each_step_and_the_total() {
        let steps = [step("one", || Ok(())), step("two", || Ok(()))];
        let text =
            summary(&steps, &[Duration::from_secs(1), Duration::from_secs(70)], Duration::from_secs(71));
        assert_eq!(text, "All 2 steps passed:\n    1.0s  one\n   1m10s  two\n   1m11s  in all\n");
    }
}
