//! The node IPAM controller: assigns each Node a pod range from every cluster CIDR. A Node gets a range from all of them or from none.
//!
//! All existing Nodes are recorded in the `ledger` before any range is assigned, and one task records the events of the informer in order.
//! Workers only reserve ranges in the ledger and write them. A reservation belongs to the UID of a Node and is kept until the Node has
//! ranges, is deleted, or the API server rejects them. So a write whose response was lost is repeated with the same ranges, and no range
//! leaks.
//!
//! Nodes whose ranges are foreign or in conflict are quarantined (see [`Problem`]): the controller emits an event and does nothing else. It
//! makes no requests to the cloud. The ranges of Nodes outside of `--node-filter` count as taken, but such Nodes get none.

pub mod cidr_set;
mod execute;
mod ledger;
mod options;
mod plan;
mod problem;
mod report;
mod work;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::NodeView;
use bowline_kube::informer::{Change, ObjectKey, Subscription};
use bowline_kube::queue::{Backoff, KeyedQueue, Picked, QueueSettings, run_workers};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

pub use options::{DEFAULT_MASK_V4, DEFAULT_MASK_V6, IpamControllerOptions, IpamProblem, IpamProblems};
pub use problem::Problem;
pub use report::{ASSIGNMENT_FAILED, NOT_AVAILABLE};

use crate::controller::{Controller, ControllerContext, Stopped};
use crate::registry::{COMMON, ControllerName};
use work::Work;

/// How many Nodes are written concurrently, and the queue's name in its metrics: both as upstream.
const WORKERS: usize = 30;
const QUEUE: &str = "cidrallocator_node";

/// The back-off after a failure. Upstream's maximum is 1000 s, which is long for a Node that waits for its pod network.
const BACKOFF: Backoff = Backoff { base: Duration::from_millis(100), max: Duration::from_secs(60) };

/// How long events are collected before the first range is assigned. A previous leader may have written ranges at the last moment, which
/// the informer has not received yet; they must not be assigned to a second Node.
const SETTLE: Duration = Duration::from_secs(1);

/// Assigns pod ranges to Nodes.
#[derive(Debug)]
pub struct IpamController {
    name: ControllerName,
    options: IpamControllerOptions,
}

impl IpamController {
    /// A controller with its upstream names.
    #[must_use]
    pub fn new(options: IpamControllerOptions) -> Self {
        let [.., [canonical, alias, client, component]] = COMMON;
        Self { name: ControllerName::new(canonical, alias, client, component), options }
    }
}

#[async_trait]
impl Controller for IpamController {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped> {
        if !self.options.allocate() {
            return Err(Stopped::NotWanted("pod ranges are not to be handed out".to_owned()));
        }
        match cancel.run_until_cancelled(context.nodes.synced()).await {
            Some(true) => {}
            Some(false) => return Err(Stopped::Unavailable("the nodes are not watched any more".to_owned())),
            None => return Ok(()),
        }
        let queue = KeyedQueue::new(QUEUE, QueueSettings { backoff: BACKOFF, ..QueueSettings::default() });
        queue.report_to(&context.queues);
        // Read from the subscription and not from a snapshot, so that every recorded Node also gets its delete event.
        let mut changes = context.nodes.subscribe();
        let work = Arc::new(Work::new(&self.options, context, queue.clone()));
        work.begin(&existing(&mut changes));
        let feed = async {
            while let Some(Some(change)) = cancel.run_until_cancelled(changes.next()).await {
                work.told(&change);
            }
        };
        tokio::join!(feed, serve(work.clone(), queue, cancel.clone()));
        Ok(())
    }
}

/// All existing Nodes, the oldest first: if two Nodes have the same range, the older one counts as its owner.
fn existing(changes: &mut Subscription<Arc<NodeView>>) -> Vec<Change<Arc<NodeView>>> {
    let mut all: Vec<_> = std::iter::from_fn(|| changes.try_next()).collect();
    all.sort_by_key(|change| match change {
        Change::Added { new } | Change::Updated { new, .. } => (new.created_at, new.key.clone()),
        Change::Deleted { old } => (old.created_at, old.key.clone()),
    });
    all
}

async fn serve(work: Arc<Work>, queue: KeyedQueue<ObjectKey>, cancel: CancellationToken) {
    if cancel.run_until_cancelled(sleep(SETTLE)).await.is_none() {
        return;
    }
    let handler = move |picked: Picked<ObjectKey>| {
        let work = work.clone();
        async move { work.on(&picked).await }
    };
    run_workers(WORKERS, queue, handler, cancel).await;
}

#[cfg(test)]
mod tests;
