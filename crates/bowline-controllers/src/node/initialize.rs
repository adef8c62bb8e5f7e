//! The loop that initializes Nodes: collects those that wait, looks all of them up in one call, writes each.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{ErrorClass, EventKind, Evidence, Instance, NodeView};
use bowline_kube::informer::ObjectKey;
use bowline_kube::queue::{KeyedQueue, Outcome, Ticket};
use bowline_kube::write::{WriteClass, WriteError};
use futures::StreamExt;
use futures::future::join_all;
use k8s_openapi::jiff::Timestamp;
use tokio::sync::Mutex;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::duplicates::{id_of, shared_ids};
use super::pace::Pace;
use super::plan::{Initialization, NotYet, is_uninitialized, plan_initialization, plan_stable_labels};
use super::{KnownNode, Work, execute};
use crate::rails::pause;

/// The reason of the event about a Node that could not be initialized.
const FAILED: &str = "CloudNodeInitializationFailed";

/// How many batches are processed concurrently: a batch that is slow to write does not delay new Nodes.
const BATCHES: usize = 4;

/// The delay after a conflict: another client wrote the Node, and the informer receives that soon. Each attempt costs a lookup, so attempts
/// are at least this far apart.
const AFTER_CONFLICT: Duration = Duration::from_secs(1);

/// The delay while the informer has not received our own write yet. Its next event enqueues the key earlier.
const AFTER_LATE_PICTURE: Duration = Duration::from_secs(1);

type Queue = KeyedQueue<ObjectKey>;

/// The next step for one key.
enum Step {
    Nothing,
    /// An administrator paused all changes.
    Paused,
    /// The informer has not received our own write yet.
    Wait,
    Relabel(Arc<KnownNode>, BTreeMap<String, String>),
    LookUp(Arc<KnownNode>),
}

/// The write for one key, after the lookup.
enum Write {
    Labels(Arc<KnownNode>, BTreeMap<String, String>),
    Initialization(Arc<KnownNode>, Evidence<Instance>),
}

impl Work {
    /// Processes the queue until `cancel`, and then finishes the writes that have begun.
    pub(super) async fn initialize_all(&self, queue: &Queue, cancel: &CancellationToken) {
        let turn = Mutex::new(Pace::default());
        join_all((0..BATCHES).map(|_| self.work_through(queue, &turn, cancel))).await;
    }

    async fn work_through(&self, queue: &Queue, turn: &Mutex<Pace>, cancel: &CancellationToken) {
        while let Some(batch) = self.next_batch(queue, turn, cancel).await {
            let at_once = self.options.concurrent_syncs.max(1);
            // The future of a write takes 2.5 kB, so futures are created when they run, not for the whole batch at once.
            let writes =
                futures::stream::iter(batch).map(|(ticket, write)| self.write(ticket, write, cancel));
            writes.buffer_unordered(at_once).for_each(|()| async {}).await;
        }
    }

    /// The next batch with its lookup done; `None` after cancellation. Only one batch is collected at a time: two would share one burst and
    /// need two lookups.
    async fn next_batch(
        &self,
        queue: &Queue,
        turn: &Mutex<Pace>,
        cancel: &CancellationToken,
    ) -> Option<Vec<(Ticket<ObjectKey>, Write)>> {
        let gathered = async {
            let mut pace = turn.lock().await;
            let tickets = self.gather(queue).await;
            self.look_up(tickets, &mut pace).await
        };
        let batch = cancel.run_until_cancelled(gathered).await?;
        (!cancel.is_cancelled()).then_some(batch)
    }

    async fn gather(&self, queue: &Queue) -> Vec<Ticket<ObjectKey>> {
        let mut tickets = vec![queue.take().await];
        tokio::time::sleep(self.options.gather).await;
        while tickets.len() < self.options.largest_batch
            && let Some(ticket) = queue.try_take()
        {
            tickets.push(ticket);
        }
        tickets
    }

