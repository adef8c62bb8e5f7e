//! The handle of a running server: shared state, faults, log. The tower shell and direct access are below.

use std::fmt;
use std::sync::Arc;

use parking_lot::{Mutex, MutexGuard};

use crate::config::{Config, User};
use crate::core::{Core, Outcome, WatchEnd, refusal};
use crate::fault::once::Once;
use crate::fault::{Interceptor, NoFaults, Reply, Verdict};
use crate::log::{Log, LogEntry};
use crate::request::{ApiRequest, RequestInfo};

mod direct;
mod stream;
mod tower;

pub use direct::{DirectError, Objects};
pub use tower::{ConnectionLost, SimBody};

/// A Kubernetes API server in memory. Clones are the same server.
#[derive(Clone)]
pub struct SimKube {
    shared: Arc<Shared>,
}

struct Shared {
    core: Mutex<Core>,
    log: Mutex<Log>,
    interceptor: Mutex<Arc<dyn Interceptor>>,
    once: Once,
}

/// The guarded value, also after a panic elsewhere: every change under these locks is whole.
pub(crate) fn locked<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock()
}

impl fmt::Debug for SimKube {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("SimKube").field("version", &self.resource_version()).finish_non_exhaustive()
    }
}

impl SimKube {
    /// A new cluster.
    #[must_use]
    pub fn new(config: Config) -> Self {
        let log = Mutex::new(Log::new(config.log_limit, config.log_bytes, config.log_bodies));
        let interceptor: Arc<dyn Interceptor> = Arc::new(NoFaults);
        let core = Mutex::new(Core::new(config));
        let (interceptor, once) = (Mutex::new(interceptor), Once::default());
        Self { shared: Arc::new(Shared { core, log, interceptor, once }) }
    }

    /// The time of the cluster.
    #[must_use]
    pub fn now(&self) -> jiff::Timestamp {
        self.core().now()
    }

