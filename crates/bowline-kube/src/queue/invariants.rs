//! Properties of the pure queue under any sequence of operations.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use proptest::prelude::*;

use super::{Backoff, Load, Outcome, Priority, QueueSettings, QueueState};

const BASE: Duration = Duration::from_secs(5);
const BACKGROUND_EVERY: u32 = 3;

#[derive(Debug, Clone)]
enum Step {
    Add(u8, Priority),
    AddAfter(u8, u64, Priority),
    Pick,
    Finish(usize, Outcome),
    Forward(u64),
}

fn priority() -> impl Strategy<Value = Priority> {
    prop_oneof![Just(Priority::User), Just(Priority::Background)]
}

fn outcome() -> impl Strategy<Value = Outcome> {
    prop_oneof![
        Just(Outcome::Done),
        Just(Outcome::Requeue),
        Just(Outcome::Failed),
        (0_u64..20).prop_map(|s| Outcome::RetryAfter(Duration::from_secs(s))),
    ]
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0_u8..6, priority()).prop_map(|(k, p)| Step::Add(k, p)),
        2 => (0_u8..6, 1_u64..30, priority()).prop_map(|(k, s, p)| Step::AddAfter(k, s, p)),
        5 => Just(Step::Pick),
        4 => (any::<usize>(), outcome()).prop_map(|(n, o)| Step::Finish(n, o)),
        2 => (1_u64..20).prop_map(Step::Forward),
    ]
}

/// An observer that knows only what was asked for and what was answered.
struct Witness {
    queue: QueueState<u8>,
    now: Duration,
    running: BTreeSet<u8>,
    failures: BTreeMap<u8, u32>,
    wishes: BTreeMap<u8, Wishes>,
}

/// The moments from which a run of one key is wanted, by who wants it.
#[derive(Debug, Default)]
struct Wishes {
    added: Option<Duration>,
    scheduled: Option<Duration>,
    verdict: Option<Duration>,
}

impl Wishes {
    fn met(&mut self, now: Duration) -> bool {
        let due = |wish: Option<Duration>| wish.is_some_and(|at| at <= now);
        let justified = due(self.added) || due(self.scheduled) || due(self.verdict);
        self.added = None;
        self.verdict = None;
        self.scheduled = self.scheduled.filter(|at| *at > now);
        justified
    }

    fn none(&self) -> bool {
        self.added.is_none() && self.scheduled.is_none() && self.verdict.is_none()
    }
}

impl Witness {
    fn new() -> Self {
        let settings = QueueSettings {
            backoff: Backoff::new(BASE, BASE * 16),
            retry_budget: None,
            background_every: BACKGROUND_EVERY,
        };
        Self {
            queue: QueueState::new(settings),
            now: Duration::ZERO,
            running: BTreeSet::new(),
            failures: BTreeMap::new(),
            wishes: BTreeMap::new(),
        }
    }

    fn wishes(&mut self, key: u8) -> &mut Wishes {
        self.wishes.entry(key).or_default()
    }

    fn take(&mut self, step: &Step) {
        match *step {
            Step::Add(key, priority) => {
                self.queue.add(key, priority, self.now);
                self.wishes(key).added = Some(self.now);
            }
            Step::AddAfter(key, secs, priority) => {
                let delay = Duration::from_secs(secs);
                self.queue.add_after(key, delay, priority, self.now);
                let due = self.now + delay;
                let now = self.now;
                let wishes = self.wishes(key);
                // A wish that has come true is no longer one among which the earliest wins.
                if wishes.scheduled.is_some_and(|at| at <= now) {
                    wishes.added = wishes.scheduled.take();
                }
                let scheduled = &mut wishes.scheduled;
                *scheduled = Some(scheduled.map_or(due, |at| at.min(due)));
            }
            Step::Pick => {
                self.pick();
            }
            Step::Finish(nth, outcome) => self.finish(nth, outcome),
            Step::Forward(secs) => self.now += Duration::from_secs(secs),
        }
    }

    fn pick(&mut self) -> Option<u8> {
        let picked = self.queue.pick(self.now)?;
        assert!(self.running.insert(picked.key), "two runs of key {} at once", picked.key);
        assert_eq!(
            picked.failures,
            self.failures.get(&picked.key).copied().unwrap_or(0),
            "failures are counted"
        );
        let now = self.now;
        assert!(self.wishes(picked.key).met(now), "key {} ran though nobody wanted it yet", picked.key);
        Some(picked.key)
    }

