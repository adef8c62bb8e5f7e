//! Problems with the ranges of a Node. Such a Node is quarantined: an event reports it, nothing is changed on it, no other Node gets its
//! ranges, and all other Nodes are served.

use ipnet::IpNet;

/// One problem with the ranges of a Node.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The range is in no cluster CIDR: it belongs to an earlier cluster CIDR, or another component set it.
    #[error(
        "pod range {range} is in no cluster CIDR; it is left as it is. Add its range to the cluster CIDR, or replace the \
         node to give it a new one"
    )]
    Foreign {
        /// The range.
        range: IpNet,
    },
    /// The range overlaps one of another Node.
    #[error(
        "pod range {range} overlaps one of node {by}; pods of both get the same addresses. Replace one of the two nodes"
    )]
    Held {
        /// The range.
        range: IpNet,
        /// The name of the Node that has the overlapping range.
        by: String,
    },
    /// The range overlaps a service CIDR.
    #[error("pod range {range} overlaps the service CIDR {service}. Replace the node to give it a new one")]
    InServices {
        /// The range.
        range: IpNet,
        /// The service CIDR.
        service: IpNet,
    },
    /// The Node has more ranges than there are cluster CIDRs.
    #[error("has {found} pod ranges, but there are cluster CIDRs for {most}; they are left as they are")]
    TooMany {
        /// The number of ranges of the Node.
        found: usize,
        /// The number of cluster CIDRs.
        most: usize,
    },
}

impl Problem {
    /// The reason of the event: `CIDRForeign` for ranges that are not ours, `CIDRConflict` for overlaps. Upstream has neither: it
    /// terminates the process instead.
    #[must_use]
    pub fn reason(&self) -> &'static str {
        match self {
            Self::Foreign { .. } | Self::TooMany { .. } => "CIDRForeign",
            Self::Held { .. } | Self::InServices { .. } => "CIDRConflict",
        }
    }
}
