//! Many seeds, one after the other, each with bytes of its own. A seed that fails is told, and can be run again alone.
//!
//! `BOWLINE_SEED=17` runs one seed, `BOWLINE_SEEDS=100000` so many.

#[cfg(test)]
use std::time::Instant;

/// Bytes enough for the decisions of one input.
const LENGTH: usize = 700;

/// Bytes that follow from a seed (SplitMix64).
#[must_use]
pub fn bytes(seed: u64) -> Vec<u8> {
    let mut state = seed;
    let words = std::iter::repeat_with(|| {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    });
    words.flat_map(u64::to_le_bytes).take(LENGTH).collect()
}

#[cfg(test)]
fn asked(name: &str) -> Option<u64> {
    std::env::var(name)
        .ok()
        .map(|text| text.parse().unwrap_or_else(|_| panic!("{name} is no number: {text}")))
}

/// Runs `entry` on the bytes of each seed, or of the one that is asked for.
#[cfg(test)]
pub(crate) fn run(what: &str, seeds: u64, entry: impl Fn(&[u8]) -> Result<(), String>) {
    let seeds = match asked("BOWLINE_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..asked("BOWLINE_SEEDS").unwrap_or(seeds),
    };
    let (begun, count) = (Instant::now(), seeds.end - seeds.start);
    for seed in seeds {
        let told = Told(seed);
        let held = entry(&bytes(seed));
        std::mem::forget(told);
        if let Err(why) = held {
            panic!("{what}: BOWLINE_SEED={seed}: {why}");
        }
    }
    let spent = begun.elapsed().as_secs_f64();
    println!(
        "{what}: {count} seeds in {spent:.1} s, {:.0} each second",
        f64::from(u32::try_from(count).unwrap()) / spent
    );
}

/// Tells the seed when something panics.
#[cfg(test)]
struct Told(u64);

#[cfg(test)]
impl Drop for Told {
    fn drop(&mut self) {
        eprintln!("BOWLINE_SEED={} repeats it", self.0);
    }
}
