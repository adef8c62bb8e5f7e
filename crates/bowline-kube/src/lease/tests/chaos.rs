//! Several candidates, among them one that follows client-go literally, on slow, lossy and broken links, crashing and
//! leaving at random. Whatever happens, no two of them may write at the same moment; and when the storm is over, one
//! of them leads.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
};

use bowline_core::Fence;
use parking_lot::Mutex;
use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{
    go_like::GoLike,
    server::{Fate, LeaseServer, Loss},
    *,
};

/// How many storms each test runs through, and how long they last: enough for each replica to lead, crash and come back
/// several times, in about a second of each run of the tests.
const EVERYDAY: (u64, Duration) = (3, Duration::from_secs(1_200));
/// With `BOWLINE_STORMS`, which says how many, each lasts this long.
const LONG: Duration = Duration::from_secs(3_600);
/// A storm with a change of leader less often than this shows too little.
const TERM: Duration = Duration::from_secs(600);

/// The slot of the candidate that follows client-go; replicas count from zero.
const GO_SLOT: u64 = 99;

/// Whether a candidate may write now.
type MayWrite = Box<dyn Fn() -> bool + Send>;

struct World {
    seed: u64,
    server: LeaseServer,
    candidates: Mutex<Vec<(u64, String, MayWrite)>>,
    calm: AtomicBool,
    terms: AtomicUsize,
    violations: Mutex<Vec<String>>,
}

impl World {
    /// A new process in `slot`, whose last one is dead, though its last request may still protect it.
    fn enter(&self, slot: u64, name: String, may_write: impl Fn() -> bool + Send + 'static) {
        let mut candidates = self.candidates.lock();
        candidates.retain(|(of, _, may_write)| *of != slot || may_write());
        candidates.push((slot, name, Box::new(may_write)));
    }

    fn writers(&self) -> Vec<String> {
        let candidates = self.candidates.lock();
        candidates.iter().filter(|(.., may_write)| may_write()).map(|(_, name, _)| name.clone()).collect()
    }

    /// Notes when several may write. Called from tasks whose panic nobody would see; the storm looks at the note.
    fn check(&self) {
        let writers = self.writers();
        if writers.len() > 1 {
            self.violations.lock().push(format!("{writers:?} may all write at once"));
        }
    }

    fn assert_safe(&self) {
        self.check();
        let violations = self.violations.lock();
        assert!(violations.is_empty(), "seed {}: {}", self.seed, violations[0]);
    }

    /// A client on a link whose weather changes every now and then.
    fn link(self: &Arc<Self>, seed: u64) -> Client {
        let world = Arc::clone(self);
        let weather = Mutex::new((StdRng::seed_from_u64(seed), 0, Instant::now()));
        let (client, _) = self.server.link(move |_| {
            world.check();
            if world.calm.load(SeqCst) {
                return Fate::default();
            }
            let (rng, kind, until) = &mut *weather.lock();
            if Instant::now() >= *until {
                *kind = rng.random_range(0..6);
                *until = Instant::now() + Duration::from_secs(rng.random_range(5..90));
            }
            fate(rng, *kind)
        });
        client
    }
}

fn fate(rng: &mut StdRng, weather: u32) -> Fate {
    let slowest = if weather == 3 { 6_000 } else { 50 };
    let mut delay = || Duration::from_millis(rng.random_range(0..slowest));
    let (there, back) = (delay(), delay());
    let loss = match (weather, rng.random_range(0..10)) {
        (4, 0..=2) => Loss::Request,
        (4, 3..=5) => Loss::Reply,
        (4, 6) => Loss::Failure(500),
        (5, _) => Loss::Request,
        _ => Loss::Nothing,
    };
    Fate { there, back, loss }
}

/// How long until a process ends. Most live shortly, because it is the deaths of leaders that show a fence which stays
/// open too long; some see several changes of weather.
fn life(rng: &mut StdRng) -> Duration {
    let longest = if rng.random_bool(0.75) { 150 } else { 900 };
    Duration::from_secs(rng.random_range(30..longest))
}

