//! The Services whose load balancers are made by hand.

use bowline_testkit::services::{port, service};
use serde_json::{Value, json};

/// So many Nodes are members.
pub(super) const NODES: usize = 2;

/// A Service, and what OCCM would have made for it.
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) ports: &'static [(u16, &'static str)],
    pub(super) internal: bool,
    /// Delay, timeout and retries, up and down, of its health monitors.
    pub(super) monitor: Option<[u16; 4]>,
    /// The Service whose load balancer it shares.
    pub(super) on: Option<&'static str>,
    /// Whether the load balancer has the name that Kubernetes' own provider gave it.
    pub(super) legacy: bool,
    /// Whether OCCM noted it on the Service; else it has to be found by its name.
    pub(super) noted: bool,
}

const PLAIN: Shape = Shape {
    name: "",
    ports: &[(80, "TCP")],
    internal: false,
    monitor: None,
    on: None,
    legacy: false,
    noted: true,
};

pub(super) fn all() -> Vec<Shape> {
    vec![
        Shape { name: "basic", ..PLAIN },
        Shape { name: "by-name", noted: false, ..PLAIN },
        Shape { name: "three-ports", ports: &[(80, "TCP"), (443, "TCP"), (53, "UDP")], ..PLAIN },
        Shape { name: "inside", internal: true, ..PLAIN },
        Shape { name: "monitored", monitor: Some([7, 4, 3, 4]), ..PLAIN },
        Shape { name: "sharer", ..PLAIN },
        Shape { name: "sharing", ports: &[(8080, "TCP")], on: Some("sharer"), ..PLAIN },
        Shape { name: "in-tree", legacy: true, noted: false, ..PLAIN },
    ]
}

impl Shape {
    pub(super) fn service(&self) -> Value {
        let ports: Vec<_> = self
            .ports
            .iter()
            .map(|(number, protocol)| port(&format!("p{number}"), *number, protocol))
            .collect();
        let mut annotations = Vec::new();
        if self.internal {
            annotations.push(("service.beta.kubernetes.io/openstack-internal-load-balancer", "true"));
        }
        let values = self.monitor.map(|values| values.map(|value| value.to_string()));
        if let Some([delay, timeout, up, down]) = &values {
            annotations.extend([
                ("loadbalancer.openstack.org/enable-health-monitor", "true"),
                ("loadbalancer.openstack.org/health-monitor-delay", delay),
                ("loadbalancer.openstack.org/health-monitor-timeout", timeout),
                ("loadbalancer.openstack.org/health-monitor-max-retries", up),
                ("loadbalancer.openstack.org/health-monitor-max-retries-down", down),
            ]);
        }
        service(self.name, &annotations, &json!({"ports": ports}))
    }
}
