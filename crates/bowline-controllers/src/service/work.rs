//! The workers: take the keys that are ready, look at all their load balancers at once, and bring each one step further.
//!
//! One worker at a time has a key, whatever the work is about: ensure, another set of nodes, removal. What a step means
//! for the Service is in `execute`. A run that takes long goes on `aside`: no worker waits for it.

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::journal::cut;
use bowline_cloud::{
    AnyLoadBalancers, AnyObserved, Doubt, LoadBalancerRequest, Notes, Purpose, ServiceDirectory, ServiceView,
    Standing, Text, Traffic, Urgency, on_behalf_of,
};
use bowline_kube::informer::ObjectKey;
use bowline_kube::ledger::Subject;
use bowline_kube::queue::{KeyedQueue, Outcome, Picked, Priority, Ticket};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use k8s_openapi::jiff::Timestamp;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::ServiceOptions;
use super::aside::{self, Aside, Places};
use super::desire::{has_finalizer, is_paused, needs_update, pause_of, purpose};
use super::held::HeldKeys;
use super::memory::{Memories, Memory, Task};
use super::message::{self, Message};
use super::nodes::SharedNodes;
use super::patch::FINGERPRINT;
use super::refused::Obstructed;
use super::replacement::Fleet;
use super::rounds::Rounds;
use super::turn::Turns;
use super::waiting::Waiting;
use crate::controller::ControllerContext;
use crate::view::service_reference;

/// What all runs share.
pub(super) struct Work {
    pub(super) options: ServiceOptions,
    pub(super) context: ControllerContext,
    pub(super) balancers: Arc<dyn AnyLoadBalancers>,
    pub(super) queue: KeyedQueue<ObjectKey>,
    pub(super) nodes: SharedNodes,
    pub(super) memories: Memories,
    pub(super) waiting: Waiting,
    pub(super) held: HeldKeys,
    pub(super) rounds: Rounds,
    pub(super) places: Places,
    pub(super) turns: Turns,
    pub(super) obstructed: Obstructed,
    pub(super) directory: ServiceDirectory,
    pub(super) fleet: Fleet,
}

/// So long a run that is only about nodes gives way to newer ones, in all: as long as nodes come in groups, and then it has its turn.
const GIVES_WAY: Duration = Duration::from_secs(45);

/// One run of one key.
pub(super) struct Job {
    pub(super) key: ObjectKey,
    pub(super) priority: Priority,
    pub(super) failures: u32,
    pub(super) request: LoadBalancerRequest,
    pub(super) task: Task,
    /// What the provider wants noted on the Service and does not stand there. Known after the look.
    pub(super) notes: Notes,
    /// What is known of the traffic of the load balancer, if the cloud reports it as broken. Known after the observation.
    pub(super) broken: Option<Traffic>,
    /// When a node is drained, and has to be looked at.
    pub(super) drained_at: Option<Timestamp>,
    memory: Arc<Mutex<Memory>>,
}

/// A key, its run, and what the cloud said of it.
type Seen = (Ticket<ObjectKey>, Job, Option<Result<Box<dyn AnyObserved>, Doubt>>);

impl Job {
    pub(super) fn service(&self) -> &Arc<ServiceView> {
        &self.request.service
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock()
    }
}

/// The namespace of a Service.
fn namespace(key: &ObjectKey) -> &str {
    key.namespace().unwrap_or_default()
}

