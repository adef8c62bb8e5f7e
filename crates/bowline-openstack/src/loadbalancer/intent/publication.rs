//! How a Service's address is shown in its status.

use std::net::IpAddr;

use bowline_cloud::{Ingress, IpMode, LoadBalancerStatus};

/// How the address is shown.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Publication {
    /// By this host name, in place of it.
    Hostname(String),
    /// By a host name that resolves to it: the address, a dot and this.
    HostnameOfAddress(String),
    /// As it is.
    Address(IpMode),
}

impl Publication {
    /// The status of a load balancer that is reached at an address.
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
