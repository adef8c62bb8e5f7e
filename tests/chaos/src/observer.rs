//! Sees every request of the managers to either side, judges each write at the moment of it, and kills at the one it is told to.
//!
//! It never changes an answer.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::Method;
use serde_json::Value;
use sim_openstack::SimService;
use tokio::time::Instant;

use crate::invariants::{self, Foreign};
use crate::process::Place;

/// Proof that a Service has something in the cloud.
pub const FINALIZER: &str = "service.kubernetes.io/load-balancer-cleanup";

/// Lines of a story that a person reads.
const STORY_MAX: usize = 4_000;

/// Which side a write is to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Side {
    /// The API server.
    Kube,
    /// The cloud.
    Cloud,
}

/// When exactly a process is killed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The write is done, and its reply never arrives.
    BeforeReply,
    /// The reply has arrived; what follows from it has not been sent, or the moment passed in which it would have been.
    AfterReply,
}

/// Kill at a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KillAt {
    /// To which side.
    pub side: Side,
    /// Which one, counted from 1 over all processes of the run.
    pub write: usize,
    /// When.
    pub moment: Moment,
}

impl fmt::Display for KillAt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let when = match self.moment {
            Moment::BeforeReply => "before the reply of",
            Moment::AfterReply => "after the reply of",
        };
        let side = match self.side {
            Side::Kube => "API server",
            Side::Cloud => "cloud",
        };
        write!(f, "killed {when} write {} to the {side}", self.write)
    }
}

/// How long after a reply its receiver is given, if it asks for nothing more.
const DIGESTION: Duration = Duration::from_millis(30);

/// What a front does with a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It is sent.
    Send,
    /// Its receiver is dead.
    Drop,
}

#[derive(Default)]
struct Seen {
    writes: Vec<(Side, String)>,
    counts: BTreeMap<Side, usize>,
    kills: Vec<KillAt>,
    /// Places whose process dies with its next request.
    doomed: BTreeMap<usize, KillAt>,
    killed: usize,
    finalized: BTreeMap<String, (String, bool)>,
    /// Successful creations and deletions in the cloud, by kind: what a run without a fault has to agree with.
    made: BTreeMap<String, usize>,
    problems: Vec<String>,
    story: VecDeque<String>,
    stale_reads: usize,
    last_write: Option<Instant>,
    last_writer: Option<usize>,
}

/// What is seen of a run.
#[derive(Clone)]
pub struct Observer {
    seen: Arc<Mutex<Seen>>,
    places: Arc<Vec<Arc<Place>>>,
    cloud: SimService,
    foreign: Arc<Foreign>,
    began: Instant,
}

