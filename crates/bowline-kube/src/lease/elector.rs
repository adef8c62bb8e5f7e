//! The elector: performs the steps of the election against the API server, each call with its own timeout, and publishes the leadership
//! state to the process. `plan` decides the steps.

use std::time::Duration;

use bowline_core::{PAUSED, pause_said};
use k8s_openapi::api::coordination::v1::Lease;
use kube::{Api, Client, api::PostParams};
use rand::{RngExt, SeedableRng, rngs::StdRng};
use tokio::{
    sync::watch,
    time::{Instant, sleep, timeout, timeout_at},
};
use tokio_util::sync::CancellationToken;

use super::freed::FreedWatch;
use super::{
    Candidate, ElectionHealth, Leadership, LeaseConfig, LeaseConfigError, LeaseFence, LeaseMetrics,
    LeaseRecord, Lost, Observed, Step,
    plan::{JITTER, plan, released, renewal, without_lease},
};
use crate::client::describe;
use crate::clock::Clock;

/// The longest time to release the Lease, even if the renew deadline is longer: the termination of the process waits for it.
const RELEASE_LIMIT: Duration = Duration::from_secs(5);

/// Candidates that wait for the same lease to expire are spread over this time after the expiry.
const EXPIRY_SPREAD: Duration = Duration::from_millis(250);

/// The pause before another attempt to release the Lease.
const RELEASE_PAUSE: Duration = Duration::from_millis(200);

/// A participant in one leader election.
#[derive(Debug)]
pub struct Elector {
    api: Api<Lease>,
    config: LeaseConfig,
    clock: Clock,
    jitter: StdRng,
    metrics: LeaseMetrics,
    leadership: watch::Sender<Leadership>,
    fence: LeaseFence,
    freed: FreedWatch,
    /// The start of the monotonic times that are passed to `plan`.
    started: Instant,
    /// The last observed record, and the Lease object that it was read from.
    seen: Option<(Observed, Lease)>,
    /// The last observed record of a Lease that was deleted since.
    departed: Option<Observed>,
    /// A write without a response, which may still take effect.
    unanswered: Option<Unanswered>,
    /// The annotation of the holder on the Lease: its key and its current value.
    own_annotation: Option<(&'static str, watch::Receiver<Option<String>>)>,
}

/// A write that the API server may still execute while the Lease has the resource version `over`, which the write was based on. `over` is
/// `None` for the write that creates the Lease.
#[derive(Debug, PartialEq, Eq)]
struct Unanswered {
    over: Option<String>,
}

/// Why [`Elector::run`] returned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ended {
    /// The caller cancelled it. This process may hold the Lease even if no response said so: call [`Elector::release`].
    Cancelled,
    /// This process no longer takes part. It must exit.
    Lost(Lost),
}

/// The result of releasing the Lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Released {
    /// Released: another replica can acquire it immediately.
    Done,
    /// This process did not hold it.
    NotHolder,
    /// The Lease does not exist.
    Missing,
}

/// The Lease could not be released; other replicas wait until it expires.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("could not release lease {lease} within {within:?}: {last_failure}; it runs out by itself")]
pub struct ReleaseError {
    /// The Lease, as `namespace/name`.
    pub lease: String,
    /// The timeout of the release.
    pub within: Duration,
    /// The last failure seen.
    pub last_failure: String,
}

/// The result of one attempt.
enum Attempt {
    /// This process holds the Lease, through a request sent at this time.
    Held(Sent),
    /// Another process holds it.
    HeldBy(String),
    /// Unknown.
    Failed(String),
}

/// A failed call.
struct Failure {
    why: String,
    /// The call may have taken effect: the API server did not refuse it.
    may_have_worked: bool,
}

#[derive(Clone, Copy)]
struct Sent {
    at: Instant,
    wall: jiff::Timestamp,
}

