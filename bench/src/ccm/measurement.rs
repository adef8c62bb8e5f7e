//! What was measured of one CCM in one scenario, beside the least that it could have cost. The fields are the JSON that is written: they
//! keep their names and meanings as long as [`SCHEMA`] does.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tokio::time::Instant;

use super::minimum::Minimum;
use super::traffic::{Class, Ledger};

/// The name of this form of JSON; another one when a field changes its meaning or goes.
pub const SCHEMA: &str = "ccm-bench/1";

/// How much more than the least a good CCM may cost.
pub const TARGETS: Targets = Targets { mutating: 1.05, cloud: 1.5, api_writes: 1.1 };

/// Factors over the least.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Targets {
    /// Of calls that change the cloud.
    pub mutating: f64,
    /// Of all calls of the cloud but logins.
    pub cloud: f64,
    /// Of writes to Nodes and Services.
    pub api_writes: f64,
}

/// A whole run.
#[derive(Debug, Serialize, Deserialize)]
pub struct Report {
    /// [`SCHEMA`].
    pub schema: String,
    /// What it ran on.
    pub machine: Machine,
    /// How it was asked for.
    pub command: String,
    /// The targets that ratios are held to.
    pub targets: Targets,
    /// What was measured.
    pub measurements: Vec<Measurement>,
    /// CCMs that could not be measured to the end, and why.
    pub failures: Vec<String>,
}

/// What a run ran on.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Machine {
    /// Processors.
    pub cores: usize,
    /// Memory, in GB.
    pub memory_gb: u64,
}

/// One CCM in one scenario.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Measurement {
    /// Which CCM.
    pub ccm: String,
    /// Which scenario.
    pub scenario: String,
    /// Nodes at the beginning.
    pub nodes: usize,
    /// Services with a load balancer.
    pub services: usize,
    /// Ports of each.
    pub ports: usize,
    /// Services without one.
    pub others: usize,
    /// How long a load balancer boots.
    pub boot_seconds: f64,
    /// What was not done in time; empty if all was.
    pub missing: Vec<String>,
    /// Calls of the cloud.
    pub cloud: CloudCalls,
    /// Requests to the API server.
    pub api: ApiRequests,
    /// When what happened.
    pub seconds: Seconds,
    /// Time on a processor.
    pub cpu_seconds: f64,
    /// Memory: the peak since the scenario began.
    pub rss_peak_bytes: u64,
    /// Memory when all was done.
    pub rss_steady_bytes: u64,
    /// The least that it could have cost.
    pub minimum: Least,
    /// What it cost as multiple of that.
    pub ratio: Ratios,
}

/// Calls of the cloud.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CloudCalls {
    /// That change something.
    pub mutating: u64,
    /// That change nothing, without logins.
    pub reading: u64,
    /// Logins.
    pub logins: u64,
    /// All of them, by service, method and path; a refusal has its status behind it.
    pub requests: BTreeMap<String, u64>,
    /// Bytes that the CCM sent and received, with headers.
    pub sent_bytes: u64,
    /// The same for what it received.
    pub received_bytes: u64,
}

/// Requests to the API server.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ApiRequests {
    /// Writes to Nodes, Services and anything else but events and leases.
    pub writes: u64,
    /// Writes of events.
    pub events: u64,
    /// Reads: lists, gets, watches that were begun, reviews.
    pub reads: u64,
    /// Requests for the lease.
    pub leases: u64,
    /// All of them, by verb and resource.
    pub requests: BTreeMap<String, u64>,
    /// Bytes that the CCM sent, with headers, before TLS.
    pub sent_bytes: u64,
    /// The same for what it received.
    pub received_bytes: u64,
}

/// Times from the beginning of the scenario.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Seconds {
    /// Until the cluster and the cloud were as they should be.
    pub converged: f64,
    /// Until the first change of the cloud, a Node or a Service.
    pub first_write: Option<f64>,
    /// Until the first request to the API server that was not for the lease: of a new process, how long it takes to be there.
    pub first_request: Option<f64>,
    /// Until another process leads, where the leader ended.
    pub led: Option<f64>,
}

/// The least, as JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Least {
    /// Calls that change the cloud.
    pub mutating: u64,
    /// All calls of the cloud but logins.
    pub cloud: u64,
    /// Writes to Nodes and Services.
    pub api_writes: u64,
}

