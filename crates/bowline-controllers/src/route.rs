//! The route controller: creates a route in the cloud's network for the pods of every Node, and deletes routes of Nodes that no longer
//! exist.
//!
//! It observes (one list of the routes, and the Nodes), plans purely (`route/plan.rs`), and executes in batches. It deletes only routes
//! inside the cluster CIDR; a plan that deletes most of them waits for a second observation (safety rail SR-7); a failed list deletes
//! nothing (SR-1). Changes of Nodes and the period start reconciles; this file is the loop around them.

pub mod condition;
mod execute;
mod machines;
pub mod plan;
pub mod range;
pub mod retries;
pub mod target;
mod trigger;
pub mod verdict;
mod work;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bowline_cloud::{Capability, NodeView};
use bowline_kube::informer::{Change, Subscription};
use bowline_kube::queue::{Backoff, KeyedQueue, Picked, Priority, QueueSettings, run_workers};
use ipnet::IpNet;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::controller::{Controller, ControllerContext, Stopped};
use crate::registry::ControllerName;
use range::ClusterRange;
use work::Work;

/// The only key of the queue: one reconcile handles all routes.
const ALL_ROUTES: &str = "routes";

/// How many conditions are written concurrently: enough to hide the latency. The rate limit of the client applies.
const CONDITION_WRITES_AT_ONCE: usize = 16;

/// The options of the route controller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteOptions {
    /// Whether routes are managed at all (`--configure-cloud-routes`).
    pub configure_cloud_routes: bool,
    /// The name of the cluster that owns the routes (`--cluster-name`).
    pub cluster_name: String,
    /// The pod range (`--cluster-cidr`): one CIDR, or one of each family.
    pub cluster_cidrs: Vec<IpNet>,
    /// The maximum time between two reconciles (`--route-reconciliation-period`).
    pub period: Duration,
    /// How long a changed Node waits for others, so that a burst costs one reconcile.
    pub coalesce: Duration,
    /// The minimum time between the starts of two reconciles while Nodes keep changing.
    pub apart: Duration,
    /// The maximum number of changes in one call to the cloud; the changes of one destination are never split.
    pub batch: usize,
    /// The back-off of a route that could not be changed. A condition that could not be written is retried after its base.
    pub retry: Backoff,
    /// The time between the two observations for a drastic removal (SR-7).
    pub second_look_after: Duration,
}

impl Default for RouteOptions {
    fn default() -> Self {
        Self {
            configure_cloud_routes: true,
            cluster_name: "kubernetes".to_owned(),
            cluster_cidrs: Vec::new(),
            period: Duration::from_secs(10),
            coalesce: Duration::from_secs(1),
            apart: Duration::from_secs(5),
            batch: 100,
            retry: Backoff::default(),
            second_look_after: Duration::from_secs(5),
        }
    }
}

/// Keeps the cloud's routes in sync with the Nodes.
#[derive(Debug)]
pub struct RouteController {
    name: ControllerName,
    options: RouteOptions,
}

impl RouteController {
    /// A controller with this name and these options.
    #[must_use]
    pub fn new(name: ControllerName, options: RouteOptions) -> Self {
        Self { name, options }
    }

    /// Checks options and provider; `Err` if the controller cannot run.
    fn prepare(&self, context: ControllerContext, cancel: &CancellationToken) -> Result<Work, Stopped> {
        if !self.options.configure_cloud_routes {
            return Err(Stopped::NotWanted(
                "cloud routes are switched off (--configure-cloud-routes)".into(),
            ));
        }
        match (context.cloud.routes(), ClusterRange::new(&self.options.cluster_cidrs)) {
            (Capability::Unsupported, _) => {
                Err(Stopped::NotWanted(format!("the cloud {} has no routes", context.cloud.name())))
            }
            // Checked before `Unavailable`: a retry does not make such a range valid.
            (_, Err(error)) => Err(Stopped::NotWanted(error.to_string())),
            (Capability::Unavailable(why), Ok(_)) => Err(Stopped::Unavailable(why)),
            (Capability::Supported(routes), Ok(range)) => {
                Ok(Work::new(routes, range, self.options.clone(), context, cancel.clone()))
            }
        }
    }
}

#[async_trait]
impl Controller for RouteController {
    fn name(&self) -> &ControllerName {
        &self.name
    }

    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped> {
        let nodes = context.nodes.clone();
        let queues = context.queues.clone();
        let work = Arc::new(self.prepare(context, &cancel)?);
        let queue = KeyedQueue::new("Routes", QueueSettings::default());
        queue.report_to(&queues);
        match cancel.run_until_cancelled(nodes.synced()).await {
            None => return Ok(()),
            Some(false) => return Err(Stopped::Unavailable("the informer of Nodes has stopped".into())),
            Some(true) => {}
        }
        let mut changes = nodes.subscribe();
        // The first reconcile, which runs even without Nodes, reads a snapshot, so these changes need no further one.
        while changes.try_next().is_some() {}
        queue.add(ALL_ROUTES, Priority::Background);
        let feed = self.feed(changes, &work, &queue, &cancel);
        let reconcile = {
            let work = work.clone();
            move |_picked: Picked<&'static str>| {
                let work = work.clone();
                async move { work.on().await }
            }
        };
        tokio::join!(feed, run_workers(1, queue.clone(), reconcile, cancel.clone()));
        Ok(())
    }
}

impl RouteController {
    async fn feed(
        &self,
        mut changes: Subscription<Arc<NodeView>>,
        work: &Work,
        queue: &KeyedQueue<&'static str>,
        cancel: &CancellationToken,
    ) {
        let RouteOptions { coalesce, apart, .. } = self.options;
        while let Some(Some(change)) = cancel.run_until_cancelled(changes.next()).await {
            if let Change::Updated { old, new } = &change
                && !trigger::matters(&old.view, &new.view)
            {
                continue;
            }
            let delay = work.pending.node_changed(coalesce, apart, Instant::now());
            queue.add_after(ALL_ROUTES, delay, Priority::Background);
        }
    }
}

#[cfg(test)]
mod fixture;
#[cfg(test)]
mod tests;
