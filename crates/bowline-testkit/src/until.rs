//! Waiting for what is to be seen: for a condition, and never for a time.

use std::fmt::Display;
use std::time::Duration;

use anyhow::Context;
use tokio::time::{sleep, timeout};

/// The pause between two looks.
const LOOK: Duration = Duration::from_millis(100);

/// Looks again and again until there is an answer, for so long at most.
///
/// # Errors
///
/// If a look fails, or none had an answer.
pub async fn until<T>(
    patience: Duration,
    what: impl Display,
    mut look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let seen = async {
        loop {
            if let Some(found) = look().await? {
                return anyhow::Ok(found);
            }
            sleep(LOOK).await;
        }
    };
    timeout(patience, seen).await.with_context(|| format!("never seen within {patience:?}: {what}"))?
}
