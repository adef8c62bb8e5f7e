//! Waiting until something is seen, with a limit.

use std::time::Duration;

use anyhow::anyhow;
use tokio::time::{sleep, timeout};

/// Longer than anything takes on a busy machine: a scenario that gets here has failed.
pub(crate) const PATIENCE: Duration = Duration::from_secs(240);
/// Another limit in seconds, for who works on a scenario and does not want to wait so long for a failure.
const PATIENCE_ENV: &str = "BOWLINE_E2E_PATIENCE";
const LOOK: Duration = Duration::from_millis(300);

/// Waits until an answer comes out of `look`. A look that fails is taken for "not yet": the failure is told when patience ends.
pub(crate) async fn until<T>(
    what: &str,
    mut look: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    let mut last = None;
    let seen = async {
        loop {
            match look().await {
                Ok(Some(found)) => return found,
                Ok(None) => last = None,
                Err(error) => last = Some(error),
            }
            sleep(LOOK).await;
        }
    };
    match timeout(patience(), seen).await {
        Ok(found) => Ok(found),
        Err(_) => Err(match last {
            Some(error) => error.context(format!("never seen: {what}")),
            None => anyhow!("never seen: {what}"),
        }),
    }
}

fn patience() -> Duration {
    let said = std::env::var(PATIENCE_ENV).ok().and_then(|text| text.parse().ok());
    said.map_or(PATIENCE, Duration::from_secs)
}

/// Watches something for a while that has to stay as it is.
pub(crate) async fn holds(
    what: &str,
    how_long: Duration,
    mut look: impl AsyncFnMut() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let end = tokio::time::Instant::now() + how_long;
    while tokio::time::Instant::now() < end {
        anyhow::ensure!(look().await?, "it did not stay so: {what}");
        sleep(LOOK).await;
    }
    Ok(())
}
