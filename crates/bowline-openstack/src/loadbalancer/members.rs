//! The members of pools, kept small: the pools of all Services mostly have the same Nodes, each at a port of its own. So who serves
//! is one list that all of them share, with a digest that tells at once whether two lists are the same. Pure.

mod rosters;
#[cfg(test)]
mod tests;

use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;

use bowline_cloud::Text;
use openstack_client::SubnetId;
use openstack_client::load_balancer::{BatchMember, Member, ProvisioningStatus};

pub use self::rosters::Rosters;

/// Somebody who serves, at whatever port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Backend {
    pub(super) name: Text,
    pub(super) address: IpAddr,
    pub(super) subnet: Option<Arc<SubnetId>>,
    pub(super) weight: Option<i64>,
}

/// Who serves. Never changed once it is made.
#[derive(Debug)]
pub struct Roster {
    backends: Box<[Backend]>,
    digest: u128,
}

/// The members that a pool shall have, or was given.
#[derive(Clone)]
pub enum Members {
    /// All at the same port.
    Alike {
        /// Who.
        roster: Arc<Roster>,
        /// The port of each.
        port: u16,
        /// The port at which each is asked whether it is well, if that is another.
        monitor_port: Option<u16>,
    },
    /// Each as it says.
    Each(Vec<BatchMember>),
}

/// The members that a pool has.
#[derive(Debug, Clone)]
pub enum FoundMembers {
    /// As they were sent, and as Octavia makes them of that. Their ids are not known.
    Sent(Members),
    /// As they were read.
    Read(Vec<Member>),
}

impl Roster {
    pub(super) fn new(backends: Vec<Backend>) -> Self {
        let digest = backends.iter().fold(Digest::default(), Digest::backend).0;
        Self { backends: backends.into(), digest }
    }

    fn len(&self) -> usize {
        self.backends.len()
    }
}

impl PartialEq for Roster {
    fn eq(&self, other: &Self) -> bool {
        self.digest == other.digest && self.backends == other.backends
    }
}

impl Eq for Roster {}

impl Backend {
    fn at(&self, port: u16, monitor_port: Option<u16>) -> BatchMember {
        BatchMember {
            name: self.name.to_string(),
            subnet_id: self.subnet.as_deref().cloned(),
            weight: self.weight,
            monitor_port,
            ..BatchMember::new(self.address, port)
        }
    }

    /// Without its ports; none for what a list of many cannot say.
    fn of(member: &BatchMember, subnet: Option<Arc<SubnetId>>) -> Option<Self> {
        let BatchMember { name, address, weight, tags, .. } = member;
        let backend = Self { name: name.as_str().into(), address: *address, subnet, weight: *weight };
        tags.is_empty().then_some(backend)
    }
}

impl Members {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Alike { roster, .. } => roster.len(),
            Self::Each(all) => all.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// One after the other, in the form in which they are sent.
    pub fn each(&self) -> Box<dyn Iterator<Item = BatchMember> + '_> {
        match self {
            Self::Alike { roster, port, monitor_port } => {
                Box::new(roster.backends.iter().map(|backend| backend.at(*port, *monitor_port)))
            }
            Self::Each(all) => Box::new(all.iter().cloned()),
        }
    }

    /// All of them, in the form in which they are sent.
    #[must_use]
    pub fn to_vec(&self) -> Vec<BatchMember> {
        self.each().collect()
    }

    /// Changes them.
    pub fn change(&mut self, change: impl FnOnce(&mut Vec<BatchMember>)) {
        let mut all = self.to_vec();
        change(&mut all);
        *self = all.into();
    }

    /// A number that is the same for the same members in the same order, however they are kept.
    #[must_use]
    pub fn digest(&self) -> u128 {
        match self {
            Self::Alike { roster, port, monitor_port } if roster.len() > 0 => {
                Digest(roster.digest).ports(*port, *monitor_port).0
            }
            Self::Alike { .. } => Digest::default().0,
            Self::Each(all) => match ports_of(all) {
                Some((port, monitor_port)) if all.iter().all(|member| member.tags.is_empty()) => {
                    all.iter().fold(Digest::default(), Digest::member).ports(port, monitor_port).0
                }
                _ => all.iter().fold(Digest::default(), Digest::whole_member).0,
            },
        }
    }

    /// The same, with who serves in a list that others can have as well, if all are at one port.
    fn alike(&self) -> Option<Self> {
        let Self::Each(all) = self else { return Some(self.clone()) };
        let (port, monitor_port) = ports_of(all)?;
        let mut subnet: Option<Arc<SubnetId>> = None;
        let mut backends = Vec::with_capacity(all.len());
        for member in all {
            if subnet.as_deref() != member.subnet_id.as_ref() {
                subnet = member.subnet_id.clone().map(Arc::new);
            }
            backends.push(Backend::of(member, subnet.clone())?);
        }
        Some(Self::Alike { roster: Arc::new(Roster::new(backends)), port, monitor_port })
    }
}