impl Elector {
    /// An elector that does nothing until [`Self::run`] is called. `seed` randomizes the pauses, so that the attempts of candidates are
    /// spread.
    ///
    /// `client` should be a dedicated client without retries, so that no other caller uses up its request budget.
    ///
    /// # Errors
    ///
    /// If the times or names in `config` are invalid.
    pub fn new(
        client: Client,
        config: LeaseConfig,
        clock: Clock,
        metrics: LeaseMetrics,
        seed: u64,
    ) -> Result<Self, LeaseConfigError> {
        config.validate()?;
        metrics.set_leading(&config.name, false);
        let fence = LeaseFence::new(clock.clone(), format!("{}/{}", config.namespace, config.name));
        let api = Api::namespaced(client, &config.namespace);
        Ok(Self {
            freed: FreedWatch::new(api.clone(), config.name.clone()),
            api,
            jitter: StdRng::seed_from_u64(seed),
            leadership: watch::Sender::new(Leadership::Standby { holder: None }),
            started: Instant::now(),
            seen: None,
            departed: None,
            unanswered: None,
            own_annotation: None,
            config,
            clock,
            metrics,
            fence,
        })
    }

    /// Keeps an annotation on the Lease while this process holds it, without extra writes: a new value is stored with the next renewal, and
    /// without a value the annotation of an earlier holder is removed. Releasing the Lease removes it.
    #[must_use]
    pub fn with_annotation(mut self, key: &'static str, value: watch::Receiver<Option<String>>) -> Self {
        self.own_annotation = Some((key, value));
        self
    }

    /// Subscribes to the leadership state.
    #[must_use]
    pub fn leadership(&self) -> watch::Receiver<Leadership> {
        self.leadership.subscribe()
    }

    /// The fence to check before every mutation. Closed until this process becomes the leader.
    #[must_use]
    pub fn fence(&self) -> LeaseFence {
        self.fence.clone()
    }

    /// The check for the health endpoint.
    #[must_use]
    pub fn health(&self) -> ElectionHealth {
        ElectionHealth::new(self.leadership.subscribe(), self.config.lease_duration)
    }

    /// Takes part until the Lease is lost or `cancel` is cancelled.
    ///
    /// To shut down: stop all work first, while this still renews; then cancel; then call [`Elector::release`].
    pub async fn run(&mut self, cancel: &CancellationToken) -> Ended {
        match cancel.run_until_cancelled(self.take_part()).await {
            Some(why) => Ended::Lost(why),
            None => Ended::Cancelled,
        }
    }

    async fn take_part(&mut self) -> Lost {
        if let Leadership::Lost { why } = &*self.leadership.borrow() {
            return why.clone();
        }
        let sent = self.acquire().await;
        let why = self.keep(sent).await;
        self.stop(why.clone());
        why
    }

    /// Retries until this process holds the Lease.
    async fn acquire(&mut self) -> Sent {
        loop {
            match self.attempt().await {
                Attempt::Held(sent) => {
                    self.freed.close(Duration::ZERO);
                    return sent;
                }
                Attempt::HeldBy(holder) => self.stand_by(holder),
                Attempt::Failed(why) => {
                    tracing::warn!(lease = self.config.name, why, "cannot acquire the lease");
                }
            }
            self.pause().await;
        }
    }

    /// The pause of client-go before the next attempt, shortened if the observed lease expires earlier.
    async fn pause(&mut self) {
        let spread: f64 = self.jitter.random_range(0.0..JITTER);
        let pause = self.config.retry_period.mul_f64(1.0 + spread);
        let Self { freed, seen, departed, started, jitter, fence, .. } = self;
        let last = seen.as_ref().map(|(observed, _)| observed).or(departed.as_ref());
        let expires = last.map(|observed| observed.until().saturating_sub(started.elapsed()));
        // Random, so that candidates do not all try at the same moment.
        let apart = EXPIRY_SPREAD.mul_f64(jitter.random_range(0.0..1.0));
        let pause = expires.filter(|left| !left.is_zero()).map_or(pause, |left| pause.min(left + apart));
        freed
            .wait(pause, |lease| {
                fence.pause(pause_of(lease));
                let last = seen.take().map(|(observed, _)| observed);
                *seen = Some((look_at(last, lease, started.elapsed()), lease.clone()));
            })
            .await;
    }

