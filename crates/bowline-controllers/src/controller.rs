//! What a controller is to the process that runs it, and what it is given to work with.

use std::sync::Arc;

use async_trait::async_trait;
use bowline_cloud::journal;
use bowline_cloud::{
    Cloud, Fence, HeldNote, Journal, NodeView, Note, ServiceDirectory, ServiceLookup, ServiceView,
};
use bowline_kube::clock::Clock;
use bowline_kube::events::EventRecorder;
use bowline_kube::informer::{Informer, ObjectKey};
use bowline_kube::ledger::Ledger;
use bowline_kube::queue::QueueMetrics;
use bowline_kube::write::Writer;
use tokio_util::sync::CancellationToken;

use crate::metrics::ControllerMetrics;
use crate::rails::node_filter::NodeFilter;
use crate::rails::seen_machines::SeenMachines;
use crate::registry::ControllerName;
use crate::service::desire::wants;

/// A controller: observes, plans and executes until it is told to stop.
#[async_trait]
pub trait Controller: Send + Sync {
    /// Its names.
    fn name(&self) -> &ControllerName;

    /// Runs until `cancel`. Then it takes no more work, and returns when what had begun is finished.
    ///
    /// # Errors
    ///
    /// [`Stopped`] if it cannot run now, or never can.
    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped>;
}

/// Why a controller does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// A service of the cloud is missing or failing: it is started again after a while, the others run (SR-11).
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// This cloud, or this configuration, has no use for it: it is not started again.
    #[error("not started: {0}")]
    NotWanted(String),
}

/// What a controller is given to work with.
#[derive(Clone)]
pub struct ControllerContext {
    /// The cloud.
    pub cloud: Arc<dyn Cloud>,
    /// All Nodes.
    pub nodes: Informer<Arc<NodeView>>,
    /// All Services that have or had a load balancer.
    pub services: Informer<Arc<ServiceView>>,
    /// Writes to the API server, guarded and fenced.
    pub writer: Writer,
    /// Events of this controller's component.
    pub events: EventRecorder,
    /// Asked right before every change in the cloud.
    pub fence: Arc<dyn Fence>,
    /// Wall time.
    pub clock: Clock,
    /// Where its queues report.
    pub queues: QueueMetrics,
    /// Its own metrics.
    pub metrics: ControllerMetrics,
    /// Where it is noted what happens, for the status page.
    pub journal: Journal,
    /// What the next leader shall know.
    pub ledger: Ledger,
    /// The machines that any controller has seen (SR-4, SR-14).
    pub machines: SeenMachines,
    /// Which Nodes this manager handles (SR-4).
    pub node_filter: NodeFilter,
}

impl ControllerContext {
    /// Whether Services exist, by the watch.
    pub(crate) fn service_directory(&self) -> ServiceDirectory {
        ServiceDirectory::new(Arc::new(WatchedServices(self.services.clone())))
    }

    /// Notes that a safety rail held something back.
    pub(crate) fn note_held(&self, rail: &'static str, about: impl FnOnce() -> String, why: &str) {
        self.journal.note(|| Note::Held(HeldNote { rail, about: about(), why: journal::cut(why) }));
    }
}

/// The Services that the watch shows.
struct WatchedServices(Informer<Arc<ServiceView>>);

impl ServiceLookup for WatchedServices {
    fn has(&self, namespace: &str, name: &str) -> bool {
        self.0.get(&ObjectKey::namespaced(namespace, name)).is_some()
    }

    fn wants_load_balancer(&self, namespace: &str, name: &str) -> bool {
        let service = self.0.get(&ObjectKey::namespaced(namespace, name));
        service.is_some_and(|service| service.deleted_at.is_none() && wants(&service))
    }

    fn find(&self, fits: &dyn Fn(&ServiceView) -> bool) -> Option<Arc<ServiceView>> {
        let snapshot = self.0.snapshot();
        let found = |service: &ServiceView| service.deleted_at.is_none() && wants(service) && fits(service);
        snapshot.objects().iter().find(|object| found(&object.view)).map(|object| Arc::clone(&object.view))
    }
}
