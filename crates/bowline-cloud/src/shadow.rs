//! The shadow report: what a manager would do in a cluster if it led, said before it does anything. The gate of a migration.
//!
//! Values and pure methods only. The manager fills a report in (`--shadow`, `--adopt-only`) and writes it into one ConfigMap;
//! who decides about a hand-over reads it there. It is bounded by who fills it in: what does not fit is counted.

mod touch;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use self::touch::{FLOATING_IP, LOAD_BALANCER, Touch};

/// The form of the report. A reader that knows another one must conclude nothing from it.
pub const FORMAT: u32 = 1;

/// The key of the ConfigMap under which the report stands.
pub const REPORT_KEY: &str = "report.json";

/// Where the report is unless told otherwise: namespace and name of a ConfigMap.
pub const DEFAULT_REPORT: (&str, &str) = ("kube-system", "bowline-shadow-report");

/// What a manager would do in this cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShadowReport {
    /// [`FORMAT`].
    pub format: u32,
    /// What the manager may do.
    pub mode: Mode,
    /// Whether it leads.
    pub leader: bool,
    /// Its version.
    pub version: String,
    /// `--cluster-name`.
    pub cluster_name: String,
    /// Whom the credentials stand for: the id of the project. None if the cloud does not say.
    #[serde(default)]
    pub project: Option<String>,
    /// Why the cloud did not say it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_problem: Option<String>,
    /// When the process began to report.
    pub started_at: Timestamp,
    /// When this look began: what happened later is not in it.
    pub observed_at: Timestamp,
    /// Which process it is.
    pub holder: String,
    /// Whether the cloud has load balancers.
    pub load_balancers: Availability,
    /// Whether the cloud has machines.
    pub instances: Availability,
    /// The Services, counted by verdict: each is in exactly one of them.
    pub services: ServiceCounts,
    /// Those that are not settled, the worst first.
    pub findings: Vec<Finding>,
    /// How many of those are not listed.
    #[serde(default)]
    pub truncated: usize,
    /// The Nodes.
    pub nodes: NodeReport,
}

/// What a manager that reports may do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Look, plan and report. Nothing else is written.
    Shadow,
    /// Lead, but make and delete no load balancer, and change no address.
    AdoptOnly,
}

/// Whether the cloud has something.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Availability {
    /// Whether.
    pub state: AvailabilityState,
    /// Why not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whether the cloud has something.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AvailabilityState {
    /// It has.
    Available,
    /// It never will, with this configuration.
    Unsupported,
    /// Not now. Also what a newer manager says that is not known here.
    #[serde(other)]
    Unavailable,
}

/// How many Services there are of which kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceCounts {
    /// All that have a load balancer of this manager, or want one.
    pub total: usize,
    /// Nothing is left to do, neither in the cloud nor on the Service.
    pub settled: usize,
    /// A person paused it: nothing is planned for it.
    pub paused: usize,
    /// The cloud is at work on it; what comes then is not known.
    pub waits: usize,
    /// Something is changed in place: tags, members, annotations.
    pub changes: usize,
    /// A load balancer or an address would be made.
    pub creates: usize,
    /// Something would be taken away that it has.
    pub deletes: usize,
    /// Its address would change.
    pub readdresses: usize,
    /// It has an address, and would not get all that it asks for: a value cannot be read, or it is refused.
    pub blocked: usize,
    /// It has no address, and the manager would do nothing for it until a person changes something.
    pub refused: usize,
    /// The cloud does not say what is there.
    pub unknown: usize,
    /// Of all: those whose plan `--adopt-only` holds back, or would.
    pub held: usize,
}

/// What is planned for a Service, in one word.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// Something would be taken away that it has.
    Deletes,
    /// Its address would change.
    Readdresses,
    /// A load balancer or an address would be made.
    Creates,
    /// The cloud is at work on it; what comes then is not known.
    Waits,
    /// It has an address, and a person has to correct something on it: a value cannot be read and another one would count in its
    /// place, or it is refused and would no longer follow the Nodes.
    Blocked,
    /// It has no address, and the manager would do nothing for it until a person changes something.
    Refused,
    /// Something is changed in place: tags, members, annotations.
    Changes,
    /// A person paused it: nothing is planned for it.
    Paused,
    /// Nothing is left to do.
    Settled,
    /// The cloud does not say what is there. Also a verdict of a newer manager that is not known here.
    #[serde(other)]
    Unknown,
}

/// A Service that is not settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// `namespace/name`.
    pub service: String,
    /// Its UID.
    pub uid: String,
    /// What is planned, in one word.
    pub verdict: Verdict,
    /// Whether `--adopt-only` holds the plan back, or would.
    #[serde(default)]
    pub held: bool,
    /// Where it is reached now.
    #[serde(default)]
    pub address: Option<String>,
    /// What is planned; cut if it is long.
    #[serde(default)]
    pub planned: Vec<PlannedStep>,
    /// Why, in words for a person.
    pub message: String,
}

/// One step that is planned.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// `create`, `update` or `delete`.
    pub verb: String,
    /// The kind of object: `load balancer`, `floating ip`, `status`, …
    pub kind: String,
    /// Which one: its id, or its name if it does not exist yet.
    pub target: String,
    /// Why.
    pub reason: String,
}