/// The ports of all members, if they are the same.
fn ports_of(all: &[BatchMember]) -> Option<(u16, Option<u16>)> {
    let ports = |member: &BatchMember| (member.protocol_port, member.monitor_port);
    let first = ports(all.first()?);
    all.iter().all(|member| ports(member) == first).then_some(first)
}

impl Default for Members {
    fn default() -> Self {
        Self::Each(Vec::new())
    }
}

impl From<Vec<BatchMember>> for Members {
    fn from(all: Vec<BatchMember>) -> Self {
        Self::Each(all)
    }
}

impl FromIterator<BatchMember> for Members {
    fn from_iter<I: IntoIterator<Item = BatchMember>>(all: I) -> Self {
        Self::Each(all.into_iter().collect())
    }
}

impl PartialEq for Members {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (
                Self::Alike { roster, port, monitor_port },
                Self::Alike { roster: others, port: others_port, monitor_port: others_monitor },
            ) => {
                (port, monitor_port) == (others_port, others_monitor)
                    && (Arc::ptr_eq(roster, others) || roster == others)
            }
            _ => self.len() == other.len() && self.each().eq(other.each()),
        }
    }
}

impl Eq for Members {}

/// By their digest: there may be thousands.
impl fmt::Debug for Members {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} members {:032x}", self.len(), self.digest())
    }
}

impl FoundMembers {
    /// How many.
    #[must_use]
    pub fn len(&self) -> usize {
        match self {
            Self::Sent(members) => members.len(),
            Self::Read(members) => members.len(),
        }
    }

    /// Whether there are none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// All of them.
    #[must_use]
    pub fn to_vec(&self) -> Vec<Member> {
        match self {
            Self::Sent(members) => members.each().map(|member| member.made()).collect(),
            Self::Read(members) => members.clone(),
        }
    }

    /// Whether they are known to be exactly these, without a look at each.
    #[must_use]
    pub fn are(&self, wanted: &Members) -> bool {
        matches!(self, Self::Sent(sent) if sent == wanted)
    }

    /// Changes them.
    pub fn change(&mut self, change: impl FnOnce(&mut Vec<Member>)) {
        let mut all = self.to_vec();
        change(&mut all);
        *self = Self::Read(all);
    }

    /// What would have been sent for members such as these; none if they have what is not sent, or their ids will be needed.
    pub(super) fn as_sent(&self) -> Option<Members> {
        let read = match self {
            Self::Sent(members) => return Some(members.clone()),
            Self::Read(read) => read,
        };
        let plain = |member: &Member| {
            member.provisioning_status == ProvisioningStatus::Active
                && member.admin_state_up != Some(false)
                && !member.backup
                && member.monitor_address.is_none()
                && member.tags.is_empty()
        };
        if !read.iter().all(plain) {
            return None;
        }
        let mut sent: Vec<BatchMember> = read
            .iter()
            .map(|member| BatchMember {
                name: member.name.clone(),
                subnet_id: member.subnet_id.clone(),
                // Octavia's own where nothing is said.
                weight: member.weight.filter(|weight| *weight != 1),
                monitor_port: member.monitor_port,
                ..BatchMember::new(member.address, member.protocol_port)
            })
            .collect();
        // As wishes are: by name.
        sent.sort_by(|one, other| (&one.name, one.address).cmp(&(&other.name, other.address)));
        Some(sent.into())
    }
}

