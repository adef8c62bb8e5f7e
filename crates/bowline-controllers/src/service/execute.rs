//! Brings one Service one step further: judges the provider's plan by the rails, performs its first step, and writes to the
//! Service what has to be said. It makes no choice about the cloud.

use std::fmt::Display;
use std::time::Duration;

use bowline_cloud::{
    AnyObserved, AnyStep, CloudError, ErrorClass, Evidence, LoadBalancerStatus, Plan, Planned, Refusal,
    Retry, Wait,
};
use bowline_kube::queue::{Outcome, Priority};
use bowline_kube::write::{Change, Guard, WriteClass, WriteError, Written};
use k8s_openapi::api::core::v1::Service;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::desire::{has_finalizer, needs_update};
use super::memory::Task;
use super::message;
use super::patch;
use super::work::{Job, Work};
use crate::rails::second_look::{Verdict, drastic_removals};

/// The shortest and the longest wait between two looks at something the cloud builds.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));

/// After a conflict: time for the informer to show what changed.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

impl Work {
    /// From what was seen to a verdict on the key.
    pub(super) async fn conclude(&self, job: &Job, observed: Evidence<AnyObserved>) -> Outcome {
        if !self.is_current(job) {
            return Outcome::Requeue;
        }
        let observed = match observed.known() {
            Ok(observed) => observed,
            Err(doubt) => return self.retry(job, doubt.class, doubt.retry_after, &doubt, true),
        };
        match self.balancers.plan(&job.request, observed.as_ref(), self.context.clock.now()) {
            Plan::Settled(_) | Plan::Elsewhere if job.task.is_removal() => self.removed(job).await,
            Plan::Settled(status) => self.settled(job, &status).await,
            Plan::Act(steps) => self.act(job, steps).await,
            Plan::Wait(wait) => self.wait(job, wait, observed.is_some()).await,
            Plan::Elsewhere => {
                job.memory().settle(job.service(), job.request.nodes.epoch);
                Outcome::Done
            }
            Plan::Refuse(refusal) => self.refused(job, &refusal),
        }
    }

    async fn act(&self, job: &Job, steps: Vec<Planned<AnyStep>>) -> Outcome {
        if let Some(held) = self.hold(job, &steps) {
            return held;
        }
        let Some(Planned { step, reason }) = steps.into_iter().next() else {
            let empty =
                "the provider planned no step and did not say that all is settled; this is a bug of it";
            return self.retry(job, ErrorClass::Fatal, None, &empty, false);
        };
        if let Some(outcome) = self.add_finalizer(job).await {
            return outcome;
        }
        if job.memory().begin(job.task) {
            for message in message::begins(job.task, &job.request.nodes) {
                self.tell(job.service(), &message);
            }
        }
        info!(service = %job.key, %step, %reason, "performing a step");
        let result = self.balancers.execute(&step, self.context.fence.as_ref()).await;
        job.memory().creates.record(step.facts(), result.as_ref().copied(), Instant::now());
        match result {
            Ok(()) if job.memory().stepped(format!("{step} (nodes {})", job.request.nodes.epoch)) => {
                Outcome::Requeue
            }
            Ok(()) => {
                warn!(service = %job.key, %step, "a step had no effect and is planned again; slowing down");
                Outcome::Failed
            }
            Err(error) => self.failed(job, &error),
        }
    }

    /// What the rails say; `Some` if nothing may be done now.
    fn hold(&self, job: &Job, steps: &[Planned<AnyStep>]) -> Option<Outcome> {
        let mut memory = job.memory();
        // A removal takes everything away because a person said so.
        if !job.task.is_removal() {
            let removals = drastic_removals(steps.iter().map(|planned| planned.step.facts()));
            let what = removals.iter().map(String::as_str).collect::<Vec<_>>().join("; ");
            let verdict = memory.second_look.judge(removals, self.options.second_look_after, Instant::now());
            if let Verdict::Hold { after, is_new } = verdict {
                if is_new {
                    warn!(service = %job.key, %what, "held back until a second look says the same (SR-7)");
                    self.context.metrics.held_back("second-look");
                    self.tell(job.service(), &message::held(&what));
                }
                return Some(Outcome::RetryAfter(after));
            }
        }
        let first = steps.first()?;
        let judged = memory.creates.judge(first.step.facts(), &self.options.creates, Instant::now());
        let exhausted = judged.err()?;
        warn!(service = %job.key, %exhausted, "held back (SR-10)");
        self.context.metrics.held_back("create-budget");
        self.tell(job.service(), &message::too_many_creates(&exhausted));
        Some(Outcome::RetryAfter(exhausted.wait.max(WAITS.0)))
    }

