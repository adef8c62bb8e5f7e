//! The loop that feeds the store from kube's watcher. It projects objects and recovers from errors.

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

use super::intake::{Intake, version_of};
use super::object::Identity;
use super::{Shared, transport};
use crate::client::describe;
use crate::queue::Backoff;

/// What kube's watcher adds to the watch timeout before it treats a silent connection as dead.
const WATCHER_IDLE_MARGIN: Duration = Duration::from_secs(5);
/// After this long without a failure, the next failure restarts the back-off.
const CALM: Duration = Duration::from_secs(120);

/// How an informer lists and watches.
#[derive(Debug, Clone)]
pub struct WatchSettings {
    /// Only objects with these labels.
    pub label_selector: Option<String>,
    /// Only objects with these fields.
    pub field_selector: Option<String>,
    /// How long one watch lasts before it is resumed. A dead connection is noticed within this time plus 5 s, so the value is lower than
    /// kube's 290 s. Resuming a watch costs one request and transfers no known objects. At least 1 s.
    pub watch_timeout: Duration,
    /// The number of objects in one page of a list. They are read one by one while the page arrives; the API server builds a page at once.
    pub page_size: u32,
    /// The timeout for the response to a list, for the start of a watch, and between two parts of a list.
    pub answer_deadline: Duration,
    /// The pause after the n-th consecutive failure.
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
    /// A list is a consistent read (no resource version), followed by a watch. Streaming lists would use as little memory as our pages, but
    /// kube starts them at resource version 0, which permits any cached state. After a relist against another API server the cache could go
    /// back in time, and an object created since would look deleted.
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

    /// The longest silence of a working watch: a whole watch without events, then a slow start of the next one.
    pub(super) fn silence_limit(&self) -> Duration {
        self.watch_timeout + WATCHER_IDLE_MARGIN + self.answer_deadline
    }
}

pub(super) type ApiOf<K> = Box<dyn Fn(Client) -> Api<K> + Send + Sync>;

/// The running half of an informer. Its owner spawns [`Self::run`]. Dropping it stops the informer.
pub struct InformerTask<K, P: PartialEq> {
    pub(super) shared: Arc<Shared<P>>,
    pub(super) client: Client,
    pub(super) api_of: ApiOf<K>,
    pub(super) intake: Arc<Intake<K, P>>,
    pub(super) settings: WatchSettings,
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
        let intake = Arc::clone(&self.intake);
        let take: transport::Take = Arc::new(move |object| intake.listed_text(object));
        let client = transport::wrap(self.client.clone(), contact, self.shared.meter.clone(), deadline, take);
        let mut failures = Failures::new(self.settings.backoff);
        loop {
            // A new watcher starts with a list.
            let mut events = pin!(watcher((self.api_of)(client.clone()), self.settings.watcher_config()));
            while let Some(event) = events.next().await {
                match event {
                    Ok(event) => {
                        if is_live(&event) {
                            failures.over(Instant::now());
                        }
                        self.ingest_timed(event);
                    }
                    Err(error) => {
                        let stale = needs_a_list(&error);
                        let pause = failures.next(Instant::now(), stale);
                        self.note(&error, pause, stale);
                        tokio::time::sleep(pause).await;
                        if stale {
                            break;
                        }
                    }
                }
            }
        }
    }

    fn ingest_timed(&mut self, event: watcher::Event<K>) {
        let changes_the_store = is_live(&event) || matches!(event, watcher::Event::InitDone);
        let begun = Instant::now();
        self.ingest(event);
        if changes_the_store {
            self.shared.meter.processed(begun.elapsed());
        }
    }

    fn ingest(&mut self, event: watcher::Event<K>) {
        if let watcher::Event::Apply(object) | watcher::Event::Delete(object) = &event {
            self.shared.meter.version(version_of(object.meta()));
        }
        match event {
            watcher::Event::Init => {
                self.shared.meter.list();
                drop(self.intake.take_list());
            }
            // The transport extracts objects from a list before the watcher sees them. This handles lists that it does not recognise.
            watcher::Event::InitApply(object) => self.intake.listed(object),
            watcher::Event::InitDone => {
                let listed = self.intake.take_list();
                self.shared.replace(listed.objects);
                self.shared.contact.listed();
                self.shared.meter.version(listed.version);
            }
            watcher::Event::Apply(object) => match self.intake.project(object) {
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

    fn note(&self, error: &watcher::Error, pause: Duration, stale: bool) {
        let reason = describe(error);
        warn!(
            informer = self.shared.name,
            reason,
            pause_seconds = pause.as_secs_f64(),
            "the watch failed; will try again"
        );
        self.shared.meter.failure();
        self.shared.contact.failed(reason, stale);
    }
}

impl<K, P: PartialEq> Drop for InformerTask<K, P> {
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.shared.contact.failed("its task panicked; this is a bug".to_owned(), true);
        }
        self.shared.stop();
    }
}

/// Counts consecutive failures. A complete list does not reset the count: otherwise a server that answers lists and refuses every watch
/// would have to serve a full list every second.
pub(super) struct Failures {
    backoff: Backoff,
    in_a_row: u32,
    last: Option<Instant>,
    /// The last failure that requires a list. A live event resets the count only when this failure is long past: otherwise a server that
    /// alternates one event and one error would have to serve lists at the shortest pause.
    last_costly: Option<Instant>,
}

impl Failures {
    pub(super) const fn new(backoff: Backoff) -> Self {
        Self { backoff, in_a_row: 0, last: None, last_costly: None }
    }

    /// Records that the watch works, which resets the count unless a failure that requires a list is recent.
    pub(super) fn over(&mut self, now: Instant) {
        if is_calm(self.last_costly, now) {
            self.in_a_row = 0;
        }
    }

    /// Records one more failure and returns how long to wait.
    pub(super) fn next(&mut self, now: Instant, costs_a_list: bool) -> Duration {
        if is_calm(self.last, now) {
            self.in_a_row = 0;
        }
        self.last = Some(now);
        if costs_a_list {
            self.last_costly = Some(now);
        }
        self.in_a_row = self.in_a_row.saturating_add(1);
        self.backoff.delay(self.in_a_row)
    }
}

fn is_calm(last: Option<Instant>, now: Instant) -> bool {
    last.is_none_or(|last| now.saturating_duration_since(last) > CALM)
}

fn is_live<K>(event: &watcher::Event<K>) -> bool {
    matches!(event, watcher::Event::Apply(_) | watcher::Event::Delete(_))
}

/// Whether only a list can correct the cache. kube's watcher continues at the version it has reached after every error but one (410 inside
/// a watch), so the other cases need a new watcher. A list is needed when:
/// - a list failed, or a response had no version to continue from;
/// - the server refused to resume at our version: it would refuse the same request forever;
/// - the server sent an error in place of an event: resuming at the same version may yield the same error forever;
/// - an event could not be parsed: it may have been a deletion, and its object would stay in the cache.
///
/// A connection that failed or broke needs no list: no event was missed.
fn needs_a_list(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => {
            matches!(status.code, 400..=499) && !matches!(status.code, 401 | 403 | 408 | 429)
        }
        watcher::Error::WatchStartFailed(_) | watcher::Error::WatchFailed(kube::Error::ReadEvents(_)) => {
            false
        }
        watcher::Error::InitialListFailed(_)
        | watcher::Error::WatchError(_)
        | watcher::Error::WatchFailed(_)
        | watcher::Error::NoResourceVersion => true,
    }
}
