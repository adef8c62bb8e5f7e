//! The data types of the queue: priorities, outcomes, settings, load. The rules are in `state`.

use std::time::Duration;

use bowline_core::TokenBucket;

use super::Backoff;

/// Which keys go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Work that no user waits for: periodic resync, drift repair, node changes.
    Background,
    /// Work that a user waits for: an object that a user created or changed.
    User,
}

/// The result of a run, which decides what happens to its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is left to do. Resets the failure count.
    Done,
    /// There is more to do now: the key goes to the end of the queue. Resets the failure count.
    Requeue,
    /// Run again after this time, for a known reason such as a cloud resource that is still being built. Keeps the failure count.
    RetryAfter(Duration),
    /// The run failed: retry with exponential back-off.
    Failed,
}

/// How a queue behaves.
#[derive(Debug, Clone)]
pub struct QueueSettings {
    /// The wait of a key after its n-th consecutive failure.
    pub backoff: Backoff,
    /// A rate limit for the retries of all keys together, as upstream has it: each failure takes a token and waits at least until the token
    /// is available. Keys that did not fail are not delayed.
    pub retry_budget: Option<TokenBucket>,
    /// While user keys wait, every n-th pick goes to a background key. At least 2.
    pub background_every: u32,
}

impl Default for QueueSettings {
    fn default() -> Self {
        Self { backoff: Backoff::default(), retry_budget: None, background_every: 5 }
    }
}

/// A key that was picked to run now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picked<K> {
    /// The key to work on.
    pub key: K,
    /// The priority that it had in the queue.
    pub priority: Priority,
    /// The number of consecutive failed runs of this key before this one.
    pub failures: u32,
    /// How long the key was ready before it was picked.
    pub waited: Duration,
}

/// How loaded the queue is at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Keys ready to run, including those that will run again after their current run.
    pub depth: u64,
    /// Keys that are running.
    pub running: u64,
    /// The elapsed time of all current runs, summed.
    pub unfinished: Duration,
    /// The elapsed time of the longest current run.
    pub longest_running: Duration,
    /// How many times a key became ready since the start, without duplicates.
    pub adds: u64,
    /// How many times a key was delayed (back-off, retry-after, `add_after`) since the start.
    pub retries: u64,
}
