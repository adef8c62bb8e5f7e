//! The number of recent calls, in buckets of a few seconds. Pure, with time passed in, and of fixed size.

use std::time::Duration;

/// The duration of a bucket.
pub(super) const BUCKET: Duration = Duration::from_secs(5);

/// The number of buckets: five minutes.
pub(super) const BUCKETS: usize = 60;

/// The recent calls to one cloud service.
#[derive(Debug, Clone)]
pub(super) struct Rates {
    calls: [u32; BUCKETS],
    failed: [u32; BUCKETS],
    /// The number of the newest bucket, counted from the start.
    newest: u64,
}

impl Default for Rates {
    fn default() -> Self {
        Self { calls: [0; BUCKETS], failed: [0; BUCKETS], newest: 0 }
    }
}

fn bucket_of(elapsed: Duration) -> u64 {
    elapsed.as_secs() / BUCKET.as_secs()
}

fn place(bucket: u64) -> usize {
    usize::try_from(bucket % BUCKETS as u64).unwrap_or_default()
}

impl Rates {
    /// Records a call.
    pub(super) fn count(&mut self, failed: bool, elapsed: Duration) {
        self.turn(bucket_of(elapsed));
        let place = place(self.newest);
        if let Some(calls) = self.calls.get_mut(place) {
            *calls = calls.saturating_add(1);
        }
        if let Some(failures) = self.failed.get_mut(place).filter(|_| failed) {
            *failures = failures.saturating_add(1);
        }
    }

    /// Advances to bucket `to` and clears the skipped buckets.
    fn turn(&mut self, to: u64) {
        let passed = to.saturating_sub(self.newest).min(BUCKETS as u64);
        for step in 0..passed {
            let place = place(to - step);
            for ring in [&mut self.calls, &mut self.failed] {
                if let Some(count) = ring.get_mut(place) {
                    *count = 0;
                }
            }
        }
        self.newest = self.newest.max(to);
    }

    /// The calls and failures of each bucket up to now, oldest first.
    pub(super) fn lately(&self, elapsed: Duration) -> Vec<(u32, u32)> {
        let mut now = self.clone();
        now.turn(bucket_of(elapsed));
        let at = |ring: &[u32; BUCKETS], place: usize| ring.get(place).copied().unwrap_or_default();
        (1..=BUCKETS as u64)
            .map(|step| place(now.newest + step))
            .map(|place| (at(&now.calls, place), at(&now.failed, place)))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn calls_stand_in_the_bucket_of_their_time_and_are_forgotten_after_five_minutes() {
        let mut rates = Rates::default();
        rates.count(false, seconds(1));
        rates.count(true, seconds(4));
        rates.count(false, seconds(12));
        let lately = rates.lately(seconds(14));
        assert_eq!(lately.len(), BUCKETS);
        assert_eq!(lately[BUCKETS - 3..], [(2, 1), (0, 0), (1, 0)]);
        let later = rates.lately(seconds(300));
        assert_eq!(later.iter().map(|(calls, _)| calls).sum::<u32>(), 1, "the first two are too old");
        assert_eq!(rates.lately(seconds(10_000)).iter().map(|(calls, _)| calls).sum::<u32>(), 0);
        rates.count(false, seconds(10_000));
        assert_eq!(rates.lately(seconds(10_000)).last(), Some(&(1, 0)));
    }
}
