//! A server as Nova shows it. What may be missing is optional; a server without an id is none.

use std::{collections::BTreeMap, net::IpAddr};

use serde::Deserialize;

use crate::{
    FlavorId, NetworkId, PortId, ProjectId, ServerId, SubnetId, call::Call, decode, paging::Listed,
    vocabulary::words,
};

words! {
    /// What a server is doing.
    ServerStatus {
        /// Running.
        Active = "ACTIVE",
        /// Being made.
        Build = "BUILD",
        /// Being made anew.
        Rebuild = "REBUILD",
        /// Switched off.
        Shutoff = "SHUTOFF",
        /// Put away.
        Shelved = "SHELVED",
        /// Put away, and its host given up.
        ShelvedOffloaded = "SHELVED_OFFLOADED",
        /// Paused.
        Paused = "PAUSED",
        /// Suspended.
        Suspended = "SUSPENDED",
        /// Starting again.
        Reboot = "REBOOT",
        /// Starting again, by force.
        HardReboot = "HARD_REBOOT",
        /// Being moved.
        Migrating = "MIGRATING",
        /// Changing its size.
        Resize = "RESIZE",
        /// Waiting for somebody to accept its new size.
        VerifyResize = "VERIFY_RESIZE",
        /// Running a rescue image.
        Rescue = "RESCUE",
        /// Broken.
        Error = "ERROR",
        /// Deleted, but not yet gone.
        SoftDeleted = "SOFT_DELETED",
        /// Deleted.
        Deleted = "DELETED",
        /// Nova does not know.
        Unknown = "UNKNOWN",
    }
}

words! {
    /// Whether an address is the server's own.
    AddressType {
        /// Its own.
        Fixed = "fixed",
        /// A floating IP.
        Floating = "floating",
    }
}

/// Whether the hypervisor runs the server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PowerState {
    /// Not known.
    NoState,
    /// Running.
    Running,
    /// Paused.
    Paused,
    /// Switched off.
    Shutdown,
    /// Crashed.
    Crashed,
    /// Suspended.
    Suspended,
    /// A number that this crate does not know.
    Other(i64),
}

impl From<i64> for PowerState {
    fn from(number: i64) -> Self {
        match number {
            0 => Self::NoState,
            1 => Self::Running,
            3 => Self::Paused,
            4 => Self::Shutdown,
            6 => Self::Crashed,
            7 => Self::Suspended,
            other => Self::Other(other),
        }
    }
}

/// A server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Server {
    /// Its id.
    pub id: ServerId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// What it is doing.
    #[serde(default)]
    pub status: ServerStatus,
    /// Whose it is.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub tenant_id: Option<ProjectId>,
    /// The host that runs it, hashed by Nova together with the project; none while no host does.
    #[serde(rename = "hostId", default, deserialize_with = "decode::non_empty")]
    pub host_id: Option<String>,
    /// Its addresses, by the names of their networks. The order of addresses is not stable.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub addresses: BTreeMap<String, Vec<ServerAddress>>,
    /// An IPv4 address that somebody wrote down as the one to reach it by.
    #[serde(rename = "accessIPv4", default, deserialize_with = "decode::address")]
    pub access_ipv4: Option<IpAddr>,
    /// An IPv6 address that somebody wrote down as the one to reach it by.
    #[serde(rename = "accessIPv6", default, deserialize_with = "decode::address")]
    pub access_ipv6: Option<IpAddr>,
    /// Its flavor.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub flavor: ServerFlavor,
    /// What people wrote about it.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub metadata: BTreeMap<String, String>,
    /// Its zone; none while it is being made.
    #[serde(rename = "OS-EXT-AZ:availability_zone", default, deserialize_with = "decode::non_empty")]
    pub availability_zone: Option<String>,
    /// Whether the hypervisor runs it.
    #[serde(rename = "OS-EXT-STS:power_state", default, deserialize_with = "power_state")]
    pub power_state: Option<PowerState>,
    /// What is being done to it.
    #[serde(rename = "OS-EXT-STS:task_state", default)]
    pub task_state: Option<String>,
    /// Its state, finer than its status.
    #[serde(rename = "OS-EXT-STS:vm_state", default)]
    pub vm_state: Option<String>,
    /// When it was made.
    #[serde(default)]
    pub created: Option<String>,
    /// When it was last changed, going by Nova's clock, to the second. Not every change counts: addresses are kept elsewhere.
    #[serde(default)]
    pub updated: Option<String>,
}

