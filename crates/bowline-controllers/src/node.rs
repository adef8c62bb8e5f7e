//! The cloud-node controller: initializes Nodes that registered with the taint `uninitialized`, and keeps their addresses and labels up to
//! date afterwards.
//!
//! `plan` and `addresses` decide, `execute` writes; `initialize` and `refresh` are the two loops around them. One lookup in the cloud
//! serves all Nodes that wait at that moment, and `pace` decides when the next lookup is due. Nodes that the cloud does not claim are left
//! alone (SR-4), and this controller never deletes a Node or an address: missing knowledge is no reason (SR-1).
//!
//! Events: upstream's `Synced`, and four where upstream emits none: Warning `CloudNodeInitializationFailed` for every failed attempt to
//! initialize a Node, Warning `NodeAddressesNotUpdated` when the addresses of an initialized Node cannot be chosen or written, Warning
//! `DuplicateProviderID` when two Nodes have the same machine, and Normal `CloudNodeNotClaimed` on a Node that waits to be initialized but
//! is not claimed. During a pause: Normal `CloudNodeInitializationPaused`.

pub mod addresses;
mod duplicates;
mod execute;
mod initialize;
mod metrics;
mod pace;
pub mod plan;
mod progress;
mod refresh;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{Capability, Claim, Doubt, EventKind, Evidence, Instance, Instances, NodeView};
use bowline_kube::informer::{Change, Object, ObjectKey};
use bowline_kube::queue::{Backoff, KeyedQueue, Priority, QueueSettings};
use tokio_util::sync::CancellationToken;
use tracing::debug;

pub use metrics::NodeMetrics;

use crate::controller::{Controller, ControllerContext, Stopped};
use crate::rails::claim;
use crate::registry::{COMMON, ControllerName};
use crate::view::node_reference;
use plan::is_uninitialized;
use progress::Progress;

/// The options of the node controller.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// How many Nodes are written concurrently when they are initialized (`--concurrent-node-syncs`); at least one.
    pub concurrent_syncs: usize,
    /// How many Nodes are written concurrently when addresses are refreshed (`--concurrent-node-status-updates`); at least one.
    pub concurrent_status_updates: usize,
    /// The pause between two refreshes of all addresses (`--node-status-update-frequency`).
    pub status_update_frequency: Duration,
    /// The back-off after a failed attempt to initialize a Node.
    pub backoff: Backoff,
    /// How long the first Node of a burst waits for others, so that one lookup serves them all.
    pub gather: Duration,
    /// The maximum number of Nodes in one lookup. Limits the memory, not the number of cloud calls.
    pub largest_batch: usize,
    /// Whether type, zone, region and additional labels are updated from the cloud after the initialization too, whatever values they have
    /// (`--reconcile-node-labels`).
    pub reconcile_labels: bool,
}

impl Default for NodeOptions {
    fn default() -> Self {
        Self {
            concurrent_syncs: 4,
            concurrent_status_updates: 4,
            status_update_frequency: Duration::from_secs(300),
            backoff: Backoff::new(Duration::from_secs(1), Duration::from_secs(60)),
            gather: Duration::from_millis(100),
            largest_batch: 10_000,
            reconcile_labels: false,
        }
    }
}

/// The cloud-node controller.
#[derive(Debug)]
pub struct NodeController {
    name: ControllerName,
    options: NodeOptions,
}

impl NodeController {
    /// The controller with its upstream names.
    #[must_use]
    pub fn new(options: NodeOptions) -> Self {
        let [[canonical, alias, client, component], ..] = COMMON;
        Self { name: ControllerName::new(canonical, alias, client, component), options }
    }
}

