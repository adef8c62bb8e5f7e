//! The groups that this process has made a moment ago. Neutron's lists may lag behind its answers; whoever believes them makes a
//! second group, and then only a person can say which is meant.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use openstack_client::SecurityGroupId;
use tokio::time::Instant;

/// How long a list may lag behind. Whoever deletes a group behind our back waits so long for the next one.
const LAG: Duration = Duration::from_secs(60);

/// The groups that were made a moment ago, by name. Times are handed in.
#[derive(Debug, Default)]
pub struct MadeGroups(Mutex<BTreeMap<String, (SecurityGroupId, Instant)>>);

impl MadeGroups {
    /// A group was made.
    pub fn made(&self, name: &str, id: SecurityGroupId, now: Instant) {
        let mut made = self.lock();
        made.retain(|_name, (_id, at)| now.duration_since(*at) < LAG);
        made.insert(name.to_owned(), (id, now));
    }

    /// A group was deleted.
    pub fn deleted(&self, id: &SecurityGroupId) {
        self.lock().retain(|_name, (made, _at)| made != id);
    }

    /// The group of this name, if it was made a moment ago.
    #[must_use]
    pub fn named(&self, name: &str, now: Instant) -> Option<SecurityGroupId> {
        let made = self.lock();
        let (id, at) = made.get(name)?;
        (now.duration_since(*at) < LAG).then(|| id.clone())
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, (SecurityGroupId, Instant)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
