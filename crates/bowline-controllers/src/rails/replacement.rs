//! Safety rail SR-19, broken is not useless: a load balancer that the control plane of the cloud reports as broken may still carry traffic.
//!
//! It is replaced only if its address was never published, or if two observations, some time apart, show that it serves no traffic. When
//! many are broken at once, none is replaced: the problem is then in the control plane, not in the load balancers. The second observation
//! is [`SecondLook`](super::second_look::SecondLook), one for each Service; this file has the breaker for all of them.
//!
//! A pure value: callers pass the time and report the result.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use bowline_cloud::{Broken, StepFacts, Traffic, Verb};
use tokio::time::Instant;

/// The check of `/readyz?verbose` that reports whether the breaker is open.
pub const BREAKER_CHECK: &str = "load-balancer-breaker";

/// The annotation of a Service that releases the breaker for one load balancer: its value is the id of that load balancer. It does not
/// release a load balancer that may carry traffic.
pub const ALLOW_REPLACEMENT: &str = "bowline.dev/allow-load-balancer-replacement";

/// The breaker never opens for this many broken load balancers or fewer: in a small cluster a few failures are no sign of an outage.
const ALWAYS_ALLOWED: usize = 3;

/// When broken load balancers are replaced.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReplacementLimits {
    /// The minimum time between the two observations that show that a load balancer serves no traffic.
    pub apart: Duration,
    /// The breaker opens if more than this share of the load balancers, in percent, and more than three are broken within the window.
    pub breaker_percent: u8,
    /// How long a load balancer still counts as broken after it was last observed broken.
    pub window: Duration,
}

impl Default for ReplacementLimits {
    fn default() -> Self {
        Self { apart: Duration::from_secs(60), breaker_percent: 10, window: Duration::from_secs(600) }
    }
}

/// The breaker changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Too many load balancers are broken: from now on none is replaced.
    Opened,
    /// Few load balancers are broken.
    Closed,
}

/// Why a broken load balancer is not replaced now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Held {
    /// The load balancer may carry traffic.
    MayServe {
        /// Its id.
        id: String,
    },
    /// The breaker is open.
    BreakerOpen {
        /// Its id.
        id: String,
        /// How many load balancers are broken, or were within the window.
        broken: usize,
        /// The number of load balancers.
        known: usize,
    },
    /// Too many load balancers could not be observed since this one was observed broken: they may be broken, too.
    Unobserved {
        /// Its id.
        id: String,
        /// How many could not be observed.
        unobserved: usize,
        /// The number of load balancers.
        known: usize,
    },
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::MayServe { id } => write!(
                f,
                "the cloud reports load balancer {id} as broken, but it may still carry traffic, so it is not deleted; repair it in the \
                 cloud"
            ),
            Self::BreakerOpen { id, broken, known } => write!(
                f,
                "{broken} of {known} load balancers are reported as broken at once, so none is deleted; check the control plane of the \
                 cloud. To replace load balancer {id} all the same, set annotation {ALLOW_REPLACEMENT} of the Service to its id"
            ),
            Self::Unobserved { id, unobserved, known } => write!(
                f,
                "{unobserved} of {known} load balancers could not be observed since load balancer {id} was reported as broken. They may \
                 be broken, too, so none is deleted; check the control plane of the cloud. To replace it all the same, set \
                 annotation {ALLOW_REPLACEMENT} of the Service to its id"
            ),
        }
    }
}

/// Counts broken load balancers and opens if there are too many. `K` names a Service, so the number of Services bounds the state.
#[derive(Debug, Clone)]
pub struct FleetBreaker<K> {
    limits: ReplacementLimits,
    entries: BTreeMap<K, Entry>,
    is_open: bool,
    swept: Option<Instant>,
    /// The Services without a complete observation since the last sweep began.
    unobserved: BTreeSet<K>,
}

#[derive(Debug, Clone)]
struct Entry {
    id: String,
    /// When it was last observed broken.
    at: Instant,
    is_broken: bool,
}

impl<K: Ord + Clone> FleetBreaker<K> {
    /// A closed breaker without any broken load balancer.
    #[must_use]
    pub fn new(limits: ReplacementLimits) -> Self {
        Self { limits, entries: BTreeMap::new(), is_open: false, swept: None, unobserved: BTreeSet::new() }
    }

    /// The limits.
    #[must_use]
    pub const fn limits(&self) -> &ReplacementLimits {
        &self.limits
    }

