//! The door of the API server: counts what the manager writes, and can be stuck for a while.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use parking_lot::Mutex;
use sim_kube::{ApiError, Interceptor, Reply, RequestInfo, Verdict};
use tokio::time::Instant;

use crate::cluster::LEASE;
use crate::manager::AGENT;

/// How often the manager wrote.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Writes {
    /// To Nodes, Services and whatever else it works on.
    pub(crate) objects: u64,
    /// Events.
    pub(crate) events: u64,
}

/// The door.
#[derive(Default)]
pub(crate) struct Gate {
    objects: AtomicU64,
    events: AtomicU64,
    elections: AtomicU64,
    stuck_until: Mutex<Option<Instant>>,
}

impl Gate {
    /// What the manager wrote so far; its Lease is not counted.
    pub(crate) fn writes(&self) -> Writes {
        Writes { objects: self.objects.load(Relaxed), events: self.events.load(Relaxed) }
    }

    /// How often the manager asked for the Lease that says who leads, or wrote to it.
    pub(crate) fn elections(&self) -> u64 {
        self.elections.load(Relaxed)
    }

    /// Answers the manager with 503 for a while.
    pub(crate) fn stick(&self, length: Duration) {
        *self.stuck_until.lock() = Some(Instant::now() + length);
    }

    fn is_stuck(&self) -> bool {
        let until = *self.stuck_until.lock();
        until.is_some_and(|until| Instant::now() < until)
    }
}

/// The door, for the server.
pub(crate) struct Counting(pub(crate) std::sync::Arc<Gate>);

impl Interceptor for Counting {
    fn before(&self, request: &RequestInfo) -> Verdict {
        if is_managers(request) && request.path == LEASE {
            self.0.elections.fetch_add(1, Relaxed);
        }
        // The Lease goes through: else its loss would end the manager, as it should, and there would be nobody to look at.
        if is_managers(request) && request.resource != "leases" && self.0.is_stuck() {
            return Verdict::Refuse(ApiError::custom(
                503,
                "ServiceUnavailable",
                "the API server is overloaded",
            ));
        }
        Verdict::Pass
    }

    fn after(&self, request: &RequestInfo, code: u16) -> Reply {
        if is_managers(request) && request.is_write() && (200..300).contains(&code) {
            match (request.group.as_str(), request.resource.as_str()) {
                (_, "leases") | ("authentication.k8s.io" | "authorization.k8s.io", _) => {}
                (_, "events") => drop(self.0.events.fetch_add(1, Relaxed)),
                _ => drop(self.0.objects.fetch_add(1, Relaxed)),
            }
        }
        Reply::Deliver
    }
}

fn is_managers(request: &RequestInfo) -> bool {
    request.user_agent.starts_with(AGENT)
}