/// The Nodes, by what the cloud says of their machines. Names only where somebody has to look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeReport {
    /// All.
    pub total: usize,
    /// Those whose machine is there.
    pub present: usize,
    /// Those whose machine is proven gone: a manager that leads deletes them when they are not ready.
    pub absent: Vec<String>,
    /// Those of somebody else, by the scheme of their provider ID for one: they are left alone.
    pub foreign: Vec<String>,
    /// Those of whose machine the cloud does not say anything.
    pub unknown: Vec<String>,
    /// Those that have no provider ID.
    pub without_provider_id: Vec<String>,
    /// How many names are not listed in these.
    pub truncated: usize,
}

impl NodeReport {
    /// Whether the machine of every Node that is ours was found, and there is one at least.
    #[must_use]
    pub fn all_resolve(&self) -> bool {
        self.present > 0 && self.absent.is_empty() && self.unknown.is_empty()
    }
}

impl Verdict {
    /// All of them, the worst first.
    pub const ALL: [Self; 10] = [
        Self::Deletes,
        Self::Readdresses,
        Self::Creates,
        Self::Unknown,
        Self::Waits,
        Self::Blocked,
        Self::Refused,
        Self::Changes,
        Self::Paused,
        Self::Settled,
    ];

    /// Whether a hand-over would create, remove or move something, or would leave a Service that is served without what it asks for, or
    /// nobody can say so.
    #[must_use]
    pub const fn blocks(self) -> bool {
        matches!(
            self,
            Self::Deletes | Self::Readdresses | Self::Creates | Self::Unknown | Self::Waits | Self::Blocked
        )
    }

    /// How bad it is; the worst has the least number.
    #[must_use]
    pub fn severity(self) -> usize {
        Self::ALL.iter().position(|known| *known == self).unwrap_or_default()
    }
}

impl ServiceCounts {
    /// Counts one more.
    pub fn add(&mut self, verdict: Verdict, held: bool) {
        self.total += 1;
        self.held += usize::from(held);
        *self.of_mut(verdict) += 1;
    }

    fn of_mut(&mut self, verdict: Verdict) -> &mut usize {
        match verdict {
            Verdict::Deletes => &mut self.deletes,
            Verdict::Readdresses => &mut self.readdresses,
            Verdict::Creates => &mut self.creates,
            Verdict::Waits => &mut self.waits,
            Verdict::Blocked => &mut self.blocked,
            Verdict::Refused => &mut self.refused,
            Verdict::Changes => &mut self.changes,
            Verdict::Paused => &mut self.paused,
            Verdict::Settled => &mut self.settled,
            Verdict::Unknown => &mut self.unknown,
        }
    }

    /// How many of them keep a hand-over from happening.
    #[must_use]
    pub const fn blocking(&self) -> usize {
        self.deletes + self.readdresses + self.creates + self.unknown + self.waits + self.blocked
    }
}

impl ShadowReport {
    /// Whether the plan makes, takes away and moves nothing, and nothing is unknown: neither a Service nor a Node nor the
    /// cloud. What the cloud is at work on is unknown too. A new Service that is refused is clean, for nothing is done about it; one
    /// that has an address is not. Nodes without a machine are clean, about which [`NodeReport::all_resolve`] has its own word.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.services.blocking() == 0 && self.knows_the_cloud()
    }

    /// The same, but for Services that a person accepts by `namespace/name`.
    #[must_use]
    pub fn is_accepted(&self, accepted: &BTreeSet<String>) -> bool {
        self.not_accepted(accepted).is_empty() && self.unlisted() == 0 && self.knows_the_cloud()
    }

    /// The findings that keep a hand-over from happening, but for those of Services that a person accepts.
    #[must_use]
    pub fn not_accepted(&self, accepted: &BTreeSet<String>) -> Vec<&Finding> {
        let blocks = |finding: &&Finding| finding.verdict.blocks() && !accepted.contains(&finding.service);
        self.findings.iter().filter(blocks).collect()
    }

    /// How many Services keep a hand-over from happening and are not among the findings: nobody can accept them.
    #[must_use]
    pub fn unlisted(&self) -> usize {
        let listed = self.findings.iter().filter(|finding| finding.verdict.blocks()).count();
        self.services.blocking().saturating_sub(listed)
    }

    /// Whether every Service was brought to what it asks for, but for those that a person paused.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.format == FORMAT && self.services.settled + self.services.paused == self.services.total
    }

    /// Whether it was made within `max_age` before `now`. One from the future is not: one of the clocks is wrong.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp, max_age: Duration) -> bool {
        let most = SignedDuration::try_from(max_age).unwrap_or(SignedDuration::MAX);
        let age = now.duration_since(self.observed_at);
        age <= most && age >= -most
    }

    /// Whether the cloud said who we are and what it has, of the load balancers and of the machine of every Node.
    #[must_use]
    pub fn knows_the_cloud(&self) -> bool {
        let gone = AvailabilityState::Unavailable;
        self.format == FORMAT
            && self.cloud_problem.is_none()
            && self.load_balancers.state != gone
            && self.instances.state != gone
            && self.nodes.unknown.is_empty()
    }
}
