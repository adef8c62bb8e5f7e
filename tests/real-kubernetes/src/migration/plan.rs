//! What a run is, and what happens amid it, from a seed.

use std::fmt;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};

/// How the run is meant to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// To the new manager.
    There,
    /// On the way, or when it is done, the way back is asked for.
    Back,
    /// The new manager is told another name of the cluster, so that it must not begin.
    WrongName,
    /// The new manager is told credentials of another project, so that it must not begin.
    WrongProject,
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// What is migrated from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum From {
    /// Another cloud-controller-manager, which waits for the same Lease.
    Manager,
    /// The provider inside kube-controller-manager of so many control-plane nodes, which heeds no Lease of ours.
    InTree {
        /// How many.
        control_plane: usize,
    },
}

/// A process that can be ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Victim {
    /// The operator, the one that leads or the one that waits.
    Operator,
    /// The manager that was there.
    Old,
    /// The manager that is migrated to.
    New,
}

/// What happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A process is killed (kill -9).
    Crash(Victim),
    /// A process is asked to end (SIGTERM).
    End(Victim),
    /// Somebody takes the operator's status away.
    LoseStatus,
    /// A new Service wants a load balancer.
    Create,
    /// A Service gets one more port.
    Edit,
    /// A Service is deleted.
    Delete,
    /// The way back is asked for.
    Rollback,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, f)
    }
}

/// When something happens: so long after a phase was first seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Happening {
    /// The place of the phase in [`PHASES`].
    pub phase: usize,
    /// How long after it.
    pub after: Duration,
    /// What.
    pub event: Event,
}

/// The phases at which things happen, in their order.
pub const PHASES: [&str; 8] =
    ["Detect", "Preflight", "Relinquish", "Fence", "ServiceOnly", "Nodes", "Full", "Steady"];

/// A run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Plan {
    /// The seed that it comes from.
    pub seed: u64,
    /// How it is meant to end.
    pub kind: Kind,
    /// What is migrated from.
    pub from: From,
    /// Services that are there before.
    pub services: usize,
    /// Pods of the old manager.
    pub old_replicas: i32,
    /// Pods of the new manager.
    pub new_replicas: i32,
    /// Operators.
    pub operators: usize,
    /// Whether a new pod begins while the one that it replaces still ends.
    pub overlapping: bool,
    /// How often a Service is edited all the time, so that whoever can write does; `None` is never.
    pub busy: Option<Duration>,
    /// What happens, in the order of its phases.
    pub happenings: Vec<Happening>,
}

impl Plan {
    /// The run of a seed.
    #[must_use]
    pub fn of_seed(seed: u64) -> Self {
        let mut rng = StdRng::seed_from_u64(seed);
        let kind = match rng.random_range(0..20) {
            0..12 => Kind::There,
            12..17 => Kind::Back,
            17..19 => Kind::WrongName,
            _ => Kind::WrongProject,
        };
        let in_tree = From::InTree { control_plane: if rng.random_bool(0.5) { 3 } else { 1 } };
        let mut plan = Self {
            seed,
            kind,
            // Only the name of a manager is in the names of load balancers.
            from: if rng.random_bool(0.25) && kind != Kind::WrongName { in_tree } else { From::Manager },
            services: rng.random_range(3..=6),
            old_replicas: rng.random_range(1..=2),
            new_replicas: rng.random_range(1..=2),
            operators: rng.random_range(1..=2),
            overlapping: rng.random_bool(0.5),
            busy: rng.random_bool(0.7).then(|| Duration::from_millis(rng.random_range(200..700))),
            happenings: Vec::new(),
        };
        let count = rng.random_range(1..=5);
        plan.happenings = (0..count).map(|_| plan.happening(&mut rng)).collect();
        if kind == Kind::Back {
            plan.happenings.push(Happening { event: Event::Rollback, ..plan.happening(&mut rng) });
        }
        plan.happenings.sort_by_key(|happening| (happening.phase, happening.after));
        plan
    }

    fn happening(&self, rng: &mut StdRng) -> Happening {
        // Those that must not begin never get further than this.
        let phases = if self.must_block() { 2 } else { PHASES.len() };
        let event = match rng.random_range(0..16) {
            0..3 => Event::Crash(Victim::Operator),
            3 => Event::End(Victim::Operator),
            4..6 => Event::Crash(Victim::Old),
            6 => Event::End(Victim::Old),
            7..10 => Event::Crash(Victim::New),
            10 => Event::End(Victim::New),
            11..13 => Event::LoseStatus,
            13 => Event::Create,
            14 => Event::Edit,
            _ => Event::Delete,
        };
        let after = Duration::from_millis(rng.random_range(0..1500));
        // The old one is there only in the first half.
        let is_old = matches!(event, Event::Crash(Victim::Old) | Event::End(Victim::Old));
        let phases = if is_old { phases.min(PHASES.len() / 2) } else { phases };
        Happening { phase: rng.random_range(0..phases), after, event }
    }

    /// Whether it must not even begin.
    #[must_use]
    pub fn must_block(&self) -> bool {
        matches!(self.kind, Kind::WrongName | Kind::WrongProject)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_is_always_the_same_run() {
        assert_eq!(Plan::of_seed(7), Plan::of_seed(7));
        assert!((0..50).any(|seed| Plan::of_seed(seed).happenings != Plan::of_seed(seed + 1).happenings));
    }

    #[test]
    fn all_kinds_and_all_that_can_happen_are_there_in_two_hundred_runs() {
        let plans: Vec<Plan> = (0..200).map(Plan::of_seed).collect();
        for kind in [Kind::There, Kind::Back, Kind::WrongName, Kind::WrongProject] {
            assert!(plans.iter().any(|plan| plan.kind == kind), "{kind}");
        }
        assert!(plans.iter().any(|plan| plan.from != From::Manager && plan.kind == Kind::Back));
        let victims = [Victim::Operator, Victim::Old, Victim::New];
        let ends = victims.into_iter().flat_map(|victim| [Event::Crash(victim), Event::End(victim)]);
        let others = [Event::LoseStatus, Event::Create, Event::Edit, Event::Delete, Event::Rollback];
        for event in ends.chain(others) {
            let all = plans.iter().flat_map(|plan| &plan.happenings);
            let phases: std::collections::BTreeSet<usize> =
                all.filter(|happening| happening.event == event).map(|happening| happening.phase).collect();
            assert!(phases.len() > 3, "{event} in {phases:?}");
        }
    }

    #[test]
    fn the_way_back_is_asked_for_only_where_it_is_meant() {
        for plan in (0..200).map(Plan::of_seed) {
            let asks = plan.happenings.iter().filter(|happening| happening.event == Event::Rollback).count();
            assert_eq!(asks, usize::from(plan.kind == Kind::Back));
        }
    }
}
