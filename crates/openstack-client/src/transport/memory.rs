//! How much memory answers may take: a limit for each kind of call, and one budget for all answers of the process, of which one service
//! may have half: a service whose answers do not end must not keep the others waiting.
//!
//! A reservation is made once, for the whole answer, before its body is read: for its length where the service says it, else for the
//! limit of its kind, first from the share of the service and then from the whole. It never grows, and it ends when the answer is decoded. So no caller waits for memory while it holds some, and
//! there is no deadlock. Waiting counts towards the deadline of the call.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::Service;

const MIB: usize = 1 << 20;

/// What a call asks for, which decides how large its answer may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// A token with its catalog: a few kB for each service, 100 kB in a cloud with many regions.
    Token,
    /// The versions of an API: a few kB.
    Versions,
    /// One object: a security group with 5,000 rules has 3 MB.
    Object,
    /// A page of a list, or a load balancer with everything below it: 1,000 servers have 3 MB, 5,000 members 2.5 MB, and services that
    /// ignore the page size answer with everything at once.
    List,
    /// A refusal or a failure, whatever was asked.
    Failure,
}

impl AnswerKind {
    /// A larger answer is refused before it is in memory.
    pub(crate) const fn limit_bytes(self) -> usize {
        match self {
            Self::Token => 4 * MIB,
            Self::Versions | Self::Failure => MIB,
            Self::Object => 8 * MIB,
            Self::List => 64 * MIB,
        }
    }

    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Token => "a token",
            Self::Versions => "a list of versions",
            Self::Object => "one object",
            Self::List => "a page of a list",
            Self::Failure => "an error",
        }
    }
}

/// What a semaphore counts in: it holds fewer permits than there are bytes.
const UNIT_BYTES: usize = 1 << 10;
/// The budget of a process. The memory limit that the manifests set leaves room for it.
const PROCESS_BYTES: usize = 128 * MIB;

static PROCESS: LazyLock<AnswerBudget> = LazyLock::new(|| AnswerBudget::new(PROCESS_BYTES));

/// The memory that the bodies of answers may take together. Clones share it.
#[derive(Debug, Clone)]
pub struct AnswerBudget {
    free: Arc<Semaphore>,
    /// What is left of each service's share.
    shares: Arc<Mutex<BTreeMap<Service, Arc<Semaphore>>>>,
    total_bytes: usize,
}

impl AnswerBudget {
    /// A budget of so many bytes. A single answer that is larger than the whole budget takes all of it.
    #[must_use]
    pub fn new(total_bytes: usize) -> Self {
        let units = (total_bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(units)),
            shares: Arc::default(),
            total_bytes: units * UNIT_BYTES,
        }
    }

    /// The budget that all transports of this process share unless they are given another: 128 MiB.
    #[must_use]
    pub fn of_process() -> Self {
        PROCESS.clone()
    }

    /// The whole budget.
    #[must_use]
    pub const fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// What is not reserved at this moment.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.free.available_permits() * UNIT_BYTES
    }

    /// The most that one service may have at a time. An answer that is larger takes all of it.
    const fn share_bytes(&self) -> usize {
        self.total_bytes / 2
    }

    /// Waits until `bytes` are free for an answer of `service`, in the order of the callers.
    pub(crate) async fn reserve(&self, service: Service, bytes: usize) -> Option<Reservation> {
        // The share first: a service without any left must not hold memory that the others could have.
        let share = acquire(self.share(service), bytes.min(self.share_bytes())).await?;
        let whole = acquire(Arc::clone(&self.free), bytes.min(self.total_bytes)).await?;
        Some(Reservation { _whole: whole, _share: share })
    }

    fn share(&self, service: Service) -> Arc<Semaphore> {
        let units = (self.share_bytes() / UNIT_BYTES).max(1);
        let mut shares = self.shares.lock();
        Arc::clone(shares.entry(service).or_insert_with(|| Arc::new(Semaphore::new(units))))
    }
}

/// `None` would mean that the semaphore is closed, which nobody does.
async fn acquire(semaphore: Arc<Semaphore>, bytes: usize) -> Option<OwnedSemaphorePermit> {
    let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
    semaphore.acquire_many_owned(units).await.ok()
}

/// Memory for one answer, free again when this is dropped.
#[derive(Debug)]
pub(crate) struct Reservation {
    _whole: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
}
