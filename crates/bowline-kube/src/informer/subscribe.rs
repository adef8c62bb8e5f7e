//! Subscribers: each has a mailbox that holds, for each key with pending changes, the object it last received and the current one.
//!
//! A queue of events would either block the watch or grow without limit when a subscriber is slow. A mailbox does neither: changes of one
//! key merge into one, so it never holds more than the objects that its subscriber knows plus those that exist. Merging loses only
//! intermediate states; a subscriber that keeps up sees every step.

use std::collections::BTreeMap;
use std::sync::{Arc, Weak};

use tokio::sync::Notify;

use super::store::Delta;
use super::{Object, ObjectKey, Shared};

/// One change of one object, as delivered to one subscriber.
#[derive(Debug)]
pub enum Change<P> {
    /// An object that this subscriber does not know.
    Added {
        /// The current state.
        new: Arc<Object<P>>,
    },
    /// The same object (the same UID) has a different projection.
    Updated {
        /// The state that this subscriber last received.
        old: Arc<Object<P>>,
        /// The current state.
        new: Arc<Object<P>>,
    },
    /// The object was deleted, or no longer has a projection.
    Deleted {
        /// The state that this subscriber last received.
        old: Arc<Object<P>>,
    },
}

impl<P> Change<P> {
    /// The key of the object that changed.
    #[must_use]
    pub fn key(&self) -> &ObjectKey {
        match self {
            Self::Added { new } | Self::Updated { new, .. } => &new.key,
            Self::Deleted { old } => &old.key,
        }
    }
}

/// The changes that one subscriber has not received yet.
#[derive(Debug)]
pub(super) struct Mailbox<P> {
    untold: BTreeMap<ObjectKey, Untold<P>>,
    /// Keys in the order of their first pending change.
    order: BTreeMap<u64, ObjectKey>,
    next_seq: u64,
}

#[derive(Debug)]
struct Untold<P> {
    seq: u64,
    told: Option<Arc<Object<P>>>,
    current: Option<Arc<Object<P>>>,
}

impl<P: PartialEq> Untold<P> {
    /// Whether the current state equals what the subscriber last received.
    fn is_settled(&self) -> bool {
        match (&self.told, &self.current) {
            (None, None) => true,
            (Some(told), Some(current)) => told.looks_like(current),
            _ => false,
        }
    }
}

impl<P: PartialEq> Mailbox<P> {
    /// The mailbox of a new subscriber: an addition for every object that exists.
    pub(super) fn full_of<'a>(objects: impl Iterator<Item = &'a Arc<Object<P>>>) -> Self
    where
        P: 'a,
    {
        let mut mailbox = Self { untold: BTreeMap::new(), order: BTreeMap::new(), next_seq: 0 };
        for object in objects {
            mailbox.begin(object.key.clone(), None, Some(Arc::clone(object)));
        }
        mailbox
    }

    pub(super) fn record(&mut self, delta: &Delta<P>) {
        let Some(untold) = self.untold.get_mut(&delta.key) else {
            return self.begin(delta.key.clone(), delta.old.clone(), delta.new.clone());
        };
        untold.current.clone_from(&delta.new);
        if untold.is_settled() {
            let seq = untold.seq;
            self.order.remove(&seq);
            self.untold.remove(&delta.key);
        }
    }

    /// The next change to deliver. If the object was replaced by another one of the same name, a deletion and then an addition.
    pub(super) fn next(&mut self) -> Option<Change<P>> {
        let (&seq, key) = self.order.first_key_value()?;
        let untold = self.untold.get_mut(key)?;
        let change = match (untold.told.take(), untold.current.clone()) {
            (Some(old), Some(new)) if old.incarnation != new.incarnation => {
                return Some(Change::Deleted { old });
            }
            (Some(old), Some(new)) => Some(Change::Updated { old, new }),
            (None, Some(new)) => Some(Change::Added { new }),
            (Some(old), None) => Some(Change::Deleted { old }),
            (None, None) => None,
        };
        self.untold.remove(key);
        self.order.remove(&seq);
        change
    }

    pub(super) fn len(&self) -> usize {
        self.untold.len()
    }

    fn begin(&mut self, key: ObjectKey, told: Option<Arc<Object<P>>>, current: Option<Arc<Object<P>>>) {
        let seq = self.next_seq;
        self.next_seq += 1;
        self.order.insert(seq, key.clone());
        self.untold.insert(key, Untold { seq, told, current });
    }
}

/// A stream of changes for one subscriber. It starts with every object that exists; changes are neither lost nor duplicated.
///
/// Dropping it unsubscribes.
#[derive(Debug)]
pub struct Subscription<P: PartialEq> {
    pub(super) id: u64,
    pub(super) wake: Arc<Notify>,
    /// Weak, so that a forgotten subscription does not keep a store alive.
    pub(super) shared: Weak<Shared<P>>,
}

impl<P: PartialEq> Subscription<P> {
    /// Waits for the next change; `None` once the informer has stopped and every change was delivered. Dropping this future is safe.
    pub async fn next(&mut self) -> Option<Change<P>> {
        loop {
            let shared = self.shared.upgrade()?;
            let (change, stopped) = shared.next_for(self.id);
            if change.is_some() || stopped {
                return change;
            }
            drop(shared);
            // A change that arrives before this line stores a permit, so the wake-up is not missed.
            self.wake.notified().await;
        }
    }

    /// The next change, if one is pending.
    pub fn try_next(&mut self) -> Option<Change<P>> {
        self.shared.upgrade()?.next_for(self.id).0
    }

    /// The number of keys with changes that this subscriber has not received yet.
    #[must_use]
    pub fn untold(&self) -> usize {
        self.shared.upgrade().map_or(0, |shared| shared.untold_for(self.id))
    }
}

impl<P: PartialEq> Drop for Subscription<P> {
    fn drop(&mut self) {
        if let Some(shared) = self.shared.upgrade() {
            shared.unsubscribe(self.id);
        }
    }
}
