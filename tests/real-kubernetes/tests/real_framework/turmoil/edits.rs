//! Every field of a Service that a load balancer is made from, and how it is edited; and a tally of what was edited.

use std::collections::BTreeMap;
use std::fmt;

use anyhow::ensure;
use k8s_openapi::api::core::v1::{ClientIPConfig, Service, ServicePort, ServiceSpec, SessionAffinityConfig};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use rand::RngExt;
use rand::rngs::StdRng;

/// One edit of the spec of a Service that is of type LoadBalancer.
pub(super) type Edit = fn(&mut Service, &mut StdRng);

/// What upstream's needsUpdate names, and what it leaves out on purpose. The number of IP families is missing: the API
/// server here has one Service range, and a unit test of the controller edits it.
pub(super) const EDITS: [(&str, Edit); 21] = [
    ("source ranges", |s, rng| {
        spec(s).load_balancer_source_ranges = Some(vec![format!("10.{}.0.0/16", rng.random_range(0..250))]);
    }),
    ("a port more", |s, rng| add_port(s, rng)),
    ("a port less", |s, rng| match spec(s).ports.as_mut() {
        Some(ports) if ports.len() > 1 => drop(ports.remove(0)),
        _one => add_port(s, rng),
    }),
    ("port name", |s, rng| first_port(s).name = Some(format!("n-{}", rng.random_range(0..1_000_000)))),
    ("port protocol", |s, _| {
        let port = first_port(s);
        let is_udp = port.protocol.as_deref() == Some("UDP");
        port.protocol = Some(if is_udp { "TCP" } else { "UDP" }.to_owned());
    }),
    ("port number", |s, rng| first_port(s).port = rng.random_range(10_000..60_000)),
    ("node port", |s, rng| {
        spec(s).allocate_load_balancer_node_ports = Some(true);
        first_port(s).node_port = Some(rng.random_range(30_000..32_768));
    }),
    ("target port number", |s, rng| {
        first_port(s).target_port = Some(IntOrString::Int(rng.random_range(1..65_000)));
    }),
    ("target port name", |s, rng| {
        first_port(s).target_port =
            Some(IntOrString::String(format!("t-{}", rng.random_range(0..1_000_000))));
    }),
    ("app protocol", |s, rng| {
        first_port(s).app_protocol = Some(format!("example.com/p{}", rng.random_range(0..1000)));
    }),
    ("session affinity", |s, _| {
        let spec = spec(s);
        let has_it = spec.session_affinity.as_deref() == Some("ClientIP");
        (spec.session_affinity, spec.session_affinity_config) =
            (Some(if has_it { "None" } else { "ClientIP" }.to_owned()), None);
    }),
    ("session affinity time-out", |s, rng| {
        let timeout_seconds = Some(rng.random_range(1..86_000));
        let client_ip = Some(ClientIPConfig { timeout_seconds });
        spec(s).session_affinity = Some("ClientIP".to_owned());
        spec(s).session_affinity_config = Some(SessionAffinityConfig { client_ip });
    }),
    ("loadBalancerIP", |s, rng| {
        spec(s).load_balancer_ip = Some(format!("203.0.113.{}", rng.random_range(1..255)));
    }),
    ("external IPs", |s, rng| {
        spec(s).external_ips = Some(vec![format!("198.51.100.{}", rng.random_range(1..255))]);
    }),
    ("annotations", |s, rng| {
        let annotations = s.metadata.annotations.get_or_insert_default();
        annotations.insert("example.com/note".to_owned(), rng.random_range(0..1_000_000).to_string());
    }),
    ("annotation removed", |s, rng| {
        let annotations = s.metadata.annotations.get_or_insert_default();
        if annotations.pop_first().is_none() {
            annotations.insert("example.com/first".to_owned(), rng.random_range(0..1_000_000).to_string());
        }
    }),
    ("external traffic policy", |s, _| {
        let spec = spec(s);
        let is_local = spec.external_traffic_policy.as_deref() == Some("Local");
        spec.external_traffic_policy = Some(if is_local { "Cluster" } else { "Local" }.to_owned());
        spec.health_check_node_port = None;
    }),
    ("health check node port", |s, rng| {
        let spec = spec(s);
        // It can be chosen only as the policy becomes Local.
        if spec.external_traffic_policy.as_deref() == Some("Local") {
            spec.external_traffic_policy = Some("Cluster".to_owned());
            spec.health_check_node_port = None;
        } else {
            spec.external_traffic_policy = Some("Local".to_owned());
            spec.health_check_node_port = Some(rng.random_range(30_000..32_768));
        }
    }),
    ("no node ports", |s, _| {
        let spec = spec(s);
        spec.allocate_load_balancer_node_ports = Some(false);
        spec.ports.iter_mut().flatten().for_each(|port| port.node_port = None);
    }),
    ("idle time-out", |s, rng| {
        let annotations = s.metadata.annotations.get_or_insert_default();
        let seconds = rng.random_range(1..1000_u32).to_string();
        annotations.insert(real_kubernetes_tests::framework::protocol::IDLE_TIMEOUT.to_owned(), seconds);
    }),
    ("labels", |s, rng| {
        let labels = s.metadata.labels.get_or_insert_default();
        labels.insert("note".to_owned(), rng.random_range(0..1_000_000).to_string());
    }),
];

pub(super) fn spec(service: &mut Service) -> &mut ServiceSpec {
    service.spec.get_or_insert_default()
}

fn first_port(service: &mut Service) -> &mut ServicePort {
    let ports = spec(service).ports.get_or_insert_default();
    if ports.is_empty() {
        ports.push(ServicePort::default());
    }
    &mut ports[0]
}

fn add_port(service: &mut Service, rng: &mut StdRng) {
    let port = rng.random_range(1..10_000);
    let name = Some(format!("p-{}", rng.random_range(0..1_000_000)));
    let protocol = Some("TCP".to_owned());
    spec(service).ports.get_or_insert_default().push(ServicePort {
        name,
        port,
        protocol,
        ..ServicePort::default()
    });
}

/// How often each edit was made.
#[derive(Debug, Default)]
pub(super) struct Tally(pub(super) BTreeMap<&'static str, usize>);

impl Tally {
    pub(super) fn add(&mut self, other: &Self) {
        for (what, times) in &other.0 {
            *self.0.entry(what).or_default() += times;
        }
    }

    pub(super) fn made(&mut self, what: &'static str) {
        *self.0.entry(what).or_default() += 1;
    }

    pub(super) fn every_edit_happened(&self) -> anyhow::Result<()> {
        for (what, _) in EDITS {
            let times = self.0.get(what).copied().unwrap_or_default();
            ensure!(times >= 5, "{what} was edited only {times} times");
        }
        Ok(())
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} edits: {:?}", self.0.values().sum::<usize>(), self.0)
    }
}
