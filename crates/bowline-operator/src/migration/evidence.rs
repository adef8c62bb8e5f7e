//! What our manager and the checks outside have answered, in the few facts that decisions need.

use std::collections::BTreeSet;

use jiff::Timestamp;

use super::mode::ManagerMode;

/// What our manager reports: in shadow mode what it would do, later what it has done and what it holds back.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShadowFacts {
    /// When the look that it reports began.
    pub observed_at: Timestamp,
    /// When the process that reports began.
    pub started_at: Timestamp,
    /// What that process may do: [`ManagerMode::Shadow`] or a mode that acts.
    pub mode: Option<ManagerMode>,
    /// Whether it leads.
    pub leader: bool,
    /// Its identity in the Lease.
    pub holder: String,
    /// `--cluster-name` it runs with.
    pub cluster_name: String,
    /// How many Services have a load balancer of this manager, or want one.
    pub services: usize,
    /// How many of them are as they ask to be, or were paused by a person.
    pub settled: usize,
    /// How many keep a hand-over from happening.
    pub blocking: usize,
    /// Services that are not settled, the worst first. Those that do not fit are in `blocking` only.
    pub findings: Vec<ShadowFinding>,
    /// Whether nothing is unknown but what findings name: the cloud, its services, every node.
    pub cloud_known: bool,
    /// Why not, if it is not.
    pub cloud_problem: Option<String>,
    /// Nodes whose machine was found.
    pub nodes_present: usize,
    /// Nodes of ours whose machine is proven gone.
    pub nodes_absent: Vec<String>,
    /// Nodes of whose machine the cloud does not say anything.
    pub nodes_unknown: Vec<String>,
    /// Nodes of somebody else, by the scheme of their provider ID.
    pub nodes_foreign: Vec<String>,
}

/// What the manager would do to a Service, in one word.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum WouldDo {
    /// Take something away that it has.
    Delete,
    /// Give it another address.
    Readdress,
    /// Make a load balancer or an address.
    Create,
    /// The cloud is at work on it.
    Wait,
    /// Serve it with something else than it asks for, or no longer have it follow the Nodes, until a person corrects it. It has an address.
    Block,
    /// Nothing, until a person changes something. It has no address.
    Refuse,
    /// Change something in place.
    Change,
    /// Nobody can say.
    #[default]
    Unknown,
}

impl WouldDo {
    /// Whether a hand-over has to wait because of it.
    #[must_use]
    pub fn blocks(self) -> bool {
        !matches!(self, Self::Refuse | Self::Change)
    }
}

/// A Service that is not settled.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ShadowFinding {
    /// `namespace/name`.
    pub service: String,
    /// What would be done.
    pub would: WouldDo,
    /// Whether the manager holds it back (`--adopt-only`).
    pub held: bool,
    /// Why, for people.
    pub message: String,
}

impl ShadowFacts {
    /// The findings that keep a hand-over from happening, but for Services that a person accepts.
    #[must_use]
    pub fn not_accepted(&self, accept: &BTreeSet<&str>) -> Vec<&ShadowFinding> {
        let blocks =
            |finding: &&ShadowFinding| finding.would.blocks() && !accept.contains(finding.service.as_str());
        self.findings.iter().filter(blocks).collect()
    }

    /// How many Services keep a hand-over from happening and are not listed: nobody can accept them.
    #[must_use]
    pub fn unlisted(&self) -> usize {
        let listed = self.findings.iter().filter(|finding| finding.would.blocks()).count();
        self.blocking.saturating_sub(listed)
    }

    /// Whether every Service is as it asks to be.
    #[must_use]
    pub fn is_settled(&self) -> bool {
        self.settled == self.services
    }
}

/// The answer to one question of the preflight.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Answer {
    /// It is well. The text says what was found.
    Pass(String),
    /// It is not. The text says what was wanted, what was found, and what to do.
    Fail(String),
    /// Nobody has answered yet, and why.
    Unknown(String),
    /// Nobody was asked.
    #[default]
    NotAsked,
}

/// Answers that need a look outside. What the shadow report answers is not among them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PreflightFacts {
    /// (a) The cloud can be reached with the credentials. Not asked: the report answers.
    pub cloud: Answer,
    /// (c) The cluster's name is the one in the names of the load balancers that exist.
    pub cluster_name: Answer,
    /// (d) `cloud.conf` can be read by the manager that will read it; with what is dropped or rewritten.
    pub config: Answer,
    /// (e) The cloud has load balancers, or they are switched off.
    pub load_balancers: Answer,
    /// (f) No two load balancers have the same name.
    pub duplicates: Answer,
    /// (g) The certificate of the cloud is trusted.
    pub trust: Answer,
    /// (h) The images can be pulled. Optional: not asked is well.
    pub images: Answer,
}