    /// Records an observation of one Service. `broken` is `None` if its load balancer is not broken or does not exist; `known` is the
    /// number of Services with a load balancer. A load balancer that never served does not count: failed creations say nothing about
    /// running load balancers. Returns the new state of the breaker if it changed.
    pub fn look(&mut self, key: &K, broken: Option<&Broken>, known: usize, now: Instant) -> Option<Turn> {
        self.unobserved.remove(key);
        match broken.filter(|broken| broken.traffic != Traffic::Never) {
            Some(broken) => {
                let entry = Entry { id: broken.id.clone(), at: now, is_broken: true };
                self.entries.insert(key.clone(), entry);
            }
            None => {
                if let Some(entry) = self.entries.get_mut(key) {
                    entry.is_broken = false;
                }
            }
        }
        let window = self.limits.window;
        self.entries.retain(|_key, entry| entry.is_broken || now.duration_since(entry.at) < window);
        let open = self.count() > self.limit(known);
        let turned = open != std::mem::replace(&mut self.is_open, open);
        turned.then_some(if open { Turn::Opened } else { Turn::Closed })
    }

    /// Drops Services that no longer exist from the unobserved ones, since nothing will observe them.
    pub fn retain_unobserved(&mut self, exists: impl Fn(&K) -> bool) {
        self.unobserved.retain(exists);
    }

    /// Checks whether a broken load balancer may be replaced, given the state of all load balancers. `allowed` is the value of
    /// [`ALLOW_REPLACEMENT`]. Load balancers that could not be observed count as broken, because a failing control plane may still answer
    /// some requests.
    ///
    /// # Errors
    ///
    /// [`Held`] with the reason.
    pub fn judge(&self, broken: &Broken, known: usize, allowed: Option<&str>) -> Result<(), Held> {
        let id = broken.id.clone();
        match broken.traffic {
            Traffic::Possible => Err(Held::MayServe { id }),
            Traffic::Never => Ok(()),
            Traffic::None if allowed == Some(id.as_str()) => Ok(()),
            Traffic::None if self.is_open => {
                Err(Held::BreakerOpen { id, broken: self.count(), known: known.max(self.count()) })
            }
            Traffic::None if self.count() + self.unobserved.len() > self.limit(known) => {
                Err(Held::Unobserved { id, unobserved: self.unobserved.len(), known })
            }
            Traffic::None => Ok(()),
        }
    }

    /// Whether all Services have to be observed now, because one load balancer is broken and the others have not been observed since.
    /// Returns `true` at most once in the time between two observations, so all others are observed before the second observation of the
    /// first one. `others` are the Services to be observed.
    pub fn begin_sweep(&mut self, others: impl IntoIterator<Item = K>, now: Instant) -> bool {
        let is_due = self.swept.is_none_or(|at| now.duration_since(at) >= self.limits.apart);
        if is_due {
            self.swept = Some(now);
            self.unobserved = others.into_iter().collect();
        }
        is_due
    }

    /// Whether the breaker is open.
    #[must_use]
    pub const fn is_open(&self) -> bool {
        self.is_open
    }

    /// How many load balancers are broken now. A load balancer that several Services share counts once.
    #[must_use]
    pub fn broken_now(&self) -> usize {
        self.ids(|entry| entry.is_broken)
    }

    /// How many load balancers are broken, or were within the window.
    fn count(&self) -> usize {
        self.ids(|_entry| true)
    }

    fn ids(&self, which: impl Fn(&Entry) -> bool) -> usize {
        let entries = self.entries.values().filter(|entry| which(entry));
        entries.map(|entry| entry.id.as_str()).collect::<BTreeSet<_>>().len()
    }

    fn limit(&self, known: usize) -> usize {
        (known.saturating_mul(self.limits.breaker_percent.into()) / 100).max(ALWAYS_ALLOWED)
    }
}