    async fn look_up(
        &self,
        tickets: Vec<Ticket<ObjectKey>>,
        pace: &mut Pace,
    ) -> Vec<(Ticket<ObjectKey>, Write)> {
        let (mut batch, mut asking, mut nodes) = (Vec::new(), Vec::new(), Vec::new());
        for ticket in tickets {
            match self.first_step(ticket.key()) {
                Step::Nothing => ticket.finish(Outcome::Done),
                Step::Paused => ticket.finish(Outcome::RetryAfter(pause::LOOK_AGAIN)),
                Step::Wait => ticket.finish(Outcome::RetryAfter(AFTER_LATE_PICTURE)),
                Step::Relabel(node, labels) => batch.push((ticket, Write::Labels(node, labels))),
                Step::LookUp(node) => {
                    asking.push(ticket);
                    nodes.push(node);
                }
            }
        }
        if asking.is_empty() {
            return batch;
        }
        if let Err(wait) = pace.judge(asking.iter().map(Ticket::key), Instant::now()) {
            asking.into_iter().for_each(|ticket| ticket.finish(Outcome::RetryAfter(wait)));
            return batch;
        }
        let answers = self.observe(&nodes).await;
        // Recorded before the write: even if another client sets the provider ID first, the Node is known to be ours.
        nodes.iter().zip(&answers).for_each(|(node, found)| self.saw(node, found));
        self.warn_of_duplicates(&nodes, &answers);
        let found = nodes.into_iter().zip(answers).map(|(node, found)| Write::Initialization(node, found));
        batch.extend(asking.into_iter().zip(found));
        batch
    }

    /// Warns about Nodes with the same provider ID: their addresses conflict, and deletion of one machine affects both. Only an
    /// administrator can decide which Node is wrong, so both are kept and initialized.
    fn warn_of_duplicates(&self, nodes: &[Arc<KnownNode>], answers: &[Evidence<Instance>]) {
        let everything = self.context.nodes.snapshot();
        let known = everything.objects().iter().map(|node| (&*node.view, node.view.provider_id.as_deref()));
        let asked = nodes.iter().zip(answers).map(|(node, answer)| (&*node.view, id_of(&node.view, answer)));
        let found: Vec<_> = asked.filter_map(|(node, id)| Some((node, id?))).collect();
        let known = known.filter_map(|(node, id)| Some((node, id?)));
        let shared =
            shared_ids(known.chain(found.iter().copied()).map(|(node, id)| (node.name.as_str(), id)));
        for (node, id) in &found {
            if let Some(owners) = shared.get(id) {
                let others: Vec<_> = owners.iter().copied().filter(|name| *name != node.name).collect();
                let message = format!(
                    "Provider ID {id} is also that of {}; one machine must be one node: delete the wrong one",
                    others.join(", ")
                );
                self.warn_about(node, "DuplicateProviderID", &message);
            }
        }
    }

    fn first_step(&self, key: &ObjectKey) -> Step {
        let Some(node) = self.context.nodes.get(key) else { return Step::Nothing };
        if !self.is_claimed(&node.view) {
            // Drop the recorded failures: the Node is not ours, or no longer ours.
            self.progress.forget(key);
            return Step::Nothing;
        }
        if self.progress.is_late(key, &node.resource_version) {
            return Step::Wait;
        }
        let paused = pause::judge(self.context.fence.as_ref()).err();
        if is_uninitialized(&node.view) {
            let Some(paused) = paused else { return Step::LookUp(node) };
            if self.progress.pauses(key) {
                let message = format!("Node waits to be initialized: {paused}");
                self.tell(&node.view, EventKind::Normal, "CloudNodeInitializationPaused", &message);
            }
            return Step::Paused;
        }
        self.progress.forget(key);
        match plan_stable_labels(&node.view) {
            labels if labels.is_empty() => Step::Nothing,
            // The next refresh looks the Node up and sets the labels then.
            _labels if !self.is_known_as_ours(&node.view) => Step::Nothing,
            _labels if paused.is_some() => Step::Paused,
            labels => Step::Relabel(node, labels),
        }
    }