/// One replica of the CCM: it is started again whenever it exits.
async fn replica(world: Arc<World>, slot: u64) {
    let mut rng = StdRng::seed_from_u64(world.seed * 1_000 + slot);
    for start in 0.. {
        let identity = format!("rust-{slot}-{start}");
        let mut elector =
            elector_with(world.link(rng.random()), &identity, LeaseMetrics::default(), rng.random());
        let fence = elector.fence();
        world.enter(slot, identity, move || fence.check().is_ok());
        watch_terms(&world, elector.leadership());
        let life = life(&mut rng);
        let ended = tokio::time::timeout(life, elector.run(&CancellationToken::new())).await;
        if ended.is_err() && world.calm.load(SeqCst) {
            elector.run(&CancellationToken::new()).await;
        }
        if ended.is_err() && rng.random_bool(0.5) {
            // It leaves in good order; otherwise it crashes.
            drop(elector.release().await);
        }
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..5_000))).await;
    }
}

/// Checks at the very moment of each change of leadership.
fn watch_terms(world: &Arc<World>, mut leadership: tokio::sync::watch::Receiver<Leadership>) {
    let world = Arc::clone(world);
    tokio::spawn(async move {
        while leadership.changed().await.is_ok() {
            if matches!(*leadership.borrow_and_update(), Leadership::Leading { .. }) {
                world.terms.fetch_add(1, SeqCst);
            }
            world.check();
        }
    });
}

async fn go_replica(world: Arc<World>) {
    let mut rng = StdRng::seed_from_u64(world.seed ^ 0x60);
    for start in 0.. {
        let identity = format!("go-{start}");
        let mut candidate = GoLike::new(world.link(rng.random()), &identity);
        let until = Arc::clone(&candidate.protected_until);
        world.enter(GO_SLOT, identity, move || until.lock().is_some_and(|until| Instant::now() < until));
        let life = life(&mut rng);
        let ended = tokio::time::timeout(life, candidate.run(&mut rng)).await;
        if ended.is_err() && world.calm.load(SeqCst) {
            candidate.run(&mut rng).await;
        }
        tokio::time::sleep(Duration::from_millis(rng.random_range(0..5_000))).await;
    }
}

async fn storm(seed: u64, lasting: Duration, replicas: u64, with_go: bool) -> usize {
    let world = Arc::new(World {
        seed,
        server: LeaseServer::default(),
        candidates: Mutex::default(),
        calm: AtomicBool::new(false),
        terms: AtomicUsize::new(0),
        violations: Mutex::default(),
    });
    let mut tasks: Vec<_> =
        (0..replicas).map(|slot| tokio::spawn(replica(Arc::clone(&world), slot))).collect();
    if with_go {
        tasks.push(tokio::spawn(go_replica(Arc::clone(&world))));
    }
    let end = Instant::now() + lasting;
    while Instant::now() < end {
        tokio::time::sleep(SECOND).await;
        world.assert_safe();
        assert!(tasks.iter().all(|task| !task.is_finished()), "seed {seed}: a replica panicked");
    }
    world.calm.store(true, SeqCst);
    // A restart, what is left of somebody's lease, two retries, and the calls that hang from before.
    tokio::time::sleep(60 * SECOND).await;
    world.assert_safe();
    assert_eq!(
        world.writers().len(),
        1,
        "seed {seed}: nobody leads after the storm: {}",
        world.server.lease()
    );
    tasks.iter().for_each(JoinHandle::abort);
    world.terms.load(SeqCst)
}

/// Runs the storms in virtual time, each in a runtime of its own, so that a seed alone decides what happens.
fn storms(first_seed: u64, replicas: u64, with_go: bool) {
    let asked = std::env::var("BOWLINE_STORMS").ok().and_then(|count| count.parse().ok());
    let (count, lasting) = asked.map_or(EVERYDAY, |count| (count, LONG));
    let mut terms = 0;
    for seed in first_seed..first_seed + count {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build();
        terms += runtime.unwrap().block_on(storm(seed, lasting, replicas, with_go));
    }
    let enough = count * lasting.as_secs() / TERM.as_secs();
    assert!(
        u64::try_from(terms).unwrap() > enough,
        "the storms are too mild to show anything: {terms} terms"
    );
}

#[test]
fn two_replicas_never_write_at_the_same_moment() {
    storms(0, 2, false);
}

#[test]
fn three_replicas_never_write_at_the_same_moment() {
    storms(1_000, 3, false);
}

#[test]
fn two_replicas_and_a_go_candidate_share_one_lease() {
    storms(2_000, 2, true);
}
