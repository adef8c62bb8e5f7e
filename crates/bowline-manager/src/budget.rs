//! The rate limit of the process for calls to the cloud (safety rail SR-12): one token bucket for each cloud service, shared by all
//! callers. User-triggered calls have priority, background calls keep a guaranteed share, and "too many requests" pauses all callers of the
//! service.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{CallBudget, FairSemaphore, TokenBucket, Urgency, async_trait, namespace_in_turn};
use parking_lot::{Mutex, MutexGuard};
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

/// While user-triggered calls wait, one call in this many is a background call, so that background work never starves.
const BACKGROUND_SHARE: u32 = 5;

/// The longest pause a cloud service may request: a wrong response header must not stop calls for a day.
const LONGEST_PAUSE: Duration = Duration::from_secs(600);

/// The rate limiter, shared by all callers of the cloud.
#[derive(Debug)]
pub struct SharedBudget {
    per_second: f64,
    burst: u32,
    started: Instant,
    services: Mutex<BTreeMap<&'static str, Arc<Service>>>,
    metrics: BudgetMetrics,
}

/// The metrics of the rate limiter.
#[derive(Debug, Clone, Default)]
pub struct BudgetMetrics {
    remaining: Family<ServiceLabel, Gauge>,
    waited: Family<ServiceLabel, Counter<f64, std::sync::atomic::AtomicU64>>,
    throttled: Family<ServiceLabel, Counter>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ServiceLabel {
    service: &'static str,
}

/// One service of the cloud.
#[derive(Debug)]
struct Service {
    state: Mutex<State>,
    /// Notified whenever a user-triggered call takes a token or gives up, because a background call may be next.
    moved: Notify,
    /// Namespaces take turns; calls of one namespace and urgency are served in order of arrival. Only the first call of each urgency checks
    /// the bucket.
    turn: [Arc<FairSemaphore>; 2],
}

#[derive(Debug)]
struct State {
    bucket: TokenBucket,
    paused_until: Option<Instant>,
    users_waiting: u32,
    users_in_a_row: u32,
}

/// What the first waiting call must do next.
enum Turn {
    Go,
    WaitUntil(Instant),
    GiveWay,
}

impl BudgetMetrics {
    /// Adds the budget's metrics to a registry.
    pub fn register(registry: &mut Registry) -> Self {
        let metrics = Self::default();
        registry.register(
            "bowline_cloud_budget_remaining_calls",
            "Calls to a cloud service that could be made at once",
            metrics.remaining.clone(),
        );
        registry.register(
            "bowline_cloud_budget_waited_seconds",
            "Time that calls to a cloud service waited for the budget",
            metrics.waited.clone(),
        );
        registry.register(
            "bowline_cloud_throttled",
            "How often a cloud service asked us to slow down",
            metrics.throttled.clone(),
        );
        metrics
    }
}

impl SharedBudget {
    /// Creates a rate limiter with `per_second` calls and a burst for each service; a rate of 0 or less means no limit.
    #[must_use]
    pub fn new(per_second: f64, burst: u32, metrics: BudgetMetrics) -> Self {
        Self { per_second, burst, started: Instant::now(), services: Mutex::default(), metrics }
    }

    fn service(&self, name: &'static str) -> Arc<Service> {
        let mut services = self.services.lock();
        let fresh = || Arc::new(Service::new(TokenBucket::new(self.per_second, self.burst)));
        services.entry(name).or_insert_with(fresh).clone()
    }

    /// Updates the gauge of remaining calls. Called right before a scrape, because buckets refill without any call.
    pub fn refresh_metrics(&self) {
        let services = self.services.lock();
        for (name, service) in services.iter() {
            if let Some(left) = service.lock().bucket.remaining(self.started.elapsed()) {
                #[expect(
                    clippy::cast_possible_truncation,
                    reason = "a burst is a u32, so a whole number that fits"
                )]
                self.metrics.remaining.get_or_create(&ServiceLabel { service: name }).set(left as i64);
            }
        }
    }
}

/// The current state of one service's rate limit.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetStanding {
    /// The name of the service.
    pub service: &'static str,
    /// Calls per second; `None` means no limit.
    pub per_second: Option<f64>,
    /// How many calls may be made at once from a full bucket.
    pub burst: u32,
    /// How many calls could be made at once now; `None` means no limit.
    pub left: Option<u32>,
    /// For how long calls are still paused because the service asked for it; `None` if they are not paused.
    pub paused_for: Option<Duration>,
}

