//! The worker pool: takes keys, runs the handler, returns its outcome to the queue. Order and retries are decided by the queue.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use super::{KeyedQueue, Outcome, Picked, QueueKey, Ticket};

/// Works on `queue` with `count` workers (at least one) until `cancel`. Then it takes no more keys, and returns when the running handlers
/// have finished.
///
/// A handler that panics is caught: the panic is logged and counted, and the key is retried like after any failure. The pool sets no
/// timeout for a run; `workqueue_longest_running_processor_seconds` shows runs that take too long.
///
/// Dropping the future ends every run at once: when the drop has returned, no code of a handler runs any more and the lease may be
/// released. This is why all workers run in the caller's task. Tasks of their own would only be asked to abort, and one of them could be in
/// the middle of a step on another thread. The cost is that the runs of one queue share one core, which is acceptable for handlers that
/// mostly wait for responses; other queues have other tasks.
pub async fn run_workers<K, H, F>(count: usize, queue: KeyedQueue<K>, handler: H, cancel: CancellationToken)
where
    K: QueueKey,
    H: Fn(Picked<K>) -> F + Send + Sync + 'static,
    F: Future<Output = Outcome> + Send + 'static,
{
    let mut workers: FuturesUnordered<_> =
        (0..count.max(1)).map(|_| AssertUnwindSafe(work(&queue, &handler, &cancel)).catch_unwind()).collect();
    while let Some(ended) = workers.next().await {
        if let Err(panic) = ended {
            let reason = panic_message(panic.as_ref());
            error!(queue = queue.name(), reason, "a worker ended early; its key is retried by the others");
        }
    }
}

async fn work<K, H, F>(queue: &KeyedQueue<K>, handler: &H, cancel: &CancellationToken)
where
    K: QueueKey,
    H: Fn(Picked<K>) -> F,
    F: Future<Output = Outcome> + Send,
{
    loop {
        let ticket = tokio::select! {
            // Polled first, so that no key is taken after cancellation.
            biased;
            () = cancel.cancelled() => return,
            ticket = queue.take() => ticket,
        };
        run_one(queue.name(), ticket, handler).await;
    }
}

async fn run_one<K, H, F>(queue: &str, ticket: Ticket<K>, handler: &H)
where
    K: QueueKey,
    H: Fn(Picked<K>) -> F,
    F: Future<Output = Outcome> + Send,
{
    let work = ticket.picked().clone();
    // After a panic, the handler is responsible for its own state. The state of the pool is unaffected, so the assertion holds.
    let run = AssertUnwindSafe(async { handler(work).await });
    match run.catch_unwind().await {
        Ok(outcome) => {
            debug!(queue, key = ?ticket.key(), ?outcome, "finished a run");
            ticket.finish(outcome);
        }
        Err(panic) => {
            let reason = panic_message(panic.as_ref());
            error!(queue, key = ?ticket.key(), reason, "a run panicked: this is a bug; the key is retried with back-off");
            ticket.count_panic();
            ticket.finish(Outcome::Failed);
        }
    }
}

fn panic_message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("no message")
}
