//! The worker pool: takes keys, runs the handler, hands the verdict back. It decides nothing about order or retries.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;

use futures::{FutureExt, StreamExt, stream::FuturesUnordered};
use tokio_util::sync::CancellationToken;
use tracing::{debug, error};

use super::{KeyedQueue, Outcome, Picked, QueueKey, Ticket};

/// Works on `queue` with `count` workers (at least one) until `cancel`; then takes no more keys, and returns when the
/// runs that had begun are finished.
///
/// A handler that panics is caught: the panic is logged and counted, and the key is retried like any failed one.
/// How long one run may take is the handler's affair; `workqueue_longest_running_processor_seconds` shows who overdoes it.
///
/// Dropping the future ends every run at once: when the drop has returned, nothing of a handler runs any more, and the
/// lease may be given back. That is why the workers share the caller's task. Tasks of their own would only be told to
/// end, and one of them could be in the middle of a step on another thread. The price is that the runs of one queue take
/// turns on one core, which is little for handlers that mostly wait for answers; other queues have other tasks.
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
            // Looked at first, so that a key is never taken after the cancellation.
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
    // The handler's own state is its own affair after a panic; ours is untouched, which is what the assertion says.
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
