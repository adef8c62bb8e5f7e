//! Stores one short value (a fact) for each of many objects, for the next leader, in the annotations of one Lease. For a Service the fact
//! is the fingerprint of its last reconcile, for a Node its provider ID.
//!
//! A fact on the object itself would need a write of every object, and cause an event for each of its watchers, whenever the facts of all
//! objects change at once. Here this is one write. A Lease is used because every manager has RBAC permissions for its own Lease, and no
//! other client watches it.
//!
//! Nothing depends on a fact being present: the latest changes may be lost if the process ends. `book` is the pure part.

mod book;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use bowline_core::Text;
use k8s_openapi::api::coordination::v1::Lease;
use kube::api::DynamicObject;
use kube::core::ApiResource;
use kube::{Api, Client};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use self::book::Book;
use crate::write::{Attempt, Place, WriteClass, WriteError, Writer};

/// Changes within this time are written together.
const GATHER: Duration = Duration::from_secs(15);

/// The pause after a failed write: most likely an RBAC permission is missing, which an administrator has to add.
const AFTER_FAILURE: Duration = Duration::from_secs(300);

/// The timeout for reading the Lease. Without its facts the process starts as in a new cluster.
const READ_WITHIN: Duration = Duration::from_secs(5);

/// The field manager of our writes.
const MANAGER: &str = "bowline";

/// The facts about all objects. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct Ledger(Arc<Shared>);

#[derive(Debug, Default)]
struct Shared {
    inner: Mutex<Inner>,
    changed: Notify,
}

/// The kind of object that a fact is about. Each kind has its own annotation, so that the controller of one kind can drop the facts of
/// deleted objects without dropping those of the other kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Subject {
    /// Services.
    Service,
    /// Nodes.
    Node,
}

#[derive(Debug)]
struct Inner {
    services: Book,
    nodes: Book,
    /// Whether a book may differ from the Lease.
    dirty: bool,
    /// The Lease as last read or written; `None` if it does not exist.
    found: Option<DynamicObject>,
}

impl Default for Inner {
    fn default() -> Self {
        let (services, nodes) = (Book::new(Subject::Service), Book::new(Subject::Node));
        Self { services, nodes, dirty: false, found: None }
    }
}

impl Inner {
    fn book(&mut self, subject: Subject) -> &mut Book {
        match subject {
            Subject::Service => &mut self.services,
            Subject::Node => &mut self.nodes,
        }
    }
}

/// The Lease that stores the facts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LedgerPlace {
    /// Its namespace.
    pub namespace: String,
    /// Its name.
    pub name: String,
}

impl LedgerPlace {
    /// The Lease next to the Lease of the leader election, so that managers that share a cluster have one each.
    #[must_use]
    pub fn beside(namespace: &str, lease: &str) -> Self {
        Self { namespace: namespace.to_owned(), name: format!("{lease}-ledger") }
    }
}

impl Ledger {
    /// The fact about an object; `None` if there is none.
    #[must_use]
    pub fn about(&self, subject: Subject, uid: &str) -> Option<Text> {
        self.lock().book(subject).get(uid).cloned()
    }

    /// Stores a fact about an object; replaces an older one.
    pub fn note(&self, subject: Subject, uid: &Text, fact: Text) {
        self.change(|inner| inner.book(subject).note(uid, fact));
    }

    /// Removes the fact about an object.
    pub fn forget(&self, subject: Subject, uid: &str) {
        self.change(|inner| inner.book(subject).forget(uid));
    }

    /// Removes the facts about all objects of this kind except these. Facts about other kinds stay.
    pub fn keeps_only(&self, subject: Subject, uids: &BTreeSet<Text>) {
        self.change(|inner| inner.book(subject).keeps_only(uids));
    }

    fn change(&self, change: impl FnOnce(&mut Inner) -> bool) {
        let mut inner = self.lock();
        if change(&mut inner) {
            inner.dirty = true;
            self.0.changed.notify_one();
        }
    }

    /// Loads the facts of the previous leader. Facts that cannot be read are missing; that costs API calls and nothing else.
    pub async fn read(&self, client: &Client, place: &LedgerPlace) {
        if !self.look(client, place).await {
            return;
        }
        let mut inner = self.lock();
        let Inner { services, nodes, found, .. } = &mut *inner;
        if let Some(annotations) = found.as_ref().and_then(|found| found.metadata.annotations.as_ref()) {
            services.read(annotations);
            nodes.read(annotations);
        }
    }

