//! Answers that are kept for some minutes. All who ask at the same time share one question.

use std::collections::BTreeMap;
use std::future::Future;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::loadbalancer::trouble::Trouble;

/// How long an answer is used again.
const AGE_LIMIT: Duration = Duration::from_secs(300);

/// So many answers are kept.
const MOST: usize = 1_000;

/// Answers to questions of one kind.
#[derive(Debug)]
pub(super) struct Kept<K, V>(Mutex<BTreeMap<K, (Instant, V)>>);

impl<K, V> Default for Kept<K, V> {
    fn default() -> Self {
        Self(Mutex::new(BTreeMap::new()))
    }
}

impl<K: Ord, V: Clone> Kept<K, V> {
    /// The answer, from before or by `read`. Neither a failure nor "there is none" is kept: a person may be mending it.
    pub(super) async fn get<F>(&self, key: K, read: impl FnOnce() -> F) -> Result<Option<V>, Trouble>
    where
        F: Future<Output = Result<Option<V>, Trouble>>,
    {
        let mut kept = self.0.lock().await;
        if let Some((at, value)) = kept.get(&key)
            && at.elapsed() < AGE_LIMIT
        {
            return Ok(Some(value.clone()));
        }
        let Some(value) = read().await? else { return Ok(None) };
        if kept.len() >= MOST {
            kept.clear();
        }
        kept.insert(key, (Instant::now(), value.clone()));
        Ok(Some(value))
    }
}