impl Work {
    /// One worker; returns after `cancel`, when what it had begun is finished or goes on aside.
    pub(super) async fn run<'w>(&'w self, cancel: &CancellationToken, aside: Aside<'w>) {
        while let Some(first) = cancel.run_until_cancelled(self.queue.take()).await {
            let tickets = self.take_more(first);
            self.queue.call_another();
            let is_urgent = |ticket: &Ticket<ObjectKey>| ticket.picked().priority == Priority::User;
            let (urgent, others): (Vec<_>, Vec<_>) = tickets.into_iter().partition(is_urgent);
            tokio::join!(
                self.run_lot(Priority::User, urgent, &aside),
                self.run_lot(Priority::Background, others, &aside)
            );
        }
    }

    /// What else is ready. Background work is looked at in larger lots: fewer calls, and nobody waits for the first.
    fn take_more(&self, first: Ticket<ObjectKey>) -> Vec<Ticket<ObjectKey>> {
        let lot = |ticket: &Ticket<ObjectKey>| match ticket.picked().priority {
            Priority::User => self.options.batch,
            Priority::Background => self.options.background_batch,
        };
        let mut most = lot(&first);
        let mut tickets = vec![first];
        while tickets.len() < most
            && let Some(ticket) = self.queue.try_take()
        {
            most = most.min(lot(&ticket));
            tickets.push(ticket);
        }
        tickets
    }

    /// A lot that takes long holds no worker: there may be a call for each of a thousand, and the budget has ten a second.
    async fn run_lot<'w>(&'w self, priority: Priority, tickets: Vec<Ticket<ObjectKey>>, aside: &Aside<'w>) {
        if tickets.is_empty() {
            return;
        }
        let (keys, further) = (tickets.len(), aside.clone());
        // A ticket that is dropped by a panic counts as failed: its key is tried again, later.
        let lot = async move { aside::caught(self.run_batch(priority, tickets, &further)).await };
        self.places.lot(priority, lot.boxed(), keys, aside).await;
    }

    async fn run_batch<'w>(&'w self, priority: Priority, tickets: Vec<Ticket<ObjectKey>>, aside: &Aside<'w>) {
        let (mut together, mut alone) = (Vec::new(), Vec::new());
        for ticket in tickets {
            match self.prepare(ticket.picked()) {
                Err(outcome) => self.finish(ticket, outcome),
                // What failed before must not drag others along.
                Ok(job) if job.failures > 0 => alone.push((ticket, job)),
                Ok(job) => together.push((ticket, job)),
            }
        }
        let mut runs: Vec<BoxFuture<'_, ()>> = Vec::new();
        for (ticket, job) in alone {
            let run = async move {
                let place = self.places.quick(priority, namespace(&job.key)).await;
                self.places.run(priority, Some(place), self.run_alone(ticket, job).boxed(), aside).await;
            };
            runs.push(run.boxed());
        }
        runs.push(self.run_together(priority, together, aside).boxed());
        join_all(runs).await;
    }

    async fn run_alone(&self, ticket: Ticket<ObjectKey>, job: Job) {
        let observe = self.balancers.observe(std::slice::from_ref(&job.request));
        let observed = on_behalf_of(namespace(&job.key).into(), observe).await;
        self.conclude_caught(ticket, job, observed.into_iter().next()).await;
    }

    async fn run_together<'w>(
        &'w self,
        priority: Priority,
        jobs: Vec<(Ticket<ObjectKey>, Job)>,
        aside: &Aside<'w>,
    ) {
        if jobs.is_empty() {
            return;
        }
        let keys = jobs.len();
        let mut look = self.look(jobs).boxed();
        match self.places.patiently(priority, &mut look, keys).await {
            Ok(seen) => self.conclude_all(priority, seen, aside).await,
            Err(place) => {
                let further = aside.clone();
                let rest = async move {
                    let seen = look.await;
                    drop(place);
                    self.conclude_all(priority, seen, &further).await;
                };
                aside.take(rest.boxed());
            }
        }
    }

    async fn look(&self, jobs: Vec<(Ticket<ObjectKey>, Job)>) -> Vec<Seen> {
        let requests: Vec<_> = jobs.iter().map(|(_, job)| job.request.clone()).collect();
        // What several namespaces share is work of the cluster.
        let first = jobs.first().map(|(_, job)| namespace(&job.key)).unwrap_or_default();
        let is_of_one = jobs.iter().all(|(_, job)| namespace(&job.key) == first);
        let shared_by = if is_of_one { first } else { "" };
        let observe = self.balancers.observe(&requests);
        let mut observed = on_behalf_of(shared_by.into(), observe).await.into_iter();
        jobs.into_iter().map(|(ticket, job)| (ticket, job, observed.next())).collect()
    }

    async fn conclude_all<'w>(&'w self, priority: Priority, seen: Vec<Seen>, aside: &Aside<'w>) {
        let conclude = |(ticket, job, observed): Seen| {
            let run = async move {
                let place = self.places.quick(priority, namespace(&job.key));
                // Without a place only if it has to look again, and performs nothing.
                let place = self.turns.wait(&job.key, place, || self.leaves_its_line(&job)).await;
                let run = self.conclude_caught(ticket, job, observed).boxed();
                self.places.run(priority, place, run, aside).await;
            };
            run.boxed()
        };
        join_all(seen.into_iter().map(conclude)).await;
    }

    async fn conclude_caught(
        &self,
        ticket: Ticket<ObjectKey>,
        mut job: Job,
        observed: Option<Result<Box<dyn AnyObserved>, Doubt>>,
    ) {
        let none = || Err(Doubt::new("the provider gave fewer answers than asked for"));
        let observed = observed.unwrap_or_else(none);
        let namespace = namespace(&job.key).into();
        let conclude = AssertUnwindSafe(on_behalf_of(namespace, self.conclude(&mut job, observed)));
        match conclude.catch_unwind().await {
            Ok(outcome) => self.finish(ticket, outcome),
            Err(_panic) => {
                error!(service = %job.key, "a run panicked: this is a bug; the Service is tried again");
                self.finish(ticket, Outcome::Failed);
            }
        }
    }

    fn finish(&self, ticket: Ticket<ObjectKey>, outcome: Outcome) {
        if matches!(outcome, Outcome::Done | Outcome::Failed)
            && let Some(took) = self.rounds.done(ticket.key())
        {
            self.context.metrics.node_sync_latency_seconds.observe(took.as_secs_f64());
        }
        ticket.finish(outcome);
    }

    /// What is to be done for a key; `Err` if nothing is.
    fn prepare(&self, picked: &Picked<ObjectKey>) -> Result<Job, Outcome> {
        let key = &picked.key;
        self.waiting.end(key);
        let memory = self.memories.of(key);
        let known = memory.lock().known.clone();
        let live = self.context.services.get(key).map(|object| object.view.clone());
        let (service, wanted) = match (live, known) {
            // First what is left of one that is gone, then its successor of the same name.
            (live, Some(gone)) if live.as_ref().is_none_or(|live| live.uid != gone.uid) => (gone, None),
            (Some(live), known) => match purpose(&live, known.is_some()) {
                Some(purpose) => (live, Some(purpose)),
                None => return Err(self.nothing_to_do(key)),
            },
            (None, _) => return Err(self.nothing_to_do(key)),
        };
        let (nodes, drained_at) =
            self.nodes.current(self.balancers.policy().drains(&service), self.context.clock.now());
        // What we noted and the informer does not show yet stands there.
        let service = memory.lock().by_now(&service);
        let task = {
            let mut memory = memory.lock();
            memory.sees(&service);
            if is_paused(&service) {
                return Err(self.pause(key, &mut memory, &service, wanted));
            }
            memory.paused_told = false;
            memory.since.get_or_insert_with(Instant::now);
            // Seen: from now on the informer is asked, which shows if somebody takes it off.
            memory.finalizer_sent &= !has_finalizer(&service);
            match wanted {
                Some(Purpose::Ensure) => memory.ensuring(&service, &nodes),
                Some(Purpose::Remove) => Task::Remove,
                None => Task::RemoveOrphan,
            }
        };
        let purpose = if task.is_removal() { Purpose::Remove } else { Purpose::Ensure };
        let (cluster, fingerprints) = (self.options.cluster_name.clone(), self.fingerprints(&service));
        let urgency = match picked.priority {
            Priority::User => Urgency::User,
            Priority::Background => Urgency::Background,
        };
        let services = self.directory.clone();
        let request =
            LoadBalancerRequest { cluster, service, nodes, purpose, fingerprints, urgency, services };
        let (key, priority, failures) = (key.clone(), picked.priority, picked.failures);
        Ok(Job {
            key,
            priority,
            failures,
            request,
            task,
            notes: Notes::default(),
            broken: None,
            drained_at,
            memory,
        })
    }

    /// What was said of this Service when it was as it shall be: on itself, and in the ledger.
    fn fingerprints(&self, service: &ServiceView) -> Vec<Text> {
        let noted = service.annotations.get(FINGERPRINT).map(Text::from);
        noted.into_iter().chain(self.context.ledger.about(Subject::Service, &service.uid)).collect()
    }

    /// Nothing is written. If the Service goes while it is paused, what it has in the cloud stays.
    fn pause(
        &self,
        key: &ObjectKey,
        memory: &mut Memory,
        service: &Arc<ServiceView>,
        wanted: Option<Purpose>,
    ) -> Outcome {
        if wanted.is_none() {
            info!(service = %key, uid = %service.uid, "went while it was paused; its load balancer is left as it is");
            self.memories.forget(key);
            return Outcome::Requeue;
        }
        let said = pause_of(service).unwrap_or_default();
        self.note_standing(key, || Standing::Held {
            rail: "pause",
            why: cut(&format!("by its annotation: {said}")),
        });
        memory.since = None;
        if memory.known.is_some() {
            memory.known = Some(service.clone());
        }
        if !std::mem::replace(&mut memory.paused_told, true) {
            self.tell(service, &message::paused(said));
        }
        Outcome::Done
    }

    fn nothing_to_do(&self, key: &ObjectKey) -> Outcome {
        self.memories.forget(key);
        self.note_gone(key);
        Outcome::Done
    }

    /// Whether the wish that was observed for is still the wish.
    pub(super) fn is_current(&self, job: &Job) -> bool {
        let live = self.context.services.get(&job.key).map(|live| job.memory().by_now(&live.view));
        let service = job.service();
        match (job.task, live) {
            (Task::RemoveOrphan, live) => live.is_none_or(|live| live.uid != service.uid),
            // It went while we looked: what to do about that is decided anew.
            (_, None) => false,
            (_, Some(live)) => {
                Arc::ptr_eq(&live, service)
                    || (live.uid == service.uid
                        && !needs_update(service, &live)
                        && is_paused(&live) == is_paused(service)
                        && purpose(&live, true) == Some(job.request.purpose))
            }
        }
    }

    /// Whether this run, which is about nodes, would bring a set that is out of date, or soon will be: all were told of newer nodes while
    /// it waited for its turn, or more nodes come. Not for long: who is overtaken again and again has its turn all the same.
    pub(super) fn is_overtaken(&self, job: &Job) -> bool {
        let gives_way_since = job.memory().gives_way_since;
        match gives_way_since {
            None if self.frees_nodes(job) => self.has_newer_nodes(job),
            _ => self.is_overtaken_in_line(job),
        }
    }

    /// The same while it waits in some line. If a node has left it keeps its place: the set that it brings is better than the one
    /// that is there.
    fn is_overtaken_in_line(&self, job: &Job) -> bool {
        let may_wait = || job.memory().gives_way_since.is_none_or(|since| since.elapsed() < GIVES_WAY);
        let more_come = || self.turns.do_nodes_come() && job.memory().lacks(job.request.nodes.epoch);
        job.task == Task::Nodes
            && (self.has_newer_nodes(job) || more_come())
            && !self.frees_nodes(job)
            && may_wait()
    }

    /// Whether this run, which is about nodes, has to leave its line: it is overtaken, or its Service is another by now.
    pub(super) fn leaves_its_line(&self, job: &Job) -> bool {
        job.task == Task::Nodes && (!self.is_current(job) || self.is_overtaken_in_line(job))
    }

    /// A run that is overtaken ends so: it looks again, at once or when the nodes have come.
    pub(super) fn give_way(&self, job: &Job) -> Outcome {
        job.memory().gives_way_since.get_or_insert_with(Instant::now);
        if self.is_current(job) && self.turns.put_off(&job.key) {
            // Only a precaution: it runs when they have come.
            return Outcome::RetryAfter(GIVES_WAY);
        }
        Outcome::Requeue
    }

    fn has_newer_nodes(&self, job: &Job) -> bool {
        job.task == Task::Nodes && self.nodes.announced() > job.request.nodes.epoch
    }

    /// Whether a node that has left may have to be taken out of another pool, when this wait is over.
    pub(super) fn has_more_to_free(&self, job: &Job) -> bool {
        job.service().ports.len() > 1 && self.frees_nodes(job)
    }

    /// Whether the load balancer still has a node that has left, or leaves.
    fn frees_nodes(&self, job: &Job) -> bool {
        let lost = self.nodes.lost();
        let memory = job.memory();
        memory.lacks(lost) || memory.drains()
    }

    pub(super) fn tell(&self, service: &ServiceView, message: &Message) {
        let Message { kind, reason, text } = message;
        self.context.events.event(&service_reference(service), *kind, reason, text);
    }
}
