//! A semaphore that is fair between namespaces, and the namespace that a task works for.
//!
//! One namespace can create hundreds of Services at once. Waiting namespaces get permits in turn, so a Service of another namespace waits
//! for one of these Services, not for all.

use std::collections::{BTreeMap, VecDeque};
use std::future::Future;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};
use tokio::sync::oneshot;

use crate::Text;

tokio::task_local! {
    static NAMESPACE: Text;
}

/// Runs `work` on behalf of a namespace, for [`namespace_in_turn`]. Applies to this task and not to tasks that it spawns.
pub async fn on_behalf_of<F: Future>(namespace: Text, work: F) -> F::Output {
    NAMESPACE.scope(namespace, work).await
}

/// The namespace that this task works for; empty for cluster-wide work.
#[must_use]
pub fn namespace_in_turn() -> Text {
    NAMESPACE.try_with(Clone::clone).unwrap_or_default()
}

/// For how many permits the groups are remembered while the queue is empty.
const REMEMBERED: u64 = 64;

/// A semaphore whose permits go to waiting groups in turn, and within a group in order of arrival.
#[derive(Debug)]
pub struct FairSemaphore {
    /// The number of permits that one group may hold.
    most: usize,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    free: usize,
    held: BTreeMap<Text, usize>,
    /// The waiters by group; groups without waiters are not listed.
    waiting: BTreeMap<Text, VecDeque<oneshot::Sender<FairPermit>>>,
    /// The number of permits granted so far.
    given: u64,
    /// The sequence number of the last permit of each group. A group that is not listed is served first.
    served: BTreeMap<Text, u64>,
}

/// One permit; dropping it releases it.
#[derive(Debug)]
pub struct FairPermit {
    semaphore: Arc<FairSemaphore>,
    group: Text,
}

impl FairSemaphore {
    /// A semaphore with this number of permits, all of which one group may hold.
    #[must_use]
    pub fn new(permits: usize) -> Arc<Self> {
        Self::with_reserve(permits, 0)
    }

    /// A semaphore whose `reserve` is available only to other groups, once one group holds `permits`: they find a free permit even if all work
    /// of that group takes long.
    #[must_use]
    pub fn with_reserve(permits: usize, reserve: usize) -> Arc<Self> {
        let state = State {
            free: permits.saturating_add(reserve),
            held: BTreeMap::new(),
            waiting: BTreeMap::new(),
            given: 0,
            served: BTreeMap::new(),
        };
        Arc::new(Self { most: permits, state: Mutex::new(state) })
    }

    /// Waits for a permit. Dropping the future before that is safe.
    pub async fn acquire(self: &Arc<Self>, group: Text) -> FairPermit {
        loop {
            let (sender, receiver) = oneshot::channel();
            self.lock().enqueue(group.clone(), sender);
            self.give();
            // The sender stays in the queue until it has sent a permit.
            if let Ok(permit) = receiver.await {
                return permit;
            }
        }
    }

