//! The loop that feeds the store from kube's watcher. It projects, it recovers, it decides nothing about the objects.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use kube::runtime::watcher;
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{info, warn};

use super::object::Identity;
use super::{Object, ObjectKey, Shared, transport};
use crate::queue::Backoff;

/// What kube's watcher adds to the watch timeout before it takes a silent connection for dead.
const WATCHER_IDLE_MARGIN: Duration = Duration::from_secs(5);
/// A failure after this long without one is a new trouble, not the next step of an old one.
const CALM: Duration = Duration::from_secs(120);

/// How an informer lists and watches.
#[derive(Debug, Clone)]
pub struct WatchSettings {
    /// Only objects with these labels.
    pub label_selector: Option<String>,
    /// Only objects with these fields.
    pub field_selector: Option<String>,
    /// How long one watch lasts before it is resumed. A dead connection is noticed within this and five seconds, so it is
    /// set below kube's 290 s. A resumed watch costs one request and transfers nothing that is known. At least 1 s.
    pub watch_timeout: Duration,
    /// Objects in one page of a list. Two thousand whole nodes at once would be 30 MB to parse and throw away.
    pub page_size: u32,
    /// How long to wait for the answer to a list, for the start of a watch, and between two parts of a list.
    pub answer_deadline: Duration,
    /// The pause after the n-th failure in a row.
    pub backoff: Backoff,
}

impl Default for WatchSettings {
    fn default() -> Self {
        Self {
            label_selector: None,
            field_selector: None,
            watch_timeout: Duration::from_secs(60),
            page_size: 500,
            answer_deadline: Duration::from_secs(30),
            backoff: Backoff::new(Duration::from_millis(800), Duration::from_secs(30)),
        }
    }
}

impl WatchSettings {
    /// A list is a consistent read (no resource version), and then a watch. Streaming lists would use less memory at
    /// the start, but kube begins them at version 0, "anything cached will do": after a relist against another API
    /// server the picture could go back in time, and an object made since would look deleted.
    fn watcher_config(&self) -> watcher::Config {
        let seconds = u32::try_from(self.watch_timeout.as_secs()).unwrap_or(u32::MAX).max(1);
        watcher::Config {
            label_selector: self.label_selector.clone(),
            field_selector: self.field_selector.clone(),
            timeout: Some(seconds),
            list_semantic: watcher::ListSemantic::MostRecent,
            initial_list_strategy: watcher::InitialListStrategy::ListWatch,
            page_size: Some(self.page_size.max(1)),
            bookmarks: true,
        }
    }

    /// The longest silence a working watch can show: a whole quiet watch, and then a slow start of the next.
    pub(super) fn silence_limit(&self) -> Duration {
        self.watch_timeout + WATCHER_IDLE_MARGIN + self.answer_deadline
    }
}

pub(super) type Project<K, P> = Box<dyn Fn(K) -> Option<P> + Send + Sync>;
pub(super) type ApiOf<K> = Box<dyn Fn(Client) -> Api<K> + Send + Sync>;

/// The running half of an informer: to be run by whoever owns the tasks. Dropped, it stops the informer.
pub struct InformerTask<K, P: PartialEq> {
    pub(super) shared: Arc<Shared<P>>,
    pub(super) client: Client,
    pub(super) api_of: ApiOf<K>,
    pub(super) project: Project<K, P>,
    pub(super) settings: WatchSettings,
    /// The list in progress. The store changes only when it is complete, so nobody ever sees half a list.
    pub(super) listed: BTreeMap<ObjectKey, Object<P>>,
}

