//! Brings one Service one step further: judges the provider's plan by the rails, performs its first step, and has written to
//! the Service what has to be said. It makes no choice about the cloud.

use std::fmt::Display;
use std::time::Duration;

use bowline_cloud::journal::cut;
use bowline_cloud::{
    AnyObserved, AnyStep, Broken, CloudError, Doubt, ErrorClass, LoadBalancerStatus, Notes, Plan, Planned,
    Retry, ServiceCondition, Shortfall, Standing, Text, Wait,
};
use bowline_kube::ledger::Subject;
use bowline_kube::queue::{Outcome, Priority};
use bowline_kube::write::Guard;
use tokio::time::Instant;
use tracing::{debug, info, warn};

use super::condition;
use super::desire::needs_update;
use super::memory::Task;
use super::message;
use super::moved::Moved;
use super::noted::with_notes;
use super::patch::{self, FINGERPRINT};
use super::said::Present;
use super::turn::Turn;
use super::waiting::Waiter;
use super::work::{Job, Work};
use crate::rails::pause::{self, Paused};
use crate::rails::second_look::{Verdict, drastic_removals};

/// The shortest and the longest wait between two looks at something the cloud builds.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(600));

/// So much later than it is due, what waits is looked at without the poller, which may be held up by a cloud that does not answer.
const POLLER_IS_LATE: Duration = Duration::from_secs(60);

/// All waits that a cloud asks for are one, whatever its words: they may carry a request id.
const ASKED_TO_WAIT: &str = "the cloud asked to wait";

/// So many failures in a row of a Service that serves are not worth a write: with the usual pauses, half a minute.
const SOON_OVER: u32 = 3;

/// Who was overtaken by somebody else so often in a row is told of: each time it looked again, and each time the world had moved.
const OFTEN_OVERTAKEN: u32 = 2;

impl Work {
    /// From what was seen to a verdict on the key.
    pub(super) async fn conclude(
        &self,
        job: &mut Job,
        observed: Result<Box<dyn AnyObserved>, Doubt>,
    ) -> Outcome {
        if !self.is_current(job) {
            return Outcome::Requeue;
        }
        if self.is_overtaken(job) {
            return self.give_way(job);
        }
        self.look_again_when_drained(job);
        let observed = match observed {
            Ok(observed) => observed,
            Err(doubt) => {
                self.stands(job, || Standing::Unknown { why: cut(&doubt.to_string()) });
                return self.retry(job, doubt.class, doubt.retry_after, &doubt, true).await;
            }
        };
        let plan = observed.plan(self.context.clock.now());
        self.seen(job, observed.as_ref());
        // A person who deletes a Service means its load balancer, in whatever state it is.
        let broken = observed.broken().filter(|_| !job.task.is_removal());
        self.note_health(job, broken.as_ref());
        self.stands(job, || Standing::of(&plan));
        // Of one that is not there yet nothing can be noted.
        if observed.is_there() || matches!(plan, Plan::Settled(_)) {
            job.notes = observed.annotations().missing_from(&job.request.service.annotations);
        }
        match &plan {
            Plan::Act(_) => job.memory().finds_steps(job.task, job.service(), &self.context.metrics),
            Plan::Settled(_) => job.memory().is_repaired(),
            _ => {}
        }
        if self.options.adopt_only
            && let Some(held) = self.not_to_adopt(job, &plan, observed.expected_status().as_ref())
        {
            // They would tell of what is not so yet.
            job.notes = Notes::default();
            return self.hold_adoption(job, &held).await;
        }
        if let Some(refused) = &mut job.memory().refused {
            refused.stands = false;
        }
        match plan {
            Plan::Settled(_) | Plan::Elsewhere if job.task.is_removal() => self.removed(job).await,
            Plan::Settled(status) => {
                self.settled(job, &status, observed.fingerprint(), &observed.shortfalls()).await
            }
            Plan::Act(steps) => self.act(job, steps, broken.as_ref()).await,
            Plan::Wait(wait) => self.wait(job, wait, observed.is_there()).await,
            Plan::Elsewhere => self.elsewhere(job).await,
            Plan::Refuse(refusal) => self.refused(job, &refusal).await,
        }
    }

