//! The whole controller on an API server in memory and a fake cloud, under virtual time.

mod adopt;
mod api;
mod bad_input;
mod cloud;
mod concluded;
mod conditions;
mod draining;
mod failures;
mod fairness;
mod ledger;
mod lifecycle;
mod moved;
mod nodes;
mod notes;
mod pause;
mod rails;
mod refusals;
mod replacing;
mod silence;

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Fence, Unfenced};
use bowline_testkit::fence::TestFence;
use bowline_testkit::memory_cluster::START;

use super::desire::FINALIZER;
use super::*;
use crate::harness::Harness;
use crate::registry::common_names;
use api::Cluster;
use cloud::FakeCloud;

/// Runs the controller while `meanwhile` does something, and stops it then.
async fn run(cluster: &Cluster, cloud: &FakeCloud, meanwhile: impl Future<Output = ()>) {
    run_with(cluster, cloud, ServiceOptions::default(), Arc::new(Unfenced), meanwhile).await;
}

async fn run_with(
    cluster: &Cluster,
    cloud: &FakeCloud,
    options: ServiceOptions,
    fence: Arc<dyn Fence>,
    meanwhile: impl Future<Output = ()>,
) {
    run_to_the_end(cluster, cloud, options, fence, meanwhile).await.unwrap();
}

async fn run_to_the_end(
    cluster: &Cluster,
    cloud: &FakeCloud,
    options: ServiceOptions,
    fence: Arc<dyn Fence>,
    meanwhile: impl Future<Output = ()>,
) -> Result<(), Stopped> {
    let mut harness = Harness::new(cluster, cloud.shared());
    harness.fence = fence;
    harness.ledger = cloud.state().ledger.clone();
    cloud.state().metrics = Some(harness.metrics.clone());
    let name = common_names().into_iter().find(|name| name.alias == "service").unwrap();
    harness.run(&ServiceController::new(name, options), meanwhile).await
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