    async fn write(&self, ticket: Ticket<ObjectKey>, write: Write, cancel: &CancellationToken) {
        if cancel.is_cancelled() {
            return;
        }
        let outcome = match write {
            Write::Labels(node, _) if !self.is_still_selected(&node) => Outcome::Done,
            Write::Labels(node, labels) => {
                match execute::write_labels(&self.context.writer, &node, &labels).await {
                    Ok(written) => {
                        self.progress.noted(&node.key, written);
                        Outcome::Done
                    }
                    Err(error) => not_written(&node, &error),
                }
            }
            Write::Initialization(asked, found) => self.initialize(&asked, &found).await,
        };
        ticket.finish(outcome);
    }

    /// Plans with the current Node, which may have changed during the lookup.
    async fn initialize(&self, asked: &KnownNode, found: &Evidence<Instance>) -> Outcome {
        let now = self.context.nodes.get(&asked.key).filter(|now| now.uid == asked.uid);
        let Some(node) = now.filter(|now| is_uninitialized(&now.view) && self.is_selected(&now.view)) else {
            return Outcome::Done;
        };
        let plan = match plan_initialization(&node.view, found) {
            Ok(plan) => plan,
            Err(why) => return self.not_yet(&node, &why),
        };
        match execute::initialize(&self.context.writer, &self.progress, &node, &plan).await {
            Ok(()) => {
                self.initialized(&node, &plan);
                Outcome::Done
            }
            Err(error) => self.failed_to_write(&node, &error),
        }
    }

    fn is_still_selected(&self, node: &KnownNode) -> bool {
        self.context.nodes.get(&node.key).is_some_and(|now| self.is_selected(&now.view))
    }

    fn initialized(&self, node: &KnownNode, plan: &Initialization) {
        for remark in &plan.remarks {
            warn!(node = %node.view.name, "{remark}");
        }
        info!(node = %node.view.name, provider_id = ?plan.provider_id, "initialized");
        self.progress.succeeded(&node.key);
        let waited = seconds_since(&node.view, self.context.clock.now());
        self.context.metrics.taint_removal_delay_seconds.observe(waited);
        self.context.metrics.initial_node_sync_delay_seconds.observe(waited);
        self.tell(&node.view, EventKind::Normal, "Synced", "Node synced successfully");
    }

    fn not_yet(&self, node: &KnownNode, why: &NotYet) -> Outcome {
        self.failed(node, why.as_str(), &why.to_string());
        match why {
            // The cloud rejects our credentials, and the fence stays closed until that changes, so the delay stays constant.
            NotYet::Unknown(doubt)
                if doubt.class == ErrorClass::Unauthenticated && self.context.fence.check().is_err() =>
            {
                Outcome::RetryAfter(pause::LOOK_AGAIN)
            }
            NotYet::Unknown(doubt) => doubt.retry_after.map_or(Outcome::Failed, Outcome::RetryAfter),
            _ => Outcome::Failed,
        }
    }

    fn failed_to_write(&self, node: &KnownNode, error: &WriteError) -> Outcome {
        if matches!(error.class(), WriteClass::Transient | WriteClass::Forbidden | WriteClass::Invalid) {
            self.failed(node, "write", &error.to_string());
        }
        not_written(node, error)
    }

    fn failed(&self, node: &KnownNode, reason: &'static str, message: &str) {
        self.progress.failed(&node.key);
        self.context.metrics.node.failed(reason);
        self.warn_about(&node.view, FAILED, &format!("Node could not be initialized: {message}"));
    }
}

/// The queue outcome after a failed write.
fn not_written(node: &KnownNode, error: &WriteError) -> Outcome {
    info!(node = %node.view.name, %error, "not written, will be tried again");
    match error.class() {
        // The Node was deleted, or replaced by another of this name: the informer reports it.
        WriteClass::NotFound => Outcome::Done,
        WriteClass::Conflict => Outcome::RetryAfter(AFTER_CONFLICT),
        WriteClass::Fenced => Outcome::RetryAfter(pause::LOOK_AGAIN),
        _ => error.retry_after().map_or(Outcome::Failed, Outcome::RetryAfter),
    }
}

/// Clocks of different machines may differ: a creation time in the future counts as zero.
fn seconds_since(node: &NodeView, now: Timestamp) -> f64 {
    node.created_at.map_or(0.0, |created| now.duration_since(created).as_secs_f64().max(0.0))
}