    fn core(&self) -> MutexGuard<'_, Core> {
        locked(&self.shared.core)
    }

    /// Answers one request. The authorizer is asked while nothing is locked: it may look at the server itself.
    fn handle(&self, request: &ApiRequest) -> Outcome {
        let (authorizer, access) = {
            let core = self.core();
            (Arc::clone(&core.config.authorizer), core.access_of(request))
        };
        if let Some((access, resource)) = access
            && !authorizer(&access)
        {
            return Outcome::error(&refusal(&access, &resource));
        }
        let outcome = self.core().handle(request);
        match outcome {
            Outcome::Review(review) => {
                let allowed = authorizer(&review.access);
                review.answered(allowed)
            }
            other => other,
        }
    }

    fn log_request(&self, entry: LogEntry) {
        locked(&self.shared.log).add(entry);
    }

    fn interceptor(&self) -> Arc<dyn Interceptor> {
        Arc::clone(&locked(&self.shared.interceptor))
    }

    /// Lets `interceptor` judge every request from now on.
    pub fn intercept(&self, interceptor: impl Interceptor + 'static) {
        *locked(&self.shared.interceptor) = Arc::new(interceptor);
        self.wake_watches(); // it may judge held events otherwise
    }

    /// Lets a closure judge every request from now on, as [`intercept`](Self::intercept) does.
    pub fn judge(&self, verdict: impl Fn(&RequestInfo) -> Verdict + Send + Sync + 'static) {
        struct Judge<F>(F);
        impl<F: Fn(&RequestInfo) -> Verdict + Send + Sync> Interceptor for Judge<F> {
            fn before(&self, request: &RequestInfo) -> Verdict {
                (self.0)(request)
            }
        }
        self.intercept(Judge(verdict));
    }

    /// Lets `verdict` judge the next request that is as `chosen` says, in place of the interceptor. It may change the server
    /// itself before it answers. Several rules are used up in the order in which they were added.
    pub fn once(
        &self,
        chosen: impl Fn(&RequestInfo) -> bool + Send + 'static,
        verdict: impl FnOnce(&RequestInfo) -> Verdict + Send + 'static,
    ) {
        self.shared.once.before.add(Box::new(chosen), Box::new(verdict));
    }

    /// Does `reply` to the answer of the next request that is as `chosen` says. The request takes effect.
    pub fn once_answered(&self, chosen: impl Fn(&RequestInfo) -> bool + Send + 'static, reply: Reply) {
        self.shared.once.after.add(Box::new(chosen), reply);
    }

    /// What becomes of a request, by the rules that hit one request or else by the interceptor.
    fn verdict(&self, request: &RequestInfo) -> Verdict {
        match self.shared.once.before.take(request) {
            Some(verdict) => verdict(request),
            None => self.interceptor().before(request),
        }
    }

    /// The same for its answer.
    fn reply(&self, request: &RequestInfo, code: u16) -> Reply {
        let once = self.shared.once.after.take(request);
        once.unwrap_or_else(|| self.interceptor().after(request, code))
    }

    /// The requests so far, oldest first.
    #[must_use]
    pub fn log(&self) -> Vec<LogEntry> {
        locked(&self.shared.log).entries()
    }

    /// How many requests the log has forgotten because it was full. Not 0: [`count`](Self::count) tells too few.
    #[must_use]
    pub fn dropped_entries(&self) -> usize {
        locked(&self.shared.log).dropped()
    }

    /// How many logged requests are as `chosen` says; see [`dropped_entries`](Self::dropped_entries).
    pub fn count(&self, chosen: impl Fn(&LogEntry) -> bool) -> usize {
        locked(&self.shared.log).count(chosen)
    }

    /// How many writes succeeded since the start or the last [`clear_log`](Self::clear_log), also those that the
    /// log has forgotten.
    #[must_use]
    pub fn writes(&self) -> usize {
        locked(&self.shared.log).writes()
    }

    /// Forgets the requests so far.
    pub fn clear_log(&self) {
        locked(&self.shared.log).clear();
    }

    /// The newest version of anything.
    #[must_use]
    pub fn resource_version(&self) -> u64 {
        self.core().store.version()
    }

    /// Watches that are open now.
    #[must_use]
    pub fn open_watches(&self) -> usize {
        self.core().open_watches
    }

    /// Forgets changes so far, as etcd's compaction: who is behind gets 410, who is up to date goes on.
    pub fn compact(&self) {
        self.core().store.compact();
    }

    /// Makes every version so far too old: running watches end with 410, and so do those that resume.
    pub fn expire_watches(&self) {
        self.core().store.expire();
    }

    /// Ends all watches as if their time were over.
    pub fn end_watches(&self) {
        self.finish_watches(WatchEnd::Clean);
    }

    /// Breaks the connections of all watches.
    pub fn break_watches(&self) {
        self.finish_watches(WatchEnd::Broken);
    }

    fn finish_watches(&self, end: WatchEnd) {
        let mut core = self.core();
        core.watch_epoch += 1;
        core.watch_end = end;
        core.store.wake_all();
    }

    /// Tells watches of a resource (plural name; `*` for all) nothing until [`release_watches`](Self::release_watches).
    pub fn hold_watches(&self, plural: &str) {
        self.core().held.insert(plural.to_owned());
    }

    /// Tells watches what they missed while they were held.
    pub fn release_watches(&self, plural: &str) {
        let mut core = self.core();
        core.held.remove(plural);
        core.store.wake_all();
    }

    /// Lets the interceptor judge held events again.
    pub fn wake_watches(&self) {
        self.core().store.wake_all();
    }

    /// Changes who may do what, from now on.
    pub fn authorize_with(&self, authorizer: impl Fn(&crate::AccessRequest) -> bool + Send + Sync + 'static) {
        self.core().config.authorizer = Arc::new(authorizer);
    }

    /// Makes a bearer token known.
    pub fn add_token(&self, token: &str, user: User) {
        self.core().config.tokens.insert(token.to_owned(), user);
    }
}
