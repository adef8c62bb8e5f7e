//! The shadow report: what a manager would do in a cluster if it were the leader, before it changes anything. A migration depends on it.
//!
//! Values and pure methods only. The manager writes the report into one ConfigMap (`--shadow`, `--adopt-only`); the operator or
//! administrator who decides about a hand-over reads it there. The manager limits its size and counts what it leaves out.

mod touch;

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use self::touch::{FLOATING_IP, LOAD_BALANCER, Touch};

/// The version of the report's format. A reader that finds another version must not draw conclusions from the report.
pub const FORMAT: u32 = 1;

/// The key of the ConfigMap that holds the report.
pub const REPORT_KEY: &str = "report.json";

/// The default namespace and name of the ConfigMap.
pub const DEFAULT_REPORT: (&str, &str) = ("kube-system", "bowline-shadow-report");

/// What a manager would do in this cluster.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct ShadowReport {
    /// The version of the format, [`FORMAT`].
    pub format: u32,
    /// What the manager is allowed to do.
    pub mode: Mode,
    /// Whether the manager is the leader.
    pub leader: bool,
    /// The version of the manager.
    pub version: String,
    /// `--cluster-name`.
    pub cluster_name: String,
    /// The id of the project that the credentials belong to; `None` if the cloud did not report it.
    #[serde(default)]
    pub project: Option<String>,
    /// The error of the cloud when it was asked for the project; `None` if there was none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cloud_problem: Option<String>,
    /// When the process started to report.
    pub started_at: Timestamp,
    /// When this observation started. Later changes are not in the report.
    pub observed_at: Timestamp,
    /// The identity of the process in the leader election.
    pub holder: String,
    /// Whether the cloud provides load balancers.
    pub load_balancers: Availability,
    /// Whether the cloud provides instances.
    pub instances: Availability,
    /// The number of Services by verdict. Each Service has exactly one verdict.
    pub services: ServiceCounts,
    /// The Services that are not settled, the worst first.
    pub findings: Vec<Finding>,
    /// The number of Services that are not settled and not listed in `findings`.
    #[serde(default)]
    pub truncated: usize,
    /// The Nodes.
    pub nodes: NodeReport,
}

/// What a manager that reports is allowed to do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Mode {
    /// Observe, plan and report. The manager writes nothing else.
    Shadow,
    /// Act as leader, but create and delete no load balancer, and create, delete or change no address.
    AdoptOnly,
}

/// Whether the cloud provides a part of the interface.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Availability {
    /// The availability.
    pub state: AvailabilityState,
    /// The reason if it is not available.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
}

/// Whether the cloud provides a part of the interface.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum AvailabilityState {
    /// Available.
    Available,
    /// Never available with this configuration.
    Unsupported,
    /// Not available now. Also used for values of a newer manager that this version does not know.
    #[serde(other)]
    Unavailable,
}

/// The number of Services by verdict.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServiceCounts {
    /// All Services that have a load balancer of this manager or want one.
    pub total: usize,
    /// Nothing is left to do, neither in the cloud nor on the Service.
    pub settled: usize,
    /// Paused by a user: the manager changes nothing for it.
    pub paused: usize,
    /// The cloud is changing the load balancer. What the plan is afterwards is unknown.
    pub waits: usize,
    /// Something would be changed in place: tags, members, annotations.
    pub changes: usize,
    /// A load balancer or an address would be created.
    pub creates: usize,
    /// Something that the Service uses would be deleted.
    pub deletes: usize,
    /// The address of the Service would change.
    pub readdresses: usize,
    /// The Service has an address and would not get everything that it asks for: a value is invalid, or the Service is refused.
    pub blocked: usize,
    /// The Service has no address, and the manager would do nothing for it until a user or administrator changes something.
    pub refused: usize,
    /// The state in the cloud is unknown.
    pub unknown: usize,
    /// Of all these, the Services whose plan `--adopt-only` holds back, or would hold back.
    pub held: usize,
}

/// A summary of the plan for a Service.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Verdict {
    /// Something that the Service uses would be deleted.
    Deletes,
    /// The address of the Service would change.
    Readdresses,
    /// A load balancer or an address would be created.
    Creates,
    /// The cloud is changing the load balancer. What the plan is afterwards is unknown.
    Waits,
    /// The Service has an address, and a user has to correct something on it: a value is invalid and another one would be used in its
    /// place, or the Service is refused and its load balancer would no longer follow the Nodes.
    Blocked,
    /// The Service has no address, and the manager would do nothing for it until a user or administrator changes something.
    Refused,
    /// Something would be changed in place: tags, members, annotations.
    Changes,
    /// Paused by a user: the manager changes nothing for it.
    Paused,
    /// Nothing is left to do.
    Settled,
    /// The state in the cloud is unknown. Also used for a verdict of a newer manager that this version does not know.
    #[serde(other)]
    Unknown,
}

