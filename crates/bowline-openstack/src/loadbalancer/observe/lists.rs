//! Lists that several callers share. Who comes while a list is being read waits for the next one: a list that began before the
//! question may not show what the asker has done himself.

use std::future::Future;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

use bowline_cloud::{Text, on_behalf_of};
use tokio::sync::Mutex;

use crate::loadbalancer::trouble::Trouble;

/// One list, shared.
#[derive(Debug)]
pub(in crate::loadbalancer) struct SharedList<T> {
    begun: AtomicU64,
    waiting: AtomicUsize,
    /// Held while it is read.
    latest: Mutex<Option<Reading<T>>>,
}

#[derive(Debug)]
struct Reading<T> {
    number: u64,
    result: Result<Arc<T>, Trouble>,
}

impl<T> Default for SharedList<T> {
    fn default() -> Self {
        Self { begun: AtomicU64::new(0), waiting: AtomicUsize::new(0), latest: Mutex::default() }
    }
}

impl<T> SharedList<T> {
    /// The list as it is now: read by `read`, or by another who began after this call.
    pub(in crate::loadbalancer) async fn get<F>(&self, read: impl FnOnce() -> F) -> Result<Arc<T>, Trouble>
    where
        F: Future<Output = Result<T, Trouble>>,
    {
        let arrived = self.begun.load(Ordering::Acquire);
        let waiter = Waiter::new(&self.waiting);
        let mut latest = self.latest.lock().await;
        drop(waiter);
        let shared = latest.as_ref().filter(|reading| reading.number > arrived);
        let result = match shared {
            Some(reading) => reading.result.clone(),
            None => {
                let number = self.begun.fetch_add(1, Ordering::AcqRel) + 1;
                // Other namespaces wait for it, too: it must not queue behind the calls of one of them.
                let result = on_behalf_of(Text::new(), read()).await.map(Arc::new);
                *latest = Some(Reading { number, result: result.clone() });
                result
            }
        };
        // Nobody is there to share it: it would only fill memory.
        if self.waiting.load(Ordering::Acquire) == 0 {
            *latest = None;
        }
        result
    }
}

/// How many questions of a kind are under way. Who asks while others do shares a list with them.
#[derive(Debug, Default)]
pub(in crate::loadbalancer) struct Asking(AtomicUsize);

/// Questions that are under way, as long as this lives.
pub(super) struct Asked<'a> {
    all: &'a AtomicUsize,
    own: usize,
    others: usize,
}

impl Asking {
    pub(super) fn enter(&self, own: usize) -> Asked<'_> {
        let others = self.0.fetch_add(own, Ordering::AcqRel);
        Asked { all: &self.0, own, others }
    }
}

impl Asked<'_> {
    /// Whether a list of so many pages takes fewer calls than all who ask now.
    pub(super) fn are_more_than(&self, pages: usize) -> bool {
        self.own > 0 && self.own + self.others > pages
    }
}

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.all.fetch_sub(self.own, Ordering::AcqRel);
    }
}

/// Somebody who waits for his turn, also if he gives up.
struct Waiter<'a>(&'a AtomicUsize);

impl<'a> Waiter<'a> {
    fn new(count: &'a AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::AcqRel);
        Self(count)
    }
}

impl Drop for Waiter<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use futures::future::join_all;
    use tokio::time::sleep;

    use super::*;

    #[test]
    fn who_asks_alone_asks_for_himself_and_who_asks_with_others_for_a_list() {
        let asking = Asking::default();
        let first = asking.enter(1);
        assert!(!first.are_more_than(1), "alone");
        let second = asking.enter(1);
        assert!(second.are_more_than(1) && !second.are_more_than(2), "a list of two pages saves nothing");
        assert!(!asking.enter(0).are_more_than(1), "who has no question needs no list");
        assert!(asking.enter(3).are_more_than(4), "with three at once a list of four pages saves something");
        drop((first, second));
        assert!(!asking.enter(1).are_more_than(1), "the others are done");
    }

    #[tokio::test(start_paused = true)]
    async fn who_comes_while_a_list_is_read_shares_the_next_one_and_never_that_one() {
        let list = SharedList::<u64>::default();
        let reads = AtomicU64::new(0);
        let read = || async {
            let number = reads.fetch_add(1, Ordering::AcqRel) + 1;
            sleep(Duration::from_secs(10)).await;
            Ok(number)
        };
        let ask = |after: u64| {
            let (list, read) = (&list, &read);
            async move {
                sleep(Duration::from_secs(after)).await;
                *list.get(read).await.unwrap()
            }
        };
        // One begins at 0, three come meanwhile, one comes while the second list is read.
        let seen = join_all([ask(0), ask(1), ask(5), ask(9), ask(12)]).await;
        assert_eq!(seen, [1, 2, 2, 2, 3]);
        assert_eq!(reads.load(Ordering::Acquire), 3);
        assert!(list.latest.lock().await.is_none(), "nothing is kept for nobody");
    }
}
