//! The services that this client speaks to, and the interfaces under which a catalog publishes them.

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
    /// The type under which the catalog lists it; also its name in a call budget.
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

    /// The version segment below which its resources live. Nova's is discovered where the catalog does not say it.
    pub(crate) const fn version_segment(self) -> &'static str {
        match self {
            Self::Identity => "v3",
            Self::Compute => "v2.1",
            Self::Network | Self::LoadBalancer => "v2.0",
            Self::KeyManager => "v1",
        }
    }

    /// The major version of the API that this client speaks.
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

/// Which of the addresses of a service is used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Interface {
    /// For everybody.
    #[default]
    Public,
    /// Inside the cloud.
    Internal,
    /// For administrators.
    Admin,
}

impl Interface {
    /// The interface called `text`: `public`, `internal` or `admin`, also with the old ending `URL`; empty is public.
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
