//! What people and machines do, as data. Nothing here acts.

use std::fmt;

/// One thing that somebody does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The kubelet of a server registers its Node and reports that it is ready.
    Join(&'static str),
    /// A Service of type LoadBalancer with these ports.
    Create(&'static str, &'static [u16]),
    /// Other ports for a Service.
    Ports(&'static str, &'static [u16]),
    /// Source ranges for a Service.
    Ranges(&'static str, &'static [&'static str]),
    /// A Service becomes internal, or public again.
    Internal(&'static str, bool),
    /// Another type for a Service.
    Type(&'static str, &'static str),
    /// A Service that uses the load balancer of another.
    Share {
        /// The new one.
        guest: &'static str,
        /// The one whose load balancer it uses.
        host: &'static str,
        /// Its ports.
        ports: &'static [u16],
    },
    /// A Service is deleted; nobody waits for it.
    Delete(&'static str),
    /// A Service is deleted as soon as another one is on its load balancer, by its tag. Before, nobody but the owner is on it, and it would
    /// rightly go.
    Part {
        /// The one that goes.
        host: &'static str,
        /// The one that stays.
        guest: &'static str,
    },
    /// A Service is deleted, and once it is gone there is another one of its name.
    Replace(&'static str, &'static [u16]),
    /// A server is deleted in the cloud, and its kubelet is not heard of any more.
    Leave(&'static str),
    /// A server is deleted, and another one of its name joins in its place.
    Exchange(&'static str),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Join(node) => write!(f, "node {node} joins"),
            Self::Create(name, ports) => write!(f, "Service {name} is created with ports {ports:?}"),
            Self::Ports(name, ports) => write!(f, "Service {name} gets ports {ports:?}"),
            Self::Ranges(name, ranges) => write!(f, "Service {name} gets source ranges {ranges:?}"),
            Self::Internal(name, true) => write!(f, "Service {name} becomes internal"),
            Self::Internal(name, false) => write!(f, "Service {name} becomes public"),
            Self::Type(name, kind) => write!(f, "Service {name} becomes of type {kind}"),
            Self::Share { guest, host, .. } => {
                write!(f, "Service {guest} shares the load balancer of {host}")
            }
            Self::Delete(name) => write!(f, "Service {name} is deleted"),
            Self::Part { host, guest } => {
                write!(f, "Service {host} is deleted when {guest} is on its load balancer")
            }
            Self::Replace(name, _) => write!(f, "Service {name} is deleted and created anew"),
            Self::Leave(node) => write!(f, "the server of node {node} is deleted"),
            Self::Exchange(node) => {
                write!(f, "the server of node {node} is deleted and another of its name joins")
            }
        }
    }
}

/// Steps with a name.
#[derive(Debug, Clone, Copy)]
pub struct Scenario {
    /// What it is called.
    pub name: &'static str,
    /// What is there when the first step is done: these Nodes have joined, and all is quiet.
    pub nodes: &'static [&'static str],
    /// What is done, in order.
    pub steps: &'static [Step],
}

/// Servers of every cloud. Four, so that one that is gone is less than the part at which the breaker for nodes opens.
pub const SERVERS: [&str; 4] = ["node-1", "node-2", "node-3", "node-4"];
const TWO: &[&str] = &["node-1", "node-2"];

/// Everything that is written in the life of nodes and Services once: the one in which every process dies with its first write.
pub const LIFE: Scenario = Scenario {
    name: "life",
    nodes: &[],
    steps: &[
        Step::Join("node-1"),
        Step::Create("web", &[80]),
        Step::Join("node-2"),
        Step::Ports("web", &[443]),
        Step::Delete("web"),
    ],
};

/// The same in parts, which are killed at one write in each run: at every write from the step with this number on.
pub const PARTS: [(Scenario, usize); 4] = [
    (Scenario { name: "birth", nodes: &[], steps: &[Step::Join("node-1"), Step::Create("web", &[80])] }, 0),
    (
        Scenario {
            name: "second node",
            nodes: &["node-1"],
            steps: &[Step::Create("web", &[80]), Step::Join("node-2")],
        },
        1,
    ),
    (
        Scenario {
            name: "other port",
            nodes: &["node-1"],
            steps: &[Step::Create("web", &[80]), Step::Ports("web", &[443])],
        },
        1,
    ),
    (
        Scenario {
            name: "death",
            nodes: &["node-1"],
            steps: &[Step::Create("web", &[80]), Step::Delete("web")],
        },
        1,
    ),
];

/// Those of the perturbed runs.
pub const ALL: [Scenario; 8] = [
    Scenario {
        name: "join",
        nodes: TWO,
        steps: &[
            Step::Create("web", &[80]),
            Step::Join("node-3"),
            Step::Join("node-4"),
            Step::Create("api", &[6443]),
        ],
    },
    Scenario {
        name: "edit",
        nodes: TWO,
        steps: &[
            Step::Create("web", &[80]),
            Step::Ports("web", &[80, 443]),
            Step::Ranges("web", &["10.0.0.0/8"]),
            Step::Ports("web", &[443]),
        ],
    },
    Scenario {
        name: "delete",
        nodes: TWO,
        steps: &[
            Step::Create("web", &[80]),
            Step::Create("api", &[6443]),
            Step::Delete("web"),
            Step::Create("late", &[8080]),
            Step::Delete("late"),
        ],
    },
    Scenario {
        name: "replace",
        nodes: TWO,
        steps: &[Step::Create("web", &[80]), Step::Replace("web", &[8080]), Step::Replace("web", &[80, 443])],
    },
    Scenario {
        name: "type",
        nodes: TWO,
        steps: &[
            Step::Create("web", &[80]),
            Step::Type("web", "ClusterIP"),
            Step::Type("web", "LoadBalancer"),
            Step::Internal("web", true),
        ],
    },
    Scenario {
        name: "share",
        nodes: TWO,
        steps: &[
            Step::Create("host", &[80]),
            Step::Share { guest: "guest", host: "host", ports: &[8080] },
            Step::Ports("host", &[80, 443]),
            Step::Part { host: "host", guest: "guest" },
        ],
    },
    Scenario {
        name: "leave",
        nodes: &SERVERS,
        steps: &[Step::Create("web", &[80]), Step::Leave("node-4"), Step::Ports("web", &[80, 443])],
    },
    Scenario {
        name: "exchange",
        nodes: &SERVERS,
        steps: &[Step::Create("web", &[80]), Step::Exchange("node-2"), Step::Ports("web", &[443])],
    },
];
