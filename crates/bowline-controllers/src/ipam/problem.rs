//! What can be wrong with the ranges that a node shows. Such a node is quarantined: it is told about in an event and left
//! alone, nobody else is given what it has, and all other nodes are served.

use ipnet::IpNet;

/// One thing that is wrong with a node's ranges.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The range is in no cluster CIDR: of an older cluster CIDR, or somebody else's.
    #[error(
        "pod range {range} is in no cluster CIDR; it is left as it is. Add its range to the cluster CIDR, or replace the \
         node to give it a new one"
    )]
    Foreign {
        /// The range.
        range: IpNet,
    },
    /// Another node has it too, in whole or in part.
    #[error(
        "pod range {range} overlaps one of node {by}; pods of both get the same addresses. Replace one of the two nodes"
    )]
    Held {
        /// The range.
        range: IpNet,
        /// The name of the node that had it first.
        by: String,
    },
    /// Services use it.
    #[error("pod range {range} overlaps the service CIDR {service}. Replace the node to give it a new one")]
    InServices {
        /// The range.
        range: IpNet,
        /// The service CIDR.
        service: IpNet,
    },
    /// More ranges than there are cluster CIDRs.
    #[error("has {found} pod ranges, but there are cluster CIDRs for {most}; they are left as they are")]
    TooMany {
        /// How many it has.
        found: usize,
        /// How many it can have.
        most: usize,
    },
}

impl Problem {
    /// The reason of the event: `CIDRForeign` for ranges that are not ours, `CIDRConflict` for those that collide.
    /// Upstream has neither: it ends the whole process instead.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Foreign { .. } | Self::TooMany { .. } => "CIDRForeign",
            Self::Held { .. } | Self::InServices { .. } => "CIDRConflict",
        }
    }
}
