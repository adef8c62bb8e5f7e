//! The groups that this process has made, or first seen, a moment ago. Neutron's lists may lag behind its answers, and behind each
//! other; whoever believes them makes a second group, and then only a person can say which is meant.

use std::collections::BTreeMap;
use std::time::Duration;

use openstack_client::SecurityGroupId;
use openstack_client::network::SecurityGroup;
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// How long a list may lag behind. Whoever deletes a group behind our back waits so long for the next one.
const LAG: Duration = Duration::from_secs(60);

/// How long it is known that this process has deleted a group: for as long as the deletion of a load balancer may take.
const KNOWN_AS_DELETED: Duration = Duration::from_secs(600);

/// How long the answer to the making of a group stands for a look at it.
const FRESH: Duration = Duration::from_secs(3);

/// The groups that were made a moment ago, by name. Times are handed in.
#[derive(Debug, Default)]
pub struct MadeGroups(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    made: BTreeMap<String, Made>,
    /// When this process deleted the groups of these names.
    deleted: BTreeMap<String, Instant>,
}

#[derive(Debug)]
struct Made {
    id: SecurityGroupId,
    at: Instant,
    /// As Neutron made it, until that was used: the next thing that is done changes it.
    untouched: Option<SecurityGroup>,
}

impl MadeGroups {
    /// A group was made.
    pub fn made(&self, name: &str, group: SecurityGroup, now: Instant) {
        let made = Made { id: group.id.clone(), at: now, untouched: Some(group) };
        self.lock().insert(name, made, now);
    }

    /// A list has shown a group: the answer to its making may have been lost, and the next list may be older.
    pub fn shown(&self, name: &str, id: &SecurityGroupId, now: Instant) {
        let mut inner = self.lock();
        if inner.made.get(name).is_none_or(|made| made.id != *id) {
            inner.insert(name, Made { id: id.clone(), at: now, untouched: None }, now);
        }
    }

    /// The group of this name as it was just made, for one look: nobody has it yet, and its rules are those of a new one.
    #[must_use]
    pub fn take_untouched(&self, name: &str, now: Instant) -> Option<SecurityGroup> {
        let mut inner = self.lock();
        let made = inner.made.get_mut(name)?;
        let untouched = made.untouched.take().filter(|group| group.rules.is_some());
        untouched.filter(|_group| now.duration_since(made.at) < FRESH)
    }

    /// A group was deleted.
    pub fn deleted(&self, id: &SecurityGroupId, now: Instant) {
        let mut inner = self.lock();
        inner.deleted.retain(|_name, at| now.duration_since(*at) < KNOWN_AS_DELETED);
        let gone = inner.made.extract_if(.., |_name, made| made.id == *id).map(|(name, _made)| (name, now));
        let gone: Vec<(String, Instant)> = gone.collect();
        inner.deleted.extend(gone);
    }

    /// Whether this process has deleted the group of this name, and has not seen another one since.
    #[must_use]
    pub fn was_deleted(&self, name: &str, now: Instant) -> bool {
        self.lock().deleted.get(name).is_some_and(|at| now.duration_since(*at) < KNOWN_AS_DELETED)
    }

    /// The group of this name, if it was made or first seen a moment ago.
    #[must_use]
    pub fn named(&self, name: &str, now: Instant) -> Option<SecurityGroupId> {
        let inner = self.lock();
        let made = inner.made.get(name)?;
        (now.duration_since(made.at) < LAG).then(|| made.id.clone())
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.0.lock()
    }
}

impl Inner {
    fn insert(&mut self, name: &str, made: Made, now: Instant) {
        self.made.retain(|_name, made| now.duration_since(made.at) < LAG);
        self.deleted.remove(name);
        self.made.insert(name.to_owned(), made);
    }
}
