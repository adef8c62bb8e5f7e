//! What a CCM is put through: the scenarios by name, and how large everything is. Only values.

use std::fmt;
use std::time::Duration;

use clap::ValueEnum;

use super::cloud::Pace;
use super::subject::Subject;

/// Something that happens to a cluster. They follow each other in this order in one life of a cluster.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub enum Scenario {
    /// The CCM starts and finds all Nodes uninitialised
    Initialise,
    /// All Services are made at once
    Create,
    /// Nothing happens
    Quiet,
    /// One Service gets other source ranges
    Edit,
    /// One Node joins
    JoinOne,
    /// Many Nodes join within seconds
    JoinMany,
    /// One Node's server is deleted
    Leave,
    /// A tenth of the Nodes is not ready for a time, while their servers run
    NotReady,
    /// The CCM ends and is started again; nothing has changed
    Restart,
    /// The leader of two ends; nothing has changed
    FailOver,
    /// All Services are deleted at once
    Delete,
    /// All Services are made at once while the cloud refuses a fifth of all requests
    BrownOut,
}

impl fmt::Display for Scenario {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.write_str(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// How large a cluster is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Size {
    /// Nodes at the beginning.
    pub nodes: usize,
    /// Services with a load balancer.
    pub services: usize,
    /// Ports of each.
    pub ports: usize,
}

/// The sizes of a run: each number of Nodes, of Services and of ports with the first of the others. A product of all would take days.
#[must_use]
pub fn sizes(nodes: &[usize], services: &[usize], ports: &[usize]) -> Vec<Size> {
    let (Some(&n), Some(&s), Some(&p)) = (nodes.first(), services.first(), ports.first()) else {
        return Vec::new();
    };
    let of_nodes = nodes.iter().map(|&nodes| Size { nodes, services: s, ports: p });
    let of_services = services.iter().skip(1).map(|&services| Size { nodes: n, services, ports: p });
    let of_ports = ports.iter().skip(1).map(|&ports| Size { nodes: n, services: s, ports });
    of_nodes.chain(of_services).chain(of_ports).collect()
}

/// What is wanted of a run.
#[derive(Debug, Clone)]
pub struct Wish {
    /// The programs.
    pub subjects: Vec<Subject>,
    /// The sizes.
    pub sizes: Vec<Size>,
    /// What is told of; Nodes are initialised and Services made in any case where something behind that is.
    pub scenarios: Vec<Scenario>,
    /// How long a load balancer boots, in seconds; Services are made and deleted once for each, and stay after the last.
    pub boots: Vec<f64>,
    /// How long nothing happens.
    pub quiet: Duration,
    /// How many Nodes join in the burst, and within how long.
    pub burst: (usize, Duration),
    /// How long Nodes are not ready.
    pub not_ready: Duration,
    /// Services that are no CCM's business.
    pub others: usize,
    /// How long the cloud takes.
    pub pace: Pace,
    /// Flags that every program gets.
    pub flags: Vec<String>,
    /// How long anything may take before it is given up.
    pub patience: Duration,
}

impl Wish {
    /// Whether a scenario is to be told of. Others are left out where they need not happen.
    #[must_use]
    pub fn wants(&self, scenario: Scenario) -> bool {
        self.scenarios.contains(&scenario)
    }

    /// Whether one behind this is to be told of.
    #[must_use]
    pub fn goes_beyond(&self, scenario: Scenario) -> bool {
        self.scenarios.iter().any(|wanted| *wanted > scenario)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_varied_one_at_a_time() {
        let sizes = sizes(&[10, 100], &[1, 5], &[1, 3]);
        let found: Vec<_> = sizes.iter().map(|size| (size.nodes, size.services, size.ports)).collect();
        assert_eq!(found, [(10, 1, 1), (100, 1, 1), (10, 5, 1), (10, 1, 3)]);
    }
}