impl Default for FoundMembers {
    fn default() -> Self {
        Self::Read(Vec::new())
    }
}

impl From<Vec<Member>> for FoundMembers {
    fn from(read: Vec<Member>) -> Self {
        Self::Read(read)
    }
}

impl FromIterator<Member> for FoundMembers {
    fn from_iter<I: IntoIterator<Item = Member>>(read: I) -> Self {
        Self::Read(read.into_iter().collect())
    }
}

impl PartialEq for FoundMembers {
    fn eq(&self, other: &Self) -> bool {
        self.to_vec() == other.to_vec()
    }
}

impl Eq for FoundMembers {}

/// FNV-1a with 128 bits: the same in every build, and nobody gains by a collision.
#[derive(Clone, Copy)]
pub(super) struct Digest(pub(super) u128);

impl Default for Digest {
    fn default() -> Self {
        Self(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d)
    }
}

impl fmt::Write for Digest {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        *self = self.bytes(text.as_bytes());
        Ok(())
    }
}

impl Digest {
    const PRIME: u128 = 0x0000_0000_0100_0000_0000_0000_0000_013b;

    pub(super) fn bytes(self, bytes: &[u8]) -> Self {
        let step = |hash: u128, byte: &u8| (hash ^ u128::from(*byte)).wrapping_mul(Self::PRIME);
        Self(bytes.iter().fold(self.0, step))
    }

    /// The same as [`Digest::text`] of the formatted text, which is not kept in memory.
    pub(super) fn formatted(self, text: fmt::Arguments<'_>) -> Self {
        let mut digest = self;
        // A digest takes any text.
        let _always_ok = fmt::Write::write_fmt(&mut digest, text);
        digest.bytes(&[0xff])
    }

    /// A text and its end, which is in no text of ours.
    pub(super) fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes()).bytes(&[0xff])
    }

    fn backend(self, backend: &Backend) -> Self {
        let Backend { name, address, subnet, weight } = backend;
        self.parts(name, address, subnet.as_deref(), *weight)
    }

    /// Without its ports.
    fn member(self, member: &BatchMember) -> Self {
        self.parts(&member.name, &member.address, member.subnet_id.as_ref(), member.weight)
    }

    fn whole_member(self, member: &BatchMember) -> Self {
        let with_ports = self.member(member).ports(member.protocol_port, member.monitor_port);
        let with_count = with_ports.text(&member.tags.len().to_string());
        member.tags.iter().fold(with_count, |digest, tag| digest.text(tag))
    }

    fn parts(self, name: &str, address: &IpAddr, subnet: Option<&SubnetId>, weight: Option<i64>) -> Self {
        let with_address = match address {
            IpAddr::V4(four) => self.text(name).bytes(&four.octets()),
            IpAddr::V6(six) => self.text(name).bytes(&six.octets()),
        };
        let with_subnet = with_address.text(subnet.map(SubnetId::as_str).unwrap_or_default());
        with_subnet.text(&weight.map(|weight| weight.to_string()).unwrap_or_default())
    }

    fn ports(self, port: u16, monitor_port: Option<u16>) -> Self {
        let monitor_port = monitor_port.map_or([0; 3], |port| {
            let [high, low] = port.to_be_bytes();
            [1, high, low]
        });
        self.bytes(&port.to_be_bytes()).bytes(&monitor_port)
    }
}
