//! When the cloud is asked about Nodes that wait to be initialised. Pure: time is handed in.
//!
//! A look-up costs the same for one Node and for many, and Nodes join in bursts. The first is looked up at once; as long as more keep
//! coming, they are gathered until none came for a while, which is longer the longer the burst lasts. Nobody waits longer than a
//! limit, so that a burst costs a look-up for every few seconds of it, and not one for every Node. One that was looked up and is asked
//! about again, because it was not found or could not be written, has its own pauses, and is neither kept waiting nor a part of it.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_kube::informer::ObjectKey;
use tokio::time::Instant;

/// How long no further Node must have come before the second look-up of a burst, the third, and so on. The first of them are shorter
/// than the service controller waits for the last of a burst (a second): what it waits for is there when it goes on.
const LULLS: [Duration; 3] = [Duration::from_millis(500), Duration::from_millis(500), Duration::from_secs(2)];

/// The same for all that follow.
const LONGEST_LULL: Duration = Duration::from_secs(4);

/// Nobody waits longer for others.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A burst is over when nothing was looked up for this long.
const BURST_ENDS: Duration = Duration::from_secs(10);

/// Who waits, and how the burst went so far. Bounded by the Nodes of a burst.
#[derive(Debug, Default)]
pub(super) struct Pace {
    waiting: BTreeSet<ObjectKey>,
    /// Since when the first of them waits, and when they are looked up.
    due: Option<(Instant, Instant)>,
    /// How many look-ups the burst has had, when the last was, and of whom.
    looks: usize,
    last_look: Option<Instant>,
    looked_up: BTreeSet<ObjectKey>,
}

impl Pace {
    /// Whether these are looked up now, or after how long they should be asked about again.
    pub(super) fn judge<'a>(
        &mut self,
        keys: impl IntoIterator<Item = &'a ObjectKey>,
        now: Instant,
    ) -> Result<(), Duration> {
        let is_over = |last: Instant| now.saturating_duration_since(last) >= BURST_ENDS;
        if self.last_look.is_none_or(is_over) {
            self.looks = 0;
            self.looked_up.clear();
        }
        let (mut somebody_waits, mut somebody_new) = (false, false);
        for key in keys {
            if !self.looked_up.contains(key) {
                somebody_waits = true;
                somebody_new |= self.waiting.insert(key.clone());
            }
        }
        if !somebody_waits {
            return Ok(());
        }
        if let Some(lull) = self.lull() {
            let (since, due) = self.due.unwrap_or((now, now));
            let due = if somebody_new { (now + lull).min(since + LONGEST_WAIT) } else { due };
            self.due = Some((since, due));
            if due > now {
                return Err(due - now);
            }
        }
        self.looked_up.append(&mut self.waiting);
        self.due = None;
        self.looks = self.looks.saturating_add(1);
        self.last_look = Some(now);
        Ok(())
    }

    /// None for the first look-up of a burst.
    fn lull(&self) -> Option<Duration> {
        let place = self.looks.checked_sub(1)?;
        Some(LULLS.get(place).copied().unwrap_or(LONGEST_LULL))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// When Nodes that join at these milliseconds are looked up, each asking again when it was told to.
    fn looks(joins: impl IntoIterator<Item = u64>) -> Vec<u64> {
        let (start, mut pace, mut looks) = (Instant::now(), Pace::default(), Vec::new());
        let mut asks: BTreeSet<(u64, u64)> = joins.into_iter().zip(0..).collect();
        while let Some((at, node)) = asks.pop_first() {
            let key = ObjectKey::cluster(&format!("n{node}"));
            let now = start + Duration::from_millis(at);
            match pace.judge([&key], now) {
                Err(wait) => {
                    asks.insert((at + u64::try_from(wait.as_millis()).unwrap(), node));
                }
                // Whoever is due at this moment is in the same batch.
                Ok(()) => {
                    let together = |ask: &(u64, u64)| ask.0 == at;
                    asks.retain(|ask| !together(ask));
                    looks.push(at);
                }
            }
        }
        looks
    }

    #[test]
    fn a_node_that_joins_alone_is_looked_up_at_once() {
        assert_eq!(looks([0]), [0]);
        assert_eq!(looks([0, 10_000, 20_000]), [0, 10_000, 20_000]);
    }

    #[test]
    fn a_second_one_waits_for_half_a_second_and_no_longer() {
        assert_eq!(looks([0, 200]), [0, 700]);
        assert_eq!(looks([0, 3_000]), [0, 3_500]);
    }

    #[test]
    fn fifty_that_join_within_ten_seconds_cost_three_look_ups() {
        assert_eq!(looks((0..50).map(|place| place * 200)), [0, 5_200, 10_300]);
    }

    #[test]
    fn as_long_as_nodes_keep_coming_there_is_a_look_up_every_five_seconds() {
        for gap in [300, 900, 2_000] {
            let looks = looks((0..60_000 / gap).map(|place| place * gap));
            assert!(looks.len() <= 15, "one each {gap} ms: {looks:?}");
            assert!(looks.windows(2).all(|two| two[1] - two[0] <= 7_000), "{looks:?}");
        }
    }

    #[test]
    fn one_who_was_looked_up_in_vain_is_not_kept_waiting_and_makes_no_burst() {
        let (start, mut pace, lost) = (Instant::now(), Pace::default(), ObjectKey::cluster("lost"));
        for second in 0..60 {
            assert_eq!(pace.judge([&lost], start + Duration::from_secs(second)), Ok(()), "{second}");
        }
        let joins = start + Duration::from_secs(61);
        let wait = pace.judge([&ObjectKey::cluster("n")], joins).err().unwrap_or_default();
        assert!(wait <= Duration::from_millis(500), "{wait:?}");
    }

    #[test]
    fn one_who_asks_again_keeps_nobody_waiting() {
        let (now, mut pace) = (Instant::now(), Pace::default());
        let key = |name: &str| ObjectKey::cluster(name);
        assert_eq!(pace.judge([&key("a")], now), Ok(()));
        let wait = Duration::from_millis(500);
        assert_eq!(pace.judge([&key("b")], now), Err(wait));
        let rest = Duration::from_millis(100);
        assert_eq!(pace.judge([&key("b")], now + wait - rest), Err(rest), "a change of a Node that waits");
        assert_eq!(pace.judge([&key("b")], now + wait), Ok(()));
    }
}
