//! How much memory the API server's answers may take: a limit for each kind of request, and one budget for all clients of the process
//! but those that have a budget of their own because they must not wait for others.
//!
//! A reservation is made once, for the whole answer, before its body is read: for its length where the server says it, else for the
//! limit of its kind. It never grows, so no request waits for memory while it holds some. Waiting counts towards the deadline of the
//! request. The lists of informers are not counted: they are taken apart while they come, one object at a time.

use std::sync::{Arc, LazyLock};

use http::{Method, Request};
use kube::client::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::paths::Path;

const MIB: usize = 1 << 20;
/// The largest answer about one object. etcd takes 1.5 MB by default, and an object is larger as JSON.
const OBJECT_BYTES: usize = 16 * MIB;
/// The largest answer to a review or about a Lease, which holds a few KiB. Larger ones would let four of them take the budget.
const SMALL_OBJECT_BYTES: usize = MIB;
/// The largest list, log or page of another server.
const LIST_BYTES: usize = 64 * MIB;
/// The budget of the process. A list fits, and four large objects beside each other.
const PROCESS_BYTES: usize = 64 * MIB;
/// What a semaphore counts in: it holds fewer permits than there are bytes.
const UNIT_BYTES: usize = 1 << 10;

static PROCESS: LazyLock<AnswerBudget> = LazyLock::new(|| AnswerBudget::new(PROCESS_BYTES));

/// An answer that is larger than any of its kind should be. It was not read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "{method} {path}: the answer of the API server is larger than {limit_bytes} bytes, the limit for such a request"
)]
pub struct AnswerTooLarge {
    /// The HTTP method.
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The limit.
    pub limit_bytes: usize,
}

/// How large the answer to `request` may be.
pub(super) fn limit_bytes(request: &Request<Body>) -> usize {
    let Some(path) = Path::of(request.uri().path()) else { return LIST_BYTES };
    let is_one_object =
        path.subresource != Some("log") && (path.name.is_some() || request.method() == Method::POST);
    match path.resource {
        "leases" | "tokenreviews" | "subjectaccessreviews" if is_one_object => SMALL_OBJECT_BYTES,
        _ if is_one_object => OBJECT_BYTES,
        _ => LIST_BYTES,
    }
}

/// The memory that the bodies of answers may take together. Clones share it.
#[derive(Debug, Clone)]
pub struct AnswerBudget {
    free: Arc<Semaphore>,
    total_bytes: usize,
}

impl AnswerBudget {
    /// A budget of so many bytes. A single answer that is larger than the whole budget takes all of it.
    #[must_use]
    pub fn new(total_bytes: usize) -> Self {
        let units = (total_bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(units)), total_bytes: units * UNIT_BYTES }
    }

    /// The budget that all clients of this process share unless they are given another: 64 MiB.
    #[must_use]
    pub fn of_process() -> Self {
        PROCESS.clone()
    }

    /// What is not reserved at this moment.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.free.available_permits() * UNIT_BYTES
    }

    /// The whole budget.
    #[must_use]
    pub const fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Waits until `bytes` are free, in the order of the callers. `None` would mean that the semaphore is closed, which nobody does.
    pub(super) async fn reserve(&self, bytes: usize) -> Option<Arc<OwnedSemaphorePermit>> {
        let units = bytes.min(self.total_bytes).div_ceil(UNIT_BYTES);
        let permits = Arc::clone(&self.free).acquire_many_owned(u32::try_from(units).unwrap_or(u32::MAX));
        permits.await.ok().map(Arc::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_follows_from_what_is_asked_for() {
        for (method, path, bytes) in [
            ("GET", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l", MIB),
            ("PUT", "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/l", MIB),
            ("POST", "/apis/authentication.k8s.io/v1/tokenreviews", MIB),
            ("POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", MIB),
            ("GET", "/api/v1/namespaces/kube-system/configmaps/c", 16 * MIB),
            ("GET", "/apis/coordination.k8s.io/v1/leases", 64 * MIB),
            ("GET", "/api/v1/nodes", 64 * MIB),
            ("GET", "/readyz", 64 * MIB),
        ] {
            let request = Request::builder().method(method).uri(path).body(Body::empty()).unwrap();
            assert_eq!(limit_bytes(&request), bytes, "{method} {path}");
        }
    }
}
