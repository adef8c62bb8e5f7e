//! What a manager and the scripted cloud say to each other: one JSON document each way. No behaviour.

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use bowline_cloud::NodeAddress;
use ipnet::IpNet;
use serde::{Deserialize, Serialize};

/// The name of the cloud: the value of `--cloud-provider`.
pub const NAME: &str = "scripted";

/// What its provider IDs begin with.
pub const SCHEME: &str = "scripted://";

/// An option of Services: a whole number of seconds.
pub const IDLE_TIMEOUT: &str = "scripted.bowline.dev/idle-timeout";

/// How many listeners a load balancer of this cloud may have.
pub const MOST_LISTENERS: usize = 100;

/// A call, and which process makes it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Request {
    /// The caller's process id.
    pub caller: u32,
    /// What it wants.
    pub call: Call,
}

/// What can be asked of the cloud. Every change of a load balancer names the Service (by UID) it is made for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Call {
    /// All machines.
    Machines,
    /// One machine, read directly.
    Machine {
        /// Its id.
        id: String,
    },
    /// The load balancers of these Services, with everything that belongs to them.
    Balancers {
        /// UIDs of Services.
        owners: Vec<String>,
    },
    /// Makes a load balancer without listeners and hosts.
    CreateBalancer {
        /// For which Service.
        owner: String,
        /// Its name.
        name: String,
        /// Its settings.
        settings: Settings,
    },
    /// Replaces the settings.
    SetSettings {
        /// Of which load balancer.
        balancer: u64,
        /// For which Service.
        owner: String,
        /// All of them.
        settings: Settings,
    },
    /// Replaces the hosts.
    SetHosts {
        /// Of which load balancer.
        balancer: u64,
        /// For which Service.
        owner: String,
        /// All of them.
        hosts: Hosts,
    },
    /// Takes a load balancer away, with what belongs to it.
    DeleteBalancer {
        /// Which.
        balancer: u64,
        /// For which Service.
        owner: String,
    },
    /// Makes a listener.
    CreateListener {
        /// On which load balancer.
        balancer: u64,
        /// For which Service.
        owner: String,
        /// The port it serves.
        port: Port,
    },
    /// Changes a listener.
    SetListener {
        /// On which load balancer.
        balancer: u64,
        /// Which listener.
        listener: u64,
        /// For which Service.
        owner: String,
        /// The port as it shall be.
        port: Port,
    },
    /// Takes a listener away.
    DeleteListener {
        /// From which load balancer.
        balancer: u64,
        /// Which listener.
        listener: u64,
        /// For which Service.
        owner: String,
    },
    /// All routes.
    Routes,
    /// Makes a route.
    CreateRoute {
        /// The node it leads to.
        node: String,
        /// The pods it serves.
        destination: IpNet,
    },
    /// Takes a route away.
    DeleteRoute {
        /// Which.
        route: u64,
    },
}

impl Call {
    /// What is counted; `None` if the call changes nothing.
    #[must_use]
    pub fn change(&self) -> Option<&'static str> {
        match self {
            Self::Machines | Self::Machine { .. } | Self::Balancers { .. } | Self::Routes => None,
            Self::CreateBalancer { .. } => Some("create balancer"),
            Self::SetSettings { .. } => Some("set settings"),
            Self::SetHosts { .. } => Some("set hosts"),
            Self::DeleteBalancer { .. } => Some("delete balancer"),
            Self::CreateListener { .. } => Some("create listener"),
            Self::SetListener { .. } => Some("set listener"),
            Self::DeleteListener { .. } => Some("delete listener"),
            Self::CreateRoute { .. } => Some("create route"),
            Self::DeleteRoute { .. } => Some("delete route"),
        }
    }

    /// What is counted when the call only reads.
    #[must_use]
    pub fn read(&self) -> &'static str {
        match self {
            Self::Machines => "list machines",
            Self::Machine { .. } => "read a machine",
            Self::Balancers { .. } => "list balancers",
            _ => "list routes",
        }
    }
}

/// What the cloud answers.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub enum Reply {
    /// All machines.
    Machines(Vec<Machine>),
    /// One machine; `None` proves that there is none.
    Machine(Option<Machine>),
    /// Load balancers.
    Balancers(Vec<Balancer>),
    /// All routes.
    Routes(Vec<Route>),
    /// It was done.
    Done,
    /// There is no such thing.
    Missing,
}

/// Options of a load balancer, by name.
pub type Settings = BTreeMap<String, String>;

/// Nodes by name, each in the words of [`host`].
pub type Hosts = BTreeMap<String, String>;

/// What a load balancer knows of a node: its provider ID, and all its addresses with their kinds, in their order.
#[must_use]
pub fn host(provider_id: &str, addresses: impl IntoIterator<Item = (String, String)>) -> String {
    let addresses = addresses.into_iter().map(|(kind, address)| format!(" {kind}={address}"));
    provider_id.to_owned() + &addresses.collect::<String>()
}

/// A machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Its id.
    pub id: String,
    /// Its name, by which a Node without provider ID is found.
    pub name: String,
    /// Its type.
    pub kind: String,
    /// Where it stands.
    pub zone: String,
    /// Its addresses, in order.
    pub addresses: Vec<NodeAddress>,
    /// Whether it is shut down.
    pub off: bool,
}

impl Machine {
    /// Its provider ID.
    #[must_use]
    pub fn provider_id(&self) -> String {
        format!("{SCHEME}{}", self.id)
    }
}

/// A load balancer with everything that belongs to it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Balancer {
    /// Its id.
    pub id: u64,
    /// The UID of its Service.
    pub owner: String,
    /// Its name.
    pub name: String,
    /// The address it serves on.
    pub address: Ipv4Addr,
    /// Its options.
    pub settings: Settings,
    /// Where it sends traffic.
    pub hosts: Hosts,
    /// What it listens on.
    pub listeners: Vec<Listener>,
}

/// A listener.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Listener {
    /// Its id.
    pub id: u64,
    /// The port it serves.
    pub port: Port,
}

/// A port of a Service.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Port {
    /// `TCP`, `UDP` or `SCTP`.
    pub protocol: String,
    /// The port clients connect to.
    pub port: u16,
    /// The name.
    pub name: Option<String>,
    /// The port on every node.
    pub node_port: Option<u16>,
    /// The port of the pods.
    pub target_port: Option<String>,
    /// What is spoken.
    pub app_protocol: Option<String>,
}

/// A route.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    /// Its id.
    pub id: u64,
    /// The node it leads to.
    pub node: String,
    /// The pods it serves.
    pub destination: IpNet,
}
