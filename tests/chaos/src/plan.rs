//! What a seed makes of a run: which scenario, how hasty its people are, and what goes wrong when. Pure.

use std::fmt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

use crate::disturbance::Kind;
use crate::observer::{KillAt, Moment, Side};
use crate::scenario::{ALL, Scenario};

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// `kill -9`, at no particular point.
    Kill(usize),
    /// The same, and the next process lists the past: so many steps back.
    Travel(usize, usize),
    /// A watch comes late: what happens to the other kind is seen first.
    Late(usize, Kind, Duration),
    /// A watch shows nothing for so long, then breaks, and what happened is only seen as its result, by a new list.
    Unseen(usize, Kind, Duration),
    /// A watch breaks, and is resumed.
    Cut(usize, Kind),
    /// A watch breaks, and is refused as too old.
    TooOld(usize, Kind),
    /// The API server refuses everything of one process for so long.
    BrownOut(usize, Duration),
    /// The cloud refuses everything for so long.
    CloudBrownOut(Duration),
    /// The replies of the next so many writes to the cloud are lost.
    LostReplies(usize),
    /// A process stands still for so long, longer than its lease, and goes on.
    Freeze(usize, Duration),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kill(place) => write!(f, "manager {place} is killed"),
            Self::Travel(place, back) => {
                write!(f, "manager {place} is killed, and the next lists what was {back} steps ago")
            }
            Self::Late(place, kind, time) => write!(f, "manager {place} sees {kind} {time:?} late"),
            Self::Unseen(place, kind, time) => {
                write!(f, "manager {place} does not see {kind} for {time:?}, and then only the result")
            }
            Self::Cut(place, kind) => write!(f, "manager {place} loses its watch of {kind}"),
            Self::TooOld(place, kind) => {
                write!(f, "manager {place} loses its watch of {kind}, and it is too old to be resumed")
            }
            Self::BrownOut(place, time) => write!(f, "the API server refuses manager {place} for {time:?}"),
            Self::CloudBrownOut(time) => write!(f, "the cloud refuses everything for {time:?}"),
            Self::LostReplies(count) => write!(f, "the replies of {count} writes to the cloud are lost"),
            Self::Freeze(place, time) => write!(f, "manager {place} stands still for {time:?}"),
        }
    }
}

/// What is waited for after a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Pause {
    /// Everything is as it is at this point without a fault.
    Settled,
    /// So long.
    For(Duration),
}

/// A fault, so long after a step has been performed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timed {
    /// The place of the step in the scenario.
    pub step: usize,
    /// How long after it.
    pub after: Duration,
    /// What goes wrong.
    pub fault: Fault,
}

/// A run.
#[derive(Debug, Clone)]
pub struct Plan {
    /// What is done.
    pub scenario: Scenario,
    /// How many processes of the manager there are.
    pub replicas: usize,
    /// Whether they compete for a lease; a single one may do without.
    pub is_elected: bool,
    /// How long the cloud takes for an operation on a load balancer.
    pub operation: Duration,
    /// What is waited for after each step.
    pub pauses: Vec<Pause>,
    /// What goes wrong by time.
    pub faults: Vec<Timed>,
    /// What goes wrong by write.
    pub kills: Vec<KillAt>,
}

impl Plan {
    /// A run in which nothing goes wrong.
    #[must_use]
    pub fn quiet(scenario: Scenario) -> Self {
        let pauses = vec![Pause::Settled; scenario.steps.len()];
        let operation = Duration::ZERO;
        Self {
            scenario,
            replicas: 1,
            is_elected: false,
            operation,
            pauses,
            faults: Vec::new(),
            kills: Vec::new(),
        }
    }

    /// A run in which the manager is killed once.
    #[must_use]
    pub fn killed(scenario: Scenario, kill: KillAt) -> Self {
        Self { kills: vec![kill], ..Self::quiet(scenario) }
    }

