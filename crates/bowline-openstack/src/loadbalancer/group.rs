//! The security group of a Service: what lets its traffic reach the Nodes, where `manage-security-groups` asks for it.

use std::collections::BTreeSet;

use bowline_cloud::Planned;
use openstack_client::PortId;
use openstack_client::network::{EtherType, Port, SecurityGroup};

use super::step::CloudStep;

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

/// The steps that make a group as it is wanted.
#[must_use]
pub fn ensure_steps(_wanted: Option<&WantedGroup>, _found: Option<&FoundGroup>) -> Vec<Planned<CloudStep>> {
    Vec::new()
}

/// The steps that take a group away.
#[must_use]
pub fn removal_steps(_found: &FoundGroup) -> Vec<Planned<CloudStep>> {
    Vec::new()
}
