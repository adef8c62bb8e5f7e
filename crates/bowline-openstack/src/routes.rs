//! Routes: the pods of each Node are reached through an extra route of one router, and the Node's port may send from their
//! range.
//!
//! A route is made after its port was opened, and taken away after its port was shut: a route that is there says that there
//! is something to take away, and nothing has ever to be undone. Which routes are ours is the framework's to know; those
//! that nobody names stay as they are.

mod access;
mod batch;
mod interfaces;
mod pairs;
mod ports;
mod table;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_cloud::{CloudError, Fence, Route, RouteChange, Routes, async_trait};
use openstack_client::network::Route as RouterRoute;
use openstack_client::{Client, Priority, RouterId};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;
use tracing::warn;

pub use self::access::{Offer, RouteAccess};
use self::batch::Batch;
use self::interfaces::Interfaces;
use self::table::Table;
use crate::error::cloud_error;
use crate::fence::lend;

/// How often the ports of routes that are there are looked at. Somebody must have changed a port by hand to need it.
const LOOK_EVERY: Duration = Duration::from_secs(300);

/// How long after a look that failed the next one is.
const LOOK_AGAIN: Duration = Duration::from_secs(60);

/// The routes of a router.
#[derive(Debug)]
pub struct OpenStackRoutes {
    client: Client,
    table: Table,
    /// None where ports send from any address, or cannot be told otherwise.
    interfaces: Option<Interfaces>,
    memory: Mutex<Memory>,
}

/// What is known from the last lists.
#[derive(Debug, Default)]
struct Memory {
    listed: Vec<RouterRoute>,
    /// Routes whose port was seen shut.
    shut: BTreeSet<RouterRoute>,
    next_look: Option<Instant>,
}

impl OpenStackRoutes {
    /// The routes of `router`, in a cloud that offers this.
    #[must_use]
    pub fn new(client: Client, router: RouterId, offer: Offer) -> Self {
        let interfaces = offer.pairs.then(|| Interfaces::new(router.clone()));
        Self { client, table: Table::new(router, offer.atomic), interfaces, memory: Mutex::default() }
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock()
    }

    /// Looks now and then whether the ports of the routes are open, and remembers those that are not. That it cannot look
    /// says nothing about the routes.
    async fn look_at_ports(&self, client: &Client, routes: &[RouterRoute]) {
        let Some(interfaces) = &self.interfaces else { return };
        let now = Instant::now();
        if routes.is_empty() || self.memory().next_look.is_some_and(|next| now < next) {
            return;
        }
        let looked = ports::shut(client, interfaces, routes).await;
        let mut memory = self.memory();
        match looked {
            Ok(shut) => {
                memory.shut = shut;
                memory.next_look = Some(now + LOOK_EVERY);
            }
            Err(error) => {
                warn!(%error, "the ports of the routes cannot be looked at; this is tried again");
                memory.next_look = Some(now + LOOK_AGAIN);
            }
        }
    }

    async fn perform(&self, client: &Client, batch: &mut Batch) {
        if let Some(interfaces) = &self.interfaces {
            let staying = batch.outcome(&self.memory().listed);
            ports::prepare(client, interfaces, batch, &staying).await;
        }
        self.table.change(client, batch).await;
    }

    /// What was done is known before the next list.
    fn remember(&self, batch: &Batch) {
        let mut memory = self.memory();
        memory.listed = batch.outcome(&memory.listed);
        for done in batch.done() {
            memory.shut.remove(&done.route);
        }
        // Its port may be shut while the route is still there, and wanted again by then.
        if batch.has_failed_removals() {
            memory.next_look = None;
        }
    }
}

#[async_trait]
impl Routes for OpenStackRoutes {
    async fn list(&self, _cluster: &str) -> Result<Vec<Route>, CloudError> {
        let client = self.client.with_priority(Priority::Background);
        let routes = self.table.read(&client).await?.routes;
        self.look_at_ports(&client, &routes).await;
        let mut memory = self.memory();
        let listed = routes.iter().map(|route| batch::listed(route, memory.shut.contains(route))).collect();
        memory.listed = routes;
        listed
    }

    async fn apply(
        &self,
        _cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>> {
        let mut batch = Batch::new(changes);
        match fence.check() {
            // Not even the ports need to be looked for.
            Err(fenced) => batch.fail_all(|| fenced.clone().into()),
            Ok(()) => {
                let batch = &mut batch;
                lend(&self.client, fence, async |client| self.perform(&client, batch).await).await;
            }
        }
        self.remember(&batch);
        batch.into_answers()
    }
}

/// An error of the client for each of several changes.
fn shared(error: &openstack_client::Error) -> CloudError {
    cloud_error(error.clone())
}
