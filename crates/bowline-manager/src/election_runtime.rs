//! The runtime of the electors: a thread with a tokio runtime of its own, so that work that occupies every worker thread never delays a
//! renewal of the Lease.
//!
//! Simulations and tests on virtual time run everything on one thread and use [`ElectionRuntime::of_caller`].

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, EnterGuard, Handle};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How often the election thread checks that the runtime of the controllers still runs tasks.
const CHECK_PERIOD: Duration = Duration::from_secs(5);

/// If the controllers' runtime runs no task for this long, it counts as hung and the Lease is given up. This is longer than the liveness
/// probe of the shipped manifests needs to restart the pod, so it matters only without a kubelet.
const HUNG_AFTER: Duration = Duration::from_secs(120);

/// The maximum number of threads for blocking work: DNS resolution and reading the token file. Idle threads end.
const BLOCKING_THREADS_MAX: usize = 4;

/// A runtime for electors. If it has its own thread, dropping this value ends all tasks on it abruptly, as if the process had been killed.
#[derive(Debug)]
pub struct ElectionRuntime {
    handle: Handle,
    work: Work,
    /// Ends the thread when dropped. `None` if the electors share the caller's runtime.
    _end: Option<DropGuard>,
}

/// The controllers' runtime, watched by the electors for hangs.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// `None` if the electors share that runtime: then a hang stops the electors too and cannot be detected.
    other: Option<Handle>,
    hung_after: Duration,
    /// Cancelled when the watch for hangs may begin.
    watched: CancellationToken,
}

impl ElectionRuntime {
    /// Uses the runtime of the caller. Panics outside a tokio runtime.
    #[must_use]
    pub fn of_caller() -> Self {
        let work = Work { other: None, hung_after: HUNG_AFTER, watched: CancellationToken::new() };
        Self { handle: Handle::current(), work, _end: None }
    }

    /// Starts a thread with a single-threaded runtime. Must be called on the controllers' runtime, which the electors then watch for hangs.
    ///
    /// # Errors
    ///
    /// If the operating system refuses to create the thread or the runtime.
    pub fn on_own_thread() -> io::Result<Self> {
        let watched = CancellationToken::new();
        watched.cancel();
        Self::with_limit(HUNG_AFTER, watched)
    }

    /// Like [`on_own_thread`](Self::on_own_thread), with another limit for hangs. The watch begins when `watched` is cancelled.
    fn with_limit(hung_after: Duration, watched: CancellationToken) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_all().max_blocking_threads(BLOCKING_THREADS_MAX).build()?;
        let (handle, ended) = (runtime.handle().clone(), CancellationToken::new());
        let end = ended.clone().drop_guard();
        std::thread::Builder::new().name("leader-election".to_owned()).spawn(move || {
            runtime.block_on(ended.cancelled());
            // A DNS resolution that is still running cannot be cancelled, and its result is not needed any more.
            runtime.shutdown_background();
        })?;
        let work = Work { other: Some(Handle::current()), hung_after, watched };
        Ok(Self { handle, work, _end: Some(end) })
    }

    /// The runtime on which electors are spawned.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Enters the electors' runtime: clients created while the guard is held run their connection tasks there.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    pub(crate) fn work(&self) -> Work {
        self.work.clone()
    }
}

impl Work {
    /// Returns the limit once the controllers' runtime has run no task for that long. A process that hangs must not keep the Lease from the
    /// other replicas.
    pub(crate) async fn hangs(self) -> Duration {
        let Some(other) = self.other else { return std::future::pending().await };
        self.watched.cancelled().await;
        loop {
            sleep(CHECK_PERIOD.min(self.hung_after)).await;
            // A runtime that is shutting down refuses the task immediately. That is not a hang: the process is ending.
            if timeout(self.hung_after, other.spawn(async {})).await.is_err() {
                return self.hung_after;
            }
        }
    }
}

#[cfg(test)]
mod tests;
