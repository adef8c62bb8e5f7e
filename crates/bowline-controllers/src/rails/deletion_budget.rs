//! SR-2, the node deletion budget: nodes go a few at a time, and when many look gone at once, none goes. A cloud that
//! suddenly knows nothing of a third of the cluster is more likely to be asked with the wrong credentials than to have
//! lost it.
//!
//! A pure value. Time is handed in as what has passed since some fixed moment, so no change of the wall clock refills it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

/// The line of `/readyz?verbose` that tells whether the breaker is open.
pub const BREAKER_CHECK: &str = "node-deletion-breaker";

/// How many nodes may be deleted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DeletionLimits {
    /// At most this part of the nodes, but always one, is deleted within the window.
    pub share_percent: u8,
    /// The window.
    pub window: Duration,
    /// If more than this part (and more than one node) looks gone at once, the breaker opens.
    pub breaker_percent: u8,
    /// The breaker closes when all reads were healthy for so long.
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

/// One look at all nodes.
#[derive(Debug, Clone, Copy)]
pub struct Look<'a> {
    /// How many nodes of ours there are.
    pub nodes: usize,
    /// The UIDs of those that look gone. Whose removal was announced is not among them.
    pub gone: &'a BTreeSet<String>,
    /// Whether every question was answered.
    pub complete: bool,
}

/// The breaker turned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Turn {
    /// Too many look gone: nothing is deleted from here on.
    Opened,
    /// Reads have been healthy for long enough.
    Closed,
}

/// Why a node may not be deleted now.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Held {
    /// The breaker is open.
    BreakerOpen {
        /// So many looked gone when it opened, or at the worst look since.
        gone: usize,
        /// Of so many.
        nodes: usize,
    },
    /// The budget of the window is used up.
    BudgetSpent {
        /// So many may be deleted within the window.
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

/// What is left of the budget, and the breaker.
#[derive(Debug, Clone)]
pub struct DeletionBudget {
    limits: DeletionLimits,
    /// The most nodes there were within the window: deleting some does not shrink the budget.
    nodes: usize,
    /// When each node was deleted, by UID.
    spent: BTreeMap<String, Duration>,
    /// The nodes that look gone, by UID.
    gone: BTreeSet<String>,
    /// The nodes that somebody said are gone indeed, by UID.
    released: BTreeSet<String>,
    breaker: Breaker,
}

impl DeletionBudget {
    /// A full budget, the breaker closed.
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

    /// Takes in a look at all nodes.
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

    /// One node may always go: a cluster of two must be able to lose one.
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

    /// Whether a node that looks gone may be deleted now.
    ///
    /// # Errors
    ///
    /// Why it is [`Held`].
    pub fn judge(&self, uid: &str) -> Result<(), Held> {
        if let Breaker::Open { gone, nodes, .. } = self.breaker {
            return Err(Held::BreakerOpen { gone, nodes });
        }
        let allowed = self.allowed();
        // One that was paid for and is still there may be tried again.
        if self.spent.len() < allowed || self.spent.contains_key(uid) {
            return Ok(());
        }
        Err(Held::BudgetSpent { allowed, window: self.limits.window })
    }

    fn allowed(&self) -> usize {
        (self.nodes.saturating_mul(self.limits.share_percent.into()) / 100).max(1)
    }

    /// A node is about to be deleted.
    pub fn spend(&mut self, uid: &str, now: Duration) {
        self.spent.entry(uid.to_owned()).or_insert(now);
    }

    /// A node was not deleted after all, that is certain.
    pub fn give_back(&mut self, uid: &str) {
        self.spent.remove(uid);
    }

    /// Somebody says that what looks gone is gone: the breaker closes, and only other nodes can open it again. The budget
    /// still holds. Answers whether it was open.
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
