//! What Nova knows.

use std::collections::BTreeMap;

use jiff::Timestamp;

use crate::table::{OrderKey, Row, Table};

/// The state of a server between transitions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VmState {
    /// It is being made.
    Building,
    /// It runs.
    Active,
    /// It is off.
    Stopped,
    /// It is stored as an image and has no host.
    ShelvedOffloaded,
    /// It is frozen in memory.
    Paused,
    /// It is frozen on disk.
    Suspended,
    /// Something failed.
    Error,
    /// It was deleted, and Nova remembers it.
    Deleted,
}

impl VmState {
    /// As `OS-EXT-STS:vm_state` says it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Building => "building",
            Self::Active => "active",
            Self::Stopped => "stopped",
            Self::ShelvedOffloaded => "shelved_offloaded",
            Self::Paused => "paused",
            Self::Suspended => "suspended",
            Self::Error => "error",
            Self::Deleted => "deleted",
        }
    }

    /// As `status` says it.
    #[must_use]
    pub fn status(self) -> &'static str {
        match self {
            Self::Building => "BUILD",
            Self::Active => "ACTIVE",
            Self::Stopped => "SHUTOFF",
            Self::ShelvedOffloaded => "SHELVED_OFFLOADED",
            Self::Paused => "PAUSED",
            Self::Suspended => "SUSPENDED",
            Self::Error => "ERROR",
            Self::Deleted => "DELETED",
        }
    }

    /// As `OS-EXT-STS:power_state` says it.
    #[must_use]
    pub fn power_state(self) -> u8 {
        match self {
            Self::Building | Self::Error | Self::Deleted => 0,
            Self::Active => 1,
            Self::Paused => 3,
            Self::Stopped | Self::ShelvedOffloaded | Self::Suspended => 4,
        }
    }
}

/// What is being done with a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transition {
    /// It is being built: afterwards it has ports and runs.
    Build,
    /// It goes to another state; the text is the task state meanwhile.
    To(VmState, &'static str),
    /// It is being deleted.
    Delete,
}

impl Transition {
    /// As `OS-EXT-STS:task_state` says it.
    #[must_use]
    pub fn task_state(self) -> &'static str {
        match self {
            Self::Build => "scheduling",
            Self::To(_, task) => task,
            Self::Delete => "deleting",
        }
    }
}

/// A server.
#[derive(Clone, Debug, PartialEq)]
pub struct Server {
    /// Its identifier.
    pub id: String,
    /// Its name, not unique.
    pub name: String,
    /// Its project.
    pub project_id: String,
    /// Who made it.
    pub user_id: String,
    /// Its flavor.
    pub flavor_id: String,
    /// Its image; none if it boots from a volume.
    pub image_id: Option<String>,
    /// Its state.
    pub vm_state: VmState,
    /// What is being done with it, and when that is done.
    pub transition: Option<(Transition, Timestamp)>,
    /// Its zone; empty until it is built.
    pub zone: String,
    /// The zone that was asked for.
    pub wanted_zone: Option<String>,
    /// Its host; empty until it is built.
    pub host: String,
    /// When it was made.
    pub created: Timestamp,
    /// When it was last changed.
    pub updated: Timestamp,
    /// When it first ran.
    pub launched: Option<Timestamp>,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
    /// Its tags.
    pub tags: Vec<String>,
    /// Its key pair.
    pub key_name: Option<String>,
    /// What it is for.
    pub description: Option<String>,
    /// Whether its project may not change it.
    pub locked: bool,
    /// Addresses set by hand, for IPv4 and IPv6.
    pub access: (String, String),
    /// What went wrong, if it is in ERROR.
    pub fault: Option<String>,
    /// The networks and ports to attach when it is built.
    pub wanted_networks: Vec<WantedNetwork>,
    /// The names or identifiers of the security groups for its ports.
    pub wanted_groups: Vec<String>,
    /// How many servers were made before it.
    pub number: u64,
}