impl SharedBudget {
    /// The state of every service called so far.
    #[must_use]
    pub fn standings(&self) -> Vec<BudgetStanding> {
        let services = self.services.lock();
        let (now, elapsed) = (Instant::now(), self.started.elapsed());
        let standing = |(service, state): (&&'static str, &Arc<Service>)| {
            let mut state = state.lock();
            #[expect(
                clippy::cast_possible_truncation,
                clippy::cast_sign_loss,
                reason = "a burst is a u32, so a whole number that fits"
            )]
            let left = state.bucket.remaining(elapsed).map(|left| left.max(0.0) as u32);
            BudgetStanding {
                service,
                per_second: (self.per_second > 0.0).then_some(self.per_second),
                burst: self.burst,
                left,
                paused_for: state
                    .paused_until
                    .and_then(|until| until.checked_duration_since(now))
                    .filter(|d| !d.is_zero()),
            }
        };
        services.iter().map(standing).collect()
    }
}

#[async_trait]
impl CallBudget for SharedBudget {
    async fn acquire(&self, name: &'static str, urgency: Urgency) {
        let asked = Instant::now();
        let service = self.service(name);
        service.wait_for_turn(urgency, self.started).await;
        let waited = asked.elapsed().as_secs_f64();
        if waited > 0.0 {
            self.metrics.waited.get_or_create(&ServiceLabel { service: name }).inc_by(waited);
        }
    }

    fn throttled(&self, name: &'static str, pause: Duration) {
        self.metrics.throttled.get_or_create(&ServiceLabel { service: name }).inc();
        let until = Instant::now() + pause.min(LONGEST_PAUSE);
        let service = self.service(name);
        let mut state = service.lock();
        state.paused_until = state.paused_until.max(Some(until));
    }
}

