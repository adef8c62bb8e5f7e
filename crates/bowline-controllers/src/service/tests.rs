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
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use kube::Api;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use super::desire::FINALIZER;
use super::*;
use crate::controller::ControllerContext;
use crate::deadline::{CallDeadlines, Punctual};
use crate::metrics::ControllerMetrics;
use crate::registry::common_names;
use crate::view::{node_informer, service_informer};
use api::Cluster;
use cloud::FakeCloud;

/// When every run begins.
const START: &str = "2026-11-15T08:00:00Z";

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
    let (client, cancel) = (cluster.client(), CancellationToken::new());
    let (nodes, node_task) = node_informer().build(client.clone(), Api::all);
    let (services, service_task) = service_informer().build(client.clone(), Api::all);
    let mut registry = Registry::default();
    let clock = Clock::simulated(START.parse().unwrap());
    let context = ControllerContext {
        cloud: Arc::new(Punctual::new(cloud.shared(), CallDeadlines::default())),
        nodes,
        services,
        writer: Writer::new(client.clone(), fence.clone(), Duration::from_secs(5)),
        events: EventRecorder::new(client, "service-controller", "", clock.clone(), EventMetrics::default()),
        fence,
        clock,
        queues: QueueMetrics::register(&mut registry),
        metrics: ControllerMetrics::register(&mut registry),
        journal: bowline_cloud::Journal::default(),
        ledger: cloud.state().ledger.clone(),
        machines: crate::rails::seen_machines::SeenMachines::default(),
        node_filter: crate::rails::node_filter::NodeFilter::default(),
    };
    cloud.state().metrics = Some(context.metrics.clone());
    let events = context.events.clone();
    let name = common_names().into_iter().find(|name| name.alias == "service").unwrap();
    let controller = ServiceController::new(name, options);
    let stop = async {
        meanwhile.await;
        events.flush(Duration::from_secs(5)).await.unwrap();
        cancel.cancel();
    };
    let (ended, ..) = tokio::join!(
        controller.run(context, cancel.clone()),
        node_task.run(cancel.clone()),
        service_task.run(cancel.clone()),
        stop
    );
    ended
}

async fn seconds(seconds: u64) {
    tokio::time::sleep(Duration::from_secs(seconds)).await;
}