    /// Renews until that fails for too long. The deadline counts from when the last successful renewal was *sent*, so it always passes
    /// before the fence closes.
    async fn keep(&mut self, mut sent: Sent) -> Lost {
        loop {
            sleep(self.config.retry_period).await;
            let mut last_failure = String::from("no answer");
            let deadline = sent.at + self.config.renew_deadline;
            match timeout_at(deadline, self.renew(&mut last_failure)).await {
                Ok(Ok(renewed)) => sent = renewed,
                Ok(Err(why)) => return why,
                Err(_elapsed) => {
                    return Lost::RenewDeadline { after: self.config.renew_deadline, last_failure };
                }
            }
        }
    }

    async fn renew(&mut self, last_failure: &mut String) -> Result<Sent, Lost> {
        loop {
            match self.attempt().await {
                Attempt::Held(sent) => return Ok(sent),
                Attempt::HeldBy(holder) => return Err(Lost::TakenBy(holder)),
                Attempt::Failed(why) => {
                    tracing::warn!(lease = self.config.name, why, "cannot renew the lease, trying again");
                    *last_failure = why;
                }
            }
            sleep(self.config.retry_period).await;
        }
    }

    /// One attempt: renews without a read if this process holds the Lease; otherwise reads the Lease and acts on it.
    async fn attempt(&mut self) -> Attempt {
        if let Some(sent) = self.renew_unseen().await {
            return Attempt::Held(sent);
        }
        let found = match self.call("get", self.api.get_opt(&self.config.name)).await {
            Ok(found) => found,
            Err(failure) => return Attempt::Failed(failure.why),
        };
        let now = self.started.elapsed();
        let last = self.seen.take().map(|(observed, _)| observed);
        found.iter().for_each(|lease| self.note_pause(lease));
        let step = match found {
            Some(lease) => {
                let observed = look_at(last, &lease, now);
                let step = plan(Some(&observed), &self.me(), now, self.clock.now());
                (self.seen, self.departed) = (Some((observed, lease)), None);
                step
            }
            None => {
                self.departed = last.or(self.departed.take());
                without_lease(self.departed.as_ref(), &self.me(), now, self.clock.now())
            }
        };
        match step {
            Step::Standby { holder, .. } => Attempt::HeldBy(holder),
            Step::Create(record) => self.create(&record).await,
            Step::TakeOver(record) => self.update(&record).await,
            Step::Renew(record) => {
                self.metrics.count_slow_path(&self.config.name);
                self.update(&record).await
            }
        }
    }

    async fn renew_unseen(&mut self) -> Option<Sent> {
        let (observed, _) = self.seen.as_ref()?;
        let record = renewal(observed, &self.me(), self.started.elapsed(), self.clock.now())?;
        match self.update(&record).await {
            Attempt::Held(sent) => Some(sent),
            Attempt::HeldBy(why) | Attempt::Failed(why) => {
                tracing::debug!(lease = self.config.name, why, "renewal refused, looking at the lease first");
                None
            }
        }
    }

    async fn create(&mut self, record: &LeaseRecord) -> Attempt {
        let mut lease = record.new_lease(&self.config.namespace, &self.config.name);
        // Deleting the Lease does not end the pause that it announced.
        let pause = self.fence.said().map(|why| (PAUSED.to_owned(), why));
        lease.metadata.annotations = pause.map(|pause| [pause].into());
        self.annotate(&mut lease);
        let (sent, api) = (self.now(), self.api.clone());
        self.unanswered = Some(Unanswered { over: None });
        let answer = self.call("create", api.create(&PostParams::default(), &lease)).await;
        self.written(sent, answer)
    }

