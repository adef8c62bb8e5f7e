//! The route controller: every Node's pods have a route in the cloud's network, and routes of Nodes that are gone go.
//!
//! It observes (one list of the routes, and the Nodes), plans purely (`route/plan.rs`), and performs in batches. Only
//! routes inside the cluster's pod range are ever taken away; a plan that takes away most of them waits for a second look
//! (safety rail SR-7); a failed list takes away nothing (SR-1). Reconciles are started by changes of Nodes and by the
//! period; this file is the loop around them.

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

/// The only key of the queue: a reconcile is about all routes.
const ALL_ROUTES: &str = "routes";

/// How many conditions are written at once: enough to hide the latency; the client's budget sets the pace.
const CONDITION_WRITES_AT_ONCE: usize = 16;

/// How the route controller works.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteOptions {
    /// Whether routes are made at all (`--configure-cloud-routes`).
    pub configure_cloud_routes: bool,
    /// Whose routes (`--cluster-name`).
    pub cluster_name: String,
    /// The pod range (`--cluster-cidr`): one CIDR, or one of each family.
    pub cluster_cidrs: Vec<IpNet>,
    /// At the latest after this there is another reconcile (`--route-reconciliation-period`).
    pub period: Duration,
    /// How long a changed Node waits for others, so that a burst is one reconcile.
    pub coalesce: Duration,
    /// How far apart reconciles begin while Nodes keep changing.
    pub apart: Duration,
    /// How many changes go to the cloud in one call.
    pub batch: usize,
    /// The waits of a route that could not be changed, and of a list that failed.
    pub retry: Backoff,
    /// How much later the second look at a drastic removal is (SR-7).
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

/// Keeps the cloud's routes in step with the Nodes.
#[derive(Debug)]
pub struct RouteController {
    name: ControllerName,
    options: RouteOptions,
}

impl RouteController {
    /// A controller of this name with these options.
    #[must_use]
    pub fn new(name: ControllerName, options: RouteOptions) -> Self {
        Self { name, options }
    }

    /// What it works with, or why it does not run.
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
            // Before the cloud's troubles: no waiting makes such a range usable.
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
        // These are news only to the subscription: the first reconcile, which runs even without Nodes, sees them all.
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