impl Observer {
    /// One for these places and this cloud, in which all that is there now belongs to others.
    #[must_use]
    pub fn new(cloud: SimService, places: Vec<Arc<Place>>, kills: Vec<KillAt>) -> Self {
        let foreign = Arc::new(cloud.with(|cloud| Foreign::of(cloud.state())));
        let seen = Seen { kills, ..Seen::default() };
        Self {
            seen: Arc::new(Mutex::new(seen)),
            places: Arc::new(places),
            cloud,
            foreign,
            began: Instant::now(),
        }
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a line to the story.
    pub fn tell(&self, line: impl fmt::Display) {
        let at = self.began.elapsed().as_secs_f64();
        let mut seen = self.seen();
        if seen.story.len() == STORY_MAX {
            seen.story.pop_front();
        }
        seen.story.push_back(format!("{at:7.3} s  {line}"));
    }

    /// Adds a problem, which fails the run.
    pub fn problem(&self, problem: impl Into<String>) {
        let problem = problem.into();
        self.tell(format!("PROBLEM {problem}"));
        let mut seen = self.seen();
        if !seen.problems.contains(&problem) {
            seen.problems.push(problem);
        }
    }

    /// What must not have happened.
    #[must_use]
    pub fn problems(&self) -> Vec<String> {
        self.seen().problems.clone()
    }

    /// What happened, line by line.
    #[must_use]
    pub fn story(&self) -> Vec<String> {
        self.seen().story.iter().cloned().collect()
    }

    /// How many writes there were to a side.
    #[must_use]
    pub fn writes(&self, side: Side) -> usize {
        self.seen().counts.get(&side).copied().unwrap_or(0)
    }

    /// The writes, oldest first.
    #[must_use]
    pub fn written(&self) -> Vec<(Side, String)> {
        self.seen().writes.clone()
    }

    /// Successful creations and deletions in the cloud, by kind.
    #[must_use]
    pub fn made(&self) -> BTreeMap<String, usize> {
        self.seen().made.clone()
    }

    /// How many processes were killed.
    #[must_use]
    pub fn killed(&self) -> usize {
        self.seen().killed
    }

    /// Reads that a server may answer from the past.
    #[must_use]
    pub fn stale_reads(&self) -> usize {
        self.seen().stale_reads
    }

    /// For how long nothing was written.
    #[must_use]
    pub fn quiet_for(&self) -> Duration {
        self.seen().last_write.unwrap_or(self.began).elapsed()
    }

    /// The place of who wrote last: most likely the leader.
    #[must_use]
    pub fn last_writer(&self) -> Option<usize> {
        self.seen().last_writer
    }

    /// What belonged to others when the run began.
    #[must_use]
    pub fn foreign(&self) -> &Foreign {
        &self.foreign
    }

    /// Kills the process in a place, for a reason.
    pub fn kill(&self, place: usize, why: impl fmt::Display) {
        if self.places.get(place).is_some_and(|place| place.kill()) {
            self.seen().killed += 1;
            self.tell(format!("manager {place} is {why}"));
        }
    }

    /// A request arrives, of any kind. Whether its sender lives.
    pub fn arrives(&self, place: usize) -> Verdict {
        let doomed = self.seen().doomed.remove(&place);
        match doomed {
            None => Verdict::Send,
            Some(kill) => {
                self.kill(place, kill);
                Verdict::Drop
            }
        }
    }

    /// A list or get that lets the server answer from the past.
    pub fn may_be_stale(&self, what: &str) {
        self.tell(format!("may be answered from the past: {what}"));
        self.seen().stale_reads += 1;
    }

    /// A write to the API server is done.
    #[must_use]
    pub fn kube_wrote(
        &self,
        place: usize,
        method: &Method,
        path: &str,
        status: u16,
        answer: &Value,
    ) -> Verdict {
        if (200..300).contains(&status) && path.contains("/services/") {
            self.judge_finalizer(answer);
        }
        self.wrote(place, Side::Kube, &format!("{method} {path} -> {status}"))
    }

    /// A write to the cloud is done.
    #[must_use]
    pub fn cloud_wrote(
        &self,
        place: usize,
        method: &Method,
        path: &str,
        status: u16,
        body: &Value,
    ) -> Verdict {
        if (200..300).contains(&status) {
            if let Some(kind) = kind_of(method, path) {
                *self.seen().made.entry(kind).or_default() += 1;
            }
            self.judge_cloud(method, path, body);
        }
        self.wrote(place, Side::Cloud, &format!("{method} {path} -> {status}"))
    }

    fn wrote(&self, place: usize, side: Side, what: &str) -> Verdict {
        let due = {
            let mut seen = self.seen();
            let count = seen.counts.entry(side).or_default();
            *count += 1;
            let number = *count;
            (seen.last_write, seen.last_writer) = (Some(Instant::now()), Some(place));
            seen.writes.push((side, what.to_owned()));
            let due = seen.kills.iter().position(|kill| kill.side == side && kill.write == number);
            due.map(|index| seen.kills.remove(index))
        };
        self.tell(format!("manager {place} wrote to {side:?}: {what}"));
        match due {
            Some(kill) if kill.moment == Moment::BeforeReply => {
                self.kill(place, kill);
                Verdict::Drop
            }
            Some(kill) => {
                self.seen().doomed.insert(place, kill);
                let observer = self.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(DIGESTION).await;
                    // Unless a request came before.
                    observer.arrives(place);
                });
                Verdict::Send
            }
            None => Verdict::Send,
        }
    }

    /// S4: nothing of a Service is left when its finalizer goes.
    fn judge_finalizer(&self, service: &Value) {
        let meta = &service["metadata"];
        let (Some(uid), Some(name)) = (meta["uid"].as_str(), meta["name"].as_str()) else { return };
        let finalizers = meta["finalizers"].as_array().into_iter().flatten();
        let has = finalizers.into_iter().any(|finalizer| finalizer == FINALIZER);
        let had = self.seen().finalized.insert(uid.to_owned(), (name.to_owned(), has));
        if had.is_some_and(|(_, had)| had) && !has {
            let namespace = meta["namespace"].as_str().unwrap_or_default();
            let left = self
                .cloud
                .with(|cloud| invariants::left_of(cloud.state(), uid, &format!("{namespace}/{name}")));
            for left in left {
                self.problem(format!(
                    "S4: the finalizer of Service {name} ({uid}) went, and there is still its {left}"
                ));
            }
        }
    }

    fn judge_cloud(&self, method: &Method, path: &str, body: &Value) {
        let found = self.cloud.with(|cloud| {
            let mut found = invariants::doubled(cloud.state());
            found.extend(self.foreign.disturbed(cloud.state()));
            found
        });
        for problem in found {
            self.problem(problem);
        }
        if method == Method::POST && path.ends_with("/loadbalancers") {
            let tags = body["loadbalancer"]["tags"].as_array().into_iter().flatten();
            let uids = tags.filter_map(|tag| tag.as_str()?.strip_prefix("bowline-service:"));
            for uid in uids {
                let has = self.seen().finalized.get(uid).is_some_and(|(_, has)| *has);
                if !has {
                    self.problem(format!(
                        "S4: a load balancer was made for the Service {uid} without a finalizer"
                    ));
                }
            }
        }
    }

    /// S2: a Node is deleted by its UID, and only if its server is gone.
    pub fn judge_node_deletion(&self, name: &str, options: &Value, node: Option<&Value>) {
        let Some(uid) = options["preconditions"]["uid"].as_str() else {
            return self.problem(format!("S2: Node {name} is to be deleted without a UID: {options}"));
        };
        let Some(node) = node.filter(|node| node["metadata"]["uid"] == uid) else { return };
        let id = node["spec"]["providerID"].as_str().and_then(|id| id.rsplit('/').next()).unwrap_or_default();
        if id.is_empty() {
            return self.problem(format!("S2: Node {name} is to be deleted, and has no provider ID"));
        }
        if self.cloud.with(|cloud| invariants::has_server(cloud.state(), id)) {
            self.problem(format!("S2: Node {name} is to be deleted, and its server {id} lives"));
        }
    }
}

/// What was made or deleted, of the kinds that a Service has once.
fn kind_of(method: &Method, path: &str) -> Option<String> {
    let verb = match *method {
        Method::POST => "made",
        Method::DELETE => "deleted",
        _ => return None,
    };
    let kinds = ["loadbalancers", "floatingips", "security-groups"];
    let end = path.rsplit('/').take(2).collect::<Vec<_>>();
    let kind = kinds
        .into_iter()
        .find(|kind| if verb == "made" { end.first() == Some(kind) } else { end.get(1) == Some(kind) })?;
    Some(format!("{kind} {verb}"))
}
