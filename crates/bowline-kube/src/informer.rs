//! Informers: a cache of all objects of one kind, as small projections, that notifies subscribers of every change.
//!
//! Built on kube's watcher alone. Each object is projected on arrival and then dropped, so memory holds only the fields that a controller
//! reads. In addition to kube's own parts, informers provide indexes, the old and the new state in every change, deletions that happened
//! while the connection was down, detection of replaced objects by UID, any number of subscribers that cannot block the watch, and a health
//! check that notices silent connections.
//!
//! ```no_run
//! # use bowline_kube::informer::InformerSpec;
//! # use k8s_openapi::api::core::v1::Node;
//! # use kube::{Api, Client};
//! # use tokio_util::sync::CancellationToken;
//! #[derive(PartialEq)]
//! struct NodeView { provider_id: Option<String> }
//!
//! # async fn doc(client: Client, cancel: CancellationToken) {
//! let (nodes, task) = InformerSpec::new("nodes", |node: Node| {
//!     Some(NodeView { provider_id: node.spec.and_then(|spec| spec.provider_id) })
//! })
//! .index("provider-id", |node| node.provider_id.clone())
//! .build(client, Api::all);
//! tokio::spawn(task.run(cancel));
//! nodes.synced().await;
//! # }
//! ```
//!
//! An informer writes nothing and decides nothing. Its cache may be stale; a caller that acts on it must verify first.

mod brackets;
mod health;
mod index;
mod intake;
mod items;
mod lines;
mod metrics;
mod object;
mod spec;
mod store;
mod subscribe;
mod transport;
mod watch;

#[cfg(test)]
mod store_tests;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{Notify, watch as progress};

pub use health::{InformerHealth, WatchFailure};
pub use metrics::InformerMetrics;
pub use object::{Incarnation, Object, ObjectKey};
pub use spec::InformerSpec;
pub use store::Snapshot;
pub use subscribe::{Change, Subscription};
pub use watch::{InformerTask, WatchSettings};

use health::Contact;
use metrics::Meter;
use store::{Delta, Store};
use subscribe::Mailbox;

/// A handle on an informer. Clones share it.
#[derive(Debug)]
pub struct Informer<P: PartialEq> {
    shared: Arc<Shared<P>>,
}

impl<P: PartialEq> Clone for Informer<P> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<P: PartialEq> Informer<P> {
    /// The informer's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// The object with this key, as last seen.
    #[must_use]
    pub fn get(&self, key: &ObjectKey) -> Option<Arc<Object<P>>> {
        self.shared.lock().store.get(key)
    }

    /// The objects that have `value` in the index `index`, sorted by key. An undeclared index yields no objects, and panics in debug
    /// builds.
    #[must_use]
    pub fn by_index(&self, index: &str, value: &str) -> Vec<Arc<Object<P>>> {
        let found = self.shared.lock().store.by_index(index, value);
        debug_assert!(found.is_some(), "informer {}: no index {index} was declared", self.shared.name);
        found.unwrap_or_default()
    }

    /// All objects at this moment. Cheap if nothing changed since the last call: the same memory is returned.
    #[must_use]
    pub fn snapshot(&self) -> Snapshot<P> {
        self.shared.lock().store.snapshot()
    }