    /// However this run ends: a node that is drained has to go.
    fn look_again_when_drained(&self, job: &Job) {
        if let Some(at) = job.drained_at {
            let left = Duration::try_from(at.duration_since(self.context.clock.now())).unwrap_or_default();
            self.queue.add_after(job.key.clone(), left.max(WAITS.0), Priority::Background);
        }
    }

    async fn act(&self, job: &Job, steps: Vec<Planned<AnyStep>>, broken: Option<&Broken>) -> Outcome {
        let held = self.hold_replacement(job, broken, &steps).or_else(|| self.hold(job, &steps));
        if let Some((held, said)) = held {
            if let Some(said) = said {
                self.say(job, said).await;
            }
            return held;
        }
        if let Err(paused) = pause::judge(self.context.fence.as_ref()) {
            return self.wait_for_pause(job, &paused);
        }
        let mut steps = steps.into_iter().peekable();
        let Some(first) = steps.next() else {
            let empty =
                "the provider planned no step and did not say that all is settled; this is a bug of it";
            return self.retry(job, ErrorClass::Fatal, None, &empty, false).await;
        };
        if let Some(outcome) = self.add_finalizer(job).await {
            return outcome;
        }
        if job.memory().begin(job.task) {
            for message in message::begins(job.task, &job.request.nodes) {
                self.tell(job.service(), &message);
            }
        }
        job.memory().cluster_pause_told = false;
        let mut done = format!("nodes {}", job.request.nodes.epoch);
        let turn = Turn::new(self, job);
        let mut result = self.step(job, &turn, &first, &mut done).await;
        // What may follow without a look does, as long as nothing else is wished meanwhile. Whatever stops it is found, and told
        // of, by the next look.
        while result.is_ok()
            && let Some(next) = steps.next_if(|next| next.at_once)
            && self.is_current(job)
            && pause::judge(self.context.fence.as_ref()).is_ok()
            && self.may_create(job, &next)
        {
            result = self.step(job, &turn, &next, &mut done).await;
        }
        let is_new = job.memory().stepped(done);
        match result {
            Err(error) if error.class() == ErrorClass::Fenced && turn.has_given_way() => {
                debug!(service = %job.key, "gave way before its call");
                self.give_way(job)
            }
            Ok(()) if is_new => Outcome::Requeue,
            Ok(()) => {
                let step = &first.step;
                warn!(service = %job.key, %step, "a step had no effect and is planned again; slowing down");
                Outcome::Failed
            }
            Err(error) => {
                self.stands(job, || Standing::Failed { why: cut(&error.to_string()) });
                self.retry(job, error.class(), error.asked_to_wait(), &error, false).await
            }
        }
    }

    /// Performs a step and adds it to those that were performed.
    async fn step(
        &self,
        job: &Job,
        turn: &Turn<'_>,
        Planned { step, reason, .. }: &Planned<AnyStep>,
        done: &mut String,
    ) -> Result<(), CloudError> {
        info!(service = %job.key, %step, %reason, "performing a step");
        let result = self.turns.perform(&job.key, self.balancers.execute(step, turn)).await;
        if result.is_ok() {
            job.memory().gives_way_since = None;
        }
        job.memory().creates.record(step.facts(), result.as_ref().copied(), Instant::now());
        if result.is_ok() {
            done.push_str("; ");
            done.push_str(&step.to_string());
            job.memory().performed(reason);
        }
        result
    }

    fn may_create(&self, job: &Job, planned: &Planned<AnyStep>) -> bool {
        let limit = &self.options.creates;
        job.memory().creates.judge(planned.step.facts(), limit, Instant::now()).is_ok()
    }