    fn finish(&mut self, nth: usize, outcome: Outcome) {
        let Some(&key) = self.running.iter().nth(nth % self.running.len().max(1)) else { return };
        self.running.remove(&key);
        assert!(self.queue.finish(&key, outcome, self.now).is_some());
        let failures = self.failures.entry(key).or_default();
        let wait = match outcome {
            Outcome::RetryAfter(delay) => delay,
            Outcome::Done | Outcome::Requeue => {
                *failures = 0;
                Duration::ZERO
            }
            Outcome::Failed => {
                *failures += 1;
                Backoff::new(BASE, BASE * 16).delay(*failures)
            }
        };
        let next = (outcome != Outcome::Done).then_some(self.now + wait);
        self.wishes(key).verdict = next;
    }

    /// The load once a change has fired the timers. The end of a run that does not exist is the change.
    fn load_after_a_change(&mut self) -> Load {
        assert_eq!(self.queue.finish(&u8::MAX, Outcome::Done, self.now), None);
        self.queue.load(self.now)
    }

    /// Finishes everything; gives up after far more rounds than an honest queue needs.
    fn drain(&mut self) {
        while !self.running.is_empty() {
            self.finish(0, Outcome::Done);
        }
        self.now += Duration::from_secs(86_400);
        for _ in 0..1_000 {
            if self.pick().is_none() {
                return;
            }
            self.finish(0, Outcome::Done);
        }
        panic!("the queue does not run dry");
    }
}

proptest! {
    #[test]
    fn no_key_runs_twice_at_once_or_early_or_gets_lost(steps in prop::collection::vec(step(), 0..120)) {
        let mut witness = Witness::new();
        for step in &steps {
            witness.take(step);
            let load = witness.queue.load(witness.now);
            prop_assert_eq!(load.running as usize, witness.running.len());
            prop_assert_eq!(load, witness.load_after_a_change(), "a load counts what is due as a change would");
            prop_assert!(witness.queue.len() <= 6, "at most one entry for each key");
        }
        witness.drain();
        let unmet: Vec<_> = witness.wishes.iter().filter(|(_, wishes)| !wishes.none()).collect();
        prop_assert!(unmet.is_empty(), "wishes that were never met: {unmet:?}");
        prop_assert!(witness.queue.is_empty(), "a queue with nothing to do remembers nothing");
    }

    #[test]
    fn keys_of_one_priority_run_in_the_order_they_came(keys in prop::collection::vec(0_u8..20, 0..60)) {
        let mut queue = QueueState::new(QueueSettings::default());
        let mut expected = Vec::new();
        for key in keys {
            queue.add(key, Priority::User, Duration::ZERO);
            if !expected.contains(&key) {
                expected.push(key);
            }
        }
        let order: Vec<u8> = std::iter::from_fn(|| queue.pick(Duration::ZERO).map(|p| p.key)).collect();
        prop_assert_eq!(order, expected);
    }

    #[test]
    fn a_background_key_waits_for_a_bounded_number_of_picks(
        ahead in 0_u16..10,
        users in prop::collection::vec(any::<bool>(), 200),
    ) {
        let settings = QueueSettings { background_every: BACKGROUND_EVERY, ..QueueSettings::default() };
        let mut queue = QueueState::new(settings);
        for key in 0..=ahead {
            queue.add(key, Priority::Background, Duration::ZERO);
        }
        let bound = u32::from(ahead + 1) * BACKGROUND_EVERY;
        let mut picks = 0;
        for (n, arrives) in users.into_iter().enumerate() {
            queue.add(1_000 + u16::try_from(n).unwrap(), Priority::User, Duration::ZERO);
            if arrives {
                queue.add(5_000 + u16::try_from(n).unwrap(), Priority::User, Duration::ZERO);
            }
            picks += 1;
            if queue.pick(Duration::ZERO).map(|p| p.key) == Some(ahead) {
                break;
            }
        }
        prop_assert!(picks <= bound, "waited for {picks} picks, at most {bound} promised");
    }
}