    /// The run of a seed. Eight seeds in a row are eight scenarios.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut random = StdRng::seed_from_u64(seed);
        let turn = usize::try_from(seed % 8).unwrap_or(0);
        let scenario = ALL[turn];
        let replicas = if random.random_bool(0.3) { 2 } else { 1 };
        let is_elected = replicas > 1 || random.random_bool(0.15);
        let operation = if random.random_bool(0.3) { random.random_range(50..400) } else { 0 };
        let haste = random.random_range(0..4);
        let pauses = scenario.steps.iter().map(|_| pause(&mut random, haste)).collect();
        let count = random.random_range(1..=3);
        let faults = (0..count).map(|_| timed(&mut random, scenario.steps.len(), replicas)).collect();
        let kills = if random.random_bool(0.5) { vec![kill(&mut random)] } else { Vec::new() };
        let operation = Duration::from_millis(operation);
        Self { scenario, replicas, is_elected, operation, pauses, faults, kills }
    }
}

fn millis(random: &mut StdRng, range: std::ops::Range<u64>) -> Duration {
    Duration::from_millis(random.random_range(range))
}

fn pause(random: &mut StdRng, haste: u32) -> Pause {
    match haste {
        0 => Pause::Settled,
        1 => Pause::For(Duration::ZERO),
        _ => Pause::For(millis(random, 0..600)),
    }
}

fn timed(random: &mut StdRng, steps: usize, replicas: usize) -> Timed {
    let place = random.random_range(0..replicas);
    let kind = if random.random_bool(0.6) { Kind::Services } else { Kind::Nodes };
    let fault = match random.random_range(0..12) {
        0 | 1 => Fault::Kill(place),
        2 | 3 => Fault::Travel(place, random.random_range(1..=steps)),
        4 => Fault::Late(place, kind, millis(random, 300..1500)),
        5 | 6 => Fault::Unseen(place, kind, millis(random, 200..1200)),
        7 => Fault::Cut(place, kind),
        8 => Fault::TooOld(place, kind),
        9 => Fault::BrownOut(place, millis(random, 100..900)),
        10 if replicas > 1 => Fault::Freeze(place, millis(random, 5500..6500)),
        10 => Fault::CloudBrownOut(millis(random, 100..700)),
        _ => Fault::LostReplies(random.random_range(1..=2)),
    };
    Timed { step: random.random_range(0..steps), after: millis(random, 0..500), fault }
}

fn kill(random: &mut StdRng) -> KillAt {
    let side = if random.random_bool(0.5) { Side::Cloud } else { Side::Kube };
    let moment = if random.random_bool(0.5) { Moment::BeforeReply } else { Moment::AfterReply };
    KillAt { side, write: random.random_range(1..=12), moment }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { scenario, replicas, operation, .. } = self;
        let elected = if self.is_elected { "with" } else { "without" };
        write!(f, "{}, {replicas} manager(s) {elected} a lease", scenario.name)?;
        if !operation.is_zero() {
            write!(f, ", load balancers take {operation:?}")?;
        }
        for kill in &self.kills {
            write!(f, "; {kill}")?;
        }
        for Timed { step, after, fault } in &self.faults {
            write!(f, "; {after:?} after step {}: {fault}", step + 1)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_same_plan_twice_and_eight_give_all_scenarios() {
        let names: std::collections::BTreeSet<&str> =
            (40..48).map(|seed| Plan::of_seed(seed).scenario.name).collect();
        assert_eq!(names.len(), ALL.len());
        assert_eq!(Plan::of_seed(7).to_string(), Plan::of_seed(7).to_string());
        assert_ne!(Plan::of_seed(7).to_string(), Plan::of_seed(15).to_string());
    }

    #[test]
    fn every_fault_is_met_in_a_hundred_seeds() {
        let all = (0..100).flat_map(|seed| Plan::of_seed(seed).faults);
        let kinds: std::collections::BTreeSet<String> =
            all.map(|timed| format!("{:?}", timed.fault).split('(').next().unwrap().to_owned()).collect();
        assert_eq!(kinds.len(), 10, "{kinds:?}");
    }
}
