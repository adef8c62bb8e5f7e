//! The words of the queue: priorities, verdicts, settings, load. Data only; the rules are in `state`.

use std::time::Duration;

use bowline_core::TokenBucket;

use super::Backoff;

/// Which keys go first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Priority {
    /// Work nobody waits for: sweeps, drift repair, a change of nodes.
    Background,
    /// Work somebody waits for: what a user created or changed.
    User,
}

/// What a run decided about its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing is left to do. The failure count is reset.
    Done,
    /// There is more to do now: to the end of the line. The failure count is reset.
    Requeue,
    /// A wait with a reason, such as a cloud still building. The failure count stays as it is.
    RetryAfter(Duration),
    /// The run failed: back off, longer each time.
    Failed,
}

/// How a queue behaves.
#[derive(Debug, Clone)]
pub struct QueueSettings {
    /// The wait of a key after its n-th failure in a row.
    pub backoff: Backoff,
    /// A limit on failures of all keys together, as upstream's: each failure takes a token and waits at least until
    /// the token is there. Fresh work is never slowed.
    pub retry_budget: Option<TokenBucket>,
    /// Every how many picks the background gets one although users wait. At least 2.
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
    /// The priority with which it waited.
    pub priority: Priority,
    /// How many runs of this key failed in a row before this one.
    pub failures: u32,
    /// How long it was ready before it was picked.
    pub waited: Duration,
}

/// How loaded the queue is at one moment.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Load {
    /// Keys ready to run, those that will run again after their present run included.
    pub depth: u64,
    /// Keys that run.
    pub running: u64,
    /// The time all present runs have taken so far, summed.
    pub unfinished: Duration,
    /// The time the longest present run has taken so far.
    pub longest_running: Duration,
    /// How many times a key became ready since the start, duplicates not counted.
    pub adds: u64,
    /// How many times a key was put off (back-off, retry-after, `add_after`) since the start.
    pub retries: u64,
}