impl<K, P> InformerTask<K, P>
where
    K: Resource + Clone + DeserializeOwned + Debug + Send + 'static,
    P: PartialEq + Send + Sync + 'static,
{
    /// Lists and watches until `cancel`.
    pub async fn run(mut self, cancel: CancellationToken) {
        cancel.run_until_cancelled(self.follow()).await;
        info!(informer = self.shared.name, "stopped watching");
    }

    async fn follow(&mut self) {
        let contact = Arc::clone(&self.shared.contact);
        let deadline = self.settings.answer_deadline;
        let client = transport::wrap(self.client.clone(), contact, self.shared.meter.clone(), deadline);
        let mut failures = Failures::new(self.settings.backoff);
        loop {
            // A new watcher begins with a list.
            let mut events = pin!(watcher((self.api_of)(client.clone()), self.settings.watcher_config()));
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        if is_live(&event) {
                            failures.over();
                        }
                        self.ingest(event);
                    }
                    Err(error) => {
                        let pause = failures.next(Instant::now());
                        self.note(&error, pause);
                        tokio::time::sleep(pause).await;
                        if needs_a_list(&error) {
                            break;
                        }
                    }
                }
            }
        }
    }

    fn ingest(&mut self, event: watcher::Event<K>) {
        match event {
            watcher::Event::Init => {
                self.shared.meter.list();
                self.listed.clear();
            }
            watcher::Event::InitApply(object) => {
                if let Some((key, Some(kept))) = self.project(object) {
                    self.listed.insert(key, kept);
                }
            }
            watcher::Event::InitDone => self.shared.replace(std::mem::take(&mut self.listed)),
            watcher::Event::Apply(object) => match self.project(object) {
                Some((_, Some(kept))) => self.shared.apply(kept),
                Some((key, None)) => self.shared.remove(&key),
                None => {}
            },
            watcher::Event::Delete(object) => {
                if let Some(identity) = Identity::of(object.meta()) {
                    self.shared.remove(&identity.key);
                }
            }
        }
    }

    /// The key of an object, and what is kept of it, if it is kept. The rest of the object ends here.
    fn project(&self, object: K) -> Option<(ObjectKey, Option<Object<P>>)> {
        let Some(identity) = Identity::of(object.meta()) else {
            warn!(informer = self.shared.name, "the API server sent an object without a name; left out");
            return None;
        };
        let key = identity.key.clone();
        Some((key, (self.project)(object).map(|view| Object::identified(identity, view))))
    }

    fn note(&self, error: &watcher::Error, pause: Duration) {
        let reason = with_sources(error);
        warn!(
            informer = self.shared.name,
            reason,
            pause_seconds = pause.as_secs_f64(),
            "the watch failed; will try again"
        );
        self.shared.meter.failure();
        self.shared.contact.failed(reason);
    }
}

impl<K, P: PartialEq> Drop for InformerTask<K, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.contact.failed("its task panicked; this is a bug".to_owned());
        }
        self.shared.stop();
    }
}

/// Counts failures in a row. A complete list does not end the row: a server that lets us list and then refuses every
/// watch would otherwise be made to serve a full list every second.
struct Failures {
    backoff: Backoff,
    in_a_row: u32,
    last: Option<Instant>,
}

impl Failures {
    const fn new(backoff: Backoff) -> Self {
        Self { backoff, in_a_row: 0, last: None }
    }

    fn over(&mut self) {
        self.in_a_row = 0;
    }

    fn next(&mut self, now: Instant) -> Duration {
        if self.last.is_some_and(|last| now.saturating_duration_since(last) > CALM) {
            self.over();
        }
        self.last = Some(now);
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.backoff.delay(self.in_a_row)
    }
}

fn is_live<K>(event: &watcher::Event<K>) -> bool {
    matches!(event, watcher::Event::Apply(_) | watcher::Event::Delete(_))
}

/// Whether the server refused to resume at our version. kube's watcher lists again when 410 comes inside a watch, but
/// when it is the answer to the request for one it would ask for the same version for ever.
fn needs_a_list(error: &watcher::Error) -> bool {
    let watcher::Error::WatchStartFailed(kube::Error::Api(status)) = error else { return false };
    matches!(status.code, 400..=499) && !matches!(status.code, 401 | 403 | 408 | 429)
}

/// An error with its causes, which kube keeps out of its messages.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let message = cause.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        source = cause.source();
    }
    text
}
