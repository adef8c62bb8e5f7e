//! How a harness waits: how long, how often it polls, whether failed polls count, and whose log a failure shows.

use std::fmt::{Debug, Display};
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, anyhow};
use tokio::time::{Instant, sleep, timeout};

use crate::process::tail;
use crate::{deadline, scaled};

/// The pause between two polls.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Waits for conditions, all in the same way.
#[derive(Debug, Clone, Default)]
pub struct Wait {
    limit: Option<Duration>,
    interval: Option<Duration>,
    log: Option<PathBuf>,
    retries_errors: bool,
}

impl Wait {
    /// Waits at most this long, [`scaled`], in place of [`deadline`]: a limit in real time whose expiry is a failure.
    #[must_use]
    pub fn within(limit: Duration) -> Self {
        Self::within_unscaled(scaled(limit))
    }

    /// Waits at most exactly this long: in virtual time, and where the condition may as well not come to hold.
    #[must_use]
    pub fn within_unscaled(limit: Duration) -> Self {
        Self { limit: Some(limit), ..Self::default() }
    }

    /// Polls this often, where the usual 100 ms would make a suite slow.
    #[must_use]
    pub fn every(self, interval: Duration) -> Self {
        Self { interval: Some(interval), ..self }
    }

    /// A wait that fails shows the end of this log.
    #[must_use]
    pub fn with_log(self, log: impl Into<PathBuf>) -> Self {
        Self { log: Some(log.into()), ..self }
    }

    /// A poll that fails is repeated; the last failure is reported when the wait fails.
    #[must_use]
    pub fn retry_errors(self) -> Self {
        Self { retries_errors: true, ..self }
    }

    /// Polls a condition until it returns a value.
    ///
    /// # Errors
    /// If a poll fails, or none returned a value in time.
    pub async fn until<T>(
        &self,
        what: impl Display,
        mut poll: impl AsyncFnMut() -> anyhow::Result<Option<T>>,
    ) -> anyhow::Result<T> {
        let (limit, mut failure) = (self.limit.unwrap_or_else(deadline), None);
        let found = async {
            loop {
                match poll().await {
                    Ok(Some(found)) => return Ok(found),
                    Ok(None) => failure = None,
                    Err(error) if self.retries_errors => failure = Some(error),
                    Err(error) => return Err(error),
                }
                sleep(self.interval.unwrap_or(POLL_INTERVAL)).await;
            }
        };
        let found = match timeout(limit, found).await {
            Ok(found) => found,
            Err(_elapsed) => Err(late(failure, &format!("not within {limit:?}: {what}"))),
        };
        match &self.log {
            Some(log) => found.with_context(|| tail(log)),
            None => found,
        }
    }

    /// Reads a value until it is as wanted; a failure shows the last one.
    ///
    /// # Errors
    /// If a read fails, or no value was as wanted in time.
    pub async fn until_value<V: Debug>(
        &self,
        what: impl Display,
        mut read: impl AsyncFnMut() -> anyhow::Result<V>,
        wanted: impl Fn(&V) -> bool,
    ) -> anyhow::Result<V> {
        let mut last = None;
        let found = self.until(what, async || {
            let value = read().await?;
            if wanted(&value) {
                return Ok(Some(value));
            }
            last = Some(value);
            Ok(None)
        });
        let found = found.await;
        found.with_context(|| format!("last seen: {last:#?}"))
    }

    /// Reads a value until it has stayed the same for `quiet`; while it is `None`, it does not count as quiet.
    ///
    /// # Errors
    /// If a read fails, or the value does not settle in time.
    pub async fn until_settled<V: PartialEq>(
        &self,
        what: impl Display,
        quiet: Duration,
        mut read: impl AsyncFnMut() -> anyhow::Result<Option<V>>,
    ) -> anyhow::Result<()> {
        let (mut since, mut before) = (Instant::now(), None);
        let settled = self.until(what, async || {
            let now = read().await?;
            if now.is_none() || now != before {
                (since, before) = (Instant::now(), now);
            }
            Ok((since.elapsed() >= quiet).then_some(()))
        });
        settled.await
    }
}

fn late(failure: Option<anyhow::Error>, what: &str) -> anyhow::Error {
    match failure {
        Some(error) => error.context(what.to_owned()),
        None => anyhow!("{what}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn failed_polls_are_repeated_where_that_is_wanted_and_the_last_failure_is_shown() {
        let wait = Wait::within_unscaled(Duration::from_secs(1)).retry_errors();
        let mut polls = 0;
        let found = wait.until("the third poll", async || {
            polls += 1;
            anyhow::ensure!(polls == 3, "connection refused");
            Ok(Some(polls))
        });
        assert_eq!(found.await.unwrap(), 3);
        let never = wait.until("nothing", async || Err::<Option<()>, _>(anyhow!("connection refused"))).await;
        let error = format!("{:#}", never.unwrap_err());
        assert!(error.contains("nothing") && error.contains("connection refused"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_failure_shows_the_last_value_and_the_end_of_the_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        std::fs::write(&log, "the lease was lost").unwrap();
        let wait = Wait::within_unscaled(Duration::from_secs(1)).with_log(log);
        let never = wait.until_value("seven", async || Ok(6), |value| *value == 7).await;
        let error = format!("{:#}", never.unwrap_err());
        assert!(error.contains("seen: Some(\n    6") && error.contains("the lease was lost"), "{error}");
    }

    #[tokio::test(start_paused = true)]
    async fn a_value_has_settled_when_it_is_there_and_has_not_changed_for_a_while() {
        let (began, quiet) = (Instant::now(), Duration::from_secs(3));
        let read = async || {
            let seconds = began.elapsed().as_secs();
            Ok((seconds >= 1).then_some(seconds.min(4)))
        };
        Wait::within_unscaled(Duration::from_secs(60))
            .until_settled("the seconds", quiet, read)
            .await
            .unwrap();
        assert_eq!(began.elapsed().as_secs(), 7);
    }
}
