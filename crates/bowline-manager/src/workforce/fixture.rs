//! Tools for tests: what a process works with, and a cloud whose initialization fails at first.

use std::sync::atomic::{AtomicU32, Ordering};

use bowline_cloud::{CloudError, Unfenced};
use bowline_controllers::controller::ControllerContext;
use bowline_controllers::rails::node_filter::NodeFilter;
use bowline_kube::client::ClientFactory;
use bowline_testkit::memory_cluster::MemoryCluster;
use bowline_testkit::provider::FakeCloud;
use prometheus_client::registry::Registry;

use super::*;
use crate::serving::BuildInfo;

/// A cloud whose initialization fails this many times.
pub(crate) fn flaky(times: u32) -> Arc<dyn Cloud> {
    let left = AtomicU32::new(times);
    Arc::new(FakeCloud::default().initialized_by(move || {
        let fails = left.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |left| left.checked_sub(1));
        std::future::ready(match fails {
            Ok(_left) => Err(CloudError::transient("the identity service does not answer")),
            Err(_none_left) => Ok(()),
        })
    }))
}

pub(crate) fn tools(cloud: Arc<dyn Cloud>) -> (Tools, Arc<Registry>) {
    let (metrics, registry) = Metrics::register(cloud.as_ref(), &BuildInfo::default());
    // Nobody listens there: whoever connects fails, which is none of these tests' business.
    let config = kube::Config::new(http::Uri::from_static("http://127.0.0.1:9"));
    let factory = ClientFactory::new(config, "test", "0", 20.0, 30);
    let (clock, health, cloud_identity) =
        (Clock::system(), Arc::new(HealthRegistry::new()), CloudIdentity::default());
    let status = crate::status::fixture::page(
        clock.clone(),
        health.clone(),
        metrics.controllers.clone(),
        cloud_identity.clone(),
    );
    let tools = Tools {
        cloud,
        cloud_identity,
        clients: Clients::new(factory, false, clock.clone()).expect("a client"),
        metrics,
        health,
        clock,
        host: "test".to_owned(),
        write_deadline: Duration::from_secs(1),
        start_interval: Duration::ZERO,
        seed: 1,
        status,
        node_filter: NodeFilter::default(),
    };
    (tools, registry)
}

/// A context whose informers nobody feeds.
pub(crate) fn context() -> (ControllerContext, Arc<Registry>) {
    let (tools, registry) = tools(flaky(0));
    let client = MemoryCluster::default().client();
    let (nodes, _task) = node_informer().build(client.clone(), Api::all);
    let (services, _task) = service_informer().build(client.clone(), Api::all);
    let fence: Arc<dyn Fence> = Arc::new(Unfenced);
    let events =
        EventRecorder::new(client.clone(), "test", "", tools.clock.clone(), tools.metrics.events.clone());
    let context = ControllerContext {
        cloud: tools.cloud,
        nodes,
        services,
        writer: Writer::new(client, fence.clone(), Duration::from_secs(1)),
        events,
        fence,
        clock: tools.clock,
        queues: tools.metrics.queues,
        metrics: tools.metrics.controllers,
        journal: bowline_cloud::Journal::default(),
        ledger: Ledger::default(),
        machines: SeenMachines::default(),
        node_filter: NodeFilter::default(),
    };
    (context, registry)
}
