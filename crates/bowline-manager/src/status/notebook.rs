//! Stores the notes of the journal, up to a limit for each kind. The logic is pure, with time passed in, behind a lock.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bowline_cloud::{CallNote, EventKind, Note, Scribe, ServiceKey, ServiceNote, Standing, StepNote};
use bowline_kube::clock::Clock;
use jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

use super::gather::drawn;
use super::overview::{BalancerBox, CallRow, Moment, PlanRow, PlannedStep, Tone};
use super::rates::Rates;

/// The maximum number of timeline entries.
pub(super) const MOST_MOMENTS: usize = 300;

/// The maximum number of calls stored individually; older ones are only counted.
pub(super) const MOST_CALLS: usize = 300;

/// The maximum number of Services whose last plan is stored with its steps.
pub(super) const MOST_PLANS: usize = 100;

/// The maximum number of Services whose load balancer is stored as observed in the cloud; the others are shown as requested.
pub(super) const MOST_BALANCERS: usize = 100;

/// The maximum number of Services whose state is stored. Further ones are shown by their status conditions.
pub(super) const MOST_SERVICES: usize = 20_000;

/// The maximum number of cloud services whose calls are counted.
const MOST_CLOUD_SERVICES: usize = 16;

/// The state of a Service, and since when it has it.
#[derive(Debug, Clone)]
pub(super) struct Stood {
    pub(super) since: Timestamp,
    pub(super) standing: Standing,
}

/// All stored notes.
#[derive(Debug, Default)]
pub(super) struct Notes {
    pub(super) moments: VecDeque<Moment>,
    pub(super) calls: VecDeque<CallRow>,
    pub(super) rates: BTreeMap<&'static str, Rates>,
    /// When each cloud service last answered a read, as time since the start. If it never did: when it was first called.
    reads: BTreeMap<&'static str, Duration>,
    pub(super) services: BTreeMap<ServiceKey, Stood>,
    pub(super) plans: VecDeque<(ServiceKey, PlanRow)>,
    pub(super) balancers: VecDeque<(ServiceKey, BalancerBox)>,
}

/// Appends to a ring buffer.
fn push<T>(ring: &mut VecDeque<T>, entry: T, most: usize) {
    while ring.len() >= most {
        ring.pop_front();
    }
    ring.push_back(entry);
}

impl Notes {
    /// Records a note.
    pub(super) fn add(&mut self, note: Note, at: Timestamp, elapsed: Duration) {
        match note {
            Note::Event(event) => {
                let tone = if event.kind == EventKind::Warning { Tone::Warning } else { Tone::Fine };
                let text = format!("{}: {}", event.reason, event.message);
                self.moment(Moment { at, kind: "event", tone, about: event.about, text });
            }
            Note::Call(call) => self.call(call, at, elapsed),
            Note::Service(note) => self.service(note, at),
            Note::Balancer(service, picture) => {
                let place = self.balancers.iter().position(|(of, _)| *of == service);
                let before = place.and_then(|place| self.balancers.remove(place)).map(|(_, before)| before);
                push(&mut self.balancers, (service, drawn(&picture, before)), MOST_BALANCERS);
            }
            Note::ServiceGone(service) => {
                self.balancers.retain(|(of, _)| *of != service);
                self.services.remove(&service);
                self.plans.retain(|(of, _)| *of != service);
            }
            Note::Held(held) => {
                let text = format!("held back by {}: {}", held.rail, held.why);
                self.moment(Moment { at, kind: "rail", tone: Tone::Warning, about: held.about, text });
            }
            Note::Leader(text) => {
                let about = "Leader".to_owned();
                self.moment(Moment { at, kind: "leader", tone: Tone::Fine, about, text });
            }
            _ => {}
        }
    }

    fn moment(&mut self, moment: Moment) {
        push(&mut self.moments, moment, MOST_MOMENTS);
    }

    fn call(&mut self, call: CallNote, at: Timestamp, elapsed: Duration) {
        let failed = call.status.is_none_or(|status| status >= 500 || status == 429 || status == 401);
        if self.rates.contains_key(call.service) || self.rates.len() < MOST_CLOUD_SERVICES {
            self.rates.entry(call.service).or_default().count(failed, elapsed);
            if is_answered_read(&call) {
                self.reads.insert(call.service, elapsed);
            } else {
                // An outage that began before this process must show as well.
                self.reads.entry(call.service).or_insert(elapsed);
            }
        }
        let CallNote { service, method, path, status, took, request_id } = call;
        let millis = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
        push(
            &mut self.calls,
            CallRow { at, service, method, path, status, millis, request_id, failed },
            MOST_CALLS,
        );
    }

