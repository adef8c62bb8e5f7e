//! How fresh an answer has to be, and how much of it is wanted. Whoever asks about the same Node again and again, as is done for Nodes that are not
//! Ready, is told the same for a growing while: a Node that stays so costs next to nothing, and one that just became so
//! is looked at soon. Times are handed in.

use std::collections::BTreeMap;
use std::time::Duration;

use bowline_cloud::{Evidence, Instance, NodeView};
use parking_lot::{Mutex, MutexGuard};
use tokio::time::Instant;

/// No answer is older, whatever was asked before.
pub(super) const OLDEST: Duration = Duration::from_secs(300);

/// A Node that nobody asked about for so long is asked about anew.
const FORGET: Duration = Duration::from_secs(120);

/// A Node by its name and its provider ID: with another one it is another machine.
type Key = (String, Option<String>);

/// What was asked lately.
#[derive(Debug, Default)]
pub(super) struct Attention(Mutex<BTreeMap<Key, Interest>>);

/// How one Node was asked about, and what was read for it alone.
#[derive(Debug, Clone)]
pub(super) struct Interest {
    since: Instant,
    asked: Instant,
    reading: Option<Reading>,
}

/// What was read for a Node alone.
#[derive(Debug, Clone)]
pub(super) struct Reading {
    pub(super) at: Instant,
    pub(super) found: Evidence<Instance>,
    /// Whether all of it was read. Else only that it is there and whether it runs, and nothing about addresses and type.
    pub(super) is_whole: bool,
    /// What Nova said, if it was asked for the server by its id and said that there is none.
    pub(super) denial: Option<String>,
}

/// How much of a machine somebody wants to know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Whether it is there, and whether it runs.
    Presence,
    /// All that it tells of its Node.
    Everything,
}

impl Interest {
    /// How old an answer may be: half as old as the question, so that the time until a change is seen grows with the time
    /// that there was none.
    pub(super) fn may_be_old(&self, at_least: Duration) -> Duration {
        (self.asked.saturating_duration_since(self.since) / 2).max(at_least).min(OLDEST)
    }

    /// What was read for it alone, if that is newer than `begun` and enough.
    pub(super) fn newer_than(&self, begun: Instant, need: Need) -> Option<&Reading> {
        let is_enough = |reading: &&Reading| reading.is_whole || need == Need::Presence;
        self.reading.as_ref().filter(|reading| reading.at > begun).filter(is_enough)
    }
}

impl Attention {
    /// Keeps in mind that these are asked about now, and tells of each what is known, in order.
    pub(super) fn asked<'a>(&self, nodes: impl Iterator<Item = &'a NodeView>, now: Instant) -> Vec<Interest> {
        let mut interests = self.lock();
        interests.retain(|_, interest| now.saturating_duration_since(interest.asked) < FORGET);
        let ask = |node: &NodeView| {
            let fresh = || Interest { since: now, asked: now, reading: None };
            let interest = interests.entry(key(node)).or_insert_with(fresh);
            interest.asked = now;
            interest.clone()
        };
        nodes.map(ask).collect()
    }

    /// Keeps in mind what was read for a Node alone.
    pub(super) fn read(&self, node: &NodeView, reading: Reading) {
        if let Some(interest) = self.lock().get_mut(&key(node)) {
            interest.reading = Some(reading);
        }
    }

    /// What Nova said, if it was last asked for a Node's server by its id, after `since`, and said that there is none.
    pub(super) fn denial(&self, node: &NodeView, since: Instant) -> Option<String> {
        let interests = self.lock();
        let reading = interests.get(&key(node))?.reading.as_ref()?;
        reading.denial.clone().filter(|_| reading.at >= since)
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<Key, Interest>> {
        self.0.lock()
    }
}

fn key(node: &NodeView) -> Key {
    (node.name.to_string(), node.provider_id.as_ref().map(ToString::to_string))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::instances::simulation::node;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn the_longer_the_same_is_asked_the_older_may_the_answer_be_and_after_a_pause_it_is_asked_anew() {
        let (attention, begun) = (Attention::default(), Instant::now());
        let node = node("a", None);
        let ages: Vec<u64> = [0, 5, 100, 200, 300, 400, 500, 600, 700, 900]
            .into_iter()
            .map(|at| {
                let asked = attention.asked([&node].into_iter(), begun + seconds(at));
                asked[0].may_be_old(seconds(10)).as_secs()
            })
            .collect();
        assert_eq!(ages, [10, 10, 50, 100, 150, 200, 250, 300, 300, 10]);
    }

    #[test]
    fn what_was_read_counts_for_the_node_with_that_provider_id_alone() {
        let (attention, begun) = (Attention::default(), Instant::now());
        let (plain, named) = (node("a", None), node("a", Some("openstack:///1")));
        attention.asked([&plain, &named].into_iter(), begun);
        let found = Evidence::Present(Instance::default());
        attention.read(&named, reading(begun + seconds(1), &found));
        let again = attention.asked([&plain, &named].into_iter(), begun + seconds(2));
        let newer = |place: usize, than| again[place].newer_than(than, Need::Everything);
        assert!(newer(0, begun).is_none());
        assert_eq!(newer(1, begun).map(|reading| &reading.found), Some(&found));
        assert!(newer(1, begun + seconds(1)).is_none(), "the snapshot is as new");
    }

    #[test]
    fn who_wants_to_know_all_is_not_told_what_was_read_for_somebody_who_did_not() {
        let (attention, begun, node) = (Attention::default(), Instant::now(), node("a", None));
        attention.asked([&node].into_iter(), begun);
        let found = Evidence::Present(Instance::default());
        attention.read(&node, Reading { is_whole: false, ..reading(begun + seconds(1), &found) });
        let asked = attention.asked([&node].into_iter(), begun + seconds(2));
        assert!(asked[0].newer_than(begun, Need::Presence).is_some());
        assert!(asked[0].newer_than(begun, Need::Everything).is_none());
    }

    #[test]
    fn only_the_last_word_about_a_server_can_be_a_denial() {
        let (attention, begun, node) = (Attention::default(), Instant::now(), node("a", None));
        attention.asked([&node].into_iter(), begun);
        let missing = Evidence::Unknown(bowline_cloud::Doubt::new("404"));
        let denial = Some("404".to_owned());
        attention.read(&node, Reading { denial: denial.clone(), ..reading(begun + seconds(5), &missing) });
        assert_eq!(attention.denial(&node, begun), denial);
        assert_eq!(attention.denial(&node, begun + seconds(6)), None, "too long ago");
        attention.read(&node, reading(begun + seconds(7), &Evidence::Present(Instance::default())));
        assert_eq!(attention.denial(&node, begun), None);
    }

    fn reading(at: Instant, found: &Evidence<Instance>) -> Reading {
        Reading { at, found: found.clone(), is_whole: true, denial: None }
    }
}