/// Whether a plan deletes this broken load balancer.
pub fn replaces<'a>(broken: &Broken, steps: impl IntoIterator<Item = &'a StepFacts>) -> bool {
    steps.into_iter().any(|facts| facts.verb == Verb::Delete && facts.target == broken.id)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn broken(id: &str, traffic: Traffic) -> Broken {
        Broken { id: id.to_owned(), traffic }
    }

    /// A fleet in which so many load balancers serve nobody.
    fn fleet(count: usize, known: usize, now: Instant) -> FleetBreaker<usize> {
        let mut fleet = FleetBreaker::new(ReplacementLimits::default());
        for key in 0..count {
            fleet.look(&key, Some(&broken(&format!("lb-{key}"), Traffic::None)), known, now);
        }
        fleet
    }

    #[test]
    fn one_that_may_serve_is_never_replaced_and_one_that_never_served_always() {
        let now = Instant::now();
        for fleet in [fleet(1, 10, now), fleet(9, 10, now)] {
            let possible = broken("lb-0", Traffic::Possible);
            assert_eq!(fleet.judge(&possible, 10, None), Err(Held::MayServe { id: "lb-0".to_owned() }));
            assert!(fleet.judge(&possible, 10, Some("lb-0")).is_err(), "an annotation does not release it");
            assert_eq!(fleet.judge(&broken("lb-0", Traffic::Never), 10, None), Ok(()));
        }
    }

    #[test]
    fn the_breaker_opens_when_more_than_three_and_more_than_a_tenth_are_broken() {
        let now = Instant::now();
        let none = broken("lb-0", Traffic::None);
        for (count, known, holds) in
            [(3, 4, false), (4, 4, true), (4, 39, true), (4, 40, false), (5, 49, true)]
        {
            let fleet = fleet(count, known, now);
            assert_eq!(fleet.judge(&none, known, None).is_err(), holds, "{count} of {known}");
            assert_eq!(fleet.is_open(), holds);
        }
        let open = fleet(4, 4, now);
        assert_eq!(open.judge(&none, 4, Some("lb-0")), Ok(()), "a person allows this one");
        assert!(open.judge(&none, 4, Some("lb-1")).is_err() && open.judge(&none, 4, Some("true")).is_err());
    }

    #[test]
    fn those_that_may_serve_count_and_those_that_never_served_do_not() {
        let (mut fleet, now) = (fleet(2, 10, Instant::now()), Instant::now());
        for key in 2..9 {
            assert_eq!(fleet.look(&key, Some(&broken(&key.to_string(), Traffic::Never)), 10, now), None);
        }
        assert_eq!(fleet.look(&2, Some(&broken("lb-2", Traffic::Possible)), 10, now), None);
        assert_eq!(fleet.look(&3, Some(&broken("lb-3", Traffic::Possible)), 10, now), Some(Turn::Opened));
    }

    #[test]
    fn services_that_share_a_load_balancer_count_as_one() {
        let (mut fleet, now) = (fleet(0, 10, Instant::now()), Instant::now());
        for key in 0..9 {
            assert_eq!(fleet.look(&key, Some(&broken("shared", Traffic::Possible)), 10, now), None);
        }
        assert_eq!((fleet.broken_now(), fleet.is_open()), (1, false));
    }

    #[test]
    fn one_after_the_other_is_as_many_as_at_once_and_after_the_window_the_breaker_closes() {
        let (mut fleet, now) = (fleet(3, 10, Instant::now()), Instant::now());
        for key in 0..3 {
            assert_eq!(fleet.look(&key, None, 10, now), None, "replaced");
        }
        let fourth = broken("lb-3", Traffic::None);
        assert_eq!(fleet.look(&3, Some(&fourth), 10, now), Some(Turn::Opened));
        let later = now + ReplacementLimits::default().window;
        assert_eq!(fleet.look(&3, Some(&fourth), 10, later), Some(Turn::Closed));
        assert_eq!((fleet.judge(&fourth, 10, None), fleet.broken_now()), (Ok(()), 1));
    }

    #[test]
    fn all_are_observed_once_between_two_observations_of_the_first() {
        let (mut fleet, now) = (fleet(1, 10, Instant::now()), Instant::now());
        let apart = ReplacementLimits::default().apart;
        assert_eq!(
            [0, 1, 59].map(|at| fleet.begin_sweep([], now + Duration::from_secs(at))),
            [true, false, false]
        );
        assert!(fleet.begin_sweep([], now + apart));
    }

    #[test]
    fn those_that_could_not_be_observed_since_one_was_broken_count_as_broken() {
        let (mut fleet, now) = (fleet(1, 9, Instant::now()), Instant::now());
        let none = broken("lb-0", Traffic::None);
        assert!(fleet.begin_sweep(1..=4, now));
        let held = Held::Unobserved { id: "lb-0".to_owned(), unobserved: 4, known: 9 };
        assert_eq!(fleet.judge(&none, 9, None), Err(held));
        assert_eq!(fleet.judge(&none, 9, Some("lb-0")), Ok(()), "a person allows this one");
        assert_eq!(fleet.judge(&broken("lb-0", Traffic::Never), 9, None), Ok(()));
        assert_eq!(fleet.look(&1, None, 9, now), None);
        assert!(fleet.judge(&none, 9, None).is_err(), "one broken and three unknown are four");
        fleet.retain_unobserved(|key| *key != 2);
        assert_eq!(fleet.judge(&none, 9, None), Ok(()), "four are too many, and three are not");
    }

    #[test]
    fn a_plan_replaces_what_it_deletes_by_id() {
        let none = broken("lb-0", Traffic::None);
        let facts = |verb, target: &str| StepFacts::new(verb, "load balancer", target);
        assert!(replaces(&none, [&facts(Verb::Delete, "lb-0")]));
        assert!(!replaces(&none, [&facts(Verb::Delete, "lb-1"), &facts(Verb::Update, "lb-0")]));
    }
}