/// A Service that is not settled.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Finding {
    /// `namespace/name`.
    pub service: String,
    /// The UID of the Service.
    pub uid: String,
    /// The summary of the plan.
    pub verdict: Verdict,
    /// Whether `--adopt-only` holds the plan back, or would hold it back.
    #[serde(default)]
    pub held: bool,
    /// The current address of the Service; `None` if it has none.
    #[serde(default)]
    pub address: Option<String>,
    /// The planned steps; truncated if there are many.
    #[serde(default)]
    pub planned: Vec<PlannedStep>,
    /// Why, as a message for people.
    pub message: String,
}

/// One planned step.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct PlannedStep {
    /// `create`, `update` or `delete`.
    pub verb: String,
    /// The kind of object: `load balancer`, `floating ip`, `status`, …
    pub kind: String,
    /// The id of the object, or its name if it does not exist yet.
    pub target: String,
    /// Why.
    pub reason: String,
}

/// The Nodes by the state of their instances. Lists names only where an administrator may have to act.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct NodeReport {
    /// The number of all Nodes.
    pub total: usize,
    /// The number of Nodes whose instance exists.
    pub present: usize,
    /// Nodes whose instance is proven absent. A leading manager deletes them if they are not ready.
    pub absent: Vec<String>,
    /// Nodes that belong to another cloud, for example by the scheme of their provider ID. The manager does not touch them.
    pub foreign: Vec<String>,
    /// Nodes for which the state of the instance is unknown.
    pub unknown: Vec<String>,
    /// Nodes that have no provider ID.
    pub without_provider_id: Vec<String>,
    /// The number of names that are left out of these lists.
    pub truncated: usize,
}

impl NodeReport {
    /// Whether the instance of every Node of this cloud exists, and there is at least one such Node.
    #[must_use]
    pub fn all_resolve(&self) -> bool {
        self.present > 0 && self.absent.is_empty() && self.unknown.is_empty()
    }
}

impl Verdict {
    /// All verdicts, the worst first.
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

    /// Whether the verdict blocks a hand-over: it would create, delete or move something, would leave a Service that has an address without
    /// something that it asks for, or the outcome is unknown.
    #[must_use]
    pub const fn blocks(self) -> bool {
        matches!(
            self,
            Self::Deletes | Self::Readdresses | Self::Creates | Self::Unknown | Self::Waits | Self::Blocked
        )
    }

    /// The position in [`ALL`](Self::ALL): the worst verdict has the lowest number.
    #[must_use]
    pub fn severity(self) -> usize {
        Self::ALL.iter().position(|known| *known == self).unwrap_or_default()
    }
}

impl ServiceCounts {
    /// Counts one Service.
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

    /// The number of Services whose verdict blocks a hand-over.
    #[must_use]
    pub const fn blocking(&self) -> usize {
        self.deletes + self.readdresses + self.creates + self.unknown + self.waits + self.blocked
    }
}

impl ShadowReport {
    /// Whether the plan creates, deletes and moves nothing, and nothing is unknown about Services, Nodes and the cloud. A load balancer
    /// that the cloud is changing counts as unknown. A Service that is refused is clean if it has no address, because nothing is done for
    /// it; with an address it is not. Nodes without an instance are clean: see [`NodeReport::all_resolve`] for them.
    #[must_use]
    pub fn is_clean(&self) -> bool {
        self.services.blocking() == 0 && self.knows_the_cloud()
    }

    /// Same as [`is_clean`](Self::is_clean), but ignores Services that an administrator accepted, by `namespace/name`.
    #[must_use]
    pub fn is_accepted(&self, accepted: &BTreeSet<String>) -> bool {
        self.not_accepted(accepted).is_empty() && self.unlisted() == 0 && self.knows_the_cloud()
    }

    /// The findings that block a hand-over, without those of Services that an administrator accepted.
    #[must_use]
    pub fn not_accepted(&self, accepted: &BTreeSet<String>) -> Vec<&Finding> {
        let blocks = |finding: &&Finding| finding.verdict.blocks() && !accepted.contains(&finding.service);
        self.findings.iter().filter(blocks).collect()
    }

    /// The number of Services that block a hand-over and are not listed in the findings. They cannot be accepted.
    #[must_use]
    pub fn unlisted(&self) -> usize {
        let listed = self.findings.iter().filter(|finding| finding.verdict.blocks()).count();
        self.services.blocking().saturating_sub(listed)
    }

    /// Whether every Service is settled or paused.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.format == FORMAT && self.services.settled + self.services.paused == self.services.total
    }

    /// Whether the report is at most `max_age` older than `now`. A report that is further than `max_age` in the future is not fresh,
    /// because one of the clocks is wrong.
    #[must_use]
    pub fn is_fresh(&self, now: Timestamp, max_age: Duration) -> bool {
        let most = SignedDuration::try_from(max_age).unwrap_or(SignedDuration::MAX);
        let age = now.duration_since(self.observed_at);
        age <= most && age >= -most
    }

    /// Whether the cloud reported no error for the project, its load balancers and instances are not unavailable, and no Node is unknown.
    /// `false` for another format.
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
