//! A run before it is run: the setting, what people do and when, and what goes wrong. Only values.

use std::time::Duration;

use crate::action::Action;
use crate::fault::Source;

/// Which load balancers the cloud makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Provider {
    /// Virtual machines, slow to boot.
    Amphora,
    /// Flows, at once.
    Ovn,
}

/// What is chosen before a run begins.
#[derive(Clone, Debug, PartialEq)]
pub struct Setting {
    /// Seeds identifiers and pauses.
    pub seed: u64,
    /// Which load balancers there are.
    pub provider: Provider,
    /// How many servers there are at the start, `node-1` and so on; their Nodes register in the actions.
    pub servers: usize,
    /// Whether security groups are managed.
    pub security_groups: bool,
    /// Whether routes are made.
    pub routes: bool,
    /// Whether the cluster logs in with an application credential, and not with a password.
    pub application_credential: bool,
    /// Whether everything that was said is kept: objects, metrics, secrets that were handed out.
    pub listens: bool,
    /// How many replicas of the manager run.
    pub replicas: usize,
    /// Whether there are other tenants, one of them hostile, and what belongs to another cluster.
    pub tenants: bool,
    /// Whether the other cluster has the same `--cluster-name`.
    pub same_cluster_name: bool,
    /// OpenStack's own manager leads at first, and is killed after this time.
    pub predecessor: Option<Duration>,
    /// How old an old answer of the cloud is at most.
    pub old: Duration,
    /// How much later than the right time the clock of each further replica is.
    pub skew: Duration,
    /// All has to be as it is wanted this long after the last fault.
    pub patience: Duration,
    /// What tells of that may follow for this long.
    pub settle: Duration,
    /// For how long the run is watched after it came to rest.
    pub quiet: Duration,
    /// Every how long a load balancer is compared although nothing changed; none: as the flags have it by default.
    pub repair: Option<Duration>,
    /// A Service that has to be served this long after it was created, whatever becomes of others.
    pub prompt: Option<(usize, Duration)>,
    /// How many calls to Octavia all of the run may take.
    pub octavia_calls: Option<u64>,
}

impl Default for Setting {
    fn default() -> Self {
        Self {
            seed: 1,
            provider: Provider::Ovn,
            servers: 3,
            security_groups: false,
            routes: false,
            application_credential: false,
            listens: false,
            replicas: 2,
            tenants: false,
            same_cluster_name: false,
            predecessor: None,
            // Half a minute is a known gap: a leader that made none of them believes such a list (seed 1316 was that).
            old: Duration::from_secs(5),
            skew: Duration::ZERO,
            // The longest pauses between tries are ten minutes, and what is found out by looking again is found out within as long.
            patience: Duration::from_secs(45 * 60),
            // Descriptions and conditions may follow what they tell of; a sweep may be due.
            settle: Duration::from_secs(3 * 60),
            quiet: Duration::from_secs(3 * 60),
            repair: Some(Duration::from_secs(2 * 60)),
            prompt: None,
            octavia_calls: None,
        }
    }
}

/// Something that is done at a time.
#[derive(Clone, Debug, PartialEq)]
pub struct Timed {
    /// Since the start of the run.
    pub at: Duration,
    /// What.
    pub action: Action,
}

/// A run before it is run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Case {
    /// What it is called.
    pub name: String,
    /// The setting.
    pub setting: Setting,
    /// What is done, by time.
    pub actions: Vec<Timed>,
    /// What goes wrong.
    pub faults: Source,
    /// Faults strike from then on; none: from the start.
    pub faults_begin: Option<Duration>,
    /// Faults strike until then; none: until the last action and a minute.
    pub faults_end: Option<Duration>,
    /// A fault that is built into Bowline on purpose, to see whether it is found.
    pub piece: Option<crate::museum::Piece>,
}

impl Case {
    /// When faults stop.
    #[must_use]
    pub fn end_of_faults(&self) -> Duration {
        let last = self.actions.iter().map(|timed| timed.at).max().unwrap_or_default();
        self.faults_end.unwrap_or(last + Duration::from_secs(60))
    }
}
