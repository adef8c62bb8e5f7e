//! How the status of a Service shows its address.

use std::net::IpAddr;

use bowline_cloud::{Ingress, IpMode, LoadBalancerStatus};

/// How the status shows the address.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Publication {
    /// This host name instead of the address.
    Hostname(String),
    /// A host name that resolves to the address: the address, a dot and this suffix.
    HostnameOfAddress(String),
    /// The address itself, with this `ipMode`.
    Address(IpMode),
}

impl Publication {
    /// The status of a Service that is reached at this address.
    #[must_use]
    pub fn status(&self, address: IpAddr) -> LoadBalancerStatus {
        let hostname = |name: String| Ingress { hostname: Some(name.into()), ..Ingress::default() };
        let ingress = match self {
            Self::Hostname(name) => hostname(name.clone()),
            Self::HostnameOfAddress(suffix) => hostname(format!("{address}.{suffix}")),
            Self::Address(mode) => Ingress { ip: Some(address), ip_mode: Some(*mode), ..Ingress::default() },
        };
        LoadBalancerStatus { ingress: vec![ingress] }
    }
}