impl Service {
    fn new(bucket: TokenBucket) -> Self {
        let state = State { bucket, paused_until: None, users_waiting: 0, users_in_a_row: 0 };
        Self {
            state: Mutex::new(state),
            moved: Notify::new(),
            turn: std::array::from_fn(|_urgency| FairSemaphore::new(1)),
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    async fn wait_for_turn(&self, urgency: Urgency, started: Instant) {
        let _waiting = (urgency == Urgency::User).then(|| WaitingUser::new(self));
        let [user, background] = &self.turn;
        let line = if urgency == Urgency::User { user } else { background };
        let _first = line.acquire(namespace_in_turn()).await;
        loop {
            // Registered before the check, so that a notification between the check and the wait is not missed.
            let moved = self.moved.notified();
            let turn = self.lock().next(urgency, Instant::now(), started);
            match turn {
                Turn::Go => return,
                Turn::WaitUntil(then) => sleep_until(then).await,
                Turn::GiveWay => moved.await,
            }
        }
    }
}

impl State {
    fn next(&mut self, urgency: Urgency, now: Instant, started: Instant) -> Turn {
        if let Some(until) = self.paused_until.filter(|until| *until > now) {
            return Turn::WaitUntil(until);
        }
        let background_due = self.users_in_a_row + 1 >= BACKGROUND_SHARE;
        if urgency == Urgency::Background && self.users_waiting > 0 && !background_due {
            return Turn::GiveWay;
        }
        let elapsed = now.duration_since(started);
        if self.bucket.try_take(elapsed) {
            self.users_in_a_row = if urgency == Urgency::User { self.users_in_a_row + 1 } else { 0 };
            return Turn::Go;
        }
        Turn::WaitUntil(now + self.bucket.ready_in(elapsed).max(Duration::from_millis(1)))
    }
}

/// Counts a waiting user-triggered call until it is dropped, also if the call is cancelled.
struct WaitingUser<'a>(&'a Service);

impl<'a> WaitingUser<'a> {
    fn new(service: &'a Service) -> Self {
        service.lock().users_waiting += 1;
        Self(service)
    }
}

impl Drop for WaitingUser<'_> {
    fn drop(&mut self) {
        self.0.lock().users_waiting -= 1;
        self.0.moved.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    use bowline_cloud::on_behalf_of;

    use super::*;

    fn budget(per_second: f64, burst: u32) -> Arc<SharedBudget> {
        Arc::new(SharedBudget::new(per_second, burst, BudgetMetrics::default()))
    }

    async fn calls_within(budget: &SharedBudget, service: &'static str, time: Duration) -> u32 {
        let until = Instant::now() + time;
        let mut calls = 0;
        while tokio::time::timeout_at(until, budget.acquire(service, Urgency::Background)).await.is_ok() {
            calls += 1;
        }
        calls
    }

    #[tokio::test(start_paused = true)]
    async fn a_sweep_of_thousands_makes_no_more_calls_than_the_budget_allows() {
        let budget = budget(10.0, 20);
        let calls = calls_within(&budget, "compute", Duration::from_secs(60)).await;
        assert!((615..=620).contains(&calls), "20 at once and 10 a second for a minute, got {calls}");
    }

    #[tokio::test(start_paused = true)]
    async fn each_service_has_a_budget_of_its_own() {
        let budget = budget(1.0, 1);
        budget.acquire("compute", Urgency::User).await;
        let asked = Instant::now();
        budget.acquire("network", Urgency::User).await;
        assert_eq!(asked.elapsed(), Duration::ZERO);
    }

    #[tokio::test(start_paused = true)]
    async fn users_overtake_background_work_and_background_work_keeps_its_share() {
        let budget = budget(10.0, 1);
        budget.acquire("compute", Urgency::User).await;
        let order = Arc::new(Mutex::new(Vec::new()));
        let mut tasks = tokio::task::JoinSet::new();
        for urgency in [Urgency::Background, Urgency::User] {
            for _call in 0..20 {
                let (budget, order) = (budget.clone(), order.clone());
                tasks.spawn(async move {
                    budget.acquire("compute", urgency).await;
                    order.lock().push(urgency);
                });
            }
        }
        tasks.join_all().await;
        let order = order.lock();
        let last_user = order.iter().rposition(|urgency| *urgency == Urgency::User).unwrap();
        let overtook = order[..last_user].iter().filter(|urgency| **urgency == Urgency::Background).count();
        assert!((4..=6).contains(&overtook), "about one in five of the first calls is background: {order:?}");
        assert_eq!(order.len(), 40);
    }

    #[tokio::test(start_paused = true)]
    async fn a_call_for_one_namespace_does_not_wait_for_a_hundred_of_another() {
        let budget = budget(10.0, 1);
        let call = async |namespace: &str| {
            let asked = Instant::now();
            on_behalf_of(namespace.into(), budget.acquire("load-balancer", Urgency::User)).await;
            asked.elapsed()
        };
        let noisy = futures::future::join_all((0..100).map(|_| call("noisy")));
        let quiet = async {
            tokio::task::yield_now().await;
            // Each of its calls waits for one of the others at most.
            call("quiet").await.max(call("quiet").await)
        };
        let (noisy, quiet) = tokio::join!(noisy, quiet);
        assert!(quiet <= Duration::from_millis(210), "{quiet:?}");
        assert_eq!(noisy.iter().max().unwrap().as_secs(), 10, "101 further calls with 10 each second");
    }

    #[tokio::test(start_paused = true)]
    async fn too_many_requests_stops_everybody_for_as_long_as_the_cloud_asked() {
        let budget = budget(100.0, 100);
        budget.throttled("compute", Duration::from_secs(7));
        let asked = Instant::now();
        budget.acquire("compute", Urgency::User).await;
        assert_eq!(asked.elapsed(), Duration::from_secs(7));
        budget.throttled("compute", Duration::from_secs(86_400));
        budget.acquire("compute", Urgency::User).await;
        assert_eq!(asked.elapsed(), Duration::from_secs(7) + LONGEST_PAUSE, "an absurd pause is cut");
    }

    #[tokio::test(start_paused = true)]
    async fn a_user_that_gives_up_does_not_hold_up_the_rest() {
        let budget = budget(1.0, 1);
        budget.acquire("compute", Urgency::User).await;
        let gave_up =
            tokio::time::timeout(Duration::from_millis(100), budget.acquire("compute", Urgency::User)).await;
        assert!(gave_up.is_err());
        assert_eq!(calls_within(&budget, "compute", Duration::from_secs(10)).await, 10);
    }

    #[tokio::test(start_paused = true)]
    async fn the_scraper_sees_what_is_left_and_how_long_callers_waited() {
        let mut registry = Registry::default();
        let budget = SharedBudget::new(1.0, 3, BudgetMetrics::register(&mut registry));
        for _call in 0..4 {
            budget.acquire("compute", Urgency::User).await;
        }
        tokio::time::advance(Duration::from_secs(2)).await;
        budget.throttled("compute", Duration::ZERO);
        budget.refresh_metrics();
        let mut scrape = String::new();
        prometheus_client::encoding::text::encode(&mut scrape, &registry).unwrap();
        assert!(scrape.contains(r#"bowline_cloud_budget_remaining_calls{service="compute"} 2"#), "{scrape}");
        assert!(
            scrape.contains(r#"bowline_cloud_budget_waited_seconds_total{service="compute"} 1.0"#),
            "{scrape}"
        );
        assert!(scrape.contains(r#"bowline_cloud_throttled_total{service="compute"} 1"#), "{scrape}");
    }
}
