//! A server as Nova returns it. Most fields are optional; a server without an id is a decoding error.

use std::{collections::BTreeMap, net::IpAddr};

use serde::Deserialize;

use crate::{
    FlavorId, NetworkId, PortId, ProjectId, ServerId, SubnetId, call::Call, decode, paging::Listed,
    vocabulary::words,
};

words! {
    /// The status of a server.
    ServerStatus {
        /// Running.
        Active = "ACTIVE",
        /// Being created.
        Build = "BUILD",
        /// Being rebuilt from an image.
        Rebuild = "REBUILD",
        /// Switched off.
        Shutoff = "SHUTOFF",
        /// Shelved: stopped, but still assigned to a host.
        Shelved = "SHELVED",
        /// Shelved and removed from its host.
        ShelvedOffloaded = "SHELVED_OFFLOADED",
        /// Paused.
        Paused = "PAUSED",
        /// Suspended.
        Suspended = "SUSPENDED",
        /// A soft reboot is in progress.
        Reboot = "REBOOT",
        /// A hard reboot is in progress.
        HardReboot = "HARD_REBOOT",
        /// Being migrated to another host.
        Migrating = "MIGRATING",
        /// Being resized.
        Resize = "RESIZE",
        /// Resized; waits for the confirmation of a user.
        VerifyResize = "VERIFY_RESIZE",
        /// Running a rescue image.
        Rescue = "RESCUE",
        /// Failed.
        Error = "ERROR",
        /// Deleted, but still recoverable.
        SoftDeleted = "SOFT_DELETED",
        /// Deleted.
        Deleted = "DELETED",
        /// Nova cannot determine the status.
        Unknown = "UNKNOWN",
    }
}

words! {
    /// The type of an address.
    AddressType {
        /// An address of the server's own port.
        Fixed = "fixed",
        /// A floating IP.
        Floating = "floating",
    }
}

/// The power state of a server on its hypervisor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum PowerState {
    /// Unknown to Nova.
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
    /// Its status.
    #[serde(default)]
    pub status: ServerStatus,
    /// The project that owns it.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub tenant_id: Option<ProjectId>,
    /// A hash of the host and the project; `None` while no host runs the server.
    #[serde(rename = "hostId", default, deserialize_with = "decode::non_empty")]
    pub host_id: Option<String>,
    /// Its addresses by network name. The order of the addresses is not stable.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub addresses: BTreeMap<String, Vec<ServerAddress>>,
    /// The IPv4 address that a user set for access to the server.
    #[serde(rename = "accessIPv4", default, deserialize_with = "decode::address")]
    pub access_ipv4: Option<IpAddr>,
    /// The IPv6 address that a user set for access to the server.
    #[serde(rename = "accessIPv6", default, deserialize_with = "decode::address")]
    pub access_ipv6: Option<IpAddr>,
    /// Its flavor.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub flavor: ServerFlavor,
    /// Key-value pairs set by users.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub metadata: BTreeMap<String, String>,
    /// Its availability zone; `None` while the server is being created.
    #[serde(rename = "OS-EXT-AZ:availability_zone", default, deserialize_with = "decode::non_empty")]
    pub availability_zone: Option<String>,
    /// The power state on the hypervisor; `None` if Nova does not return it.
    #[serde(rename = "OS-EXT-STS:power_state", default, deserialize_with = "power_state")]
    pub power_state: Option<PowerState>,
    /// The task in progress, such as `deleting`; `None` if there is none.
    #[serde(rename = "OS-EXT-STS:task_state", default)]
    pub task_state: Option<String>,
    /// Nova's internal state, which is more detailed than the status.
    #[serde(rename = "OS-EXT-STS:vm_state", default)]
    pub vm_state: Option<String>,
    /// When it was created, as Nova writes it.
    #[serde(default)]
    pub created: Option<String>,
    /// When Nova last changed its record, by Nova's clock, in seconds. Changes of addresses do not count: Neutron stores them.
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
    /// Whether it is a fixed address or a floating IP.
    #[serde(rename = "OS-EXT-IPS:type", default)]
    pub kind: AddressType,
    /// The MAC address of its port.
    #[serde(rename = "OS-EXT-IPS-MAC:mac_addr", default, deserialize_with = "decode::non_empty")]
    pub mac: Option<String>,
}

/// The flavor of a server: its id, or, from microversion 2.47 on, its name at the time the server was created.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[non_exhaustive]
pub struct ServerFlavor {
    /// Its id; `None` from microversion 2.47 on.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub id: Option<FlavorId>,
    /// Its name; `None` before microversion 2.47.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub original_name: Option<String>,
    /// Its extra specs, from microversion 2.47 on and only if the cloud's policy shows them. Values that are not strings are omitted.
    #[serde(default, deserialize_with = "decode::texts")]
    pub extra_specs: BTreeMap<String, String>,
}

/// Filters for a list of servers.
#[derive(Debug, Clone, Default)]
pub struct ServerQuery {
    /// Servers with exactly this name.
    pub name: Option<String>,
    /// Servers with this status.
    pub status: Option<ServerStatus>,
    /// Servers that changed at this time or later, in Nova's format ([`Server::updated`]); includes deleted servers.
    pub changes_since: Option<String>,
}

impl ServerQuery {
    /// The servers with exactly this name.
    #[must_use]
    pub fn by_name(name: impl Into<String>) -> Self {
        Self { name: Some(name.into()), ..Self::default() }
    }

    /// Adds the filters to `call`. Nova treats a name as a regular expression, so it is escaped and anchored.
    pub(super) fn apply(&self, call: Call) -> Call {
        call.with_some("name", self.name.as_ref().map(|name| format!("^{}$", literally(name))))
            .with_some("status", self.status.as_ref())
            .with_some("changes-since", self.changes_since.as_ref())
    }
}

/// Escapes `text` so that the regular expressions of Nova's supported databases match it literally.
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
    /// Its MAC address.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub mac_addr: Option<String>,
    /// The status of its port, such as `ACTIVE`.
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
    /// Whether servers can be created there.
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
