//! The queue as a pure value: which keys wait, which run, which is next. Callers pass the time; nothing here sleeps, locks or logs.
//!
//! The rules:
//! - A key waits at most once and runs at most once at a time. If it is added while it runs, it runs again afterwards.
//! - Keys of one priority run in the order in which they became ready. User keys run before background keys, but while both wait every
//!   [`QueueSettings::background_every`]th pick is a background key, so neither class starves.
//! - In a fair queue, groups of keys (namespaces) take turns within each priority: see `queue/line.rs`.
//! - The outcome of a run may schedule the next run. A run that starts earlier cancels that timer. A timer set by [`QueueState::add_after`]
//!   stays until it fires; of several for one key, the earliest wins.
//! - During a back-off, adding a key with user priority makes it run at once. Adding it with background priority does not shorten the
//!   back-off, so a storm of background events does not turn a failing key into a hot loop.
//!
//! The size is bounded by the number of distinct keys: an entry exists only while its key waits, runs or has a timer.

use std::collections::BTreeMap;
use std::time::Duration;

use super::line::Line;
use super::work::{Load, Outcome, Picked, Priority, QueueSettings};

#[derive(Debug, Clone, Copy)]
enum Place {
    Idle,
    Ready { priority: Priority, seq: u64, since: Duration },
    Running { priority: Priority, since: Duration, again: Option<(Priority, Duration)> },
}

/// The origin of a timer: the outcome of a run, or [`QueueState::add_after`]. A key has at most one of each.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Slot {
    Verdict,
    Scheduled,
}

#[derive(Debug, Clone, Copy)]
struct Timer {
    due: Duration,
    seq: u64,
    priority: Priority,
}

#[derive(Debug, Default)]
struct Timers {
    verdict: Option<Timer>,
    scheduled: Option<Timer>,
}

#[derive(Debug)]
struct Entry {
    place: Place,
    failures: u32,
    /// Whether the timer of the outcome is a back-off, which background work must not shorten.
    backing_off: bool,
    /// Boxed, because few keys have a timer and 10,000 entries may be inserted at once.
    timers: Option<Box<Timers>>,
}

impl Entry {
    const fn new() -> Self {
        Self { place: Place::Idle, failures: 0, backing_off: false, timers: None }
    }

    fn timer(&self, slot: Slot) -> Option<Timer> {
        let timers = self.timers.as_deref()?;
        match slot {
            Slot::Verdict => timers.verdict,
            Slot::Scheduled => timers.scheduled,
        }
    }

    fn set_timer(&mut self, slot: Slot, timer: Timer) {
        let timers = self.timers.get_or_insert_default();
        match slot {
            Slot::Verdict => timers.verdict = Some(timer),
            Slot::Scheduled => timers.scheduled = Some(timer),
        }
    }

    fn take_timer(&mut self, slot: Slot) -> Option<Timer> {
        let timers = self.timers.as_deref_mut()?;
        let taken = match slot {
            Slot::Verdict => timers.verdict.take(),
            Slot::Scheduled => timers.scheduled.take(),
        };
        if timers.verdict.is_none() && timers.scheduled.is_none() {
            self.timers = None;
        }
        taken
    }

    /// Whether firing its timers at `now` would make the key ready, or run it again, and this is not requested yet.
    fn comes_due(&self, now: Duration) -> bool {
        let (verdict, scheduled) = (self.timer(Slot::Verdict), self.timer(Slot::Scheduled));
        let due = |timer: Option<Timer>| timer.is_some_and(|timer| timer.due <= now);
        let held_back =
            self.backing_off && scheduled.is_some_and(|timer| timer.priority == Priority::Background);
        match self.place {
            Place::Ready { .. } | Place::Running { again: Some(_), .. } => false,
            Place::Idle if held_back => due(verdict),
            Place::Idle | Place::Running { again: None, .. } => due(verdict) || due(scheduled),
        }
    }

    fn is_idle(&self) -> bool {
        matches!(self.place, Place::Idle) && self.timers.is_none()
    }
}

/// The state of one queue. The module documentation lists its rules.
#[derive(Debug)]
pub struct QueueState<K> {
    settings: QueueSettings,
    entries: BTreeMap<K, Entry>,
    user: Line<K>,
    background: Line<K>,
    timers: BTreeMap<(Duration, u64), (K, Slot)>,
    /// The sequence number of arrivals and timers. It makes the order total and the same in every replay.
    next_seq: u64,
    /// Consecutive picks of user keys while background keys waited.
    user_streak: u32,
    adds: u64,
    retries: u64,
}

impl<K: Clone + Ord> QueueState<K> {
    /// An empty queue.
    #[must_use]
    pub fn new(settings: QueueSettings) -> Self {
        Self::fair(settings, |_key| None)
    }

