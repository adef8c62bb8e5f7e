//! What lies between the processes and the world: it counts requests, lets faults strike, ends processes, and writes all down.
//!
//! The two links use it; what a request means is theirs.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use bowline_manager::exit::StopSignal;
use bowline_manager::signals::Signals;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::fault::{Faults, Kind, Place};
use crate::invariants::{Rule, Violation};
use crate::trace::{Line, Trace};

/// A process of Bowline, by the name in its User-Agent.
pub type Process = String;

/// Shared by all links of a run.
#[derive(Clone)]
pub struct Net(Arc<Mutex<Inner>>);

/// A process that can be ended.
#[derive(Clone)]
struct Life {
    signals: Signals,
    died: Arc<Notify>,
}

struct Inner {
    began: Instant,
    faults: Faults,
    trace: Trace,
    alive: BTreeMap<Process, Life>,
    paused: BTreeMap<Process, Instant>,
    violations: Vec<Violation>,
    effects: Vec<Effect>,
    steps: BTreeMap<(String, Option<Kind>), u64>,
    broken: Arc<Notify>,
    secrets: BTreeSet<String>,
}

/// A change that took place, or was tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effect {
    /// When.
    pub at: Duration,
    /// Whose it was.
    pub process: Process,
    /// Kind of call, without names and identifiers.
    pub step: String,
    /// Whether it changed something.
    pub done: bool,
}

impl Net {
    /// A net with these faults.
    #[must_use]
    pub fn new(faults: Faults) -> Self {
        Self(Arc::new(Mutex::new(Inner {
            began: Instant::now(),
            faults,
            trace: Trace::default(),
            alive: BTreeMap::new(),
            paused: BTreeMap::new(),
            violations: Vec::new(),
            effects: Vec::new(),
            steps: BTreeMap::new(),
            broken: Arc::default(),
            secrets: BTreeSet::new(),
        })))
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }

    /// Time since the start of the run.
    #[must_use]
    pub fn elapsed(&self) -> Duration {
        self.lock().began.elapsed()
    }

    /// A process begins to live; it is told when it was ended from outside.
    pub fn born(&self, process: &str, signals: Signals) -> Arc<Notify> {
        let died = Arc::new(Notify::new());
        self.lock().alive.insert(process.to_owned(), Life { signals, died: Arc::clone(&died) });
        died
    }

    /// Ends a process at once: nothing it sends arrives any more, and nothing reaches it.
    pub fn kill(&self, process: &str) {
        let life = self.lock().alive.remove(process);
        if let Some(life) = life {
            self.tell("fault", &format!("{process} is killed"), "");
            life.died.notify_one();
            // What is left of it ends by itself; the world does not hear of it.
            life.signals.note(StopSignal::Terminate);
        }
    }

    /// A process has ended by itself.
    pub fn ended(&self, process: &str) {
        self.lock().alive.remove(process);
    }

    /// Asks a process to end in good order.
    pub fn terminate(&self, process: &str) {
        if let Some(life) = self.lock().alive.get(process) {
            life.signals.note(StopSignal::Terminate);
        }
    }

    /// Whether a process lives.
    #[must_use]
    pub fn lives(&self, process: &str) -> bool {
        self.lock().alive.contains_key(process)
    }

    /// The processes that live.
    #[must_use]
    pub fn living(&self) -> Vec<Process> {
        self.lock().alive.keys().cloned().collect()
    }

    /// Nothing of a process is heard, and it hears nothing, for a while; then all of it arrives.
    pub fn pause(&self, process: &str, pause: Duration) {
        self.lock().paused.insert(process.to_owned(), Instant::now() + pause);
    }

    /// Until when a process is paused.
    #[must_use]
    pub fn paused_until(&self, process: &str) -> Option<Instant> {
        self.lock().paused.get(process).copied().filter(|until| *until > Instant::now())
    }

