//! How much is remembered, and what is forgotten for it.

use std::sync::Arc;

use openstack_client::LoadBalancerId;
use openstack_client::load_balancer::LoadBalancerCreate;
use tokio::time::Instant;

use super::{AT_WORK, Entry, FRESH, Floating, Inner, Known, NEW_PORT, SEEN};
use crate::loadbalancer::found::Tree;

/// The most members of all pools that are kept: what is beyond is read when it is needed.
pub(super) const MOST_MEMBERS: usize = 20_000;

impl Entry {
    pub(super) fn members(&self) -> usize {
        let of_tree = self.tree.as_ref().map_or(0, |known| count_tree(&known.what));
        of_tree + self.body.as_ref().map_or(0, |known| count_body(&known.what))
    }
}

impl Inner {
    pub(super) fn keep_tree(&mut self, id: &LoadBalancerId, known: Known<Arc<Tree>>) {
        let members = count_tree(&known.what);
        if self.make_room(members) {
            self.entries.entry(id.clone()).or_default().tree = Some(known);
            self.members += members;
        }
    }

    pub(super) fn keep_body(&mut self, id: &LoadBalancerId, known: Known<Arc<LoadBalancerCreate>>) {
        let members = count_body(&known.what);
        if self.make_room(members) {
            self.entries.entry(id.clone()).or_default().body = Some(known);
            self.members += members;
        }
    }

    /// Forgets what is the longest known until there is room.
    fn make_room(&mut self, members: usize) -> bool {
        if members > MOST_MEMBERS {
            return false;
        }
        if self.members + members > MOST_MEMBERS {
            let mut known: Vec<_> =
                self.entries.iter().map(|(id, entry)| (entry.checked_at, id.clone())).collect();
            known.sort();
            for (_at, id) in known {
                if self.members + members <= MOST_MEMBERS / 2 {
                    break;
                }
                if let Some(entry) = self.entries.get_mut(&id) {
                    let count = entry.members();
                    (entry.tree, entry.body) = (None, None);
                    self.members = self.members.saturating_sub(count);
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
        self.ports.retain(|_port, floating| match floating {
            Floating::None(since) => now.duration_since(*since) < NEW_PORT,
            Floating::Just(_floating, at) => now.duration_since(*at) < FRESH,
            Floating::Read(_floating, at) => now.duration_since(*at) < AT_WORK,
        });
    }

    /// Forgets what hangs on a load balancer.
    pub(super) fn unlearn(&mut self, id: &LoadBalancerId) {
        let Some(entry) = self.entries.get_mut(id) else { return };
        let count = entry.members();
        (entry.tree, entry.body, entry.fingerprint, entry.checked_at) = (None, None, None, None);
        self.members = self.members.saturating_sub(count);
    }
}

fn count_tree(tree: &Tree) -> usize {
    1 + tree.listeners.len() + tree.pools.iter().map(|found| 1 + found.members.len()).sum::<usize>()
}

fn count_body(body: &LoadBalancerCreate) -> usize {
    let pools = body.listeners.iter().filter_map(|listener| listener.default_pool.as_ref());
    1 + body.listeners.len() + pools.map(|pool| 1 + pool.members.len()).sum::<usize>()
}
