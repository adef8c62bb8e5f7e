//! The cloud-node controller: makes Nodes that registered with the taint `uninitialized` known to the cluster, and keeps
//! addresses and labels right afterwards.
//!
//! `plan` and `addresses` decide, `execute` writes; `initialize` and `refresh` are the two loops around them. One look-up
//! in the cloud serves all Nodes that wait at that moment, and `pace` says when it is time for one. Nodes that the cloud does not claim are left alone (SR-4), and
//! nothing here deletes a Node or an address: not knowing is not a reason (SR-1).
//!
//! Events: upstream's `Synced`, and some of our own where upstream says nothing: Warning
//! `CloudNodeInitializationFailed` for every failed try to initialise a Node, Warning `NodeAddressesNotUpdated` when the
//! addresses of an initialised Node cannot be chosen or written, Warning `DuplicateProviderID` when two Nodes are one
//! machine, and Normal `CloudNodeNotClaimed` on a Node that waits to be initialised, but not by us.

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

/// How the controller works.
#[derive(Debug, Clone)]
pub struct NodeOptions {
    /// How many Nodes are written at once when they are initialised (`--concurrent-node-syncs`); at least one.
    pub concurrent_syncs: usize,
    /// How many Nodes are written at once when addresses are refreshed (`--concurrent-node-status-updates`); at least one.
    pub concurrent_status_updates: usize,
    /// The pause between two refreshes of all addresses (`--node-status-update-frequency`).
    pub status_update_frequency: Duration,
    /// The pause after a failed try to initialise a Node.
    pub backoff: Backoff,
    /// How long the first of a burst of Nodes waits for the others, so that one look-up serves them all.
    pub gather: Duration,
    /// How many Nodes one look-up is asked about at most: a limit on memory, not on the cloud's calls.
    pub largest_batch: usize,
    /// Whether type, zone, region and further labels follow the cloud after the initialisation too, whatever values they have.
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
    /// The controller, under its upstream names.
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
        // An informer that stopped before its first list is the process' affair; there is nothing to do here then.
        if cancel.run_until_cancelled(context.nodes.synced()).await != Some(true) {
            return Ok(());
        }
        let settings = QueueSettings { backoff: self.options.backoff, ..QueueSettings::default() };
        // The name under which upstream's dashboards know it.
        let queue = KeyedQueue::new("Nodes", settings);
        queue.report_to(&context.queues);
        let progress = Progress::new(context.metrics.node.failing.clone());
        let work = Work { instances, context, options: self.options.clone(), progress };
        let feed = work.feed(&queue, &cancel);
        tokio::join!(feed, work.initialize_all(&queue, &cancel), work.refresh_forever(&cancel));
        Ok(())
    }
}

/// What both loops need.
struct Work {
    instances: Arc<dyn Instances>,
    context: ControllerContext,
    options: NodeOptions,
    progress: Progress,
}

/// A Node as the informer keeps it.
type KnownNode = Object<Arc<NodeView>>;

impl Work {
    /// Every change of a Node becomes a key; Nodes that wait to be initialised go first.
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

    /// Whether a Node that the cloud claims is known to be its own: one without provider ID may be bare metal (SR-4).
    fn is_known_as_ours(&self, node: &NodeView) -> bool {
        claim::judge(node, &self.context.machines).is_ok()
    }

    /// Whether a Node that was looked up may still be written: its labels may have left `--node-filter` meanwhile.
    fn is_selected(&self, node: &NodeView) -> bool {
        self.context.node_filter.selects(node)
    }

    /// Whether `--node-filter` selects a Node and the cloud says that it is its own.
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

    /// One look-up for all of them. A cloud that answers too little has not answered for the rest.
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

    /// What the cloud showed of a Node is known to all controllers (SR-4, SR-14).
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
