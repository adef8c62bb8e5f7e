//! The interface between a controller and the process that runs it.

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

/// A controller: observes, plans and executes until it is cancelled.
#[async_trait]
pub trait Controller: Send + Sync {
    /// Its canonical name, alias and component names.
    fn name(&self) -> &ControllerName;

    /// Runs until `cancel`. After that it starts no new work, and returns when the running work is finished.
    ///
    /// # Errors
    ///
    /// [`Stopped`] if it cannot run now, or never can.
    async fn run(&self, context: ControllerContext, cancel: CancellationToken) -> Result<(), Stopped>;
}

/// Why a controller does not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Stopped {
    /// An API of the cloud is missing or failing. The controller is started again later; other controllers keep running (SR-11).
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// The cloud does not support it, or the configuration disables it. The controller is not started again.
    #[error("not started: {0}")]
    NotWanted(String),
}

/// The dependencies of a controller.
#[derive(Clone)]
pub struct ControllerContext {
    /// The cloud.
    pub cloud: Arc<dyn Cloud>,
    /// All Nodes.
    pub nodes: Informer<Arc<NodeView>>,
    /// All Services that have or want a load balancer, or have remains of one.
    pub services: Informer<Arc<ServiceView>>,
    /// Writes to the API server, with preconditions and a check of the fence.
    pub writer: Writer,
    /// Emits events as the component of this controller.
    pub events: EventRecorder,
    /// Checked immediately before every change in the cloud.
    pub fence: Arc<dyn Fence>,
    /// The wall clock.
    pub clock: Clock,
    /// The metrics of its work queues.
    pub queues: QueueMetrics,
    /// Its own metrics.
    pub metrics: ControllerMetrics,
    /// Records activity for the status page.
    pub journal: Journal,
    /// State for the next leader, kept in a Lease.
    pub ledger: Ledger,
    /// The machines that any controller has observed (SR-4, SR-14).
    pub machines: SeenMachines,
    /// Which Nodes this manager handles (SR-4).
    pub node_filter: NodeFilter,
}

impl ControllerContext {
    /// Looks up Services in the informer's cache.
    pub(crate) fn service_directory(&self) -> ServiceDirectory {
        ServiceDirectory::new(Arc::new(WatchedServices(self.services.clone())))
    }

    /// Records that a safety rail held something back.
    pub(crate) fn note_held(&self, rail: &'static str, about: impl FnOnce() -> String, why: &str) {
        self.journal.note(|| Note::Held(HeldNote { rail, about: about(), why: journal::cut(why) }));
    }
}

/// Looks up Services in the informer's cache.
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
