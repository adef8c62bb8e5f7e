//! Safety rail SR-10: nothing is created over and over. Pure: time is handed in.
//!
//! A create that keeps being planned although it succeeded means that its result is not found again: each one would leave
//! an object behind until the quota is gone. What counts is one object (kind and name), so that a Service with a hundred
//! ports gets its hundred listeners.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_cloud::{CloudError, ErrorClass, StepFacts, Verb};
use tokio::time::Instant;

/// How often one object may be created within a window.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CreateLimit {
    /// Creates that succeeded.
    pub created: usize,
    /// Creates of which we do not know whether they did. More, because a cloud that is down for some minutes fails
    /// them all, and because the name is looked up before each of them.
    pub unclear: usize,
    /// The window.
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
}

/// The creates of one Service. Holds at most the window's, so it is bounded by the limit for each object.
#[derive(Debug, Clone, Default)]
pub struct CreateBudget {
    creates: BTreeMap<(&'static str, String), Vec<(Instant, Came)>>,
}

/// A create that must not be made yet.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{kind} {target} was created {times} times within {within:?} and is not found again; no more until {wait:?} from now"
)]
pub struct Exhausted {
    /// The kind of object.
    pub kind: &'static str,
    /// Which one.
    pub target: String,
    /// How often it was created.
    pub times: usize,
    /// In which window.
    pub within: Duration,
    /// When one more is allowed.
    pub wait: Duration,
}

impl CreateBudget {
    /// Whether a step may be performed.
    ///
    /// # Errors
    ///
    /// [`Exhausted`] if it creates what was created too often already.
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
        for (came, most) in [(Came::True, limit.created), (Came::Unclear, limit.unclear)] {
            let of_kind: Vec<_> = times.iter().filter(|(_, how)| *how == came).map(|(at, _)| *at).collect();
            if of_kind.len() >= most.max(1) {
                let oldest = of_kind.first().map_or(Duration::ZERO, |at| now.duration_since(*at));
                let (kind, target, within) = (step.kind, step.target.clone(), limit.within);
                let wait = limit.within.saturating_sub(oldest);
                return Err(Exhausted { kind, target, times: of_kind.len(), within, wait });
            }
        }
        Ok(())
    }

    /// Takes down what a step came to. A create that the cloud refused costs nothing.
    pub fn record(&mut self, step: &StepFacts, result: Result<(), &CloudError>, now: Instant) {
        if step.verb != Verb::Create {
            return;
        }
        let came = match result {
            Ok(()) => Came::True,
            Err(error) if error.class() == ErrorClass::Transient => Came::Unclear,
            Err(_refused) => return,
        };
        self.creates.entry((step.kind, step.target.clone())).or_default().push((now, came));
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
