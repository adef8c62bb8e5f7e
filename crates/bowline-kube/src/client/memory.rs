//! Limits the memory for responses of the API server: a size limit for each kind of request, and one budget for all clients of the process,
//! except those that have their own budget because they must not wait for others.
//!
//! A reservation is made once, for the whole response, before its body is read: for its length if the API server sends it, else for the
//! size limit of its kind. It never grows, so no request waits for memory while it holds some. The wait counts towards the deadline of the
//! request. The lists of informers are not counted: they are streamed, one object at a time.

use std::sync::{Arc, LazyLock};

use http::{Method, Request};
use kube::client::Body;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::paths::Path;

const MIB: usize = 1 << 20;
/// The largest response with one object. etcd's default limit is 1.5 MB, and an object is larger as JSON.
const OBJECT_BYTES: usize = 16 * MIB;
/// The largest response to a review or about a Lease, which is a few KiB. With a larger limit, four of them could use up the budget.
const SMALL_OBJECT_BYTES: usize = MIB;
/// The largest list, log or proxied page.
const LIST_BYTES: usize = 64 * MIB;
/// The budget of the process: enough for one list, or for four large objects at the same time.
const PROCESS_BYTES: usize = 64 * MIB;
/// The unit of the semaphore, which cannot hold one permit per byte.
const UNIT_BYTES: usize = 1 << 10;

static PROCESS: LazyLock<AnswerBudget> = LazyLock::new(|| AnswerBudget::new(PROCESS_BYTES));

/// A response that exceeds the size limit of its kind. It was not read to the end.
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

/// The largest permitted response to `request`, in bytes.
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

/// A memory budget for the bodies of responses. Clones share it.
#[derive(Debug, Clone)]
pub struct AnswerBudget {
    free: Arc<Semaphore>,
    total_bytes: usize,
}

impl AnswerBudget {
    /// A budget of this many bytes. A single response that is larger than the whole budget reserves all of it.
    #[must_use]
    pub fn new(total_bytes: usize) -> Self {
        let units = (total_bytes / UNIT_BYTES).clamp(1, Semaphore::MAX_PERMITS);
        Self { free: Arc::new(Semaphore::new(units)), total_bytes: units * UNIT_BYTES }
    }

    /// The budget of 64 MiB that all clients of this process share by default.
    #[must_use]
    pub fn of_process() -> Self {
        PROCESS.clone()
    }

    /// The bytes that are not reserved at this moment.
    #[must_use]
    pub fn free_bytes(&self) -> usize {
        self.free.available_permits() * UNIT_BYTES
    }

    /// The size of the budget in bytes.
    #[must_use]
    pub const fn total_bytes(&self) -> usize {
        self.total_bytes
    }

    /// Waits until `bytes` are free, in order of arrival. `None` would mean that the semaphore is closed, which never happens.
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