#[async_trait]
impl Controller for NodeController {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped> {
        let instances = match context.cloud.instances() {
            Capability::Supported(instances) => instances,
            Capability::Unsupported => {
                return Err(Stopped::NotWanted("the cloud has no instances to look up".to_owned()));
            }
            Capability::Unavailable(why) => return Err(Stopped::Unavailable(why)),
        };
        // An informer that stopped before its first list ends the process; this controller has nothing to do then.
        if cancel.run_until_cancelled(context.nodes.synced()).await != Some(true) {
            return Ok(());
        }
        let settings = QueueSettings { backoff: self.options.backoff, ..QueueSettings::default() };
        // The queue name that upstream's dashboards use.
        let queue = KeyedQueue::new("Nodes", settings);
        queue.report_to(&context.queues);
        let progress = Progress::new(context.metrics.node.failing.clone());
        let work = Work { instances, context, options: self.options.clone(), progress };
        let feed = work.feed(&queue, &cancel);
        tokio::join!(feed, work.initialize_all(&queue, &cancel), work.refresh_forever(&cancel));
        Ok(())
    }
}

/// The state that both loops share.
struct Work {
    instances: Arc<dyn Instances>,
    context: ControllerContext,
    options: NodeOptions,
    progress: Progress,
}

/// A Node in the informer's cache.
type KnownNode = Object<Arc<NodeView>>;

impl Work {
    /// Enqueues the key of every changed Node; Nodes that wait to be initialized have priority.
    async fn feed(&self, queue: &KeyedQueue<ObjectKey>, cancel: &CancellationToken) {
        let mut changes = self.context.nodes.subscribe();
        while let Some(Some(change)) = cancel.run_until_cancelled(changes.next()).await {
            match &change {
                Change::Deleted { old } => {
                    self.progress.forget(&old.key);
                    self.context.machines.forget(&old.view);
                }
                Change::Added { new } | Change::Updated { new, .. } => {
                    if new.view.provider_id.is_some() {
                        self.context.machines.has_id_now(&new.view);
                    }
                    let waits = is_uninitialized(&new.view);
                    let priority = if waits { Priority::User } else { Priority::Background };
                    queue.add(new.key.clone(), priority);
                }
            }
        }
    }

    /// Whether a Node that the cloud claims is known to be its own: a Node without provider ID may be bare metal (SR-4).
    fn is_known_as_ours(&self, node: &NodeView) -> bool {
        claim::judge(node, &self.context.machines).is_ok()
    }

    /// Whether a Node may still be written after a lookup: its labels may no longer match `--node-filter`.
    fn is_selected(&self, node: &NodeView) -> bool {
        self.context.node_filter.selects(node)
    }

    /// Whether `--node-filter` selects a Node and the cloud claims it.
    fn is_claimed(&self, node: &NodeView) -> bool {
        match claim::whose(&self.context.node_filter, self.instances.as_ref(), node) {
            Claim::Ours => true,
            Claim::NotOurs(why) => {
                debug!(node = %node.name, why, "left alone: not a node of this cloud");
                if is_uninitialized(node) {
                    let message = format!("Node is left alone, it is not one of this cloud: {why}");
                    self.tell(node, EventKind::Normal, "CloudNodeNotClaimed", &message);
                }
                false
            }
        }
    }

    /// Looks up all nodes in one call. If the provider returns too few results, the remaining ones are unknown.
    async fn observe(&self, nodes: &[Arc<KnownNode>]) -> Vec<Evidence<Instance>> {
        if nodes.is_empty() {
            return Vec::new();
        }
        let views: Vec<_> = nodes.iter().map(|node| node.view.clone()).collect();
        let mut answers = self.instances.observe(&views).await;
        answers.resize_with(nodes.len(), || {
            Evidence::Unknown(Doubt::new("the cloud provider gave fewer answers than it was asked for"))
        });
        answers
    }

    /// Shares the observed machine with all controllers (SR-4, SR-14).
    fn saw(&self, node: &NodeView, found: &Evidence<Instance>) {
        if let Evidence::Present(instance) = found {
            self.context.machines.saw(node, &instance.provider_id);
        }
    }

    fn warn_about(&self, node: &NodeView, reason: &str, message: &str) {
        tracing::warn!(node = %node.name, reason, "{message}");
        self.tell(node, EventKind::Warning, reason, message);
    }

    fn tell(&self, node: &NodeView, kind: EventKind, reason: &str, message: &str) {
        self.context.events.event(&node_reference(node), kind, reason, message);
    }
}

#[cfg(test)]
mod tests;
