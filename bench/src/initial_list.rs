//! What the first lists of Nodes and Services take at most and in the end, counted by the allocator: the informers that run in the
//! manager, over HTTP, with as many subscribers. Everything runs on one thread, because the counter counts by thread; the API
//! server has another.

use std::sync::Arc;

use allocation_counter::measure;
use anyhow::{Context, ensure};
use bowline_controllers::view::{node_informer, service_informer};
use bowline_kube::informer::{Informer, Subscription};
use kube::{Api, Client, Config};
use tokio_util::sync::CancellationToken;

use crate::served_cluster::{ClusterSize, ServedCluster};

/// Those who want to be told of Nodes: the node, lifecycle, service and route controllers. Of Services, one.
const NODE_SUBSCRIBERS: usize = 4;

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub struct InitialList {
    /// The most bytes at one time, from the first request until every subscriber knows everything.
    pub peak_bytes: u64,
    /// The bytes that are held then: stores, connections and the runtime.
    pub kept_bytes: u64,
}

impl InitialList {
    /// How many times what is held in the end was held at most.
    #[must_use]
    pub fn peak_ratio(self) -> f64 {
        self.peak_bytes as f64 / self.kept_bytes as f64
    }
}

/// Lists a cluster of that size.
///
/// # Errors
///
/// If the API server cannot be served on loopback, or a list fails.
pub fn of(size: ClusterSize) -> anyhow::Result<InitialList> {
    // The first run fills what is allocated once in a process.
    counted(ClusterSize { nodes: 1, services: 1 })?;
    counted(size)
}

fn counted(size: ClusterSize) -> anyhow::Result<InitialList> {
    let server = ServedCluster::start(size)?;
    let mut listed = None;
    let counted = measure(|| listed = Some(list(&server.server.url, size)));
    let kept = listed.context("nothing was listed")??;
    drop(kept);
    let kept_bytes = u64::try_from(counted.bytes_current).context("less was held than before")?;
    Ok(InitialList { peak_bytes: counted.bytes_max, kept_bytes })
}

/// Lists until every subscriber was told everything. What is answered keeps the informers running.
fn list(url: &str, size: ClusterSize) -> anyhow::Result<impl Sized> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let kept = runtime.block_on(follow(url, size))?;
    Ok((kept, runtime))
}

async fn follow(url: &str, size: ClusterSize) -> anyhow::Result<impl Sized + use<>> {
    let client = Client::try_from(Config::new(url.parse()?))?;
    let cancel = CancellationToken::new();
    let (nodes, node_task) = node_informer().build(client.clone(), Api::all);
    let (services, service_task) = service_informer().build(client, Api::all);
    tokio::spawn(node_task.run(cancel.clone()));
    tokio::spawn(service_task.run(cancel.clone()));
    let told_of_nodes = (0..NODE_SUBSCRIBERS).map(|_| tokio::spawn(told(nodes.clone(), size.nodes)));
    let told_of_services = tokio::spawn(told(services.clone(), size.services.div_ceil(10)));
    let mut subscriptions = Vec::new();
    for subscriber in told_of_nodes.collect::<Vec<_>>() {
        subscriptions.push(subscriber.await??);
    }
    Ok((nodes, services, subscriptions, told_of_services.await??, cancel))
}

/// Subscribes once everything is there, as controllers do, and waits until it was told.
async fn told<P>(informer: Informer<Arc<P>>, count: usize) -> anyhow::Result<Subscription<Arc<P>>>
where
    P: PartialEq + Send + Sync + 'static,
{
    ensure!(informer.synced().await, "the informer of {} stopped", informer.name());
    let mut changes = informer.subscribe();
    for _ in 0..count {
        changes.next().await.context("the informer stopped")?;
    }
    ensure!(changes.untold() == 0, "{} had more than the {count} there are", informer.name());
    Ok(changes)
}
