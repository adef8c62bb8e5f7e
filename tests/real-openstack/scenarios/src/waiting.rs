//! How long scenarios wait, on a cloud whose answers may fail meanwhile.

use std::time::Duration;

use bowline_testkit::Wait;
use tokio::time::sleep;

/// Longer than anything takes on a busy machine: a scenario that gets here has failed.
const LIMIT: Duration = Duration::from_secs(240);
/// Another limit in seconds, for those who work on a scenario and do not want to wait so long for a failure.
const LIMIT_ENV: &str = "BOWLINE_E2E_PATIENCE";
const POLL_INTERVAL: Duration = Duration::from_millis(300);

/// Waits in which a failed poll means "not yet": the last failure is reported when the limit is reached.
pub(crate) fn wait() -> Wait {
    let limit = std::env::var(LIMIT_ENV).ok().and_then(|text| text.parse().ok());
    let wait = limit.map_or(Wait::within(LIMIT), |limit| Wait::within_unscaled(Duration::from_secs(limit)));
    wait.every(POLL_INTERVAL).retry_errors()
}

/// Waits so until a poll returns a value.
pub(crate) async fn until<T>(
    what: &str,
    poll: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
) -> anyhow::Result<T> {
    wait().until(what, poll).await
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
        sleep(POLL_INTERVAL).await;
    }
    Ok(())
}