    /// What the rails say; `Some` if nothing may be done now, with what the Service shall say if it is for long.
    fn hold(&self, job: &Job, steps: &[Planned<AnyStep>]) -> Option<(Outcome, Option<ServiceCondition>)> {
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
                    self.note_held(&job.key, "second-look", &what);
                    self.tell(job.service(), &message::held(&what));
                }
                return Some((Outcome::RetryAfter(after), None));
            }
        }
        let first = steps.first()?;
        let judged = memory.creates.judge(first.step.facts(), &self.options.creates, Instant::now());
        let exhausted = judged.err()?;
        warn!(service = %job.key, %exhausted, "held back (SR-10)");
        self.context.metrics.held_back("create-budget");
        self.note_held(&job.key, "create-budget", &exhausted.to_string());
        self.tell(job.service(), &message::too_many_creates(&exhausted));
        let said = condition::too_many_creates(&exhausted.to_string());
        Some((Outcome::RetryAfter(exhausted.wait.max(WAITS.0)), Some(said)))
    }

    async fn settled(
        &self,
        job: &mut Job,
        status: &LoadBalancerStatus,
        word: Option<Text>,
        shortfalls: &[Shortfall],
    ) -> Outcome {
        if let Some(outcome) = self.add_finalizer(job).await {
            return outcome;
        }
        let before = job.memory().settled.clone();
        let shows_something_new = !patch::same_status(&job.service().status, status);
        if let Some(moved) = Moved::of(&job.service().status, status) {
            job.memory().moves(moved);
        }
        let there = job.memory().condition_of(job.service());
        let short = condition::falls_short(shortfalls);
        // With the status, or over what was said before: not for its own sake on every Service there is. A shortfall is worth a write.
        let is_worth_saying = shows_something_new || short.is_some();
        let wanted = short.unwrap_or_else(condition::ready);
        let is_due = match &there {
            Present::Nothing => is_worth_saying,
            Present::Says(there) => !condition::says_the_same(there, &wanted),
            Present::Unknown => true,
        };
        let now = self.context.clock.now();
        let said = is_due.then(|| patch::condition(there.known(), &wanted, now));
        // It goes with what is written anyway. For its own sake a Service is not written, which every node of the cluster watches.
        let rides = shows_something_new || said.is_some() || !job.notes.is_empty();
        if let Some(word) = word.as_deref().filter(|_word| rides) {
            job.notes = std::mem::take(&mut job.notes).with(FINGERPRINT, word);
        }
        let change = patch::status(job.service(), status, said, &job.notes);
        if is_due {
            job.memory().will_say(job.service(), wanted);
        }
        if let Some(outcome) = self.outcome_of(job, self.patch_noting(job, change).await) {
            return outcome;
        }
        if let Some(word) = word.filter(|_word| !rides)
            && !job.request.fingerprints.contains(&word)
        {
            self.context.ledger.note(Subject::Service, &job.service().uid, word);
        }
        let episode = {
            let mut memory = job.memory();
            if is_due {
                memory.has_said();
            }
            let episode = memory.settle(&with_notes(job.service(), &job.notes), &job.request.nodes);
            // The informer may be ahead of this run already, with what was just written.
            if let Some(live) = self.context.services.get(&job.key) {
                memory.keeps_only(&live.view);
            }
            episode
        };
        self.concluded(job, false);
        if episode.as_ref().is_some_and(|episode| episode.task != Task::Nodes) {
            self.look_again_at_refused();
        }
        let edited = before.is_some_and(|before| needs_update(&before.service, job.service()));
        if episode.is_some() || shows_something_new || edited {
            let task = episode.as_ref().map_or(Task::Ensure, |episode| episode.task);
            self.tell(job.service(), &message::done(task, &job.request.nodes));
        }
        let moved = job.memory().untold_move(status);
        if let Some(moved) = moved {
            self.tell(job.service(), &message::moved(&moved));
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

    /// Another controller does this: what we said of it, if anything, is not ours to say any more.
    async fn elsewhere(&self, job: &Job) -> Outcome {
        if job.memory().condition_of(job.service()) != Present::Nothing {
            if let Some(outcome) = self.write(job, patch::unsay()).await {
                return outcome;
            }
            job.memory().said = None;
        }
        job.memory().settle(job.service(), &job.request.nodes);
        Outcome::Done
    }

    async fn removed(&self, job: &Job) -> Outcome {
        let acted = job.memory().episode.as_ref().is_some_and(|episode| episode.steps > 0);
        if job.task == Task::Remove
            && let Some(outcome) = self.release(job).await
        {
            return outcome;
        }
        if acted {
            self.tell(job.service(), &message::done(job.task, &job.request.nodes));
        }
        self.concluded(job, false);
        self.memories.forget(&job.key);
        self.context.ledger.forget(Subject::Service, &job.service().uid);
        self.note_gone(&job.key);
        self.look_again_at_refused();
        // A namesake may have waited for this.
        if job.task == Task::RemoveOrphan { Outcome::Requeue } else { Outcome::Done }
    }

    /// Lets the Service go, exactly as it was seen: one that wants a load balancer again by now must keep its finalizer, or
    /// what is made for it next could be left behind.
    async fn release(&self, job: &Job) -> Option<Outcome> {
        let Some(seen) = self.context.services.get(&job.key).filter(|_| self.is_current(job)) else {
            return Some(Outcome::Requeue);
        };
        let guard = Guard::ResourceVersion(seen.resource_version.to_string());
        let notes = self.balancers.policy().annotations_after_removal().without(FINGERPRINT);
        let notes = notes.missing_from(&seen.annotations);
        self.outcome_of(job, self.patch(job, patch::release(&seen.view, &notes), &guard).await)
    }

    async fn wait(&self, job: &Job, wait: Wait, present: bool) -> Outcome {
        if present && let Some(outcome) = self.add_finalizer(job).await {
            return outcome;
        }
        debug!(service = %job.key, reason = wait.reason, "waiting for the cloud");
        self.tell_of_wait(job, &wait.reason, &wait.reason).await;
        let since = job.memory().waits.as_ref().map_or_else(Instant::now, |waits| waits.since);
        let (request, priority) = (job.request.clone(), job.priority);
        let has_time = priority == Priority::Background && !self.has_more_to_free(job);
        let at_most = wait.at_most.clamp(WAITS.0, WAITS.1);
        let look_at = Instant::now() + at_most;
        self.waiting.begin(&job.key, Waiter { request, priority, since, has_time, look_at });
        // Only a precaution: the poller knows when its time has come.
        Outcome::RetryAfter(at_most + POLLER_IS_LATE)
    }

    /// Nothing may be written: because of a pause, because the cloud does not know us, or because another is about to lead.
    /// It runs as soon as the fence is open; `None` if it is open by now, and the usual pause is right.
    pub(super) fn fenced(&self, job: &Job) -> Option<Outcome> {
        if let Err(paused) = pause::judge(self.context.fence.as_ref()) {
            return Some(self.wait_for_pause(job, &paused));
        }
        self.context.fence.check().err()?;
        Some(self.wait_for_fence(job))
    }

    fn wait_for_pause(&self, job: &Job, paused: &Paused) -> Outcome {
        let why = || cut(&paused.to_string());
        if !std::mem::replace(&mut job.memory().cluster_pause_told, true) {
            self.context.metrics.held_back("pause");
            self.context.note_held("pause", || format!("Service {}", job.key), &why());
            self.tell(job.service(), &message::cluster_paused(paused));
        }
        self.stands(job, || Standing::Held { rail: "pause", why: why() });
        self.wait_for_fence(job)
    }

    fn wait_for_fence(&self, job: &Job) -> Outcome {
        self.held.begin(&job.key, job.priority);
        // A wait for us is none for the cloud.
        job.memory().since = None;
        // Only a precaution: it runs as soon as the fence is open.
        Outcome::RetryAfter(WAITS.1)
    }

    /// A wait is told when it has lasted: `kind` says which waits are one and the same.
    async fn tell_of_wait(&self, job: &Job, kind: &str, for_what: &str) {
        if self.context.fence.paused().is_some() {
            return;
        }
        let (tell, say) = {
            let mut memory = job.memory();
            let wait = memory.waits(kind);
            (wait.is_to_tell(self.options.tell_of_wait_after), wait.lasts(self.options.say_wait_after))
        };
        if tell {
            self.tell(job.service(), &message::waits(for_what));
        }
        // While only its nodes change it serves, and nobody waits: not worth two writes on every Service there is.
        if say && job.task != Task::Nodes {
            self.say(job, condition::waits(for_what)).await;
        }
    }

    /// Says on the Service why it is not as it asks, if that is news, and what the provider notes, if it does not stand there.
    /// What cannot be said now is said with the next try.
    pub(super) async fn say(&self, job: &Job, wanted: ServiceCondition) {
        let (service, now) = (job.service(), Instant::now());
        let (there, written) = {
            let memory = job.memory();
            (memory.condition_of(service), memory.said.as_ref().map(|said| said.at))
        };
        // One that is gone has nobody who could read it.
        if job.task == Task::RemoveOrphan {
            return;
        }
        let is_news = condition::is_news(&there, written, &wanted, now);
        let entry = is_news.then(|| patch::condition(there.known(), &wanted, self.context.clock.now()));
        if is_news {
            job.memory().will_say(service, wanted);
        }
        match self.patch_telling(job, patch::say(entry.as_ref(), &job.notes)).await {
            Ok(_written) if is_news => job.memory().has_said(),
            Ok(_nothing_new_said) => {}
            Err(error) => debug!(service = %job.key, %error, "could not say what it waits for"),
        }
    }

    /// What a failure means for the key, and whether a person hears of it.
    async fn retry(
        &self,
        job: &Job,
        class: ErrorClass,
        asked_to_wait: Option<Duration>,
        error: &(dyn Display + Sync),
        unseen: bool,
    ) -> Outcome {
        if job.task == Task::Nodes {
            self.context.metrics.node_sync_errors.inc();
        }
        // Asked to wait, not leading, or overtaken by somebody: nothing failed that a person could mend.
        let overtaken = class.retry() == Retry::ObserveAgain && job.failures < OFTEN_OVERTAKEN;
        if asked_to_wait.is_none() && class != ErrorClass::Fenced && !overtaken {
            warn!(service = %job.key, %error, "failed, will be tried again");
            let (task, nodes) = (job.task, &job.request.nodes);
            let message = if unseen {
                message::unknown(task, nodes, error)
            } else {
                message::failed(task, nodes, error)
            };
            self.tell(job.service(), &message);
            let text = error.to_string();
            let said = if unseen { condition::unknown(&text) } else { condition::failed(task, &text) };
            if !serves_meanwhile(job) {
                self.say(job, said).await;
            }
        }
        // Whoever we are not known to cannot be asked again before we are: the fence is closed until then.
        if matches!(class, ErrorClass::Fenced | ErrorClass::Unauthenticated)
            && let Some(outcome) = self.fenced(job)
        {
            return outcome;
        }
        let Some(wait) = asked_to_wait else {
            if !overtaken {
                self.concluded(job, true);
            }
            return Outcome::Failed;
        };
        self.tell_of_wait(job, ASKED_TO_WAIT, &error.to_string()).await;
        Outcome::RetryAfter(wait.max(WAITS.0))
    }
}

/// Whether nobody waits for a Service that has failed now: it has its address, and only its nodes change, or it is compared
/// because of the time or a restart and has not failed for long. An outage is not worth two writes on every Service there is.
fn serves_meanwhile(job: &Job) -> bool {
    let compared = job.priority == Priority::Background && job.failures < SOON_OVER;
    job.task == Task::Nodes || (compared && !job.service().status.ingress.is_empty())
}

/// A period between three and five quarters of `period`, the same for the same Service: repairs spread by themselves.
pub(super) fn spread(period: Duration, uid: &str) -> Duration {
    let hash = uid.bytes().fold(0_u32, |hash, byte| hash.wrapping_mul(31).wrapping_add(byte.into()));
    let thousandths = 750 + hash % 500;
    period.saturating_mul(thousandths) / 1000
}
