//! Writes events to the API server, one at a time, and retries while the API server is not reachable. The correlator decides what is
//! written.

use std::time::Duration;

use k8s_openapi::api::core::v1::Event;
use kube::{
    Api, Client,
    api::{Patch, PatchParams, PostParams},
};
use tokio::{
    sync::mpsc,
    time::{Instant, sleep, timeout},
};

use super::{
    EventMetrics, Job,
    correlator::{Decision, EventCorrelator, repeat_patch},
};

const TRIES: usize = 12;
const PAUSE: Duration = Duration::from_secs(10);
const CALL_LIMIT: Duration = Duration::from_secs(30);

/// Runs until the last recorder is dropped and the queue is empty.
pub(super) async fn write_all(
    client: Client,
    mut correlator: EventCorrelator,
    mut queue: mpsc::Receiver<Job>,
    metrics: EventMetrics,
    component: String,
) {
    let started = Instant::now();
    while let Some(job) = queue.recv().await {
        let event = match job {
            Job::Write(event) => event,
            Job::Flush(done) => {
                if done.send(()).is_err() {
                    tracing::debug!("whoever asked for a flush stopped waiting");
                }
                continue;
            }
        };
        let lost = match correlator.observe(&event, started.elapsed()) {
            Decision::Drop => Some("too-many"),
            Decision::Create(event) => deliver(&client, &event, false).await.err(),
            Decision::Patch(event) => deliver(&client, &event, true).await.err(),
        };
        if let Some(why) = lost {
            metrics.dropped(&component, why);
        }
    }
}

/// Writes one event, with retries.
async fn deliver(client: &Client, event: &Event, repeat: bool) -> Result<(), &'static str> {
    let namespace = event.metadata.namespace.as_deref().unwrap_or("default");
    let api: Api<Event> = Api::namespaced(client.clone(), namespace);
    for attempt in 1..=TRIES {
        let why = match timeout(CALL_LIMIT, write(&api, event, repeat)).await {
            Ok(Ok(())) => return Ok(()),
            Ok(Err(error)) if is_final(&error) => {
                let error = crate::client::describe(&error);
                tracing::warn!(name = event.metadata.name, error, "the server rejected an event");
                return Err("rejected");
            }
            Ok(Err(error)) => crate::client::describe(&error),
            Err(_elapsed) => format!("no answer within {CALL_LIMIT:?}"),
        };
        tracing::debug!(name = event.metadata.name, attempt, why, "could not write an event");
        if attempt < TRIES {
            sleep(PAUSE).await;
        }
    }
    Err("gave-up")
}

async fn write(api: &Api<Event>, event: &Event, repeat: bool) -> Result<(), kube::Error> {
    if repeat {
        let name = event.metadata.name.as_deref().unwrap_or_default();
        let patch = Patch::Strategic(repeat_patch(event));
        match api.patch(name, &PatchParams::default(), &patch).await {
            Err(kube::Error::Api(status)) if status.code == 404 => {}
            other => return other.map(drop),
        }
    }
    match api.create(&PostParams::default(), event).await {
        // The response to an earlier attempt was lost: the Event exists.
        Err(kube::Error::Api(status)) if status.is_already_exists() => Ok(()),
        other => other.map(drop),
    }
}

/// Whether the API server rejected the request itself. Overload and server errors are not final.
fn is_final(error: &kube::Error) -> bool {
    matches!(error, kube::Error::Api(status) if status.code < 500 && status.code != 429)
}
