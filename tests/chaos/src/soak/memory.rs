//! What the memory of processes does over time. Pure but for the samples.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;
use std::time::Duration;

use crate::process::Place;

/// How often it is looked at.
const EVERY: Duration = Duration::from_secs(1);
/// A process fills its caches first.
const WARM_UP: Duration = Duration::from_secs(45);
/// A slope over less than this is noise.
const LONG: Duration = Duration::from_secs(120);
const KIB: f64 = 1024.0;

/// One process, from its first sample to its last: seconds since then, and bytes.
type Life = Vec<(f64, f64)>;

/// What was seen.
#[derive(Debug, Default)]
pub(super) struct Memory {
    lives: BTreeMap<u32, (Duration, Life)>,
    next: Duration,
}

impl Memory {
    /// Looks, if it is time.
    pub(super) fn sample(&mut self, places: &[Arc<Place>], now: Duration) {
        if now < self.next {
            return;
        }
        self.next = now + EVERY;
        for place in places {
            if let (Some(pid), Some(bytes)) = (place.pid(), place.resident_bytes()) {
                self.add(pid, now, bytes);
            }
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "bytes of a process are far below 2^52")]
    fn add(&mut self, pid: u32, now: Duration, bytes: u64) {
        let (since, life) = self.lives.entry(pid).or_insert_with(|| (now, Life::new()));
        life.push((now.saturating_sub(*since).as_secs_f64(), bytes as f64));
    }

    /// What it says.
    #[must_use]
    pub(super) fn words(&self) -> String {
        let mut words = String::new();
        let lives: Vec<&Life> = self.lives.values().map(|(_, life)| life).collect();
        let most = lives.iter().flat_map(|life| life.iter().map(|(_, bytes)| *bytes)).fold(0.0, f64::max);
        // Writing to a String does not fail.
        write!(words, "{:>8} lives of processes, at most {:.1} MiB resident", lives.len(), most / KIB / KIB)
            .ok();
        for life in lives {
            let warm: Life = life.iter().copied().filter(|(at, _)| *at >= WARM_UP.as_secs_f64()).collect();
            let (Some(first), Some(last)) = (warm.first(), warm.last()) else { continue };
            if last.0 - first.0 < LONG.as_secs_f64() {
                continue;
            }
            let Some(slope) = slope(&warm) else { continue };
            let mean = warm.iter().map(|(_, bytes)| bytes).sum::<f64>() / size(&warm);
            write!(
                words,
                "\n         one lived {:.0} s: {:.1} MiB in the mean; slope after {} s: {:+.1} KiB/min ({:+.2} %/h)",
                last.0,
                mean / KIB / KIB,
                WARM_UP.as_secs(),
                slope * 60.0 / KIB,
                slope * 3600.0 / mean * 100.0
            )
            .ok();
        }
        words
    }
}

#[expect(clippy::cast_precision_loss, reason = "a count of samples")]
fn size(life: &Life) -> f64 {
    life.len() as f64
}

/// Bytes for each second, by least squares.
fn slope(life: &Life) -> Option<f64> {
    let count = size(life);
    let (at, bytes) = (
        life.iter().map(|(at, _)| at).sum::<f64>() / count,
        life.iter().map(|(_, b)| b).sum::<f64>() / count,
    );
    let spread: f64 = life.iter().map(|(t, _)| (t - at).powi(2)).sum();
    let together: f64 = life.iter().map(|(t, b)| (t - at) * (b - bytes)).sum();
    (spread > 0.0).then(|| together / spread)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_slope_of_a_line_is_found() {
        let life: Life =
            (0..200).map(|second| (f64::from(second), 1_000.0 + 3.0 * f64::from(second))).collect();
        assert!((slope(&life).unwrap() - 3.0).abs() < 1e-9);
        assert_eq!(slope(&vec![(1.0, 5.0)]), None);
    }

    #[test]
    fn only_a_process_that_lived_long_has_a_slope() {
        let mut memory = Memory::default();
        for second in 0..400 {
            memory.add(1, Duration::from_secs(second), 20 << 20);
        }
        for second in 0..30 {
            memory.add(2, Duration::from_secs(second), 20 << 20);
        }
        let words = memory.words();
        assert!(words.contains("2 lives") && words.matches("one lived").count() == 1, "{words}");
        assert!(words.contains("+0.00 %/h"), "{words}");
    }
}
