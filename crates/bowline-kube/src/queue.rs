//! A work queue of keys: at most one worker works on a key at any time.
//!
//! [`QueueState`] decides order and retries (a pure value, see `queue/state.rs` for its rules). [`KeyedQueue`] is the asynchronous shell
//! that sleeps and wakes workers. [`run_workers`] is the worker pool. A handler returns its result as data ([`Outcome`]). A run that
//! panicked or was dropped counts as failed, so no key is ever lost.
//!
//! The queue does not know what a key means and does not hold the object that a key names.

mod backoff;
mod line;
mod metrics;
mod state;
mod work;
mod workers;

#[cfg(test)]
mod invariants;
#[cfg(test)]
mod tests;

use std::fmt::Debug;
use std::pin::pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

pub use backoff::Backoff;
pub use metrics::QueueMetrics;
pub use state::QueueState;
pub use work::{Load, Outcome, Picked, Priority, QueueSettings};
pub use workers::run_workers;

use metrics::{LoadSource, RunTimes};

/// The requirements for a key: small, ordered, printable. Keys are ordered instead of hashed, so that replays are deterministic.
pub trait QueueKey: Clone + Ord + Debug + Send + Sync + 'static {}

impl<T: Clone + Ord + Debug + Send + Sync + 'static> QueueKey for T {}

/// A handle on a queue. Clones share the queue.
#[derive(Debug)]
pub struct KeyedQueue<K: QueueKey> {
    shared: Arc<Shared<K>>,
}

#[derive(Debug)]
struct Shared<K> {
    name: String,
    state: Mutex<QueueState<K>>,
    /// Every change of the queue wakes one waiting worker, because it may have made a key ready. All of them are woken when the next timer
    /// moves to an earlier time: if one of them is cancelled, the others still know until when to sleep.
    wake: Notify,
    started: Instant,
    run_times: OnceLock<RunTimes>,
}

impl<K: QueueKey> Clone for KeyedQueue<K> {
    fn clone(&self) -> Self {
        Self { shared: Arc::clone(&self.shared) }
    }
}

impl<K: QueueKey> KeyedQueue<K> {
    /// An empty queue. `name` appears in logs and as the label of its metrics.
    #[must_use]
    pub fn new(name: impl Into<String>, settings: QueueSettings) -> Self {
        Self::over(name, QueueState::new(settings))
    }

    /// An empty queue in which groups of keys, such as namespaces, take turns: a group with many keys does not delay the others.
    #[must_use]
    pub fn fair(name: impl Into<String>, settings: QueueSettings, group_of: fn(&K) -> Option<&str>) -> Self {
        Self::over(name, QueueState::fair(settings, group_of))
    }

    fn over(name: impl Into<String>, state: QueueState<K>) -> Self {
        let shared = Shared {
            name: name.into(),
            state: Mutex::new(state),
            wake: Notify::new(),
            started: Instant::now(),
            run_times: OnceLock::new(),
        };
        Self { shared: Arc::new(shared) }
    }

    /// Exports this queue in `metrics` under its name. A second call for the same queue changes nothing.
    pub fn report_to(&self, metrics: &QueueMetrics) {
        let source: Arc<dyn LoadSource> = Arc::clone(&self.shared) as Arc<dyn LoadSource>;
        self.shared.run_times.get_or_init(|| metrics.observe(&self.shared.name, &source));
    }