    /// Reads the Lease. Returns whether that succeeded.
    async fn look(&self, client: &Client, place: &LedgerPlace) -> bool {
        let leases: Api<DynamicObject> = Api::namespaced_with(client.clone(), &place.namespace, &kind());
        match timeout(READ_WITHIN, leases.get_opt(&place.name)).await {
            Ok(Ok(found)) => {
                self.lock().found = found;
                return true;
            }
            Ok(Err(kube::Error::Api(status))) => told(place, &status.message),
            Ok(Err(error)) => told(place, &crate::client::describe(&error)),
            Err(_elapsed) => told(place, &format!("no answer within {READ_WITHIN:?}")),
        }
        false
    }

    /// Writes changes until `cancel` is cancelled, then writes the remaining ones.
    pub async fn keep(
        &self,
        client: &Client,
        writer: &Writer,
        place: &LedgerPlace,
        cancel: &CancellationToken,
    ) {
        while cancel.run_until_cancelled(self.0.changed.notified()).await.is_some() {
            if cancel.run_until_cancelled(sleep(GATHER)).await.is_none() {
                break;
            }
            let Err(error) = self.write(client, writer, place).await else { continue };
            let is_fenced = error.class() == WriteClass::Fenced;
            if is_fenced {
                // An administrator paused all changes, possibly for hours, or the lease is lost, which is reported elsewhere.
                debug!(ledger = place.name, %error, "the ledger waits");
            } else {
                warn!(ledger = place.name, %error, "the ledger could not be written; after a restart more is read from the cloud");
            }
            let soon = is_overtaken(&error) || is_fenced;
            let pause = if soon { GATHER } else { AFTER_FAILURE };
            if cancel.run_until_cancelled(sleep(pause)).await.is_none() {
                break;
            }
            self.0.changed.notify_one();
        }
        if let Err(error) = self.write(client, writer, place).await {
            debug!(ledger = place.name, %error, "the last of the ledger was not written");
        }
    }

    /// Writes the facts, if they differ from the Lease.
    async fn write(&self, client: &Client, writer: &Writer, place: &LedgerPlace) -> Result<(), WriteError> {
        let Some(object) = self.to_write(place) else { return Ok(()) };
        let written = self.send(writer, place, &object).await;
        let error = match written {
            Ok(found) => {
                self.lock().found = Some(found);
                return Ok(());
            }
            Err(error) => error,
        };
        self.lock().dirty = true;
        if is_overtaken(&error) {
            // The next write replaces the Lease as it is now. Only its resource version is used: our facts are newer, and removed facts
            // stay removed.
            self.look(client, place).await;
        }
        Err(error)
    }

    async fn send(
        &self,
        writer: &Writer,
        place: &LedgerPlace,
        object: &DynamicObject,
    ) -> Result<DynamicObject, WriteError> {
        let kind = kind();
        let at = Place { resource: &kind, namespace: Some(&place.namespace), name: &place.name };
        match object.metadata.resource_version {
            Some(_) => writer.replace(at, "", MANAGER, object).await,
            None => writer.create(at, MANAGER, object, Attempt::Real).await,
        }
    }

    /// The Lease with all facts; `None` if it already has them.
    fn to_write(&self, place: &LedgerPlace) -> Option<DynamicObject> {
        let mut inner = self.lock();
        if !std::mem::take(&mut inner.dirty) {
            return None;
        }
        let mut object = inner
            .found
            .clone()
            .unwrap_or_else(|| DynamicObject::new(&place.name, &kind()).within(&place.namespace));
        let annotations = object.metadata.annotations.get_or_insert_default();
        inner.services.write(annotations);
        inner.nodes.write(annotations);
        // A fact that was stored and removed again needs no write: a Node has a fact only until its provider ID is written.
        let before = inner.found.as_ref().and_then(|found| found.metadata.annotations.as_ref());
        let is_same = before.map_or_else(|| annotations.is_empty(), |before| before == annotations);
        (!is_same).then_some(object)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.inner.lock()
    }
}

/// Another client wrote the Lease, or deleted it.
fn is_overtaken(error: &WriteError) -> bool {
    matches!(error.class(), WriteClass::Conflict | WriteClass::NotFound)
}

fn kind() -> ApiResource {
    ApiResource::erase::<Lease>(&())
}

fn told(place: &LedgerPlace, why: &dyn std::fmt::Display) {
    warn!(ledger = place.name, %why, "the ledger could not be read; more is read from the cloud");
}