    /// An empty queue in which groups of keys take turns.
    #[must_use]
    pub fn fair(settings: QueueSettings, group_of: fn(&K) -> Option<&str>) -> Self {
        Self {
            settings,
            entries: BTreeMap::new(),
            user: Line::new(group_of),
            background: Line::new(group_of),
            timers: BTreeMap::new(),
            next_seq: 0,
            user_streak: 0,
            adds: 0,
            retries: 0,
        }
    }

    /// Adds `key`, to run as soon as possible.
    pub fn add(&mut self, key: K, priority: Priority, now: Duration) {
        self.fire_timers(now);
        self.want(key, priority, now);
    }

    /// Adds `key`, to run once `delay` has passed. If such a timer is already pending for the key, the earlier time wins.
    pub fn add_after(&mut self, key: K, delay: Duration, priority: Priority, now: Duration) {
        self.fire_timers(now);
        if delay.is_zero() {
            return self.want(key, priority, now);
        }
        self.retries += 1;
        self.set_timer(key, Slot::Scheduled, now.saturating_add(delay), priority);
    }

    /// Resets the failure count of `key`. A back-off that has started keeps its end.
    pub fn forget(&mut self, key: &K) {
        if let Some(entry) = self.entries.get_mut(key) {
            entry.failures = 0;
        }
    }

    /// Picks the next key to run at `now`, if one is ready.
    pub fn pick(&mut self, now: Duration) -> Option<Picked<K>> {
        self.fire_timers(now);
        let key = self.next_ready()?;
        self.cancel(&key, Slot::Verdict);
        let entry = self.entries.get_mut(&key)?;
        let Place::Ready { priority, since, .. } = entry.place else { return None };
        entry.place = Place::Running { priority, since: now, again: None };
        entry.backing_off = false;
        Some(Picked { key, priority, failures: entry.failures, waited: now.saturating_sub(since) })
    }

    /// Picks the next key to run at `now`; if none is ready, returns when the next timer is due.
    ///
    /// # Errors
    ///
    /// The time of the next timer, or `None` if no key has a timer: then only a change of the queue can make a key ready.
    pub fn pick_or_due(&mut self, now: Duration) -> Result<Picked<K>, Option<Duration>> {
        self.pick(now).ok_or_else(|| self.next_due())
    }

    /// Ends the run of `key` with an outcome and returns how long the run took; `None` if `key` is not running.
    pub fn finish(&mut self, key: &K, outcome: Outcome, now: Duration) -> Option<Duration> {
        self.fire_timers(now);
        let entry = self.entries.get_mut(key)?;
        let Place::Running { priority, since, again } = entry.place else { return None };
        entry.place = Place::Idle;
        match outcome {
            Outcome::Done => {
                entry.failures = 0;
                self.resume(key, again);
            }
            Outcome::Requeue => {
                entry.failures = 0;
                match again {
                    None => self.make_ready(key.clone(), priority, now),
                    Some((asked, since)) => self.resume(key, Some((asked.max(priority), since))),
                }
            }
            Outcome::RetryAfter(delay) => self.put_off(key, delay, priority, again, now),
            Outcome::Failed => self.back_off(key, priority, again, now),
        }
        if self.entries.get(key).is_some_and(Entry::is_idle) {
            self.entries.remove(key);
        }
        Some(now.saturating_sub(since))
    }

    /// When the next timer is due; the shell sleeps until then.
    #[must_use]
    pub fn next_due(&self) -> Option<Duration> {
        self.timers.first_key_value().map(|((due, _), _)| *due)
    }

    /// Whether a key is ready and not picked yet.
    #[must_use]
    pub fn has_ready(&self) -> bool {
        !self.user.is_empty() || !self.background.is_empty()
    }

    /// The number of keys that wait, run or have a timer.
    #[must_use]
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether no key waits, runs or has a timer.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// The load at `now`. A key whose timer is due counts as ready. This method does not fire timers, because it wakes no worker: firing
    /// would remove the timer that a worker sleeps for.
    #[must_use]
    pub fn load(&self, now: Duration) -> Load {
        let mut load = Load { adds: self.adds, retries: self.retries, ..Load::default() };
        for entry in self.entries.values() {
            let comes_due = u64::from(entry.comes_due(now));
            load.adds += comes_due;
            load.depth += comes_due;
            match entry.place {
                Place::Idle => {}
                Place::Ready { .. } => load.depth += 1,
                Place::Running { since, again, .. } => {
                    let taken = now.saturating_sub(since);
                    load.depth += u64::from(again.is_some());
                    load.running += 1;
                    load.unfinished = load.unfinished.saturating_add(taken);
                    load.longest_running = load.longest_running.max(taken);
                }
            }
        }
        load
    }

