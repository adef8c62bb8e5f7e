//! Shares one review between concurrent identical requests: a request that arrives while the same review is in flight waits for its result.
//! Results are not cached, and nothing is requested in the background.

use std::collections::HashMap;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;

use super::digest::Digest;

/// The maximum number of different reviews in flight that are shared; further requests send their own review.
pub(super) const MAX_SHARED: usize = 1024;

type Review<T> = BoxFuture<'static, T>;

/// The reviews in flight, by digest.
///
/// A review is polled by the requests that wait for it: it continues if some of them are cancelled, and ends if all are. That is why only
/// weak references are stored here.
pub(super) struct SharedReviews<T> {
    under_way: Mutex<HashMap<Digest, WeakShared<Review<T>>>>,
    max_shared: usize,
}

impl<T: Clone + Send + Sync + 'static> SharedReviews<T> {
    pub(super) fn new(max_shared: usize) -> Self {
        Self { under_way: Mutex::new(HashMap::new()), max_shared }
    }

    /// Joins the review `key` that is in flight, or starts one with `ask`.
    pub(super) fn join(&self, key: &Digest, ask: impl FnOnce() -> Review<T>) -> Shared<Review<T>> {
        let mut under_way = self.under_way.lock();
        if let Some(review) = under_way.get(key).and_then(WeakShared::upgrade) {
            return review;
        }
        let review = ask().shared();
        // Finished reviews are only removed when the map is full: the entries are small.
        if under_way.len() >= self.max_shared {
            under_way.retain(|_, review| review.upgrade().is_some());
        }
        if let Some(weak) = review.downgrade().filter(|_| under_way.len() < self.max_shared) {
            under_way.insert(key.clone(), weak);
        }
        review
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use tokio::time::{sleep, timeout};

    use super::*;

    /// Answers after a second with how many questions were asked before.
    fn question(asked: &Arc<AtomicUsize>) -> Review<usize> {
        let asked = Arc::clone(asked);
        async move {
            let before = asked.fetch_add(1, Ordering::SeqCst);
            sleep(Duration::from_secs(1)).await;
            before
        }
        .boxed()
    }

    #[tokio::test(start_paused = true)]
    async fn the_same_question_is_asked_once_and_another_one_is_not_held_up() {
        let (reviews, asked) = (SharedReviews::new(8), Arc::default());
        let ask = |key: u8| reviews.join(&vec![key], || question(&asked));
        let (first, second, other) = tokio::join!(ask(1), ask(1), ask(2));
        assert_eq!((first, second, other), (0, 0, 1));
        assert_eq!(ask(1).await, 2, "answers are not remembered");
    }

    #[tokio::test(start_paused = true)]
    async fn the_first_to_ask_may_leave_without_harm_to_the_others() {
        let (reviews, asked) = (SharedReviews::new(8), Arc::default());
        let ask = || reviews.join(&vec![1], || question(&asked));
        let impatient = timeout(Duration::from_millis(500), ask());
        let (left, patient) = tokio::join!(impatient, ask());
        assert!(left.is_err());
        assert_eq!(patient, 0);
        assert_eq!(asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test(start_paused = true)]
    async fn a_question_that_everyone_left_is_asked_anew() {
        let (reviews, asked) = (SharedReviews::new(8), Arc::default());
        let ask = || reviews.join(&vec![1], || question(&asked));
        assert!(timeout(Duration::from_millis(500), ask()).await.is_err());
        assert_eq!(ask().await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn beyond_the_bound_questions_are_asked_but_not_shared() {
        let (reviews, asked) = (SharedReviews::new(1), Arc::default());
        let ask = |key: u8| reviews.join(&vec![key], || question(&asked));
        let answers = tokio::join!(ask(1), ask(2), ask(2), ask(1));
        assert_eq!(answers, (0, 1, 2, 0));
        assert_eq!(reviews.under_way.lock().len(), 1);
        assert_eq!(tokio::join!(ask(3), ask(3)), (3, 3), "what has ended makes room");
    }
}
