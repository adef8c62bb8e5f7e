//! The node IPAM controller: gives every node a part of the cluster CIDR for its pods, of both families or of neither.
//!
//! All nodes that exist are written down in the `ledger` before any range is handed out, and what the informer tells is
//! written down in the order in which it is told, by one task. Workers only ask the ledger for a promise and write it: a
//! promise belongs to a node's UID and stands until the node shows ranges, is gone, or the API server refuses them. So a
//! write whose answer was lost is repeated with the same ranges, and none leaks.
//!
//! Nodes whose ranges are foreign or collide are quarantined (see [`Problem`]): an event, and nothing else. Nothing here
//! asks the cloud. The ranges of Nodes outside of `--node-filter` count as taken, but such Nodes get none.

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

/// How many nodes are written at once, and the queue's name in its metrics: upstream's.
const WORKERS: usize = 30;
const QUEUE: &str = "cidrallocator_node";

/// The pause after a failure. Upstream goes up to 1000 s, which is long for a node that waits for its pods' network.
const BACKOFF: Backoff = Backoff { base: Duration::from_millis(100), max: Duration::from_secs(60) };

/// How long the nodes are watched before the first range is handed out. Whoever did this work before us may have written
/// ranges at the last moment, which the informer has yet to tell; they must not be given to a second node.
const SETTLE: Duration = Duration::from_secs(1);

/// Gives nodes their pod ranges.
#[derive(Debug)]
pub struct IpamController {
    name: ControllerName,
    options: IpamControllerOptions,
}

impl IpamController {
    /// The controller.
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
        // From the subscription and not from a snapshot: what was told here is also told here when it goes.
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

/// Everything that exists, the oldest first: where two nodes have the same range, the older one had it first.
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