    /// Hands free permits to waiters.
    fn give(self: &Arc<Self>) {
        loop {
            let Some((group, waiter)) = self.lock().next(self.most) else { return };
            let permit = FairPermit { semaphore: Arc::clone(self), group };
            // If the waiter was cancelled, the permit is dropped and released here, outside the lock.
            drop(waiter.send(permit));
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl State {
    fn enqueue(&mut self, group: Text, waiter: oneshot::Sender<FairPermit>) {
        self.waiting.entry(group).or_default().push_back(waiter);
    }

    /// The next waiter; its permit is already counted as held.
    fn next(&mut self, most: usize) -> Option<(Text, oneshot::Sender<FairPermit>)> {
        if self.free == 0 {
            return None;
        }
        let may = |group: &&Text| self.held.get(*group).is_none_or(|held| *held < most);
        let group = self.waiting.keys().filter(may).min_by_key(|group| self.last(group))?.clone();
        let waiters = self.waiting.get_mut(&group)?;
        let waiter = waiters.pop_front()?;
        if waiters.is_empty() {
            self.waiting.remove(&group);
        }
        self.given = self.given.saturating_add(1);
        self.served.insert(group.clone(), self.given);
        self.free -= 1;
        *self.held.entry(group.clone()).or_default() += 1;
        self.forget();
        Some((group, waiter))
    }

    fn give_back(&mut self, group: &Text) {
        self.free += 1;
        if let Some(held) = self.held.get_mut(group) {
            *held -= 1;
            if *held == 0 {
                self.held.remove(group);
            }
        }
        self.forget();
    }

    /// The number of the permit that a group got last.
    fn last(&self, group: &Text) -> u64 {
        self.served.get(group).copied().unwrap_or_default()
    }

    /// Forgets groups that were served before every group that waits: these go first in any case. The groups of the latest permits are
    /// remembered also when nobody waits, so that a busy group does not go first whenever it comes back.
    fn forget(&mut self) {
        let oldest = self.waiting.keys().map(|group| self.last(group)).min().unwrap_or(u64::MAX);
        let recent = self.given.saturating_sub(REMEMBERED);
        self.served.retain(|_group, last| *last > recent || *last >= oldest);
    }
}

impl Drop for FairPermit {
    fn drop(&mut self) {
        self.semaphore.lock().give_back(&self.group);
        self.semaphore.give();
    }
}

#[cfg(test)]
mod tests {
    use futures::FutureExt;
    use futures::future::BoxFuture;

    use super::*;

    /// A waiter that is in its place.
    fn waiting(semaphore: &Arc<FairSemaphore>, group: &str) -> BoxFuture<'static, FairPermit> {
        let (semaphore, group) = (Arc::clone(semaphore), Text::from(group));
        let mut waiter = async move { semaphore.acquire(group).await }.boxed();
        assert!(waiter.as_mut().now_or_never().is_none(), "there is a permit already");
        waiter
    }

    fn ready(waiter: &mut BoxFuture<'static, FairPermit>) -> Option<FairPermit> {
        waiter.as_mut().now_or_never()
    }

    #[test]
    fn a_quiet_group_waits_for_one_permit_of_a_noisy_one() {
        let semaphore = FairSemaphore::new(1);
        let first = semaphore.acquire("noisy".into()).now_or_never().unwrap();
        let mut noisy: Vec<_> = (0..100).map(|_| waiting(&semaphore, "noisy")).collect();
        let mut quiet = waiting(&semaphore, "quiet");
        drop(first);
        let second = ready(&mut quiet).expect("its group was not served yet");
        assert!(noisy.iter_mut().all(|waiter| ready(waiter).is_none()));
        let mut again = waiting(&semaphore, "quiet");
        drop(second);
        let third = ready(&mut noisy[0]).expect("within a group in the order of arrival");
        assert!(ready(&mut again).is_none(), "the groups take turns");
        drop(third);
        assert!(ready(&mut again).is_some());
    }

    #[test]
    fn a_quiet_group_that_comes_back_waits_for_one_permit_of_a_group_with_an_earlier_name() {
        let semaphore = FairSemaphore::new(1);
        let first = semaphore.acquire("a-noisy".into()).now_or_never().unwrap();
        let mut noisy: Vec<_> = (0..10).map(|_| waiting(&semaphore, "a-noisy")).collect();
        let (mut current, mut between) = (first, 0);
        for _ in 0..3 {
            let mut quiet = waiting(&semaphore, "quiet");
            drop(current);
            current = loop {
                if let Some(permit) = ready(&mut quiet) {
                    break permit;
                }
                drop(take_ready(&mut noisy));
                between += 1;
            };
        }
        assert!(between <= 3, "one of the noisy group's between two of the quiet one's: {between}");
    }

    #[test]
    fn a_reserve_is_free_for_another_group_whatever_the_noisy_one_holds() {
        let semaphore = FairSemaphore::with_reserve(6, 2);
        let held: Vec<_> =
            (0..6).map(|_| semaphore.acquire("noisy".into()).now_or_never().unwrap()).collect();
        let mut seventh = waiting(&semaphore, "noisy");
        assert!(semaphore.acquire("quiet".into()).now_or_never().is_some());
        assert!(ready(&mut seventh).is_none(), "two stay free for others");
        drop(held);
        assert!(ready(&mut seventh).is_some());
    }

    #[test]
    fn a_waiter_that_gives_up_loses_no_permit_and_no_turn_of_others() {
        let semaphore = FairSemaphore::new(1);
        let first = semaphore.acquire("a".into()).now_or_never().unwrap();
        let (gone, mut stays) = (waiting(&semaphore, "b"), waiting(&semaphore, "b"));
        drop(gone);
        drop(first);
        drop(ready(&mut stays).expect("the next waiter of the group"));
        // One that gives up although the permit is already its own.
        let first = semaphore.acquire("a".into()).now_or_never().unwrap();
        let late = waiting(&semaphore, "b");
        drop(first);
        drop(late);
        assert!(semaphore.acquire("c".into()).now_or_never().is_some());
        let state = semaphore.lock();
        assert!(state.free == 1 && state.held.is_empty() && state.waiting.is_empty(), "{state:?}");
    }

    /// The permit of the waiter that was served; that waiter is removed.
    fn take_ready(waiters: &mut Vec<BoxFuture<'static, FairPermit>>) -> FairPermit {
        let found = waiters.iter_mut().enumerate().find_map(|(at, waiter)| Some((at, ready(waiter)?)));
        let (at, permit) = found.expect("the permit is given to a waiter");
        drop(waiters.swap_remove(at));
        permit
    }

    /// Lets groups wait again and again, each as soon as it was served, and counts how often each was served.
    fn served(semaphore: &Arc<FairSemaphore>, groups: &[String], permits: usize) -> BTreeMap<Text, usize> {
        let first = semaphore.acquire("first".into()).now_or_never().unwrap();
        let mut waiters: Vec<_> = groups.iter().map(|group| waiting(semaphore, group)).collect();
        let mut counts: BTreeMap<Text, usize> =
            groups.iter().map(|group| (Text::from(group.as_str()), 0)).collect();
        let mut current = first;
        for _ in 0..permits {
            drop(current);
            current = take_ready(&mut waiters);
            waiters.push(waiting(semaphore, &current.group));
            *counts.get_mut(&current.group).unwrap() += 1;
        }
        drop((waiters, current));
        counts
    }

    #[test]
    fn with_200_groups_that_always_wait_each_is_served_in_turn() {
        let semaphore = FairSemaphore::new(1);
        let groups: Vec<_> = (0..200).map(|number| format!("g{number:03}")).collect();
        let counts = served(&semaphore, &groups, 1000);
        assert!(counts.values().all(|count| *count == 5), "{counts:?}");
        let state = semaphore.lock();
        assert!(state.free == 1 && state.waiting.is_empty(), "{state:?}");
        assert!(state.served.len() <= 64, "no more groups are remembered while nobody waits: {state:?}");
    }

    #[test]
    fn a_busy_group_that_comes_back_does_not_go_before_a_quiet_one() {
        let semaphore = FairSemaphore::new(1);
        drop(semaphore.acquire("quiet".into()).now_or_never().unwrap());
        let current = semaphore.acquire("a-busy".into()).now_or_never().unwrap();
        let (mut busy, mut quiet) = (waiting(&semaphore, "a-busy"), waiting(&semaphore, "quiet"));
        drop(current);
        let permit = ready(&mut quiet).expect("the quiet group was served longer ago");
        assert!(ready(&mut busy).is_none());
        drop(permit);
    }

    #[test]
    fn each_of_many_groups_that_come_back_is_served_once_more_at_most_before_one_that_waits() {
        let semaphore = FairSemaphore::new(1);
        let mut current = semaphore.acquire("zz".into()).now_or_never().unwrap();
        let mut last = waiting(&semaphore, "zz");
        for number in 0..200 {
            // Each waits, is served before the group that was served already, and comes back at once.
            let group = format!("g{number:03}");
            let mut once = waiting(&semaphore, &group);
            drop(current);
            current = ready(&mut once).expect("a group that was not served yet comes first");
        }
        let mut again: Vec<_> =
            (0..200).map(|number| waiting(&semaphore, &format!("g{number:03}"))).collect();
        let mut before = 0;
        let permit = loop {
            drop(current);
            if let Some(permit) = ready(&mut last) {
                break permit;
            }
            current = take_ready(&mut again);
            before += 1;
        };
        drop(permit);
        assert!(before <= 200, "each of the other groups is served at most once more: {before}");
    }

    #[test]
    fn work_knows_for_which_namespace_it_is_done() {
        let work = async { namespace_in_turn() };
        assert_eq!(on_behalf_of("shop".into(), work).now_or_never().unwrap(), "shop");
        assert_eq!(namespace_in_turn(), "");
    }
}