fn power_state<'de, D: serde::Deserializer<'de>>(input: D) -> Result<Option<PowerState>, D::Error> {
    Ok(Option::<i64>::deserialize(input)?.map(PowerState::from))
}

impl Listed for Server {
    const COLLECTION: &'static str = "servers";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// An address of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct ServerAddress {
    /// The address.
    pub addr: IpAddr,
    /// Whether it is the server's own.
    #[serde(rename = "OS-EXT-IPS:type", default)]
    pub kind: AddressType,
    /// The hardware address of its port.
    #[serde(rename = "OS-EXT-IPS-MAC:mac_addr", default, deserialize_with = "decode::non_empty")]
    pub mac: Option<String>,
}

/// The flavor of a server: its id, or, from microversion 2.47 on, its name as it was when the server was made.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[non_exhaustive]
pub struct ServerFlavor {
    /// Its id.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub id: Option<FlavorId>,
    /// Its name.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub original_name: Option<String>,
    /// Its properties, from microversion 2.47 on and only where the cloud's policy shows them. Values that are no text are left out.
    #[serde(default, deserialize_with = "decode::texts")]
    pub extra_specs: BTreeMap<String, String>,
}

/// Which servers are listed.
#[derive(Debug, Clone, Default)]
pub struct ServerQuery {
    /// Exactly this name.
    pub name: Option<String>,
    /// With this status.
    pub status: Option<ServerStatus>,
    /// Changed at this time or later, as Nova writes times ([`Server::updated`]); deleted servers are listed as well.
    pub changes_since: Option<String>,
}

impl ServerQuery {
    /// The servers with exactly this name.
    #[must_use]
    pub fn by_name(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Nova takes a name for a regular expression.
    pub(super) fn apply(&self, call: Call) -> Call {
        call.with_some("name", self.name.as_ref().map(|name| format!("^{}$", literally(name))))
            .with_some("status", self.status.as_ref())
            .with_some("changes-since", self.changes_since.as_ref())
    }
}

/// A regular expression that means just this text, in the databases that Nova may use.
fn literally(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '\\' | '.' | '+' | '*' | '?' | '(' | ')' | '|' | '[' | ']' | '{' | '}' | '^' | '$') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

/// An interface of a server.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct InterfaceAttachment {
    /// Its port.
    pub port_id: PortId,
    /// Its network.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub net_id: Option<NetworkId>,
    /// Its hardware address.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub mac_addr: Option<String>,
    /// Whether its port is up.
    #[serde(default)]
    pub port_state: Option<String>,
    /// Its addresses.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub fixed_ips: Vec<InterfaceIp>,
}

/// An address of an interface.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct InterfaceIp {
    /// The address.
    pub ip_address: IpAddr,
    /// Its subnet.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub subnet_id: Option<SubnetId>,
}

/// An availability zone.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(from = "RawZone")]
#[non_exhaustive]
pub struct AvailabilityZone {
    /// Its name.
    pub name: String,
    /// Whether servers can be made there.
    pub available: bool,
}

#[derive(Deserialize)]
struct RawZone {
    #[serde(rename = "zoneName")]
    name: String,
    #[serde(rename = "zoneState", default, deserialize_with = "decode::or_default")]
    state: RawZoneState,
}

#[derive(Deserialize, Default)]
struct RawZoneState {
    #[serde(default, deserialize_with = "decode::or_default")]
    available: bool,
}

impl From<RawZone> for AvailabilityZone {
    fn from(raw: RawZone) -> Self {
        Self { name: raw.name, available: raw.state.available }
    }
}
