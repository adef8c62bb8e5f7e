//! Safety rail SR-10: limits how often the same object is created. Pure: the caller passes the time.
//!
//! If a create is planned repeatedly although it succeeded, its result is not found again, and each create would leave an orphan until the
//! quota is exhausted. The limit applies to one object (kind and name), so a Service with a hundred ports gets its hundred listeners. An
//! object that we deleted ourselves was found, so it stops counting once the desired state changes. While the desired state is the same it
//! still counts; otherwise an object that breaks each time would be created each time.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_cloud::{CloudError, ErrorClass, StepFacts, Verb};
use tokio::time::Instant;

/// How often one object may be created within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateLimit {
    /// The number of creates that succeeded.
    pub created: usize,
    /// The number of creates with an unknown result. Higher than `created`, because a cloud that is down for some minutes fails all of
    /// them, and because the name is looked up before each of them.
    pub unclear: usize,
    /// The window in which creates are counted.
    pub within: Duration,
}

impl Default for CreateLimit {
    fn default() -> Self {
        Self { created: 3, unclear: 10, within: Duration::from_secs(3600) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Came {
    True,
    Unclear,
    /// The object was created, and deleted again by us.
    Removed,
}

/// The creates of one Service. Keeps only those of the window, so its size is bounded by the limit for each object.
#[derive(Debug, Clone, Default)]
pub struct CreateBudget {
    creates: BTreeMap<(&'static str, String), Vec<(Instant, Came)>>,
}

/// A create that is not allowed yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} {target} was created {times} times within {within:?} and is not found again; no more until {wait:?} from now"
)]
pub struct Exhausted {
    /// The kind of object.
    pub kind: &'static str,
    /// The name of the object.
    pub target: String,
    /// How often it was created within the window.
    pub times: usize,
    /// The window.
    pub within: Duration,
    /// How long until one more create is allowed.
    pub wait: Duration,
}

impl CreateBudget {
    /// Checks whether a step may be executed.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if the step creates an object that was already created too often.
    pub fn judge(&mut self, step: &StepFacts, limit: &CreateLimit, now: Instant) -> Result<(), Exhausted> {
        if step.verb != Verb::Create {
            return Ok(());
        }
        let recent = |at: Instant| now.duration_since(at) < limit.within;
        self.creates.retain(|_object, times| {
            times.retain(|(at, _)| recent(*at));
            !times.is_empty()
        });
        let Some(times) = self.creates.get(&(step.kind, step.target.clone())) else { return Ok(()) };
        for (is_unclear, most) in [(false, limit.created), (true, limit.unclear)] {
            let alike = |(_, came): &&(Instant, Came)| (*came == Came::Unclear) == is_unclear;
            let of_kind: Vec<_> = times.iter().filter(alike).map(|(at, _)| *at).collect();
            if of_kind.len() >= most.max(1) {
                let oldest = of_kind.first().map_or(Duration::ZERO, |at| now.duration_since(*at));
                let (kind, target, within) = (step.kind, step.target.clone(), limit.within);
                let wait = limit.within.saturating_sub(oldest);
                return Err(Exhausted { kind, target, times: of_kind.len(), within, wait });
            }
        }
        Ok(())
    }

    /// Records the result of a step. A create that the cloud refused does not count.
    pub fn record(&mut self, step: &StepFacts, result: Result<(), &CloudError>, now: Instant) {
        let came = match (step.verb, result) {
            (Verb::Create, Ok(())) => Came::True,
            (Verb::Create, Err(error)) if error.class() == ErrorClass::Transient => Came::Unclear,
            (Verb::Delete, Ok(())) => return self.removed(step),
            _ => return,
        };
        self.creates.entry((step.kind, step.target.clone())).or_default().push((now, came));
    }

    /// Marks creates as removed after a delete step. The step has an id, but creates are recorded by name only: so the latest create of
    /// this kind is marked, and all creates of the kinds that are deleted with it (`step.takes`).
    fn removed(&mut self, step: &StepFacts) {
        let mut latest: Option<&mut (Instant, Came)> = None;
        for ((kind, _), times) in &mut self.creates {
            let there = times.iter_mut().filter(|(_, came)| *came == Came::True);
            if step.takes.contains(kind) {
                there.for_each(|(_, came)| *came = Came::Removed);
            } else if *kind == step.kind {
                latest = there.chain(latest).max_by_key(|(at, _)| *at);
            }
        }
        if let Some((_, came)) = latest {
            *came = Came::Removed;
        }
    }

    /// The desired state changed: objects that we deleted may be created again.
    pub fn wish_changed(&mut self) {
        self.creates.retain(|_object, times| {
            times.retain(|(_, came)| *came != Came::Removed);
            !times.is_empty()
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(kind: &'static str, target: &str) -> StepFacts {
        StepFacts::new(Verb::Create, kind, target)
    }

    fn spend(budget: &mut CreateBudget, step: &StepFacts, times: usize, now: Instant) {
        for _ in 0..times {
            budget.judge(step, &CreateLimit::default(), now).unwrap();
            budget.record(step, Ok(()), now);
        }
    }

    #[test]
    fn a_fourth_create_within_an_hour_is_refused_and_allowed_after_it() {
        let (mut budget, step, now) = (CreateBudget::default(), create("floating ip", "web"), Instant::now());
        spend(&mut budget, &step, 3, now);
        let later = now + Duration::from_secs(600);
        let refused = budget.judge(&step, &CreateLimit::default(), later).unwrap_err();
        assert_eq!((refused.times, refused.wait), (3, Duration::from_secs(3000)));
        assert!(budget.judge(&step, &CreateLimit::default(), now + Duration::from_secs(3600)).is_ok());
    }

    #[test]
    fn a_service_with_a_hundred_ports_gets_its_hundred_listeners() {
        let (mut budget, now) = (CreateBudget::default(), Instant::now());
        for port in 0..100 {
            spend(&mut budget, &create("listener", &format!("web_{port}")), 1, now);
        }
    }

    #[test]
    fn what_was_taken_away_for_another_wish_may_come_again_and_for_the_same_wish_not() {
        let (mut budget, now) = (CreateBudget::default(), Instant::now());
        let monitor = create("health monitor", "web_0");
        let delete = StepFacts::new(Verb::Delete, "pool", "c589").taking(&["health monitor"]);
        let create = create("pool", "web_0");
        for _edit in 0..20 {
            spend(&mut budget, &create, 1, now);
            spend(&mut budget, &monitor, 1, now);
            budget.record(&delete, Ok(()), now);
            budget.wish_changed();
        }
        for _failure in 0..3 {
            spend(&mut budget, &create, 1, now);
            budget.record(&delete, Ok(()), now);
        }
        assert!(
            budget.judge(&create, &CreateLimit::default(), now).is_err(),
            "the same wish, again and again"
        );
    }

    #[test]
    fn another_wish_does_not_excuse_what_was_never_found_nor_what_is_there() {
        let (mut budget, now) = (CreateBudget::default(), Instant::now());
        let (pool, address) = (create("pool", "web_0"), create("floating ip", "web"));
        spend(&mut budget, &pool, 3, now);
        spend(&mut budget, &address, 3, now);
        budget.record(&StepFacts::new(Verb::Delete, "pool", "c589"), Ok(()), now);
        budget.wish_changed();
        assert!(budget.judge(&address, &CreateLimit::default(), now).is_err(), "another kind was taken away");
        spend(&mut budget, &pool, 1, now);
        assert!(budget.judge(&pool, &CreateLimit::default(), now).is_err(), "only one was");
    }

    #[test]
    fn what_the_cloud_refused_costs_nothing_and_what_is_unclear_costs_in_the_end() {
        let (mut budget, step, now) =
            (CreateBudget::default(), create("load balancer", "web"), Instant::now());
        for _ in 0..50 {
            let busy = CloudError::new(ErrorClass::Throttled, "not so fast");
            budget.record(&step, Err(&busy), now);
            assert!(budget.judge(&step, &CreateLimit::default(), now).is_ok());
        }
        for _ in 0..10 {
            assert!(budget.judge(&step, &CreateLimit::default(), now).is_ok());
            budget.record(&step, Err(&CloudError::transient("no reply")), now);
        }
        assert!(budget.judge(&step, &CreateLimit::default(), now).is_err());
    }

    #[test]
    fn deletes_and_updates_are_free() {
        let (mut budget, now) = (CreateBudget::default(), Instant::now());
        for verb in [Verb::Delete, Verb::Update] {
            let step = StepFacts::new(verb, "listener", "web");
            for _ in 0..10 {
                budget.record(&step, Ok(()), now);
                assert!(budget.judge(&step, &CreateLimit::default(), now).is_ok());
            }
        }
    }
}
