//! Runs that take long go on aside: they hold no worker and no place, so that Services whose cloud hangs delay no other.
//!
//! What is aside is limited too: a cloud that is slow for all of them is not asked for everything at once. Then the places
//! stay taken, and new work waits, as it must. Users' work has places of its own, so that none waits behind a round over all
//! Services. Nothing here knows what a run does.

use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{FairPermit, FairSemaphore};
use bowline_kube::queue::Priority;
use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt, StreamExt};
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};
use tokio::sync::{AcquireError, Semaphore, SemaphorePermit};
use tokio::time::sleep;
use tracing::error;

/// How long a run has a place: some round trips to a cloud that works.
const PATIENCE: Duration = Duration::from_secs(2);

/// How long a lot of users' work has a worker.
const PATIENCE_WITH_LOTS: Duration = Duration::from_millis(200);

/// Besides the quick places that the Services of one namespace may take there is one of so many for those of others.
const RESERVE: usize = 4;

/// A run that was begun.
pub(super) type Run<'w> = BoxFuture<'w, ()>;

/// The place of a run that goes on aside.
type SlowPlace<'w> = Result<SemaphorePermit<'w>, AcquireError>;

/// How many keys there may be in runs at once.
#[derive(Debug)]
pub(super) struct Places {
    user: Lane,
    background: Lane,
}

/// The places for work of one priority.
#[derive(Debug)]
struct Lane {
    quick: Arc<FairSemaphore>,
    slow: Semaphore,
    /// How many keys there may be in lots that no worker waits for.
    in_lots: Semaphore,
    /// How many of the slow ones one lot takes at most: another one must be able to go aside, too.
    for_a_lot: usize,
}

impl Lane {
    fn new(quick: usize, slow: usize, in_lots: usize) -> Self {
        let quick = FairSemaphore::with_reserve(quick.max(1), quick.div_ceil(RESERVE));
        let (slow, for_a_lot) = (Semaphore::new(slow), (slow / 2).max(1));
        Self { quick, slow, in_lots: Semaphore::new(in_lots), for_a_lot }
    }
}

impl Places {
    /// So many quick places for each priority, so many slow ones for users and half as many for others, and so many keys in lots.
    pub(super) fn new(quick: usize, slow: usize, in_lots: usize) -> Self {
        let lane = |slow| Lane::new(quick, slow, in_lots);
        Self { user: lane(slow), background: lane(slow.div_ceil(2)) }
    }

    fn lane(&self, priority: Priority) -> &Lane {
        match priority {
            Priority::User => &self.user,
            Priority::Background => &self.background,
        }
    }

    /// Waits for a place for work of a namespace.
    pub(super) async fn quick(&self, priority: Priority, namespace: &str) -> FairPermit {
        self.lane(priority).quick.acquire(namespace.into()).await
    }

    /// Waits for the end of `run`, which has its place, or until it goes on aside.
    pub(super) async fn run<'w>(
        &'w self,
        priority: Priority,
        place: Option<FairPermit>,
        mut run: Run<'w>,
        aside: &Aside<'w>,
    ) {
        if let Err(slow) = self.patiently(priority, &mut run, 1).await {
            let rest = async move {
                run.await;
                drop(slow);
            };
            aside.take(rest.boxed());
        }
        drop(place);
    }

    /// What `run` of so many keys comes to, or the place in which it may go on: it takes long, and has not ended.
    pub(super) async fn patiently<'w, T>(
        &'w self,
        priority: Priority,
        run: &mut BoxFuture<'_, T>,
        keys: usize,
    ) -> Result<T, SlowPlace<'w>> {
        let lane = self.lane(priority);
        patiently(run, PATIENCE, &lane.slow, keys.min(lane.for_a_lot)).await
    }

    /// Waits for the end of `lot`, of so many keys, or until it takes long: its runs have places by themselves, and wait for them without a
    /// worker. So the workers are free for the Services of other namespaces.
    pub(super) async fn lot<'w>(
        &'w self,
        priority: Priority,
        mut lot: Run<'w>,
        keys: usize,
        aside: &Aside<'w>,
    ) {
        let patience = match priority {
            Priority::User => PATIENCE_WITH_LOTS,
            Priority::Background => PATIENCE,
        };
        if let Err(place) = patiently(&mut lot, patience, &self.lane(priority).in_lots, keys).await {
            let rest = async move {
                lot.await;
                drop(place);
            };
            aside.take(rest.boxed());
        }
    }
}

/// What `run` comes to, or so many of `places`, if it takes long. If there are not as many at all it stays where it is.
async fn patiently<'w, T>(
    run: &mut BoxFuture<'_, T>,
    patience: Duration,
    places: &'w Semaphore,
    count: usize,
) -> Result<T, SlowPlace<'w>> {
    let slow = async {
        sleep(patience).await;
        places.acquire_many(u32::try_from(count).unwrap_or(u32::MAX)).await
    };
    tokio::select! {
        biased;
        ended = run => Ok(ended),
        place = slow => Err(place),
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
