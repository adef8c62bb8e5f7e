//! What the seams of one process share: which bug is built in, the world that it may look at, and what the bug remembers.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bowline_cloud::{LoadBalancerStatus, Route};
use bytes::Bytes;
use http::Request;
use parking_lot::{Mutex, MutexGuard};
use sim_openstack::State;
use tokio::time::Instant;

use super::Piece;
use crate::invariants::Judge;

/// How the names of our load balancers begin.
const OURS: &str = "kube_service_";

/// Where a bug is built into a process.
#[derive(Clone)]
pub struct Workshop {
    pub(super) piece: Option<Piece>,
    pub(super) judge: Arc<Judge>,
    memory: Arc<Mutex<Memory>>,
    /// The one worker of a manager that has no more.
    pub(super) worker: Arc<tokio::sync::Mutex<()>>,
}

/// What a bug remembers.
#[derive(Default)]
pub(super) struct Memory {
    /// A request that was sent.
    pub(super) sent: Option<Request<Bytes>>,
    /// Since when something is due.
    pub(super) since: Option<Instant>,
    /// What is taken for done, or for gone.
    pub(super) done: BTreeSet<String>,
    /// What came of work for a Service.
    pub(super) settled: BTreeMap<String, LoadBalancerStatus>,
    /// Routes that are taken for made.
    pub(super) routes: Vec<Route>,
    /// Whether it has happened.
    pub(super) struck: bool,
    /// How often it has happened.
    pub(super) times: u64,
}

impl Workshop {
    /// For a process with this bug, or with none.
    #[must_use]
    pub fn new(piece: Option<Piece>, judge: Arc<Judge>) -> Self {
        Self { piece, judge, memory: Arc::default(), worker: Arc::default() }
    }

    /// Which bug.
    #[must_use]
    pub fn piece(&self) -> Option<Piece> {
        self.piece
    }

    pub(super) fn is(&self, piece: Piece) -> bool {
        self.piece == Some(piece)
    }

    pub(super) fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock()
    }

    /// Looks at what is true in the cloud.
    pub(super) fn truth<T>(&self, look: impl FnOnce(&State) -> T) -> T {
        self.judge.world.cloud.with(|cloud| look(cloud.state()))
    }

    /// Whether a Service of one of these tags still wants a load balancer.
    pub(super) fn wants_a_balancer(&self, tags: &[String]) -> bool {
        self.judge.world.kube.stored("", "services").iter().any(|service| {
            let part = |key: &str| service["metadata"][key].as_str().unwrap_or_default().to_owned();
            let tag = format!("kube_service_kubernetes_{}_{}", part("namespace"), part("name"));
            service["metadata"]["deletionTimestamp"].is_null() && tags.contains(&tag)
        })
    }

    /// What is true of the load balancers that are ours: id, name and status.
    pub(super) fn balancers(&self) -> Vec<(String, String, String)> {
        self.truth(|state| {
            let all = state.load_balancer.load_balancers.iter().filter(|one| one.name.starts_with(OURS));
            all.map(|one| (one.id.clone(), one.name.clone(), one.provisioning_status.clone())).collect()
        })
    }

    /// The status of the load balancer of a name.
    pub(super) fn status_of(&self, name: &str) -> Option<String> {
        self.balancers().into_iter().find(|one| one.1 == name).map(|one| one.2)
    }
}
