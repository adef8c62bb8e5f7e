//! The groups that this process has made, or first seen, a moment ago. Neutron's lists may lag behind its answers, and behind each
//! other; whoever believes them makes a second group, and then only a person can say which is meant.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openstack_client::SecurityGroupId;
use openstack_client::network::SecurityGroup;
use tokio::time::Instant;

/// How long a list may lag behind. Whoever deletes a group behind our back waits so long for the next one.
const LAG: Duration = Duration::from_secs(60);

/// How long the answer to the making of a group stands for a look at it.
const FRESH: Duration = Duration::from_secs(3);

/// The groups that were made a moment ago, by name. Times are handed in.
#[derive(Debug, Default)]
pub struct MadeGroups(Mutex<BTreeMap<String, Made>>);

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
        let mut made = self.lock();
        made.retain(|_name, made| now.duration_since(made.at) < LAG);
        made.insert(name.to_owned(), Made { id: group.id.clone(), at: now, untouched: Some(group) });
    }

    /// A list has shown a group: the answer to its making may have been lost, and the next list may be older.
    pub fn shown(&self, name: &str, id: &SecurityGroupId, now: Instant) {
        let mut made = self.lock();
        if made.get(name).is_none_or(|made| made.id != *id) {
            made.retain(|_name, made| now.duration_since(made.at) < LAG);
            made.insert(name.to_owned(), Made { id: id.clone(), at: now, untouched: None });
        }
    }

    /// The group of this name as it was just made, for one look: nobody has it yet, and its rules are those of a new one.
    #[must_use]
    pub fn take_untouched(&self, name: &str, now: Instant) -> Option<SecurityGroup> {
        let mut made = self.lock();
        let made = made.get_mut(name)?;
        let untouched = made.untouched.take().filter(|group| group.rules.is_some());
        untouched.filter(|_group| now.duration_since(made.at) < FRESH)
    }

    /// A group was deleted.
    pub fn deleted(&self, id: &SecurityGroupId) {
        self.lock().retain(|_name, made| made.id != *id);
    }

    /// The group of this name, if it was made or first seen a moment ago.
    #[must_use]
    pub fn named(&self, name: &str, now: Instant) -> Option<SecurityGroupId> {
        let made = self.lock();
        let made = made.get(name)?;
        (now.duration_since(made.at) < LAG).then(|| made.id.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Made>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
