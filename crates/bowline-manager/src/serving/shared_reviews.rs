//! One review for all who ask the same at the same time: who comes while a question is under way waits for its
//! answer. It remembers nothing beyond that, and asks nothing by itself.

use std::collections::HashMap;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, WeakShared};
use parking_lot::Mutex;

use super::digest::Digest;

/// Different questions at once that others may join; beyond, each asks for itself.
pub(super) const MAX_SHARED: usize = 1024;

type Review<T> = BoxFuture<'static, T>;

/// The questions under way, by digest.
///
/// A question is driven by those who wait for it: one of them going away stops nothing, all of them going away ends
/// it. That is why only weak references are kept here.
pub(super) struct SharedReviews<T> {
    under_way: Mutex<HashMap<Digest, WeakShared<Review<T>>>>,
    max_shared: usize,
}

impl<T: Clone + Send + Sync + 'static> SharedReviews<T> {
    pub(super) fn new(max_shared: usize) -> Self {
        Self { under_way: Mutex::new(HashMap::new()), max_shared }
    }

    /// The question `key` that is under way, else the one that `ask` begins.
    pub(super) fn join(&self, key: &Digest, ask: impl FnOnce() -> Review<T>) -> Shared<Review<T>> {
        let mut under_way = self.under_way.lock();
        if let Some(review) = under_way.get(key).and_then(WeakShared::upgrade) {
            return review;
        }
        let review = ask().shared();
        // What has ended is only cleared away when there is need for room: it is small.
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
