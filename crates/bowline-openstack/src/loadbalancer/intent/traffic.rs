//! What each port of a Service speaks on its listener and its pool, and how its members are asked whether they are well.

use std::collections::BTreeMap;
use std::sync::Arc;

use bowline_cloud::{Protocol as ServiceProtocol, ServicePort, ServiceView};
use openstack_client::load_balancer::{MonitorType, Protocol};

use super::tls::TlsReference;
use crate::loadbalancer::features::Features;

/// A version of the PROXY protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProxyProtocol {
    /// The one of text.
    V1,
    /// The one of bytes.
    V2,
}

impl ProxyProtocol {
    /// The version that a value of the annotation asks for.
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
    /// Its place in `spec.ports`, which is part of its names.
    pub place: usize,
    /// The port clients connect to.
    pub port: u16,
    /// The port of the Nodes; without one there are no members.
    pub node_port: Option<u16>,
    /// What the listener speaks. With the port it is what a listener is known by.
    pub listener_protocol: Protocol,
    /// What the pool speaks.
    pub pool_protocol: Protocol,
    /// The headers that the listener adds.
    pub insert_headers: BTreeMap<String, String>,
    /// The certificate of the listener.
    pub tls: Option<Arc<TlsReference>>,
    /// How members are asked; `HTTP` means a GET of [`bowline_cloud::service::HEALTH_CHECK_PATH`] that is answered with 200.
    pub monitor: Option<MonitorType>,
    /// The port on which members are asked, if it is not the one that gets the traffic.
    pub monitor_port: Option<u16>,
}

/// What a Service says for all of its ports.
#[derive(Debug, Clone)]
pub(super) struct Speech {
    pub(super) proxy: Option<ProxyProtocol>,
    pub(super) x_forwarded_for: bool,
    pub(super) tls: Option<Arc<TlsReference>>,
    pub(super) monitored: bool,
}

impl Speech {
    /// TLS, HTTP and PROXY are spoken over TCP: other ports stay as they are, where OCCM asks for what Octavia refuses or for a
    /// listener that reaches nobody.
    fn over(&self, protocol: ServiceProtocol) -> Self {
        let plain = Self { proxy: None, x_forwarded_for: false, tls: None, monitored: self.monitored };
        if protocol == ServiceProtocol::Tcp { self.clone() } else { plain }
    }

    /// Whether a port gets something else than it asks for because it is not TCP.
    pub(super) fn leaves_out(&self, service: &ServiceView) -> bool {
        let speaks = self.proxy.is_some() || self.x_forwarded_for || self.tls.is_some();
        speaks && service.ports.iter().any(|port| port.protocol != ServiceProtocol::Tcp)
    }
}

/// What each port of a Service wants.
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
        // A port that does not say it is TCP.
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

/// Where Nodes tell whether they have a pod of the Service, if they can be asked.
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
