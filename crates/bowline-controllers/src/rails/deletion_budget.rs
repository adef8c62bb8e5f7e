//! SR-2, the node deletion budget: a few Nodes are deleted per window, and none if many seem gone at once. A cloud that suddenly reports no
//! machine for a third of the Nodes is more likely queried with the wrong credentials than to have lost them.
//!
//! A pure value. Callers pass the time since some fixed moment, so changes of the wall clock do not refill the budget.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// The check of `/readyz?verbose` that reports whether the breaker is open.
pub const BREAKER_CHECK: &str = "node-deletion-breaker";

/// How many nodes may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletionLimits {
    /// The share of the Nodes, in percent, that may be deleted within the window; at least one Node.
    pub share_percent: u8,
    /// The window.
    pub window: Duration,
    /// The breaker opens if more than this share of the Nodes, in percent, and more than one Node seem gone at once.
    pub breaker_percent: u8,
    /// The breaker closes after all reads were successful for this long.
    pub healthy_for: Duration,
}

impl Default for DeletionLimits {
    fn default() -> Self {
        Self {
            share_percent: 10,
            window: Duration::from_secs(600),
            breaker_percent: 33,
            healthy_for: Duration::from_secs(60),
        }
    }
}

/// One observation of all Nodes.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// The number of Nodes of this cloud.
    pub nodes: usize,
    /// The UIDs of the Nodes that seem gone, without Nodes whose removal was announced.
    pub gone: &'a BTreeSet<String>,
    /// Whether the cloud answered for every Node.
    pub complete: bool,
}

/// The breaker changed its state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Too many Nodes seem gone: from now on none is deleted.
    Opened,
    /// Reads have been successful for long enough.
    Closed,
}

/// Why a node may not be deleted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The breaker is open.
    BreakerOpen {
        /// How many Nodes seemed gone at the last observation that had too many.
        gone: usize,
        /// The number of Nodes at that observation.
        nodes: usize,
    },
    /// The budget of the window is used up.
    BudgetSpent {
        /// How many Nodes may be deleted within the window.
        allowed: usize,
        /// The window.
        window: Duration,
    },
}

impl fmt::Display for Held {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BreakerOpen { gone, nodes } => write!(
                f,
                "{gone} of {nodes} nodes seem gone at once, so none is deleted; check the cloud's credentials and \
                 project. If they are gone indeed, reset the breaker or annotate the nodes"
            ),
            Self::BudgetSpent { allowed, window } => write!(
                f,
                "at most {allowed} of the nodes may be deleted within {window:?}; it goes when its turn comes, or at \
                 once if annotated"
            ),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Breaker {
    Closed,
    Open { gone: usize, nodes: usize, healthy_since: Option<Duration> },
}

/// The deletions of the current window, and the breaker.
#[derive(Debug, Clone)]
pub struct DeletionBudget {
    limits: DeletionLimits,
    /// The highest number of Nodes within the window, so deletions do not shrink the budget.
    nodes: usize,
    /// When each node was deleted, by UID.
    spent: BTreeMap<String, Duration>,
    /// The UIDs of the Nodes that seem gone and were not released.
    gone: BTreeSet<String>,
    /// The UIDs of the Nodes that an administrator released with [`DeletionBudget::reset`].
    released: BTreeSet<String>,
    breaker: Breaker,
}

impl DeletionBudget {
    /// A full budget with the breaker closed.
    #[must_use]
    pub fn new(limits: DeletionLimits) -> Self {
        Self {
            limits,
            nodes: 0,
            spent: BTreeMap::new(),
            gone: BTreeSet::new(),
            released: BTreeSet::new(),
            breaker: Breaker::Closed,
        }
    }

    /// Records an observation of all Nodes. Returns the new state of the breaker if it changed.
    pub fn look(&mut self, look: &Look<'_>, now: Duration) -> Option<Turn> {
        let window = self.limits.window;
        self.spent.retain(|_uid, at| now.saturating_sub(*at) < window);
        self.nodes = if self.spent.is_empty() { look.nodes } else { self.nodes.max(look.nodes) };
        self.released.retain(|uid| look.gone.contains(uid));
        self.gone = look.gone.difference(&self.released).cloned().collect();
        if self.too_many(look.nodes) {
            return self.open(look.nodes);
        }
        self.calm(look.complete, now)
    }

    /// A single Node never opens the breaker: a cluster of two must be able to lose one.
    fn too_many(&self, nodes: usize) -> bool {
        let limit = nodes.saturating_mul(self.limits.breaker_percent.into());
        self.gone.len() > 1 && self.gone.len().saturating_mul(100) > limit
    }

    fn open(&mut self, nodes: usize) -> Option<Turn> {
        let was = std::mem::replace(
            &mut self.breaker,
            Breaker::Open { gone: self.gone.len(), nodes, healthy_since: None },
        );
        (was == Breaker::Closed).then_some(Turn::Opened)
    }

    fn calm(&mut self, complete: bool, now: Duration) -> Option<Turn> {
        let Breaker::Open { healthy_since, .. } = &mut self.breaker else { return None };
        if !complete {
            *healthy_since = None;
            return None;
        }
        let since = *healthy_since.get_or_insert(now);
        if now.saturating_sub(since) < self.limits.healthy_for {
            return None;
        }
        self.breaker = Breaker::Closed;
        Some(Turn::Closed)
    }

    /// Checks whether a Node that seems gone may be deleted now.
    ///
    /// # Errors
    ///
    /// [`Held`] with the reason.
    pub fn judge(&self, uid: &str) -> Result<(), Held> {
        if let Breaker::Open { gone, nodes, .. } = self.breaker {
            return Err(Held::BreakerOpen { gone, nodes });
        }
        let allowed = self.allowed();
        // A Node that was already counted and still exists may be tried again.
        if self.spent.len() < allowed || self.spent.contains_key(uid) {
            return Ok(());
        }
        Err(Held::BudgetSpent { allowed, window: self.limits.window })
    }

    fn allowed(&self) -> usize {
        (self.nodes.saturating_mul(self.limits.share_percent.into()) / 100).max(1)
    }

    /// Counts a Node that is about to be deleted.
    pub fn spend(&mut self, uid: &str, now: Duration) {
        self.spent.entry(uid.to_owned()).or_insert(now);
    }

    /// Returns the budget of a Node that was certainly not deleted.
    pub fn give_back(&mut self, uid: &str) {
        self.spent.remove(uid);
    }

    /// An administrator confirms that the Nodes that seem gone are gone: the breaker closes, and only other Nodes can open it again. The
    /// budget still applies. Returns whether the breaker was open.
    pub fn reset(&mut self) -> bool {
        self.released.append(&mut self.gone);
        std::mem::replace(&mut self.breaker, Breaker::Closed) != Breaker::Closed
    }

    /// Whether the breaker is open.
    #[must_use]
    pub fn is_open(&self) -> bool {
        self.breaker != Breaker::Closed
    }
}

#[cfg(test)]
mod tests;