    fn want(&mut self, key: K, priority: Priority, now: Duration) {
        // Takes the number even if it is not needed: one lookup of the entry is then enough, which matters when thousands of keys are
        // added.
        let arrival = self.take_seq();
        let entry = self.entries.entry(key.clone()).or_insert_with(Entry::new);
        match &mut entry.place {
            Place::Idle if priority == Priority::Background && entry.backing_off => {}
            place @ Place::Idle => {
                *place = Place::Ready { priority, seq: arrival, since: now };
                self.adds += 1;
                self.line(priority).insert(arrival, key);
            }
            Place::Ready { priority: present, seq, .. } => {
                if *present < priority {
                    let old_seq = *seq;
                    self.raise(key, old_seq);
                }
            }
            Place::Running { again, .. } => {
                let first = again.is_none();
                *again = Some(again.map_or((priority, now), |(p, since)| (p.max(priority), since)));
                self.adds += u64::from(first);
            }
        }
    }

    fn put_off(
        &mut self,
        key: &K,
        delay: Duration,
        priority: Priority,
        again: Option<(Priority, Duration)>,
        now: Duration,
    ) {
        if again.is_some() {
            return self.resume(key, again);
        }
        self.retries += 1;
        self.set_timer(key.clone(), Slot::Verdict, now.saturating_add(delay), priority);
    }

    fn back_off(&mut self, key: &K, priority: Priority, again: Option<(Priority, Duration)>, now: Duration) {
        let Some(entry) = self.entries.get_mut(key) else { return };
        entry.failures = entry.failures.saturating_add(1);
        if again.is_some_and(|(asked, _)| asked == Priority::User) {
            return self.resume(key, again);
        }
        entry.backing_off = true;
        let own = self.settings.backoff.delay(entry.failures);
        let shared = self.settings.retry_budget.as_mut().map_or(Duration::ZERO, |bucket| bucket.take(now));
        self.retries += 1;
        self.set_timer(key.clone(), Slot::Verdict, now.saturating_add(own.max(shared)), priority);
    }

    /// Puts a key that was added during its run back in the queue. `adds` already counts it.
    fn resume(&mut self, key: &K, again: Option<(Priority, Duration)>) {
        if let Some((priority, since)) = again {
            self.enter_line(key.clone(), priority, since);
        }
    }

    fn make_ready(&mut self, key: K, priority: Priority, now: Duration) {
        self.adds += 1;
        self.enter_line(key, priority, now);
    }

    fn enter_line(&mut self, key: K, priority: Priority, since: Duration) {
        let seq = self.take_seq();
        if let Some(entry) = self.entries.get_mut(&key) {
            entry.place = Place::Ready { priority, seq, since };
        }
        self.line(priority).insert(seq, key);
    }

    /// Moves a waiting background key to the end of the user keys. It keeps the time since which it waits.
    fn raise(&mut self, key: K, old_seq: u64) {
        self.background.remove(old_seq, &key);
        let Some(Place::Ready { since, .. }) = self.entries.get(&key).map(|entry| entry.place) else {
            return;
        };
        self.enter_line(key, Priority::User, since);
    }

    fn next_ready(&mut self) -> Option<K> {
        let background_waits = !self.background.is_empty();
        let background_turn = self.user_streak + 1 >= self.settings.background_every.max(2);
        if background_waits && (self.user.is_empty() || background_turn) {
            self.user_streak = 0;
            return self.background.pop();
        }
        self.user_streak = if background_waits { self.user_streak + 1 } else { 0 };
        self.user.pop()
    }

    /// Every method that changes the queue and knows the time calls this first, so that due keys count as ready even while all workers are
    /// busy and none picks.
    fn fire_timers(&mut self, now: Duration) {
        while let Some(first) = self.timers.first_entry() {
            if first.key().0 > now {
                return;
            }
            let ((due, _), (key, slot)) = first.remove_entry();
            let Some(entry) = self.entries.get_mut(&key) else { continue };
            let Some(timer) = entry.take_timer(slot) else { continue };
            if slot == Slot::Verdict {
                entry.backing_off = false;
            }
            // The waiting time starts when the timer was due, not when it was fired.
            self.want(key, timer.priority, due);
        }
    }

    fn set_timer(&mut self, key: K, slot: Slot, due: Duration, priority: Priority) {
        let seq = self.take_seq();
        let entry = self.entries.entry(key.clone()).or_insert_with(Entry::new);
        let mut wanted = Timer { due, seq, priority };
        if let Some(old) = entry.timer(slot) {
            self.timers.remove(&(old.due, old.seq));
            wanted.due = due.min(old.due);
            wanted.priority = priority.max(old.priority);
        }
        entry.set_timer(slot, wanted);
        self.timers.insert((wanted.due, seq), (key, slot));
    }

    fn cancel(&mut self, key: &K, slot: Slot) {
        let timer = self.entries.get_mut(key).and_then(|entry| entry.take_timer(slot));
        if let Some(timer) = timer {
            self.timers.remove(&(timer.due, timer.seq));
        }
    }

    fn line(&mut self, priority: Priority) -> &mut Line<K> {
        match priority {
            Priority::User => &mut self.user,
            Priority::Background => &mut self.background,
        }
    }

    fn take_seq(&mut self) -> u64 {
        let seq = self.next_seq;
        // 2^64 arrivals at a million a second take half a million years.
        self.next_seq = self.next_seq.wrapping_add(1);
        seq
    }
}
