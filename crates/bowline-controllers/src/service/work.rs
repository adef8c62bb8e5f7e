//! The workers: take the keys that are ready, look at all their load balancers at once, and bring each one step further.
//!
//! One worker at a time has a key, whatever the work is about: ensure, another set of nodes, removal. What a step means
//! for the Service is in `execute`. A run that takes long goes on `aside`: no worker waits for it.

use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex, MutexGuard};

use bowline_cloud::journal::cut;
use bowline_cloud::{
    AnyLoadBalancers, AnyObserved, Doubt, Evidence, LoadBalancerRequest, Notes, Purpose, ServiceView,
    Standing,
};
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{KeyedQueue, Outcome, Picked, Priority, Ticket};
use futures::FutureExt;
use futures::future::{BoxFuture, join_all};
use k8s_openapi::jiff::Timestamp;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{error, info};

use super::ServiceOptions;
use super::aside::{self, Aside, Places};
use super::desire::{has_finalizer, is_paused, needs_update, pause_of, purpose};
use super::held::HeldKeys;
use super::memory::{Memories, Memory, Task, lock};
use super::message::{self, Message};
use super::nodes::SharedNodes;
use super::rounds::Rounds;
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
}

/// One run of one key.
pub(super) struct Job {
    pub(super) key: ObjectKey,
    pub(super) priority: Priority,
    pub(super) failures: u32,
    pub(super) request: LoadBalancerRequest,
    pub(super) task: Task,
    /// What the provider wants noted on the Service and does not stand there. Known after the look.
    pub(super) notes: Notes,
    /// When a node is drained, and has to be looked at.
    pub(super) drained_at: Option<Timestamp>,
    memory: Arc<Mutex<Memory>>,
}

/// A key, its run, and what the cloud said of it.
type Seen = (Ticket<ObjectKey>, Job, Option<Evidence<AnyObserved>>);

impl Job {
    pub(super) fn service(&self) -> &Arc<ServiceView> {
        &self.request.service
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        lock(&self.memory)
    }
}

impl Work {
    /// One worker; returns after `cancel`, when what it had begun is finished or goes on aside.
    pub(super) async fn run<'w>(&'w self, cancel: &CancellationToken, aside: Aside<'w>) {
        while let Some(first) = cancel.run_until_cancelled(self.queue.take()).await {
            let tickets = self.take_more(first);
            // A ticket that is dropped by a panic counts as failed: its key is tried again, later.
            aside::caught(self.run_batch(tickets, &aside)).await;
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

    async fn run_batch<'w>(&'w self, tickets: Vec<Ticket<ObjectKey>>, aside: &Aside<'w>) {
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
            runs.push(self.places.run(self.run_alone(ticket, job).boxed(), aside).boxed());
        }
        runs.push(self.run_together(together, aside).boxed());
        join_all(runs).await;
    }

    async fn run_alone(&self, ticket: Ticket<ObjectKey>, job: Job) {
        let observed = self.balancers.observe(std::slice::from_ref(&job.request)).await;
        self.conclude_caught(ticket, job, observed.into_iter().next()).await;
    }

    async fn run_together<'w>(&'w self, jobs: Vec<(Ticket<ObjectKey>, Job)>, aside: &Aside<'w>) {
        if jobs.is_empty() {
            return;
        }
        let keys = jobs.len();
        let mut look = self.look(jobs).boxed();
        match self.places.patiently(&mut look, keys).await {
            Ok(seen) => self.conclude_all(seen, aside).await,
            Err(place) => {
                let further = aside.clone();
                let rest = async move {
                    let seen = look.await;
                    drop(place);
                    self.conclude_all(seen, &further).await;
                };
                aside.take(rest.boxed());
            }
        }
    }

    async fn look(&self, jobs: Vec<(Ticket<ObjectKey>, Job)>) -> Vec<Seen> {
        let requests: Vec<_> = jobs.iter().map(|(_, job)| job.request.clone()).collect();
        let mut observed = self.balancers.observe(&requests).await.into_iter();
        jobs.into_iter().map(|(ticket, job)| (ticket, job, observed.next())).collect()
    }

    async fn conclude_all<'w>(&'w self, seen: Vec<Seen>, aside: &Aside<'w>) {
        let conclude = |(ticket, job, observed)| {
            let run = self.conclude_caught(ticket, job, observed).boxed();
            self.places.run(run, aside).boxed()
        };
        join_all(seen.into_iter().map(conclude)).await;
    }

    async fn conclude_caught(
        &self,
        ticket: Ticket<ObjectKey>,
        mut job: Job,
        observed: Option<Evidence<AnyObserved>>,
    ) {
        let observed = observed.unwrap_or_else(|| {
            Evidence::Unknown(Doubt::new("the provider gave fewer answers than asked for"))
        });
        match AssertUnwindSafe(self.conclude(&mut job, observed)).catch_unwind().await {
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
        let known = lock(&memory).known.clone();
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
            self.nodes.current(self.balancers.drains(&service), self.context.clock.now());
        // What we noted and the informer does not show yet stands there.
        let service = lock(&memory).by_now(&service);
        let task = {
            let mut memory = lock(&memory);
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
        let request =
            LoadBalancerRequest { cluster: self.options.cluster_name.clone(), service, nodes, purpose };
        let (key, priority, failures) = (key.clone(), picked.priority, picked.failures);
        Ok(Job { key, priority, failures, request, task, notes: Notes::default(), drained_at, memory })
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

    pub(super) fn tell(&self, service: &ServiceView, message: &Message) {
        let Message { kind, reason, text } = message;
        self.context.events.event(&service_reference(service), *kind, reason, text);
    }
}