    /// A number that grows with every change, to check whether a snapshot is still the latest.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.shared.lock().store.epoch()
    }

    /// The number of cached objects.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.lock().store.len()
    }

    /// Whether no object is cached.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Subscribes to all changes, starting with an addition for every object that exists.
    #[must_use]
    pub fn subscribe(&self) -> Subscription<P> {
        let (id, wake) = self.shared.with_mailboxes(Inner::subscribe);
        Subscription { id, wake, shared: Arc::downgrade(&self.shared) }
    }

    /// Whether a first list is complete. Before that, a missing object proves nothing.
    #[must_use]
    pub fn has_synced(&self) -> bool {
        self.shared.progress.borrow().synced()
    }

    /// Waits until the first list is complete; `false` if the informer stopped before that.
    pub async fn synced(&self) -> bool {
        let mut progress = self.shared.progress.subscribe();
        let reached = progress.wait_for(|progress| *progress != Progress::Listing).await;
        reached.is_ok_and(|progress| progress.synced())
    }

    /// The health of the cache: whether it can be relied on, and if not, why.
    #[must_use]
    pub fn health(&self) -> InformerHealth {
        let progress = *self.shared.progress.borrow();
        let notes = self.shared.contact.notes();
        InformerHealth {
            name: self.shared.name.clone(),
            synced: progress.synced(),
            stopped: matches!(progress, Progress::Stopped { .. }),
            last_contact: notes.last_contact,
            last_failure: notes.last_failure,
            failing: notes.failing,
            stale_since: notes.stale_since,
            silence_limit: self.shared.silence_limit,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    Listing,
    Watching,
    Stopped { synced: bool },
}

impl Progress {
    fn synced(self) -> bool {
        matches!(self, Self::Watching | Self::Stopped { synced: true })
    }
}

#[derive(Debug)]
struct Shared<P> {
    name: String,
    inner: Mutex<Inner<P>>,
    progress: progress::Sender<Progress>,
    contact: Arc<Contact>,
    meter: Meter,
    silence_limit: Duration,
}

/// The store and the mailboxes, under one lock: a subscription starts exactly between two changes.
#[derive(Debug)]
struct Inner<P> {
    store: Store<P>,
    subscribers: BTreeMap<u64, (Mailbox<P>, Arc<Notify>)>,
    next_subscriber: u64,
}

impl<P: PartialEq> Inner<P> {
    fn subscribe(&mut self) -> (u64, Arc<Notify>) {
        let (id, wake) = (self.next_subscriber, Arc::new(Notify::new()));
        self.next_subscriber += 1;
        self.subscribers.insert(id, (Mailbox::full_of(self.store.objects()), Arc::clone(&wake)));
        (id, wake)
    }

    fn tell(&mut self, deltas: &[Delta<P>]) {
        for (mailbox, wake) in self.subscribers.values_mut() {
            deltas.iter().for_each(|delta| mailbox.record(delta));
            wake.notify_one();
        }
    }

    fn untold(&self) -> usize {
        self.subscribers.values().map(|(mailbox, _)| mailbox.len()).sum()
    }
}

impl<P: PartialEq> Shared<P> {
    fn new(name: String, store: Store<P>, meter: Meter, silence_limit: Duration) -> Self {
        let inner = Inner { store, subscribers: BTreeMap::new(), next_subscriber: 0 };
        Self {
            name,
            inner: Mutex::new(inner),
            progress: progress::Sender::new(Progress::Listing),
            contact: Arc::new(Contact::default()),
            meter,
            silence_limit,
        }
    }

    fn apply(&self, object: Object<P>) {
        self.change(|store| store.apply(object).into_iter().collect());
    }

    fn remove(&self, key: &ObjectKey) {
        self.change(|store| store.remove(key).into_iter().collect());
    }

    fn replace(&self, listed: BTreeMap<ObjectKey, Object<P>>) {
        self.change(|store| store.replace(listed));
        self.progress.send_if_modified(|progress| {
            let first = *progress == Progress::Listing;
            if first {
                *progress = Progress::Watching;
            }
            first
        });
    }

    fn change(&self, change: impl FnOnce(&mut Store<P>) -> Vec<Delta<P>>) {
        self.with_mailboxes(|inner| {
            let deltas = change(&mut inner.store);
            if !deltas.is_empty() {
                inner.tell(&deltas);
                self.meter.objects(inner.store.len());
            }
        });
    }

    /// Runs a function that may change the mailboxes, then exports the number of undelivered changes.
    fn with_mailboxes<T>(&self, act: impl FnOnce(&mut Inner<P>) -> T) -> T {
        let mut inner = self.lock();
        let result = act(&mut inner);
        self.meter.queued(inner.untold());
        result
    }

    /// The next change for a subscriber, and whether the informer has stopped, so that no further changes will come.
    fn next_for(&self, subscriber: u64) -> (Option<Change<P>>, bool) {
        let stopped = matches!(*self.progress.borrow(), Progress::Stopped { .. });
        let change = self.with_mailboxes(|inner| inner.subscribers.get_mut(&subscriber)?.0.next());
        (change, stopped)
    }

    fn untold_for(&self, subscriber: u64) -> usize {
        self.lock().subscribers.get(&subscriber).map_or(0, |(mailbox, _)| mailbox.len())
    }

    fn unsubscribe(&self, subscriber: u64) {
        self.with_mailboxes(|inner| inner.subscribers.remove(&subscriber));
    }

    fn stop(&self) {
        self.progress.send_modify(|progress| *progress = Progress::Stopped { synced: progress.synced() });
        for (_, wake) in self.lock().subscribers.values() {
            wake.notify_one();
        }
    }

    /// Held only for map operations, never across an await.
    fn lock(&self) -> MutexGuard<'_, Inner<P>> {
        self.inner.lock()
    }
}
