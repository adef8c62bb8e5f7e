//! What our manager may do. The phase decides it, the flags of the manager say it, and nothing else talks to the manager.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// What our manager may do, from nothing to everything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum ManagerMode {
    /// It does not exist.
    Absent,
    /// It plans, writes nothing, takes no Lease, and reports what it would do (`--shadow`).
    Shadow,
    /// It waits for the Lease, holds it, and does nothing (`--paused`).
    Paused,
    /// It takes over load balancers and makes none that should be there already (`--adopt-only`).
    ServiceOnly,
    /// All but the controllers that write nodes.
    WithoutNodes,
    /// All but the controller that deletes nodes.
    WithoutLifecycle,
    /// What the object asks for.
    Full,
}

impl ManagerMode {
    /// The annotation of our workload and of its pods that says which mode they were made for.
    pub const ANNOTATION: &'static str = "bowline.dev/mode";

    /// All of them, in their order.
    pub const ALL: [Self; 7] = [
        Self::Absent,
        Self::Shadow,
        Self::Paused,
        Self::ServiceOnly,
        Self::WithoutNodes,
        Self::WithoutLifecycle,
        Self::Full,
    ];

    /// Whether it writes to the cloud, if it holds the Lease.
    #[must_use]
    pub fn acts(self) -> bool {
        self >= Self::ServiceOnly
    }

    /// Whether it is a candidate for the Lease.
    #[must_use]
    pub fn takes_lease(self) -> bool {
        self >= Self::Paused
    }

    /// Whether the controller that initialises nodes and writes their addresses runs.
    #[must_use]
    pub fn writes_nodes(self) -> bool {
        self >= Self::WithoutLifecycle
    }

    /// Whether the controller that deletes nodes runs.
    #[must_use]
    pub fn deletes_nodes(self) -> bool {
        self == Self::Full
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Absent => "Absent",
            Self::Shadow => "Shadow",
            Self::Paused => "Paused",
            Self::ServiceOnly => "ServiceOnly",
            Self::WithoutNodes => "WithoutNodes",
            Self::WithoutLifecycle => "WithoutLifecycle",
            Self::Full => "Full",
        }
    }
}

impl fmt::Display for ManagerMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for ManagerMode {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|mode| mode.name() == text);
        found.ok_or_else(|| {
            format!("no mode is called {text:?}; wanted one of {}", Self::ALL.map(Self::name).join(", "))
        })
    }
}
