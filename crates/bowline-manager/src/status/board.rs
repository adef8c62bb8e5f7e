//! The handles from which the page reads the current state. Parts of the process register theirs when they start. Nothing is copied.

use std::sync::Arc;

use bowline_cloud::{Fence, Journal, NodeView, ServiceView};
use bowline_controllers::identity::CloudIdentity;
use bowline_controllers::metrics::ControllerMetrics;
use bowline_kube::clock::Clock;
use bowline_kube::informer::Informer;
use bowline_kube::lease::Leadership;
use jiff::Timestamp;
use parking_lot::{RwLock, RwLockReadGuard};
use tokio::sync::{Semaphore, watch};

use super::gather;
use super::live::MOST_STREAMS;
use super::notebook::Notebook;
use super::overview::Overview;
use super::page;
use super::query::Query;
use crate::budget::SharedBudget;
use crate::options::Options;
use crate::serving::HealthRegistry;

/// The process that the page describes.
#[derive(Debug, Clone)]
pub struct About {
    /// The name of the binary.
    pub component: String,
    /// The version of the binary.
    pub version: String,
    /// The holder identity in the Lease.
    pub identity: String,
    /// The name of the cloud provider.
    pub cloud: String,
    /// `--cluster-name`.
    pub cluster: String,
}

/// The status page of one process. Clones share it.
#[derive(Clone)]
pub struct StatusPage(pub(super) Arc<Board>);

/// The sources of the page.
pub(super) struct Board {
    pub(super) about: About,
    pub(super) clock: Clock,
    pub(super) started_at: Timestamp,
    pub(super) notebook: Arc<Notebook>,
    pub(super) health: Arc<HealthRegistry>,
    pub(super) budget: Arc<SharedBudget>,
    pub(super) metrics: ControllerMetrics,
    pub(super) identity: CloudIdentity,
    pub(super) limits: Limits,
    /// One permit for each live stream.
    pub(super) streams: Arc<Semaphore>,
    parts: RwLock<Parts>,
}

/// The sources that are registered after the start.
#[derive(Default)]
pub(super) struct Parts {
    pub(super) nodes: Option<Informer<Arc<NodeView>>>,
    pub(super) services: Option<Informer<Arc<ServiceView>>>,
    pub(super) fence: Option<Arc<dyn Fence>>,
    pub(super) lease: Option<(String, watch::Receiver<Leadership>)>,
}

/// The limits of the safety rails, from the flags.
#[derive(Debug, Clone)]
pub(super) struct Limits {
    pub(super) deletion_percent: u8,
    pub(super) deletion_window: std::time::Duration,
    pub(super) breaker_percent: u8,
    pub(super) replacement_breaker_percent: u8,
    pub(super) adopt_only: bool,
    /// Whether deletion of Nodes is switched off.
    pub(super) skip_node_deletion: bool,
}

/// What a page needs when it is created.
pub(crate) struct Surroundings<'a> {
    pub(crate) about: About,
    pub(crate) options: &'a Options,
    pub(crate) clock: Clock,
    pub(crate) health: Arc<HealthRegistry>,
    pub(crate) budget: Arc<SharedBudget>,
    pub(crate) metrics: ControllerMetrics,
    pub(crate) identity: CloudIdentity,
}

impl StatusPage {
    pub(crate) fn new(around: Surroundings<'_>) -> Self {
        let Surroundings { about, options, clock, health, budget, metrics, identity } = around;
        let rails = &options.rails;
        let limits = Limits {
            deletion_percent: rails.node_deletion_limit_percent,
            deletion_window: rails.node_deletion_window,
            breaker_percent: rails.node_deletion_breaker_percent,
            replacement_breaker_percent: rails.load_balancer_breaker_percent,
            skip_node_deletion: options.rails.skip_node_deletion,
            adopt_only: options.shadow.mode == Some(bowline_cloud::shadow::Mode::AdoptOnly),
        };
        Self(Arc::new(Board {
            about,
            started_at: clock.now(),
            notebook: Arc::new(Notebook::new(clock.clone())),
            clock,
            health,
            budget,
            metrics,
            identity,
            limits,
            streams: Arc::new(Semaphore::new(MOST_STREAMS)),
            parts: RwLock::default(),
        }))
    }

    /// The journal to which all parts of the process record their activity.
    #[must_use]
    pub fn journal(&self) -> Journal {
        Journal::new(self.0.notebook.clone())
    }

    /// The data of the page for this query.
    #[must_use]
    pub fn overview(&self, query: &Query) -> Overview {
        gather::overview(&self.0, query)
    }

    /// The HTML of the page for this query.
    #[must_use]
    pub fn html(&self, query: &Query) -> String {
        page::page(&self.overview(query), query)
    }

    /// The number of live streams that can still be opened.
    #[cfg(test)]
    pub(crate) fn free_places(&self) -> usize {
        self.0.streams.available_permits()
    }

    /// Registers the informers of Nodes and Services.
    pub(crate) fn sees(&self, nodes: Informer<Arc<NodeView>>, services: Informer<Arc<ServiceView>>) {
        self.0.change(|parts| {
            parts.nodes = Some(nodes);
            parts.services = Some(services);
        });
    }

    /// Registers the fence that knows about pauses.
    pub(crate) fn asks(&self, fence: Arc<dyn Fence>) {
        self.0.change(|parts| parts.fence = Some(fence));
    }

    /// Registers the Lease that this process competes for. Only the first call has an effect: the second one is for the migration Lease.
    pub(crate) fn competes(&self, lease: &str, leadership: watch::Receiver<Leadership>) {
        self.0.change(|parts| {
            parts.lease.get_or_insert_with(|| (lease.to_owned(), leadership));
        });
    }
}

impl Board {
    fn change(&self, change: impl FnOnce(&mut Parts)) {
        change(&mut self.parts.write());
    }

    pub(super) fn parts(&self) -> RwLockReadGuard<'_, Parts> {
        self.parts.read()
    }

    /// Changes when there is something new to show, as far as this is known without computing the whole page.
    pub(super) fn version(&self) -> (u64, u64, u64) {
        let parts = self.parts();
        let nodes = parts.nodes.as_ref().map_or(0, Informer::epoch);
        let services = parts.services.as_ref().map_or(0, Informer::epoch);
        (self.notebook.version(), nodes, services)
    }
}
