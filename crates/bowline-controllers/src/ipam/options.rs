//! The options of the node IPAM controller: the cluster CIDRs, the size of node ranges, and what to exclude. Does not parse flags.

use std::fmt;

use ipnet::IpNet;

use super::cidr_set::{CidrSet, CidrSetError};

/// The default prefix length of a Node's IPv4 range.
pub const DEFAULT_MASK_V4: u8 = 24;

/// The default prefix length of a Node's IPv6 range.
pub const DEFAULT_MASK_V6: u8 = 64;

/// The options. [`IpamControllerOptions::new`] validates them; the default assigns nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpamControllerOptions {
    allocate: bool,
    cluster_cidrs: Vec<IpNet>,
    service_cidrs: Vec<IpNet>,
    node_mask_v4: u8,
    node_mask_v6: u8,
}

impl Default for IpamControllerOptions {
    fn default() -> Self {
        Self {
            allocate: false,
            cluster_cidrs: Vec::new(),
            service_cidrs: Vec::new(),
            node_mask_v4: DEFAULT_MASK_V4,
            node_mask_v6: DEFAULT_MASK_V6,
        }
    }
}

/// One invalid option.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IpamProblem {
    /// There is no cluster CIDR.
    #[error("pod ranges are to be handed out, but there is no cluster CIDR to take them from")]
    NoClusterCidr,
    /// More than one range of an IP family.
    #[error("{which} must be one range, or one IPv4 and one IPv6 range, not {}", list(.found))]
    Families {
        /// `the cluster CIDR` or `the service CIDR`.
        which: &'static str,
        /// What was given.
        found: Vec<IpNet>,
    },
    /// A cluster CIDR cannot be divided into node ranges of this size.
    #[error(transparent)]
    Cut(#[from] CidrSetError),
    /// A service CIDR covers a complete cluster CIDR.
    #[error(
        "the service CIDR {service} covers all of the cluster CIDR {cluster}; no pod range is left in it"
    )]
    Covered {
        /// The cluster CIDR.
        cluster: IpNet,
        /// The service CIDR.
        service: IpNet,
    },
}

/// All invalid options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IpamProblems(pub Vec<IpamProblem>);

impl fmt::Display for IpamProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        f.write_str(&all.join("; "))
    }
}

impl std::error::Error for IpamProblems {}

impl IpamControllerOptions {
    /// Validated options. The order of `cluster_cidrs` is the order of each Node's ranges. A mask is checked only if there is a cluster
    /// CIDR of its family; without `allocate` nothing is checked.
    ///
    /// # Errors
    ///
    /// All problems at once.
    pub fn new(
        allocate: bool,
        cluster_cidrs: &[IpNet],
        service_cidrs: &[IpNet],
        node_mask_v4: u8,
        node_mask_v6: u8,
    ) -> Result<Self, IpamProblems> {
        let truncated = |ranges: &[IpNet]| ranges.iter().map(IpNet::trunc).collect();
        let (cluster_cidrs, service_cidrs) = (truncated(cluster_cidrs), truncated(service_cidrs));
        let options = Self { allocate, cluster_cidrs, service_cidrs, node_mask_v4, node_mask_v6 };
        let problems = if allocate { options.problems() } else { Vec::new() };
        if problems.is_empty() { Ok(options) } else { Err(IpamProblems(problems)) }
    }

    /// Whether ranges are assigned at all.
    #[must_use]
    pub fn allocate(&self) -> bool {
        self.allocate
    }

    /// Ranges that no Node may get.
    #[must_use]
    pub fn service_cidrs(&self) -> &[IpNet] {
        &self.service_cidrs
    }

    /// One empty set for each cluster CIDR. Validated options never skip one.
    pub(super) fn sets(&self) -> Vec<CidrSet> {
        self.cut().filter_map(Result::ok).collect()
    }

    fn cut(&self) -> impl Iterator<Item = Result<CidrSet, CidrSetError>> {
        self.cluster_cidrs.iter().map(|cluster| {
            let mask = if matches!(cluster, IpNet::V4(_)) { self.node_mask_v4 } else { self.node_mask_v6 };
            CidrSet::new(*cluster, mask)
        })
    }

    fn problems(&self) -> Vec<IpamProblem> {
        let mut problems = Vec::new();
        if self.cluster_cidrs.is_empty() {
            problems.push(IpamProblem::NoClusterCidr);
        }
        for (which, found) in
            [("the cluster CIDR", &self.cluster_cidrs), ("the service CIDR", &self.service_cidrs)]
        {
            if !at_most_one_of_each_family(found) {
                problems.push(IpamProblem::Families { which, found: found.clone() });
            }
        }
        problems.extend(self.cut().filter_map(Result::err).map(IpamProblem::from));
        for cluster in &self.cluster_cidrs {
            let covers = self.service_cidrs.iter().find(|service| service.contains(cluster));
            problems
                .extend(covers.map(|service| IpamProblem::Covered { cluster: *cluster, service: *service }));
        }
        problems
    }
}

fn at_most_one_of_each_family(ranges: &[IpNet]) -> bool {
    let v4 = ranges.iter().filter(|range| matches!(range, IpNet::V4(_))).count();
    v4 <= 1 && ranges.len() - v4 <= 1
}

fn list(ranges: &[IpNet]) -> String {
    ranges.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn nets(text: &str) -> Vec<IpNet> {
        text.split_whitespace().map(|net| net.parse().unwrap()).collect()
    }

    fn problems(cluster: &str, service: &str, v4: u8, v6: u8) -> Vec<String> {
        match IpamControllerOptions::new(true, &nets(cluster), &nets(service), v4, v6) {
            Ok(_) => Vec::new(),
            Err(problems) => problems.0.iter().map(ToString::to_string).collect(),
        }
    }

    #[test]
    fn one_range_or_one_of_each_family_can_be_handed_out() {
        for cluster in ["10.0.0.0/16", "fd00::/48", "10.0.0.0/16 fd00::/48", "fd00::/48 10.0.0.0/16"] {
            assert!(problems(cluster, "10.96.0.0/12 fd01::/108", 24, 64).is_empty(), "{cluster}");
        }
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let found = problems("10.0.0.0/25 fd00::/40 10.2.0.0/16", "10.2.0.0/15", 24, 64);
        assert_eq!(
            found,
            [
                "the cluster CIDR must be one range, or one IPv4 and one IPv6 range, not 10.0.0.0/25, fd00::/40, \
                 10.2.0.0/16",
                "a node range of /24 does not fit into the cluster CIDR 10.0.0.0/25; set the node mask size to a \
                 number from 25 to 32",
                "node ranges of /64 in the cluster CIDR fd00::/40 would be more than 2^16; set the node mask size to \
                 56 or less",
                "the service CIDR 10.2.0.0/15 covers all of the cluster CIDR 10.2.0.0/16; no pod range is left in it",
            ]
        );
        assert_eq!(
            problems("", "10.0.0.0/24 10.1.0.0/24", 24, 64),
            [
                "pod ranges are to be handed out, but there is no cluster CIDR to take them from",
                "the service CIDR must be one range, or one IPv4 and one IPv6 range, not 10.0.0.0/24, 10.1.0.0/24",
            ]
        );
    }

    #[test]
    fn what_is_not_used_is_not_wrong() {
        assert!(IpamControllerOptions::new(false, &nets("10.0.0.0/8 10.0.0.0/8"), &[], 4, 4).is_ok());
        assert!(problems("10.0.0.0/16", "", 24, 200).is_empty(), "no IPv6 range, so no IPv6 mask");
        assert!(!IpamControllerOptions::default().allocate());
    }
}
