//! Memory limits for answers: a size limit for each kind of call, and one budget for all answers of the process. One service can use at
//! most half of the budget, so a service with huge answers cannot block the calls to the others.
//!
//! Memory is reserved once per answer, before its body is read: the `Content-Length`, or else the limit of its kind; first from the share
//! of the service, then from the whole budget. A reservation never grows, and it ends when the answer is dropped after decoding. So no
//! caller waits for more memory while it has a complete reservation, and there is no deadlock. The wait counts towards the deadline of the
//! call.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use parking_lot::Mutex;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::service::Service;

const MIB: usize = 1 << 20;

/// The kind of an answer, which determines its size limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AnswerKind {
    /// A token with its catalog: a few kB per service, 100 kB in a cloud with many regions.
    Token,
    /// The list of API versions: a few kB.
    Versions,
    /// One object: a security group with 5,000 rules takes 3 MB.
    Object,
    /// A page of a list, or a load balancer with everything below it: 1,000 servers take 3 MB, 5,000 members 2.5 MB, and some services
    /// ignore the page size and return everything at once.
    List,
    /// An error, for any kind of call.
    Failure,
}

impl AnswerKind {
    /// The size limit in bytes. A larger answer is rejected before it is completely read.
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

/// The bytes per semaphore permit: a semaphore cannot hold one permit per byte of a large budget.
const UNIT_BYTES: usize = 1 << 10;
/// The default budget of the process. The memory limit in the manifests includes it.
const PROCESS_BYTES: usize = 128 * MIB;

static PROCESS: LazyLock<AnswerBudget> = LazyLock::new(|| AnswerBudget::new(PROCESS_BYTES));

/// A memory budget that the bodies of answers share. Clones share the budget.
#[derive(Debug, Clone)]
pub struct AnswerBudget {
    free: Arc<Semaphore>,
    /// The free part of each service's share.
    shares: Arc<Mutex<BTreeMap<Service, Arc<Semaphore>>>>,
    total_bytes: usize,
}

impl AnswerBudget {
    /// A budget of `total_bytes`. An answer larger than the whole budget reserves all of it.
    #[must_use]
    pub fn new(total_bytes: usize) -> Self {
        let units = (total_bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self {
            free: Arc::new(Semaphore::new(units)),
            shares: Arc::default(),
            total_bytes: units * UNIT_BYTES,
        }
    }

    /// The default budget, which all transports of this process share: 128 MiB.
    #[must_use]
    pub fn of_process() -> Self {
        PROCESS.clone()
    }

    /// The size of the budget.
    #[must_use]
    pub const fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// The bytes that are currently not reserved.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.free.available_permits() * UNIT_BYTES
    }

    /// The maximum for one service at a time. A larger answer reserves the whole share.
    const fn share_bytes(&self) -> usize {
        self.total_bytes / 2
    }

    /// Waits until `bytes` are free for an answer of `service`, in order of arrival. `None` only if a semaphore is closed, which does not
    /// happen.
    pub(crate) async fn reserve(&self, service: Service, bytes: usize) -> Option<Reservation> {
        // The share comes first: a service whose share is exhausted must not hold memory that other services could use.
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

/// `None` if the semaphore is closed, which does not happen.
async fn acquire(semaphore: Arc<Semaphore>, bytes: usize) -> Option<OwnedSemaphorePermit> {
    let units = u32::try_from(bytes.div_ceil(UNIT_BYTES)).unwrap_or(u32::MAX);
    semaphore.acquire_many_owned(units).await.ok()
}

/// Reserved memory for one answer, released on drop.
#[derive(Debug)]
pub(crate) struct Reservation {
    _whole: OwnedSemaphorePermit,
    _share: OwnedSemaphorePermit,
}
