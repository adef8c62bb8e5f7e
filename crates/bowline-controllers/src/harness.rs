//! Runs one controller in virtual time, on a cluster in memory and a fake cloud. For the tests of this crate.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Cloud, Fence, Journal, Unfenced};
use bowline_kube::clock::Clock;
use bowline_kube::events::{EventMetrics, EventRecorder};
use bowline_kube::ledger::Ledger;
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use bowline_testkit::memory_cluster::{MemoryCluster, START};
use kube::Api;
use prometheus_client::registry::Registry;
use tokio_util::sync::CancellationToken;

use crate::controller::{Controller, ControllerContext, Stopped};
use crate::deadline::{CallDeadlines, Punctual};
use crate::metrics::ControllerMetrics;
use crate::rails::node_filter::NodeFilter;
use crate::rails::seen_machines::SeenMachines;
use crate::view::{node_informer, service_informer};

/// What a controller runs on. A test replaces the parts that it is about.
pub(crate) struct Harness {
    pub(crate) server: MemoryCluster,
    pub(crate) cloud: Arc<dyn Cloud>,
    pub(crate) fence: Arc<dyn Fence>,
    pub(crate) ledger: Ledger,
    pub(crate) machines: SeenMachines,
    pub(crate) filter: NodeFilter,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) queues: QueueMetrics,
    pub(crate) registry: Registry,
}

impl Harness {
    pub(crate) fn new(server: &MemoryCluster, cloud: Arc<dyn Cloud>) -> Self {
        let mut registry = Registry::default();
        Self {
            server: server.clone(),
            cloud,
            fence: Arc::new(Unfenced),
            ledger: Ledger::default(),
            machines: SeenMachines::default(),
            filter: NodeFilter::default(),
            metrics: ControllerMetrics::register(&mut registry),
            queues: QueueMetrics::register(&mut registry),
            registry,
        }
    }

    /// Runs the controller while `meanwhile` does something, and stops it then. All events are written when this returns.
    pub(crate) async fn run(
        &self,
        controller: &dyn Controller,
        meanwhile: impl Future<Output = ()>,
    ) -> Result<(), Stopped> {
        self.run_on(self.cloud.clone(), controller, meanwhile).await
    }

    /// The same over another cloud.
    pub(crate) async fn run_on(
        &self,
        cloud: Arc<dyn Cloud>,
        controller: &dyn Controller,
        meanwhile: impl Future<Output = ()>,
    ) -> Result<(), Stopped> {
        let (client, cancel) = (self.server.client(), CancellationToken::new());
        let (nodes, node_task) = node_informer().build(client.clone(), Api::all);
        let (services, service_task) = service_informer().build(client.clone(), Api::all);
        let clock = Clock::simulated(START.parse().unwrap());
        let component = &controller.name().component;
        let events =
            EventRecorder::new(client.clone(), component, "", clock.clone(), EventMetrics::default());
        let context = ControllerContext {
            cloud: Arc::new(Punctual::new(cloud, CallDeadlines::default())),
            nodes,
            services,
            writer: Writer::new(client, self.fence.clone(), Duration::from_secs(5)),
            events: events.clone(),
            fence: self.fence.clone(),
            clock,
            queues: self.queues.clone(),
            metrics: self.metrics.clone(),
            journal: Journal::default(),
            ledger: self.ledger.clone(),
            machines: self.machines.clone(),
            node_filter: self.filter.clone(),
        };
        let run = async {
            let ended = controller.run(context, cancel.clone()).await;
            cancel.cancel();
            ended
        };
        let stop = async {
            cancel.run_until_cancelled(meanwhile).await;
            cancel.cancel();
        };
        let (ended, ..) =
            tokio::join!(run, node_task.run(cancel.clone()), service_task.run(cancel.clone()), stop);
        events.flush(Duration::from_secs(60)).await.unwrap();
        ended
    }

    /// Whether the metrics have this line.
    pub(crate) fn shows(&self, line: &str) -> bool {
        let mut scrape = String::new();
        prometheus_client::encoding::text::encode(&mut scrape, &self.registry).unwrap();
        scrape.lines().any(|shown| shown == line)
    }
}
