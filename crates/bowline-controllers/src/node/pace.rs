//! Decides when Nodes that wait to be initialized are looked up. Pure: the caller passes the time.
//!
//! A lookup costs the same for one Node and for many, and Nodes join in bursts. The first Node is looked up at once. While more arrive,
//! they are collected until none has arrived for some time; this time grows with the length of the burst. No Node waits longer than a fixed
//! limit, so a burst costs one lookup every few seconds, not one per Node. A Node that was looked up already and is retried, because it was
//! not found or could not be written, has its own back-off: it does not wait on its own, and never extends the wait of others.

use std::collections::BTreeSet;
use std::time::Duration;

use bowline_kube::informer::ObjectKey;
use tokio::time::Instant;

/// How long no further Node may arrive before the second lookup of a burst, the third, and so on. The first ones are shorter than the
/// service controller waits for the end of a burst (one second), so the Nodes are initialized when it continues.
const LULLS: [Duration; 3] = [Duration::from_millis(500), Duration::from_millis(500), Duration::from_secs(2)];

/// The same for all later lookups.
const LONGEST_LULL: Duration = Duration::from_secs(4);

/// The maximum time that a Node waits for others.
const LONGEST_WAIT: Duration = Duration::from_secs(5);

/// A burst ends when nothing was looked up for this long.
const BURST_ENDS: Duration = Duration::from_secs(10);

/// The waiting Nodes and the state of the burst. The number of Nodes in a burst bounds its size.
#[derive(Debug, Default)]
pub(super) struct Pace {
    waiting: BTreeSet<ObjectKey>,
    /// When the first of them began to wait, and when they are looked up.
    due: Option<(Instant, Instant)>,
    /// The number of lookups in the burst, the time of the last one, and the Nodes that were looked up.
    looks: usize,
    last_look: Option<Instant>,
    looked_up: BTreeSet<ObjectKey>,
}

impl Pace {
    /// `Ok` if these Nodes are looked up now; otherwise how long to wait before the next call.
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

    /// How long no further Node may arrive before the next lookup; `None` for the first lookup of a burst.
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