    fn service(&mut self, note: ServiceNote, at: Timestamp) {
        let ServiceNote { service, standing } = note;
        match &standing {
            Standing::Acts { steps, more } => self.planned(&service, steps, *more, at),
            Standing::Settled | Standing::Elsewhere => self.plan_is_done(&service, at),
            _ => {}
        }
        let before = self.services.get(&service);
        let same_kind = before.is_some_and(|before| {
            std::mem::discriminant(&before.standing) == std::mem::discriminant(&standing)
        });
        if !same_kind && let Some((tone, text)) = words(&standing, before.is_some()) {
            let about = format!("Service {service}");
            self.moment(Moment { at, kind: "plan", tone, about, text });
        }
        let since = self.services.get(&service).filter(|_| same_kind).map_or(at, |before| before.since);
        if self.services.contains_key(&service) || self.services.len() < MOST_SERVICES {
            // The steps are stored with the plans, which have a smaller limit.
            let standing = match standing {
                Standing::Acts { steps, more } => Standing::Acts {
                    more: more + steps.len().saturating_sub(1),
                    steps: steps.into_iter().take(1).collect(),
                },
                other => other,
            };
            self.services.insert(service, Stood { since, standing });
        }
    }

    /// Records a plan. Steps of the previous plan that are missing in it are marked as done. All plans until the Service is settled count
    /// as one.
    fn planned(&mut self, service: &ServiceKey, steps: &[StepNote], more: usize, at: Timestamp) {
        let place = self.plans.iter().position(|(of, _)| of == service);
        let before = place.and_then(|place| self.plans.remove(place)).map(|(_, plan)| plan);
        let mut plan = match before {
            Some(plan) if plan.done_at.is_none() => plan,
            _ => PlanRow { at, done_at: None, steps: Vec::new(), more: 0 },
        };
        for known in &mut plan.steps {
            known.done = !steps.iter().any(|step| step.text == known.step.text);
        }
        for step in steps {
            let is_known = plan.steps.iter().any(|known| known.step.text == step.text);
            if !is_known && plan.steps.len() < bowline_cloud::journal::MOST_STEPS * 2 {
                plan.steps.push(PlannedStep { step: step.clone(), done: false });
            }
        }
        plan.more = more;
        push(&mut self.plans, (service.clone(), plan), MOST_PLANS);
    }

    fn plan_is_done(&mut self, service: &ServiceKey, at: Timestamp) {
        if let Some((_, plan)) = self.plans.iter_mut().find(|(of, _)| of == service)
            && plan.done_at.is_none()
        {
            plan.done_at = Some(at);
            plan.more = 0;
            plan.steps.iter_mut().for_each(|step| step.done = true);
        }
    }
}

/// Whether a call is a read that the cloud service answered. A 404 is an answer. Requests for tokens count as reads, because Keystone must
/// read its data to issue one.
fn is_answered_read(call: &CallNote) -> bool {
    let is_read = call.method == "GET" || call.path.ends_with("/auth/tokens");
    is_read && call.status.is_some_and(|status| (200..300).contains(&status) || status == 404)
}

/// The timeline entry for a Service with a new state. A Service that is seen for the first time and is settled gets no entry: after a
/// restart this is true of all of them.
fn words(standing: &Standing, known: bool) -> Option<(Tone, String)> {
    Some(match standing {
        Standing::Settled if known => (Tone::Good, "settled: all is as the Service asks".to_owned()),
        Standing::Settled | Standing::Elsewhere => return None,
        Standing::Waits { reason } => (Tone::Fine, format!("waits for the cloud: {reason}")),
        Standing::Acts { steps, more } => {
            let first = steps.first().map(|step| format!(", first: {}", step.text)).unwrap_or_default();
            let count = steps.len() + more;
            let noun = if count == 1 { "step" } else { "steps" };
            (Tone::Fine, format!("planned {count} {noun}{first}"))
        }
        Standing::Refused { problems } => (Tone::Warning, format!("refused: {}", problems.join("; "))),
        Standing::Unknown { why } => (Tone::Warning, format!("the cloud does not say what is there: {why}")),
        Standing::Failed { why } => (Tone::Warning, format!("failed, will be tried again: {why}")),
        Standing::Held { rail, why } => (Tone::Warning, format!("held by {rail}: {why}")),
    })
}

/// The notes behind a lock, and a version that increases with each note.
#[derive(Debug)]
pub(super) struct Notebook {
    notes: Mutex<Notes>,
    version: AtomicU64,
    clock: Clock,
    started: Instant,
}

impl Notebook {
    pub(super) fn new(clock: Clock) -> Self {
        Self { notes: Mutex::default(), version: AtomicU64::new(0), clock, started: Instant::now() }
    }

    /// Increases with each note.
    pub(super) fn version(&self) -> u64 {
        self.version.load(Ordering::Acquire)
    }

    /// The time since the start, to which the rates refer.
    pub(super) fn elapsed(&self) -> Duration {
        self.started.elapsed()
    }

    /// How long ago each cloud service last answered a read, or was first called if it never answered one.
    pub(super) fn last_read_ages(&self) -> Vec<(&'static str, Duration)> {
        let now = self.elapsed();
        self.read().reads.iter().map(|(&service, &at)| (service, now.saturating_sub(at))).collect()
    }

    /// Locks the notes for reading. The guard must not be held across an await.
    pub(super) fn read(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock()
    }
}

impl Scribe for Notebook {
    fn keep(&self, note: Note) {
        let (at, elapsed) = (self.clock.now(), self.elapsed());
        self.read().add(note, at, elapsed);
        self.version.fetch_add(1, Ordering::Release);
    }
}

#[cfg(test)]
mod tests;