    /// What goes wrong with the next request of a place.
    pub fn strike(&self, place: Place) -> Option<Kind> {
        self.lock().faults.strike(place)
    }

    /// Whether a fault has struck.
    #[must_use]
    pub fn has_struck(&self) -> bool {
        !self.lock().faults.struck().is_empty()
    }

    /// Whether a change of a load balancer ended in ERROR, or never.
    #[must_use]
    pub fn has_broken_balancers(&self) -> bool {
        let broken = |kind: &Kind| matches!(kind, Kind::BalancerError | Kind::BalancerStuck);
        self.lock().faults.struck().values().any(broken)
    }

    /// Faults from now on.
    pub fn start_faults(&self) {
        self.lock().faults.start();
    }

    /// No fault from now on.
    pub fn stop_faults(&self) {
        self.lock().faults.stop();
    }

    /// Writes a line that a reader wants to see.
    pub fn tell(&self, who: &str, what: &str, outcome: &str) {
        self.write(who, what.to_owned(), outcome.to_owned(), true);
    }

    /// Writes a line.
    pub fn write(&self, who: &str, what: String, outcome: String, telling: bool) {
        let mut inner = self.lock();
        let at = inner.began.elapsed();
        inner.trace.add(Line { at, who: who.to_owned(), what, outcome, telling });
    }

    /// Takes note of a change.
    pub fn effect(&self, process: &str, step: &str, done: bool, fault: Option<Kind>) {
        let mut inner = self.lock();
        let at = inner.began.elapsed();
        inner.effects.push(Effect { at, process: process.to_owned(), step: step.to_owned(), done });
        *inner.steps.entry((step.to_owned(), fault)).or_default() += 1;
    }

    /// Changes that took place since a time.
    #[must_use]
    pub fn effects_since(&self, since: Duration) -> Vec<Effect> {
        self.lock().effects.iter().filter(|effect| effect.done && effect.at >= since).cloned().collect()
    }

    /// Something happened that must never happen.
    pub fn violated(&self, rule: Rule, what: impl Into<String>) {
        let what = what.into();
        self.tell("VIOLATION", rule.text(), &what);
        let mut inner = self.lock();
        let at = inner.began.elapsed();
        inner.violations.push(Violation { rule, what, at });
        inner.broken.notify_waiters();
        inner.broken.notify_one();
    }

    /// Whether nothing has been violated.
    #[must_use]
    pub fn is_sound(&self) -> bool {
        self.lock().violations.is_empty()
    }

    /// Tells when something was violated.
    #[must_use]
    pub fn broken(&self) -> Arc<Notify> {
        Arc::clone(&self.lock().broken)
    }

    /// A secret was handed out: it must be seen nowhere else.
    pub fn secret(&self, secret: &str) {
        self.lock().secrets.insert(secret.to_owned());
    }

    /// Hands over what was written down.
    #[must_use]
    pub fn findings(&self) -> Findings {
        let inner = self.lock();
        Findings {
            violations: inner.violations.clone(),
            trace: inner.trace.clone(),
            struck: inner.faults.struck().clone(),
            effects: inner.effects.clone(),
            steps: inner.steps.clone(),
            secrets: inner.secrets.iter().cloned().collect(),
            counts: Place::ALL.map(|place| (place, inner.faults.count(place))).into(),
        }
    }
}

/// What was written down in a run.
pub struct Findings {
    /// What must never happen, and did.
    pub violations: Vec<Violation>,
    /// Everything.
    pub trace: Trace,
    /// The faults that struck.
    pub struck: crate::fault::Script,
    /// The changes.
    pub effects: Vec<Effect>,
    /// How often each kind of change met each kind of fault.
    pub steps: BTreeMap<(String, Option<Kind>), u64>,
    /// The tokens that were handed out.
    pub secrets: Vec<String>,
    /// How many requests there were of each place.
    pub counts: BTreeMap<Place, u64>,
}