/// Multiples of the least; none where something was done and the least is nothing.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Ratios {
    /// Of calls that change the cloud.
    pub mutating: Option<f64>,
    /// Of all calls of the cloud but logins.
    pub cloud: Option<f64>,
    /// Of writes to Nodes and Services.
    pub api_writes: Option<f64>,
}

impl CloudCalls {
    /// What the cloud was asked.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        Self {
            mutating: ledger.count(Class::Write),
            reading: ledger.count(Class::Read),
            logins: ledger.count(Class::Login),
            requests: by_name(ledger),
            sent_bytes: ledger.sent_bytes,
            received_bytes: ledger.received_bytes,
        }
    }

    /// All but logins.
    #[must_use]
    pub fn all(&self) -> u64 {
        self.mutating + self.reading
    }
}

impl ApiRequests {
    /// What the API server was asked.
    #[must_use]
    pub fn of(ledger: &Ledger) -> Self {
        Self {
            writes: ledger.count(Class::Write),
            events: ledger.count(Class::Event),
            reads: ledger.count(Class::Read),
            leases: ledger.count(Class::Lease),
            requests: by_name(ledger),
            sent_bytes: ledger.sent_bytes,
            received_bytes: ledger.received_bytes,
        }
    }
}

fn by_name(ledger: &Ledger) -> BTreeMap<String, u64> {
    ledger.counts.iter().map(|((_, name), count)| (name.clone(), *count)).collect()
}

/// When the first change came, of either side.
#[must_use]
pub fn first_write(began: Instant, cloud: &Ledger, api: &Ledger) -> Option<f64> {
    let first = [cloud, api].into_iter().filter_map(|ledger| ledger.first.get(&Class::Write)).min()?;
    Some(first.saturating_duration_since(began).as_secs_f64())
}

impl From<Minimum> for Least {
    fn from(minimum: Minimum) -> Self {
        Self { mutating: minimum.mutating, cloud: minimum.cloud(), api_writes: minimum.api_writes }
    }
}

impl Ratios {
    /// What it cost, over the least.
    #[must_use]
    pub fn of(cloud: &CloudCalls, api: &ApiRequests, least: Least) -> Self {
        Self {
            mutating: ratio(cloud.mutating, least.mutating),
            cloud: ratio(cloud.all(), least.cloud),
            api_writes: ratio(api.writes, least.api_writes),
        }
    }

    /// Which of them are above their targets, by name.
    #[must_use]
    pub fn above(self, targets: Targets) -> Vec<&'static str> {
        let is_above = |ratio: Option<f64>, target: f64| ratio.is_none_or(|ratio| ratio > target);
        [
            ("changes of the cloud", is_above(self.mutating, targets.mutating)),
            ("calls of the cloud", is_above(self.cloud, targets.cloud)),
            ("API writes", is_above(self.api_writes, targets.api_writes)),
        ]
        .into_iter()
        .filter_map(|(name, is_above)| is_above.then_some(name))
        .collect()
    }
}

/// A multiple; doing nothing where nothing has to be done is once.
fn ratio(found: u64, least: u64) -> Option<f64> {
    match (found, least) {
        (0, 0) => Some(1.0),
        (_, 0) => None,
        (found, least) => Some(found as f64 / least as f64),
    }
}

impl Machine {
    /// This one.
    #[must_use]
    pub fn this() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let memory = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
        let total = memory.lines().find_map(|line| line.strip_prefix("MemTotal:"));
        let kilobytes = total.and_then(|total| total.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        Self { cores, memory_gb: kilobytes.unwrap_or(0).div_ceil(1 << 20) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ratio_to_nothing_is_one_if_nothing_was_done_and_else_above_any_target() {
        let least = Least { mutating: 0, cloud: 2, api_writes: 10 };
        let cloud = CloudCalls { reading: 2, ..CloudCalls::default() };
        let api = ApiRequests { writes: 11, ..ApiRequests::default() };
        assert!(Ratios::of(&cloud, &api, least).above(TARGETS).is_empty());
        let cloud = CloudCalls { mutating: 1, reading: 3, ..CloudCalls::default() };
        let ratios = Ratios::of(&cloud, &api, least);
        assert_eq!(ratios.above(TARGETS), ["changes of the cloud", "calls of the cloud"]);
    }
}