    /// The queue's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.shared.name
    }

    /// Adds `key`, to run as soon as possible.
    pub fn add(&self, key: K, priority: Priority) {
        self.shared.change(|state, now| state.add(key, priority, now));
    }

    /// Adds keys, to run as soon as possible. They become ready together and wake one worker, so a worker that takes several of them sees
    /// no other worker in between. If it leaves some, it must call [`Self::call_another`].
    pub fn add_all(&self, keys: impl IntoIterator<Item = (K, Priority)>) {
        self.shared.change(|state, now| {
            keys.into_iter().for_each(|(key, priority)| state.add(key, priority, now));
        });
    }

    /// Wakes another worker if a key is ready. For a worker that took several keys and leaves the rest.
    pub fn call_another(&self) {
        if self.shared.lock().has_ready() {
            self.shared.wake.notify_one();
        }
    }

    /// Adds `key`, to run once `delay` has passed. If such a timer is already pending for the key, the earlier time wins.
    pub fn add_after(&self, key: K, delay: Duration, priority: Priority) {
        self.shared.change(|state, now| state.add_after(key, delay, priority, now));
    }

    /// Resets the failure count of `key`.
    pub fn forget(&self, key: &K) {
        self.shared.change(|state, _| state.forget(key));
    }

    /// Waits for the next key to work on. Dropping this future is safe.
    pub async fn take(&self) -> Ticket<K> {
        loop {
            // Register for wake-ups before reading the state, so that a key added in between still wakes this task.
            let mut woken = pin!(self.shared.wake.notified());
            woken.as_mut().enable();
            match self.shared.pick_or_due() {
                Ok(picked) => return self.ticket(picked),
                Err(None) => woken.await,
                Err(Some(due)) => {
                    tokio::select! {
                        biased;
                        () = woken => {}
                        () = tokio::time::sleep_until(due) => {}
                    }
                }
            }
        }
    }

    /// Takes the next key to work on if one is ready.
    #[must_use]
    pub fn try_take(&self) -> Option<Ticket<K>> {
        self.shared.pick_or_due().ok().map(|picked| self.ticket(picked))
    }

    fn ticket(&self, picked: Picked<K>) -> Ticket<K> {
        if let Some(times) = self.shared.run_times.get() {
            times.waited(picked.waited);
        }
        Ticket { shared: Arc::clone(&self.shared), picked, finished: false }
    }

    /// The current load, for the stuck-worker check and status pages.
    #[must_use]
    pub fn load(&self) -> Load {
        self.shared.load()
    }

    /// How many keys wait, run or have a timer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.shared.lock().len()
    }

    /// Whether no key waits, runs or has a timer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.shared.lock().is_empty()
    }
}

impl<K> Shared<K> {
    /// The lock is held only for map operations, never across an await. These do not panic half-way.
    fn lock(&self) -> MutexGuard<'_, QueueState<K>> {
        self.state.lock()
    }

    fn now(&self) -> Duration {
        self.started.elapsed()
    }
}

impl<K: QueueKey> Shared<K> {
    /// The next key, or the time of the next timer. Both are read under one lock: with two reads, a timer that another task fires in
    /// between would be in neither result, and the worker would sleep although a key is ready.
    fn pick_or_due(&self) -> Result<Picked<K>, Option<Instant>> {
        let now = self.now();
        let next = self.lock().pick_or_due(now);
        next.map_err(|due| self.started.checked_add(due?))
    }

    fn change<T>(&self, change: impl FnOnce(&mut QueueState<K>, Duration) -> T) -> T {
        let now = self.now();
        let (result, nearer) = {
            let mut state = self.lock();
            let before = state.next_due();
            let result = change(&mut state, now);
            (result, state.next_due().is_some_and(|due| before.is_none_or(|before| due < before)))
        };
        if nearer {
            self.wake.notify_waiters();
        }
        self.wake.notify_one();
        result
    }

    fn finish(&self, key: &K, outcome: Outcome) {
        let worked = self.change(|state, now| state.finish(key, outcome, now));
        if let (Some(times), Some(worked)) = (self.run_times.get(), worked) {
            times.worked(worked);
        }
    }
}

impl<K: QueueKey> LoadSource for Shared<K> {
    fn load(&self) -> Load {
        self.lock().load(self.now())
    }
}

/// The exclusive claim to work on one key. It must be finished with an outcome; dropping it means [`Outcome::Failed`].
#[derive(Debug)]
#[must_use = "a dropped ticket counts as a failed run"]
pub struct Ticket<K: QueueKey> {
    shared: Arc<Shared<K>>,
    picked: Picked<K>,
    finished: bool,
}

impl<K: QueueKey> Ticket<K> {
    /// The key to work on.
    #[must_use]
    pub fn key(&self) -> &K {
        &self.picked.key
    }

    /// The key together with its priority, failure count and waiting time.
    #[must_use]
    pub fn picked(&self) -> &Picked<K> {
        &self.picked
    }

    /// Ends the run.
    pub fn finish(mut self, outcome: Outcome) {
        self.finished = true;
        self.shared.finish(&self.picked.key, outcome);
    }

    fn count_panic(&self) {
        if let Some(times) = self.shared.run_times.get() {
            times.panicked();
        }
    }
}

impl<K: QueueKey> Drop for Ticket<K> {
    fn drop(&mut self) {
        if !self.finished {
            self.shared.finish(&self.picked.key, Outcome::Failed);
        }
    }
}
