//! What is done to the connection of one process with the API server, as a value that others set and the proxy obeys.
//!
//! Only what a real API server, or what is between, can do: a watch comes late as a whole, breaks, or is refused as too old; requests
//! are refused for a while. Events of one watch never change their order, and none is left out while later ones come: what is not seen
//! is not seen because a new list came in between. One thing is worse than real: [`Disturbance::travel`] answers a consistent list
//! from the past.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep_until};

/// What is watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Nodes.
    Nodes,
    /// Services.
    Services,
}

impl Kind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Nodes, Self::Services];

    /// The kind of a path of the API.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        match path.trim_end_matches('/').rsplit('/').next() {
            Some("nodes") => Some(Self::Nodes),
            Some("services") => Some(Self::Services),
            _ => None,
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nodes => "Nodes",
            Self::Services => "Services",
        })
    }
}

#[derive(Debug, Default)]
struct Wanted {
    held: BTreeMap<Kind, Instant>,
    too_old: BTreeSet<Kind>,
    down_until: Option<Instant>,
    past: Option<String>,
    has_travelled: BTreeSet<Kind>,
}

/// What is done to one process.
#[derive(Debug)]
pub struct Disturbance {
    wanted: Mutex<Wanted>,
    cuts: watch::Sender<BTreeMap<Kind, u64>>,
}

impl Default for Disturbance {
    fn default() -> Self {
        Self { wanted: Mutex::default(), cuts: watch::Sender::new(BTreeMap::new()) }
    }
}

impl Disturbance {
    fn wanted(&self) -> MutexGuard<'_, Wanted> {
        self.wanted.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The watch of a kind shows nothing for so long; then everything, in order.
    pub fn hold(&self, kind: Kind, duration: Duration) {
        self.wanted().held.insert(kind, Instant::now() + duration);
    }

    /// The connection of a watch breaks; with it goes what was held.
    pub fn cut(&self, kind: Kind) {
        self.cuts.send_modify(|cuts| *cuts.entry(kind).or_default() += 1);
    }

    /// A watch breaks, and is refused as too old when it comes back: what happened since is only seen as its result.
    pub fn forget(&self, kind: Kind) {
        self.wanted().too_old.insert(kind);
        self.wanted().held.remove(&kind);
        self.cut(kind);
    }

    /// Everything is refused for so long, and watches break.
    pub fn brown_out(&self, duration: Duration) {
        self.wanted().down_until = Some(Instant::now() + duration);
        for kind in Kind::ALL {
            self.cut(kind);
        }
    }

    /// The next list of each kind shows the past, and watches go on from there.
    pub fn travel(&self, version: &str) {
        let mut wanted = self.wanted();
        wanted.past = Some(version.to_owned());
        wanted.has_travelled.clear();
    }

    /// Nothing is disturbed any more.
    pub fn end(&self) {
        *self.wanted() = Wanted::default();
    }

    /// Whether requests are refused.
    #[must_use]
    pub fn is_down(&self) -> bool {
        self.wanted().down_until.is_some_and(|until| Instant::now() < until)
    }

    /// The version that a list of this kind is to show, if it is to show the past. Once for each kind.
    #[must_use]
    pub fn past(&self, kind: Kind) -> Option<String> {
        let mut wanted = self.wanted();
        let past = wanted.past.clone()?;
        wanted.has_travelled.insert(kind).then_some(past)
    }

    /// Whether a watch of this kind is to be refused as too old. Once.
    #[must_use]
    pub fn is_too_old(&self, kind: Kind) -> bool {
        self.wanted().too_old.remove(&kind)
    }

    /// Waits until nothing of this kind is held back.
    pub async fn until_shown(&self, kind: Kind) {
        loop {
            let until = self.wanted().held.get(&kind).copied().filter(|until| *until > Instant::now());
            let Some(until) = until else { return };
            // In small steps, because all of it may be over sooner.
            sleep_until(until.min(Instant::now() + Duration::from_millis(20))).await;
        }
    }

    /// Waits until the watches of this kind that are there now break.
    pub async fn until_cut(&self, kind: Kind) {
        let mut cuts = self.cuts.subscribe();
        let now = cuts.borrow_and_update().get(&kind).copied();
        // The sender is in `self`.
        cuts.wait_for(|cuts| cuts.get(&kind).copied() != now).await.ok();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_says_what_it_lists() {
        assert_eq!(Kind::of("/api/v1/nodes"), Some(Kind::Nodes));
        assert_eq!(Kind::of("/api/v1/services"), Some(Kind::Services));
        assert_eq!(Kind::of("/apis/coordination.k8s.io/v1/namespaces/kube-system/leases"), None);
    }

    #[tokio::test(start_paused = true)]
    async fn what_is_held_comes_when_its_time_is_over_or_the_disturbance_ends() {
        let disturbance = Disturbance::default();
        disturbance.hold(Kind::Nodes, Duration::from_secs(5));
        let began = Instant::now();
        disturbance.until_shown(Kind::Services).await;
        assert_eq!(began.elapsed(), Duration::ZERO);
        disturbance.until_shown(Kind::Nodes).await;
        assert!(began.elapsed() >= Duration::from_secs(5));
        disturbance.hold(Kind::Nodes, Duration::from_secs(500));
        disturbance.end();
        disturbance.until_shown(Kind::Nodes).await;
        assert!(began.elapsed() < Duration::from_secs(10));
    }

    #[test]
    fn the_past_is_shown_once_for_each_kind() {
        let disturbance = Disturbance::default();
        disturbance.travel("17");
        assert_eq!(disturbance.past(Kind::Nodes).as_deref(), Some("17"));
        assert_eq!(disturbance.past(Kind::Nodes), None);
        assert_eq!(disturbance.past(Kind::Services).as_deref(), Some("17"));
    }
}
