//! The protocols of the listener and the pool of each port of a Service, and its health checks.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{Protocol as ServiceProtocol, ServicePort, ServiceView};
use openstack_client::load_balancer::{MonitorType, Protocol};

use super::tls::TlsReference;
use crate::loadbalancer::features::Features;

/// A version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// Version 1, the text format.
    V1,
    /// Version 2, the binary format.
    V2,
}

impl ProxyProtocol {
    /// The version for a value of the annotation; `None` for any other value.
    #[must_use]
    pub fn asked(value: &str) -> Option<Self> {
        match value {
            "true" | "v1" => Some(Self::V1),
            "v2" => Some(Self::V2),
            _ => None,
        }
    }

    const fn of_pool(self) -> Protocol {
        match self {
            Self::V1 => Protocol::Proxy,
            Self::V2 => Protocol::ProxyV2,
        }
    }
}

/// One port of a Service: its listener, its pool and its monitor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PortIntent {
    /// Its index in `spec.ports`, which is part of the names of its objects.
    pub place: usize,
    /// The port that clients connect to.
    pub port: u16,
    /// The node port; `None` means that the pool has no members.
    pub node_port: Option<u16>,
    /// The protocol of the listener. Together with the port it identifies the listener.
    pub listener_protocol: Protocol,
    /// The protocol to the members.
    pub pool_protocol: Protocol,
    /// The headers that the listener inserts.
    pub insert_headers: BTreeMap<String, String>,
    /// The certificate of the listener.
    pub tls: Option<Arc<TlsReference>>,
    /// The type of the health monitor; `None` if there is none. `HTTP` means a GET of [`bowline_cloud::service::HEALTH_CHECK_PATH`] that
    /// must return 200.
    pub monitor: Option<MonitorType>,
    /// The port of the health checks, if it is not `node_port`.
    pub monitor_port: Option<u16>,
}

/// The settings that apply to all ports of a Service.
#[derive(Debug, Clone)]
pub(super) struct Speech {
    pub(super) proxy: Option<ProxyProtocol>,
    pub(super) x_forwarded_for: bool,
    pub(super) tls: Option<Arc<TlsReference>>,
    pub(super) monitored: bool,
}

impl Speech {
    /// The settings that apply to a port with this protocol. TLS, HTTP and PROXY need TCP, so other ports are passed through. For these
    /// OCCM requests what Octavia refuses, or a listener that does not work.
    fn over(&self, protocol: ServiceProtocol) -> Self {
        let plain = Self { proxy: None, x_forwarded_for: false, tls: None, monitored: self.monitored };
        if protocol == ServiceProtocol::Tcp { self.clone() } else { plain }
    }

    /// Whether a setting is ignored for some port because the port is not TCP.
    pub(super) fn leaves_out(&self, service: &ServiceView) -> bool {
        let speaks = self.proxy.is_some() || self.x_forwarded_for || self.tls.is_some();
        speaks && service.ports.iter().any(|port| port.protocol != ServiceProtocol::Tcp)
    }
}

/// The intent of each port of a Service.
pub(super) fn ports(service: &ServiceView, speech: &Speech, features: Features) -> Vec<PortIntent> {
    service
        .ports
        .iter()
        .enumerate()
        .map(|(place, port)| one(service, place, port, speech, features))
        .collect()
}

fn one(
    service: &ServiceView,
    place: usize,
    port: &ServicePort,
    speech: &Speech,
    features: Features,
) -> PortIntent {
    let speech = speech.over(port.protocol);
    let asked_by_http = health_port(service, port, &speech, features);
    let by_port = Some(monitor_of(port.protocol)).filter(|kind| speech.monitored && features.monitors(kind));
    let headers = speech.x_forwarded_for.then(|| ("X-Forwarded-For".to_owned(), "true".to_owned()));
    PortIntent {
        place,
        port: port.port,
        node_port: port.node_port.filter(|port| *port != 0),
        listener_protocol: listener_protocol(port.protocol, &speech),
        pool_protocol: pool_protocol(port.protocol, &speech),
        insert_headers: headers.into_iter().collect(),
        tls: speech.tls,
        monitor: if asked_by_http.is_some() { Some(MonitorType::Http) } else { by_port },
        monitor_port: asked_by_http,
    }
}

fn own(protocol: ServiceProtocol) -> Protocol {
    match protocol {
        ServiceProtocol::Udp => Protocol::Udp,
        ServiceProtocol::Sctp => Protocol::Sctp,
        // TCP is the default of Kubernetes.
        ServiceProtocol::Tcp | ServiceProtocol::Unknown => Protocol::Tcp,
    }
}

fn listener_protocol(protocol: ServiceProtocol, speech: &Speech) -> Protocol {
    if speech.tls.is_some() {
        Protocol::TerminatedHttps
    } else if speech.x_forwarded_for {
        Protocol::Http
    } else {
        own(protocol)
    }
}

fn pool_protocol(protocol: ServiceProtocol, speech: &Speech) -> Protocol {
    match speech.proxy {
        Some(version) => version.of_pool(),
        None if speech.tls.is_some() || speech.x_forwarded_for => Protocol::Http,
        None => own(protocol),
    }
}

pub(super) fn monitor_of(protocol: ServiceProtocol) -> MonitorType {
    match protocol {
        ServiceProtocol::Udp => MonitorType::UdpConnect,
        ServiceProtocol::Sctp => MonitorType::Sctp,
        ServiceProtocol::Tcp | ServiceProtocol::Unknown => MonitorType::Tcp,
    }
}

/// The health check node port, if the health monitor can use it; `None` otherwise.
fn health_port(
    service: &ServiceView,
    port: &ServicePort,
    speech: &Speech,
    features: Features,
) -> Option<u16> {
    let supported =
        if port.protocol == ServiceProtocol::Udp { features.udp_http_monitor } else { features.http_monitor };
    let asked = speech.monitored && supported && service.needs_health_check();
    service.health_check_node_port.filter(|port| asked && *port != 0)
}
