//! What a server is given: clock, randomness, limits and policies. Reads no wall clock itself except through
//! [`Clock::wall`], and draws no randomness except through [`random_numbers`].

use std::collections::BTreeMap;
use std::fmt;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::Duration;

use ipnet::IpNet;
use jiff::Timestamp;

/// Who makes a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// User name.
    pub name: String,
    /// Groups.
    pub groups: Vec<String>,
}

impl User {
    /// The user of requests that say nothing else: may do everything.
    #[must_use]
    pub fn admin() -> Self {
        Self {
            name: "system:admin".into(),
            groups: vec!["system:masters".into(), "system:authenticated".into()],
        }
    }
}

/// What somebody wants to do, as the authorizer sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessRequest {
    /// Who.
    pub user: User,
    /// API verb, as `list`.
    pub verb: String,
    /// API group, "" for core.
    pub group: String,
    /// Plural resource name; empty for paths like `/version`.
    pub resource: String,
    /// Subresource, or "".
    pub subresource: String,
    /// Namespace, or "".
    pub namespace: String,
    /// Object name, or "".
    pub name: String,
}

/// Tells the time of the cluster.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// A clock that calls a function.
    pub fn new(now: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(now))
    }

    /// The machine's clock.
    #[must_use]
    pub fn wall() -> Self {
        Self::new(Timestamp::now)
    }

    /// Begins at `start` and advances with tokio's clock, so it stands still while that is paused.
    #[must_use]
    pub fn virtual_from(start: Timestamp) -> Self {
        let begin = tokio::time::Instant::now();
        Self::new(move || start.checked_add(begin.elapsed()).unwrap_or(Timestamp::MAX))
    }

    /// Now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        (self.0)()
    }
}

impl fmt::Debug for Clock {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("Clock")
    }
}

/// Answers whether somebody may do something.
pub type Authorizer = Arc<dyn Fn(&AccessRequest) -> bool + Send + Sync>;

/// Gives the next number that uids, generated names, cluster IPs and node ports are drawn from.
pub type Numbers = Box<dyn FnMut() -> u64 + Send>;

/// What a server is started with.
pub struct Config {
    /// Time of the cluster: creation timestamps and ages.
    pub clock: Clock,
    /// Source of everything random.
    pub numbers: Numbers,
    /// Events that each resource remembers for watches and consistent pages; older ones answer 410.
    pub history_limit: usize,
    /// Bytes of objects, as JSON and about, that each resource remembers for the same.
    pub history_bytes: usize,
    /// How long an Event is kept after its last change, as the real server's `--event-ttl`.
    pub event_ttl: Duration,
    /// Bytes of bodies that the log remembers.
    pub log_bytes: usize,
    /// Requests that the log remembers.
    pub log_limit: usize,
    /// Whether the log keeps the bodies of requests.
    pub log_bodies: bool,
    /// Pause between bookmarks of one watch.
    pub bookmark_interval: Duration,
    /// How long a watch lasts whose client names no timeout.
    pub watch_timeout: Duration,
    /// Decides every request and every access review.
    pub authorizer: Authorizer,
    /// Bearer tokens and whose they are. Others are refused; requests without one are the admin's.
    pub tokens: BTreeMap<String, User>,
    /// Delete dependents whose owners are gone, as kube-controller-manager does.
    pub collect_garbage: bool,
    /// Empty and finish terminating namespaces, as kube-controller-manager does.
    pub finish_namespaces: bool,
    /// Ranges of cluster IPs, the primary family first.
    pub service_cidrs: Vec<IpNet>,
    /// Node ports that Services may have.
    pub node_ports: RangeInclusive<u16>,
}

impl Config {
    /// For a server that people use: the machine's clock and true randomness.
    #[must_use]
    pub fn real() -> Self {
        Self {
            clock: Clock::wall(),
            numbers: random_numbers(),
            history_limit: 10_000,
            history_bytes: 256 * 1_024 * 1_024,
            event_ttl: Duration::from_secs(3_600),
            log_bytes: 256 * 1_024 * 1_024,
            log_limit: 100_000,
            log_bodies: false,
            bookmark_interval: Duration::from_secs(60),
            watch_timeout: Duration::from_secs(2_400),
            authorizer: Arc::new(|_| true),
            tokens: BTreeMap::new(),
            collect_garbage: true,
            finish_namespaces: true,
            service_cidrs: default_cidrs(),
            node_ports: 30_000..=32_767,
        }
    }

    /// For tests and simulations: one seed gives the same names, uids and addresses each time, and time is tokio's.
    #[must_use]
    pub fn seeded(seed: u64) -> Self {
        let start = Timestamp::from_second(1_767_225_600).unwrap_or(Timestamp::UNIX_EPOCH);
        Self {
            clock: Clock::virtual_from(start),
            numbers: seeded_numbers(seed),
            log_bodies: true,
            ..Self::real()
        }
    }
}

impl fmt::Debug for Config {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Config").field("history_limit", &self.history_limit).finish_non_exhaustive()
    }
}

fn default_cidrs() -> Vec<IpNet> {
    ["10.96.0.0/16", "fd00:10:96::/112"].iter().filter_map(|cidr| cidr.parse().ok()).collect()
}

/// Numbers nobody can foretell.
#[must_use]
pub fn random_numbers() -> Numbers {
    Box::new(|| {
        // A v4 uuid has six fixed bits; the halves have them in different places.
        let (high, low) = uuid::Uuid::new_v4().as_u64_pair();
        high ^ low.rotate_left(17)
    })
}

/// The same numbers for the same seed (splitmix64).
#[must_use]
pub fn seeded_numbers(seed: u64) -> Numbers {
    let mut state = seed;
    Box::new(move || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = state;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    })
}