    async fn update(&mut self, record: &LeaseRecord) -> Attempt {
        let Some((_, found)) = &self.seen else {
            return Attempt::Failed("there is no lease to update".to_owned());
        };
        let mut lease = record.over(found);
        self.annotate(&mut lease);
        let sent = self.now();
        self.unanswered = Some(Unanswered { over: lease.metadata.resource_version.clone() });
        let answer = self.put(&lease, self.config.call_timeout()).await;
        self.written(sent, answer)
    }

    /// Handles the response to a write that was sent at `sent`.
    fn written(&mut self, sent: Sent, answer: Result<Lease, Failure>) -> Attempt {
        if !matches!(&answer, Err(failure) if failure.may_have_worked) {
            self.unanswered = None;
        }
        let lease = match answer {
            Ok(lease) => lease,
            Err(failure) => return Attempt::Failed(failure.why),
        };
        let record = LeaseRecord::from_lease(&lease);
        if record.holder != self.config.identity {
            return Attempt::HeldBy(record.holder);
        }
        // Before the fence opens, so that a new leader obeys a pause from its first moment.
        self.note_pause(&lease);
        self.fence.extend(sent.at, sent.wall, self.config.fence_span());
        self.lead(sent.at, lease.metadata.uid.clone());
        let version = lease.metadata.resource_version.clone();
        self.seen = Some((Observed { record, version, at: self.started.elapsed() }, lease));
        Attempt::Held(sent)
    }

    /// Sets the annotation of the holder to its current value. All other annotations stay.
    fn annotate(&self, lease: &mut Lease) {
        let Some((key, value)) = &self.own_annotation else { return };
        let value = value.borrow().clone();
        set_annotation(lease, key, value);
    }

    /// Passes the pause annotation to the fence. When an administrator annotates the Lease, its resource version changes, so the next
    /// renewal is refused as a conflict and reads the Lease.
    fn note_pause(&self, lease: &Lease) {
        self.fence.pause(pause_of(lease));
    }

    async fn put(&self, lease: &Lease, limit: Duration) -> Result<Lease, Failure> {
        self.call_within(limit, "update", self.api.replace(&self.config.name, &PostParams::default(), lease))
            .await
    }

