//! The services that this client calls, and the endpoint interfaces in the catalog.

use std::fmt;

/// A service of OpenStack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Keystone.
    Identity,
    /// Nova.
    Compute,
    /// Neutron.
    Network,
    /// Octavia.
    LoadBalancer,
    /// Barbican.
    KeyManager,
}

impl Service {
    /// Its type in the catalog, which is also its name in the call budget.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Identity => "identity",
            Self::Compute => "compute",
            Self::Network => "network",
            Self::LoadBalancer => "load-balancer",
            Self::KeyManager => "key-manager",
        }
    }

    /// The version segment of its resource URLs. For Nova it is only a fallback: the version is discovered if the catalog's URL has none.
    pub(crate) const fn version_segment(self) -> &'static str {
        match self {
            Self::Identity => "v3",
            Self::Compute => "v2.1",
            Self::Network | Self::LoadBalancer => "v2.0",
            Self::KeyManager => "v1",
        }
    }

    /// The major version of the API that this client supports.
    pub(crate) const fn major(self) -> u32 {
        match self {
            Self::Identity => 3,
            Self::Compute | Self::Network | Self::LoadBalancer => 2,
            Self::KeyManager => 1,
        }
    }
}

impl fmt::Display for Service {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// The interface of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interface {
    /// For all users.
    #[default]
    Public,
    /// For the cloud's internal network.
    Internal,
    /// For administrators.
    Admin,
}

impl Interface {
    /// Parses `public`, `internal` or `admin`, also with the old suffix `URL`; empty means public. `None` for anything else.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text.strip_suffix("URL").unwrap_or(text) {
            "" | "public" => Some(Self::Public),
            "internal" => Some(Self::Internal),
            "admin" => Some(Self::Admin),
            _ => None,
        }
    }

    /// Its name in the catalog.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Public => "public",
            Self::Internal => "internal",
            Self::Admin => "admin",
        }
    }
}

impl fmt::Display for Interface {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
