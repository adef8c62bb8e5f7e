//! The security group of a Service: what lets its traffic reach the Nodes, where `manage-security-groups` asks for it.
//!
//! In the order of a look: [`Targets::of`] says which Nodes are reached and where, [`observe()`] (or [`observe_many`]) reads the
//! group and the ports of these Nodes, [`SubnetRanges`] knows the ranges of [`Targets::subnets`], [`WantedGroup::of`] makes the
//! wish, and [`ensure_steps`] and [`removal_steps`] say what is to be done. Ports are read from Neutron at that moment and never
//! from the shared inventory: that a port is missing in an older picture must not take the group from it. A group that is not exactly of the Service's name is nobody's here and stays as it is.

mod failure;
mod index;
mod left_over;
mod made;
mod observe;
mod plan;
mod ranges;
#[cfg(test)]
mod tests;
mod wanted;

use std::collections::BTreeSet;

use openstack_client::PortId;
use openstack_client::network::{EtherType, Port, SecurityGroup};

pub use self::failure::GroupError;
pub use self::left_over::LeftOvers;
pub use self::made::MadeGroups;
pub use self::observe::{Asked, Observed, observe, observe_many};
pub use self::plan::{ensure_steps, removal_steps};
pub use self::ranges::SubnetRanges;
pub use self::wanted::{Target, Targets};

/// A security group as a Service wants it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WantedGroup {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Its rules; there are no others, not even those that Neutron gives to a new one.
    pub rules: BTreeSet<WantedRule>,
    /// The ports of Nodes that have it.
    pub ports: BTreeSet<PortId>,
}

/// A rule that lets traffic in.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct WantedRule {
    /// The family of addresses.
    pub ethertype: EtherType,
    /// The protocol, in small letters.
    pub protocol: String,
    /// The port.
    pub port: u16,
    /// From where.
    pub from: String,
}

/// A security group as it is.
#[derive(Debug, Clone)]
pub struct FoundGroup {
    /// The group, with its rules.
    pub group: SecurityGroup,
    /// The ports that have it, and those that shall have it.
    pub ports: Vec<Port>,
}