/// A network or port that a new server asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum WantedNetwork {
    /// A new port on this network, with this address if one is given.
    Network(String, Option<String>),
    /// An existing port.
    Port(String),
}

impl Row for Server {
    fn id(&self) -> &str {
        &self.id
    }

    fn project_id(&self) -> &str {
        &self.project_id
    }

    /// By time of creation, which is the order of the numbers; lists show the newest first.
    fn order_key(&self) -> OrderKey {
        (String::new(), format!("{:020}", self.number))
    }
}

/// A flavor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flavor {
    /// Its identifier.
    pub id: String,
    /// Its name.
    pub name: String,
    /// Processors.
    pub vcpus: i64,
    /// Memory in MiB.
    pub ram: i64,
    /// Disk in GiB.
    pub disk: i64,
    /// Whether all projects see it.
    pub is_public: bool,
    /// Further properties.
    pub extra_specs: BTreeMap<String, String>,
}

/// A key pair of a user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyPair {
    /// Its name.
    pub name: String,
    /// Its public key.
    pub public_key: String,
    /// Its fingerprint.
    pub fingerprint: String,
}

/// How many deleted servers are remembered. Nova remembers all until its operator archives them.
const REMEMBERED: usize = 10_000;

/// How much of each thing a project may have; -1: any number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ComputeQuota {
    /// Servers.
    pub instances: i64,
    /// Processors.
    pub cores: i64,
    /// Memory in MiB.
    pub ram: i64,
}

impl Default for ComputeQuota {
    /// Nova's own defaults.
    fn default() -> Self {
        Self { instances: 10, cores: 20, ram: 51_200 }
    }
}

/// Everything Nova knows.
#[derive(Clone, Debug, Default)]
pub struct ComputeState {
    /// Servers.
    pub servers: Table<Server>,
    /// Flavors by identifier.
    pub flavors: BTreeMap<String, Flavor>,
    /// Key pairs by user and name.
    pub keypairs: BTreeMap<(String, String), KeyPair>,
    /// Quotas of projects that differ from the defaults.
    pub quotas: BTreeMap<String, ComputeQuota>,
    /// The servers that were deleted lately, as `changes-since` lists them; when they were deleted is when they were changed last.
    pub(crate) deleted: Table<Server>,
    /// Those of them that are not dated yet.
    undated: Vec<String>,
    /// What each project uses: servers, processors, memory.
    pub(crate) usage: BTreeMap<String, (i64, i64, i64)>,
    /// How many servers were ever made.
    pub(crate) made: u64,
}

impl ComputeState {
    /// Adds a server and counts what it uses.
    pub fn insert_server(&mut self, server: Server) {
        self.use_up(&server, 1);
        self.deleted.remove(&server.id);
        self.servers.insert(server);
    }

    /// Takes a server out, and what it used. That it was there is remembered.
    pub fn remove_server(&mut self, id: &str) -> Option<Server> {
        let server = self.servers.remove(id)?;
        self.use_up(&server, -1);
        self.deleted.insert(Server { vm_state: VmState::Deleted, transition: None, ..server.clone() });
        self.undated.push(server.id.clone());
        if self.deleted.len() > REMEMBERED {
            let oldest = self.deleted.from_position(None, false).next().map(|server| server.id.clone());
            oldest.and_then(|id| self.deleted.remove(&id));
        }
        Some(server)
    }

    /// Dates what was deleted and is not dated yet: whoever takes a server out may not know what time it is.
    pub(crate) fn date_deleted(&mut self, now: Timestamp) {
        for id in self.undated.drain(..) {
            self.deleted.update(&id, |server| server.updated = now);
        }
    }

    fn use_up(&mut self, server: &Server, sign: i64) {
        let flavor = self.flavors.get(&server.flavor_id);
        let (cores, ram) = flavor.map_or((0, 0), |flavor| (flavor.vcpus, flavor.ram));
        let used = self.usage.entry(server.project_id.clone()).or_default();
        *used = (used.0 + sign, used.1 + sign * cores, used.2 + sign * ram);
    }
}
