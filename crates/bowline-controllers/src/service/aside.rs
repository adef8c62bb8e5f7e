//! Runs that take long go on aside: they hold no worker and no place, so that Services whose cloud hangs delay no other.
//!
//! What is aside is limited too: a cloud that is slow for all of them is not asked for everything at once. Then the places
//! stay taken, and new work waits, as it must. Nothing here knows what a run does.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::time::sleep;
use tracing::error;

/// How long a run has a place: some round trips to a cloud that works.
const PATIENCE: Duration = Duration::from_secs(2);

/// A run that was begun.
pub(super) type Run<'w> = BoxFuture<'w, ()>;

/// The place of a run that goes on aside.
type SlowPlace<'w> = Result<SemaphorePermit<'w>, AcquireError>;

/// How many keys there may be in runs at once.
#[derive(Debug)]
pub(super) struct Places {
    quick: Semaphore,
    slow: Semaphore,
}

impl Places {
    pub(super) fn new(quick: usize, slow: usize) -> Self {
        Self { quick: Semaphore::new(quick.max(1)), slow: Semaphore::new(slow) }
    }

    /// Waits for a place, then for the end of `run`, or until it goes on aside.
    pub(super) async fn run<'w>(&'w self, mut run: Run<'w>, aside: &Aside<'w>) {
        let _place = self.quick.acquire().await;
        if let Err(place) = self.patiently(&mut run, 1).await {
            let rest = async move {
                run.await;
                drop(place);
            };
            aside.take(rest.boxed());
        }
    }

    /// What `run` of so many keys comes to, or the place in which it may go on: it takes long, and has not ended.
    pub(super) async fn patiently<'w, T>(
        &'w self,
        run: &mut BoxFuture<'_, T>,
        keys: usize,
    ) -> Result<T, SlowPlace<'w>> {
        let slow = async {
            sleep(PATIENCE).await;
            // If there are not as many places at all it stays where it is.
            self.slow.acquire_many(u32::try_from(keys).unwrap_or(u32::MAX)).await
        };
        tokio::select! {
            biased;
            ended = run => Ok(ended),
            place = slow => Err(place),
        }
    }
}

/// Where runs go on that take long.
#[derive(Debug, Clone)]
pub(super) struct Aside<'w>(UnboundedSender<Run<'w>>);

impl<'w> Aside<'w> {
    /// The way in, and what [`finish`] has to be given.
    pub(super) fn new() -> (Self, UnboundedReceiver<Run<'w>>) {
        let (sender, runs) = mpsc::unbounded_channel();
        (Self(sender), runs)
    }

    /// Lets `run` go on. If nobody is there any more it is dropped, as at the end of the process.
    pub(super) fn take(&self, run: Run<'w>) {
        drop(self.0.send(run));
    }
}

/// Brings all runs to their end; returns when no more can come.
pub(super) async fn finish(mut given: UnboundedReceiver<Run<'_>>) {
    let mut runs = FuturesUnordered::new();
    loop {
        tokio::select! {
            biased;
            run = given.recv() => match run {
                Some(run) => runs.push(caught(run)),
                None => break,
            },
            Some(()) = runs.next() => {}
        }
    }
    while runs.next().await.is_some() {}
}

/// A panic ends this run only.
pub(super) async fn caught(run: impl Future<Output = ()>) {
    if AssertUnwindSafe(run).catch_unwind().await.is_err() {
        error!("a look at load balancers panicked: this is a bug; their Services are tried again");
    }
}
