//! Safety rail SR-19 at work: notes which load balancers are broken, and holds a plan that would replace one that may be of use. The rail
//! itself is pure: `rails/replacement`.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{AnyStep, Broken, Planned, ServiceCondition, Traffic};
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{Outcome, Priority};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tracing::{info, warn};

use super::condition;
use super::execute::spread;
use super::message;
use super::work::{Job, Work};
use crate::rails::replacement::{ALLOW_REPLACEMENT, FleetBreaker, Held, ReplacementLimits, Turn, replaces};
use crate::rails::second_look::Verdict;

/// How soon a broken load balancer is observed again: when an administrator has repaired it, its members have to follow the Nodes.
const OBSERVE_BROKEN_EVERY: Duration = Duration::from_secs(60);

/// But with many broken load balancers no more than one of them each second, so that a failing control plane is not asked all the time.
const BETWEEN_BROKEN: Duration = Duration::from_secs(1);

/// The fleet breaker. Clones share it: it outlives a restart of the controller within the process.
#[derive(Debug, Clone)]
pub(super) struct Fleet(Arc<Mutex<FleetBreaker<ObjectKey>>>);

impl Fleet {
    pub(super) fn new(limits: ReplacementLimits) -> Self {
        Self(Arc::new(Mutex::new(FleetBreaker::new(limits))))
    }

    fn breaker(&self) -> MutexGuard<'_, FleetBreaker<ObjectKey>> {
        self.0.lock()
    }
}

impl Work {
    /// Notes whether the load balancer of a Service is broken, before anything is decided about it.
    pub(super) fn note_health(&self, job: &mut Job, broken: Option<&Broken>) {
        job.broken = broken.map(|broken| broken.traffic);
        if broken.is_none_or(|broken| broken.traffic != Traffic::None) {
            let mut memory = job.memory();
            // The second observation has to show the same as the first.
            memory.replacement.settled();
            memory.replacement_told &= broken.is_some();
        }
        let (known, now) = (self.memories.count(), Instant::now());
        let (turn, broken, is_open) = {
            let mut breaker = self.fleet.breaker();
            let turn = breaker.look(&job.key, broken, known, now);
            (turn, breaker.broken_now(), breaker.is_open())
        };
        let metrics = &self.context.metrics;
        metrics.load_balancers_broken.set(i64::try_from(broken).unwrap_or(i64::MAX));
        metrics.load_balancer_breaker_open.set(is_open.into());
        match turn {
            Some(Turn::Opened) => warn!(
                broken,
                known,
                "so many load balancers are broken at once that none is replaced (SR-19); check the control plane of the cloud"
            ),
            Some(Turn::Closed) => {
                info!("few load balancers are broken: those that serve nobody are replaced again");
            }
            None => {}
        }
    }

    /// When the broken load balancer of a Service is observed again.
    pub(super) fn broken_again_after(&self, job: &Job) -> Duration {
        let broken = u32::try_from(self.fleet.breaker().broken_now()).unwrap_or(u32::MAX);
        spread(OBSERVE_BROKEN_EVERY.max(BETWEEN_BROKEN.saturating_mul(broken)), &job.service().uid)
    }

    /// What the rail says of a plan for a broken load balancer; `Some` if nothing may be done now.
    pub(super) fn hold_replacement(
        &self,
        job: &Job,
        broken: Option<&Broken>,
        steps: &[Planned<AnyStep>],
    ) -> Option<(Outcome, Option<ServiceCondition>)> {
        let broken = broken?;
        if !replaces(broken, steps.iter().map(|planned| planned.step.facts())) {
            return None;
        }
        let allowed = job.service().annotations.get(ALLOW_REPLACEMENT);
        let known: BTreeSet<_> = self.memories.keys().into_iter().collect();
        let judged = {
            let mut breaker = self.fleet.breaker();
            breaker.retain_unobserved(|key| known.contains(key));
            breaker.judge(broken, known.len(), allowed)
        };
        if let Err(held) = judged {
            return Some(self.hold_broken(job, &held));
        }
        if broken.traffic == Traffic::Never {
            return None;
        }
        let apart = self.fleet.breaker().limits().apart;
        let verdict =
            job.memory().replacement.judge(BTreeSet::from([broken.id.clone()]), apart, Instant::now());
        let Verdict::Hold { after, is_new } = verdict else { return None };
        if is_new {
            let why = format!(
                "load balancer {} is broken and serves nobody; it is replaced if another observation in {} s shows the same",
                broken.id,
                after.as_secs()
            );
            self.tell_held(job, &why);
            self.look_at_all(&job.key);
        }
        Some((Outcome::RetryAfter(after), None))
    }

    fn hold_broken(&self, job: &Job, held: &Held) -> (Outcome, Option<ServiceCondition>) {
        let why = held.to_string();
        let is_new = !std::mem::replace(&mut job.memory().replacement_told, true);
        if is_new {
            self.tell_held(job, &why);
        }
        (Outcome::RetryAfter(self.broken_again_after(job)), Some(condition::replacement_held(&why)))
    }

    /// Tells of a broken load balancer that is kept, and counts it.
    pub(super) fn tell_held(&self, job: &Job, why: &str) {
        warn!(service = %job.key, why, "held back (SR-19)");
        self.context.metrics.held_back("replacement");
        self.note_held(&job.key, "replacement", why);
        self.tell(job.service(), &message::replacement_held(why));
    }

    /// Observes all other Services before one load balancer is replaced: if many are broken the breaker has to know.
    fn look_at_all(&self, except: &ObjectKey) {
        let others: Vec<_> = self.memories.keys().into_iter().filter(|key| key != except).collect();
        if self.fleet.breaker().begin_sweep(others.iter().cloned(), Instant::now()) {
            self.queue.add_all(others.into_iter().map(|key| (key, Priority::Background)).collect::<Vec<_>>());
        }
    }
}