    async fn call<T>(
        &self,
        verb: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Failure> {
        self.call_within(self.config.call_timeout(), verb, request).await
    }

    async fn call_within<T>(
        &self,
        limit: Duration,
        verb: &str,
        request: impl Future<Output = Result<T, kube::Error>>,
    ) -> Result<T, Failure> {
        let what = format!("{verb} lease {}/{}", self.config.namespace, self.config.name);
        match timeout(limit, request).await {
            Ok(Ok(answer)) => Ok(answer),
            Ok(Err(error)) => Err(Failure {
                why: format!("{what}: {}", describe(&error)),
                may_have_worked: !matches!(&error, kube::Error::Api(status) if status.code < 500),
            }),
            Err(_elapsed) => {
                Err(Failure { why: format!("{what}: no answer within {limit:?}"), may_have_worked: true })
            }
        }
    }

    fn lead(&self, renewed: Instant, lease_uid: Option<String>) {
        let began = self.leadership.send_if_modified(|now| match now {
            Leadership::Leading { renewed: last, .. } => {
                *last = renewed;
                false
            }
            _ => {
                *now = Leadership::Leading { since: renewed, renewed, lease_uid };
                true
            }
        });
        if began {
            self.metrics.set_leading(&self.config.name, true);
            tracing::info!(lease = self.config.name, identity = self.config.identity, "became leader");
        }
    }

    fn stand_by(&self, holder: String) {
        self.leadership.send_if_modified(|now| {
            if matches!(now, Leadership::Standby { holder: Some(seen) } if *seen == holder) {
                return false;
            }
            tracing::info!(lease = self.config.name, leader = holder, "new leader seen");
            *now = Leadership::Standby { holder: Some(holder) };
            true
        });
    }

    /// Stops taking part, permanently, without releasing the Lease: it expires. For a process that does not know the state of its work in
    /// flight.
    pub fn give_up(&mut self, why: Lost) {
        self.stop(why);
    }

    /// Stops taking part, permanently: closes the fence first, then publishes the new state.
    fn stop(&self, why: Lost) {
        self.fence.shut(why.to_string());
        self.metrics.set_leading(&self.config.name, false);
        tracing::warn!(lease = self.config.name, %why, "stopped leading");
        self.leadership.send_replace(Leadership::Lost { why });
    }

    fn me(&self) -> Candidate {
        Candidate {
            identity: self.config.identity.clone(),
            lease_duration_seconds: self.config.lease_seconds(),
            leading: matches!(*self.leadership.borrow(), Leadership::Leading { .. }),
        }
    }

    fn now(&self) -> Sent {
        Sent { at: Instant::now(), wall: self.clock.now() }
    }

    /// Releases the Lease, so that another replica can start at once. Call it only after all work has stopped: it closes the fence
    /// permanently.
    ///
    /// This also applies to a process that did not lead: a candidate that is stopped while it acquires the Lease may hold it without having
    /// received the response. The Lease is read in any case, and released if this process holds it.
    ///
    /// # Errors
    ///
    /// [`ReleaseError`] if that did not succeed within five seconds, or within the renew deadline if that is less. Other replicas then wait
    /// until the lease expires.
    pub async fn release(&mut self) -> Result<Released, ReleaseError> {
        if !matches!(*self.leadership.borrow(), Leadership::Lost { .. }) {
            self.stop(Lost::Released);
        }
        let within = self.config.renew_deadline.min(RELEASE_LIMIT);
        let mut last_failure = String::from("no answer");
        let outcome = timeout(within, async {
            loop {
                // Half of the time per attempt, so that there is time for a second one.
                match self.try_release(within / 2).await {
                    Ok(outcome) => return outcome,
                    Err(why) => last_failure = why,
                }
                sleep(RELEASE_PAUSE).await;
            }
        });
        let outcome = outcome.await;
        let lease = format!("{}/{}", self.config.namespace, self.config.name);
        outcome.map_err(|_elapsed| ReleaseError { lease, within, last_failure })
    }

    async fn try_release(&self, limit: Duration) -> Result<Released, String> {
        let look = self.call_within(limit, "get", self.api.get_opt(&self.config.name));
        let found = look.await.map_err(|failure| failure.why)?;
        let Some(ours) = found.as_ref().filter(|lease| self.is_ours(lease)) else {
            let version = found.as_ref().and_then(|lease| lease.metadata.resource_version.clone());
            if self.unanswered == Some(Unanswered { over: version }) {
                return Err("a write of ours was not answered and may still make the lease ours".to_owned());
            }
            return Ok(if found.is_some() { Released::NotHolder } else { Released::Missing });
        };
        let mut free = released(&LeaseRecord::from_lease(ours), self.clock.now()).over(ours);
        if let Some((key, _value)) = &self.own_annotation {
            set_annotation(&mut free, key, None);
        }
        self.put(&free, limit).await.map(|_freed| Released::Done).map_err(|failure| failure.why)
    }

    fn is_ours(&self, lease: &Lease) -> bool {
        LeaseRecord::from_lease(lease).holder == self.config.identity
    }
}

fn set_annotation(lease: &mut Lease, key: &str, value: Option<String>) {
    let annotations = &mut lease.metadata.annotations;
    match value {
        Some(value) => {
            annotations.get_or_insert_default().insert(key.to_owned(), value);
        }
        None => {
            if let Some(annotations) = annotations {
                annotations.remove(key);
            }
        }
    }
}

/// The reason for a pause, from the annotation on the Lease.
fn pause_of(lease: &Lease) -> Option<&str> {
    let said = lease.metadata.annotations.as_ref().and_then(|all| all.get(PAUSED));
    pause_said(said.map(String::as_str))
}

/// Records an observation of the Lease, from a read or a watch.
fn look_at(last: Option<Observed>, lease: &Lease, now: Duration) -> Observed {
    Observed::look(last, LeaseRecord::from_lease(lease), lease.metadata.resource_version.clone(), now)
}