    async fn settled(&self, job: &Job, status: &LoadBalancerStatus) -> Outcome {
        if let Some(outcome) = self.add_finalizer(job).await {
            return outcome;
        }
        let change = patch::status(job.service(), status);
        let shows_something_new = !change.is_empty();
        if let Some(outcome) = self.write(job, change).await {
            return outcome;
        }
        let (before, episode) = {
            let mut memory = job.memory();
            let before = memory.settled.clone();
            (before, memory.settle(job.service(), job.request.nodes.epoch))
        };
        let edited = before.is_some_and(|before| needs_update(&before.service, job.service()));
        if episode.is_some() || shows_something_new || edited {
            let task = episode.as_ref().map_or(Task::Ensure, |episode| episode.task);
            self.tell(job.service(), &message::done(task, &job.request.nodes));
        }
        if let Some(episode) = episode.filter(|episode| episode.task == Task::Nodes) {
            let metrics = &self.context.metrics;
            metrics.load_balancer_syncs.inc();
            metrics.update_host_latency_seconds.observe(episode.began.elapsed().as_secs_f64());
        }
        if let Some(period) = self.options.repair_every {
            self.queue.add_after(job.key.clone(), spread(period, &job.service().uid), Priority::Background);
        }
        Outcome::Done
    }

    async fn removed(&self, job: &Job) -> Outcome {
        let acted = job.memory().episode.as_ref().is_some_and(|episode| episode.steps > 0);
        if job.task == Task::Remove
            && let Some(outcome) = self.write(job, patch::release(job.service())).await
        {
            return outcome;
        }
        if acted {
            self.tell(job.service(), &message::done(job.task, &job.request.nodes));
        }
        self.memories.forget(&job.key);
        // A namesake may have waited for this.
        if job.task == Task::RemoveOrphan { Outcome::Requeue } else { Outcome::Done }
    }

    async fn wait(&self, job: &Job, wait: Wait, present: bool) -> Outcome {
        if present && let Some(outcome) = self.add_finalizer(job).await {
            return outcome;
        }
        debug!(service = %job.key, reason = wait.reason, "waiting for the cloud");
        if job.memory().waits(&wait.reason, self.options.tell_of_wait_after) {
            self.tell(job.service(), &message::waits(&wait.reason));
        }
        self.waiting.begin(&job.key, job.request.clone(), job.priority);
        Outcome::RetryAfter(wait.at_most.clamp(WAITS.0, WAITS.1))
    }

    /// Only a person can mend it: told for each try of a person, and then nothing until something changes.
    fn refused(&self, job: &Job, refusal: &Refusal) -> Outcome {
        let text = refusal.to_string();
        let told = job.memory().refused.replace(text.clone()).is_some_and(|before| before == text);
        if !told || job.priority == Priority::User {
            warn!(service = %job.key, %refusal, "cannot be done");
            self.tell(job.service(), &message::not_synced(&text));
        }
        Outcome::Done
    }

    /// Our finalizer is there before the first thing in the cloud is. `Some` if it could not be written.
    async fn add_finalizer(&self, job: &Job) -> Option<Outcome> {
        if job.task.is_removal() {
            return None;
        }
        job.memory().works_for(job.service());
        if has_finalizer(job.service()) || job.memory().finalizer_sent {
            return None;
        }
        let outcome = self.write(job, patch::add_finalizer()).await;
        job.memory().finalizer_sent = outcome.is_none();
        outcome
    }

    /// Writes to exactly the Service that was looked at; `None` if it went well or there was nothing to write.
    async fn write(&self, job: &Job, change: Change) -> Option<Outcome> {
        let service = job.service();
        let guard = Guard::Uid(service.uid.to_string());
        let written: Result<Written, WriteError> = self
            .context
            .writer
            .patch_status::<Service>(Some(&service.namespace), &service.name, &guard, change)
            .await;
        let error = written.err()?;
        match error.class() {
            // It is gone, or another has its name: the informer tells, and what we know of it is removed then.
            WriteClass::NotFound => Some(Outcome::Done),
            WriteClass::Conflict => Some(Outcome::RetryAfter(AFTER_CONFLICT)),
            WriteClass::Fenced => Some(Outcome::Failed),
            _ => {
                warn!(service = %job.key, %error, "could not write, will be tried again");
                self.tell(service, &message::not_synced(&error));
                Some(error.retry_after().map_or(Outcome::Failed, Outcome::RetryAfter))
            }
        }
    }

    fn failed(&self, job: &Job, error: &CloudError) -> Outcome {
        self.retry(job, error.class(), error.asked_to_wait(), error, false)
    }

    /// What a failure means for the key, and whether a person hears of it.
    fn retry(
        &self,
        job: &Job,
        class: ErrorClass,
        asked_to_wait: Option<Duration>,
        error: &dyn Display,
        unseen: bool,
    ) -> Outcome {
        if job.task == Task::Nodes {
            self.context.metrics.node_sync_errors.inc();
        }
        // Asked to wait, not leading, or overtaken by somebody: nothing failed that a person could mend.
        let overtaken = class.retry() == Retry::ObserveAgain && job.failures == 0;
        if asked_to_wait.is_none() && class != ErrorClass::Fenced && !overtaken {
            warn!(service = %job.key, %error, "failed, will be tried again");
            let (task, nodes) = (job.task, &job.request.nodes);
            let message = if unseen {
                message::unknown(task, nodes, error)
            } else {
                message::failed(task, nodes, error)
            };
            self.tell(job.service(), &message);
        }
        asked_to_wait.map_or(Outcome::Failed, |wait| Outcome::RetryAfter(wait.max(WAITS.0)))
    }
}

/// A period between three and five quarters of `period`, the same for the same Service: repairs spread by themselves.
fn spread(period: Duration, uid: &str) -> Duration {
    let hash = uid.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let thousandths = 750 + hash % 500;
    period.saturating_mul(thousandths) / 1000
}
