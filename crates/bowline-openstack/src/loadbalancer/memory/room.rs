//! How much is remembered, and what is forgotten for it.

use std::sync::Arc;

use openstack_client::LoadBalancerId;
use tokio::time::Instant;

use super::sent::Sent;
use super::{Entry, Inner, Known, Memory, SEEN};
use crate::loadbalancer::found::Tree;
use crate::loadbalancer::members::FoundMembers;

/// The most listeners, pools, and members that no list shares, that are kept: what is beyond is read when it is needed. Each takes
/// about half a kilobyte.
pub(super) const MOST_PARTS: usize = 20_000;

/// The most members of the lists that pools share. All pools mostly have one list, and some more while Nodes come and go; where
/// each Service selects Nodes of its own it is as many as all of them have. Each takes about a hundred bytes.
const MOST_BACKENDS: usize = 100_000;

impl Entry {
    pub(super) fn parts(&self) -> usize {
        let of_tree = self.tree.as_ref().map_or(0, |known| count_tree(&known.what));
        of_tree + self.sent.as_ref().map_or(0, |known| count_sent(&known.what))
    }
}

impl Memory {
    /// Forgets all that hangs on load balancers if the lists of their members are too many: they are read again.
    pub(super) fn keep_lists_few(&self) {
        if self.rosters.backends() <= MOST_BACKENDS {
            return;
        }
        let mut inner = self.lock();
        inner.entries.values_mut().for_each(|entry| (entry.tree, entry.sent) = (None, None));
        inner.parts = 0;
    }
}

impl Inner {
    pub(super) fn keep_tree(&mut self, id: &LoadBalancerId, known: Known<Arc<Tree>>) {
        let parts = count_tree(&known.what);
        if self.make_room(parts) {
            self.entries.entry(id.clone()).or_default().tree = Some(known);
            self.parts += parts;
        }
    }

    pub(super) fn keep_sent(&mut self, id: &LoadBalancerId, known: Known<Arc<Sent>>) {
        let parts = count_sent(&known.what);
        if self.make_room(parts) {
            self.entries.entry(id.clone()).or_default().sent = Some(known);
            self.parts += parts;
        }
    }

    /// Forgets what is the longest known until there is room.
    fn make_room(&mut self, parts: usize) -> bool {
        if parts > MOST_PARTS {
            return false;
        }
        if self.parts + parts > MOST_PARTS {
            let mut known: Vec<_> =
                self.entries.iter().map(|(id, entry)| (entry.checked_at, id.clone())).collect();
            known.sort();
            for (_at, id) in known {
                if self.parts + parts <= MOST_PARTS / 2 {
                    break;
                }
                if let Some(entry) = self.entries.get_mut(&id) {
                    let count = entry.parts();
                    (entry.tree, entry.sent) = (None, None);
                    self.parts = self.parts.saturating_sub(count);
                }
            }
        }
        true
    }

    /// Forgets what was kept for a moment only.
    pub(super) fn sweep(&mut self, now: Instant) {
        if self.swept.is_some_and(|at| now.duration_since(at) < SEEN) {
            return;
        }
        self.swept = Some(now);
        for entry in self.entries.values_mut() {
            entry.seen = entry.seen.take().filter(|(_seen, at)| now.duration_since(*at) < SEEN);
        }
        self.fulfilled.sweep(now);
        self.ports.retain(|_port, floating| floating.is_of_use(now));
    }

    /// Forgets what hangs on a load balancer, and believes no note of it until it is read.
    pub(super) fn doubt(&mut self, id: &LoadBalancerId) {
        self.unlearn(id);
        if let Some(entry) = self.entries.get_mut(id) {
            entry.doubted = true;
        }
    }

    /// Forgets what hangs on a load balancer.
    pub(super) fn unlearn(&mut self, id: &LoadBalancerId) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let count = entry.parts();
        (entry.tree, entry.sent, entry.fingerprint, entry.checked_at) = (None, None, None, None);
        self.parts = self.parts.saturating_sub(count);
    }
}

fn count_tree(tree: &Tree) -> usize {
    let single = |members: &FoundMembers| match members {
        FoundMembers::Read(read) => read.len(),
        FoundMembers::Sent(_list) => 0,
    };
    1 + tree.listeners.len() + tree.pools.iter().map(|found| 1 + single(&found.members)).sum::<usize>()
}

fn count_sent(sent: &Sent) -> usize {
    1 + sent.single_members()
}
