//! Where the electors run: on a thread and a tokio runtime of their own, so that work which uses every worker thread never
//! delays a renewal of the Lease.
//!
//! Simulations and tests on virtual time run everything in one thread: they take [`ElectionRuntime::of_caller`].

use std::io;
use std::time::Duration;

use tokio::runtime::{Builder, EnterGuard, Handle};
use tokio::time::{sleep, timeout};
use tokio_util::sync::{CancellationToken, DropGuard};

/// How often the election thread checks that the runtime of the controllers still runs tasks.
const CHECK_PERIOD: Duration = Duration::from_secs(5);

/// A runtime of the controllers that runs no task for this long counts as hung, and its Lease is given up. Longer than the
/// liveness probe of the shipped manifests needs to restart the pod, so it only decides where no kubelet does.
const HUNG_AFTER: Duration = Duration::from_secs(120);

/// Threads for what blocks, which is name resolution and reading the token file. They end when idle.
const BLOCKING_THREADS_MAX: usize = 4;

/// A runtime for electors. What runs on a thread of its own ends when this value is dropped, as if the process had been killed.
#[derive(Debug)]
pub struct ElectionRuntime {
    handle: Handle,
    work: Work,
    /// Ends the thread, if there is one.
    _end: Option<DropGuard>,
}

/// The runtime of the controllers, as the electors see it.
#[derive(Debug, Clone)]
pub(crate) struct Work {
    /// `None` if the electors share that runtime: then they hang with it.
    other: Option<Handle>,
    hung_after: Duration,
    /// Whether the runtime is watched yet.
    watched: CancellationToken,
}

impl ElectionRuntime {
    /// The runtime of the caller. Must be called on one.
    #[must_use]
    pub fn of_caller() -> Self {
        let work = Work { other: None, hung_after: HUNG_AFTER, watched: CancellationToken::new() };
        Self { handle: Handle::current(), work, _end: None }
    }

    /// A thread with a single-threaded runtime. Must be called on the runtime of the controllers, which is watched from there.
    ///
    /// # Errors
    ///
    /// If the system refuses the thread or the runtime.
    pub fn on_own_thread() -> io::Result<Self> {
        let watched = CancellationToken::new();
        watched.cancel();
        Self::with_limit(HUNG_AFTER, watched)
    }

    /// The same with another time after which the runtime of the controllers counts as hung, from when `watched` is cancelled.
    fn with_limit(hung_after: Duration, watched: CancellationToken) -> io::Result<Self> {
        let mut builder = Builder::new_current_thread();
        let runtime = builder.enable_all().max_blocking_threads(BLOCKING_THREADS_MAX).build()?;
        let (handle, ended) = (runtime.handle().clone(), CancellationToken::new());
        let end = ended.clone().drop_guard();
        std::thread::Builder::new().name("leader-election".to_owned()).spawn(move || {
            runtime.block_on(ended.cancelled());
            // A name that is being resolved cannot be interrupted, and nobody waits for it any more.
            runtime.shutdown_background();
        })?;
        let work = Work { other: Some(Handle::current()), hung_after, watched };
        Ok(Self { handle, work, _end: Some(end) })
    }

    /// The runtime to spawn on.
    pub(crate) fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Clients that are made while this is held belong to the electors' runtime, with all tasks of their connections.
    pub(crate) fn enter(&self) -> EnterGuard<'_> {
        self.handle.enter()
    }

    /// The runtime of the controllers.
    pub(crate) fn work(&self) -> Work {
        self.work.clone()
    }
}

impl Work {
    /// Returns once the runtime of the controllers has run no task for too long, and says how long. A process whose work hangs
    /// for ever must not keep the Lease from the other replicas.
    pub(crate) async fn hangs(self) -> Duration {
        let Some(other) = self.other else { return std::future::pending().await };
        self.watched.cancelled().await;
        loop {
            sleep(CHECK_PERIOD.min(self.hung_after)).await;
            // A runtime that is shut down refuses the task at once: its process ends, which is no hang.
            if timeout(self.hung_after, other.spawn(async {})).await.is_err() {
                return self.hung_after;
            }
        }
    }
}

#[cfg(test)]
mod tests;
