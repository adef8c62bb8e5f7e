//! What a Service wants of this cloud: listeners, settings and hosts, or every reason why not. Pure.

use bowline_cloud::{AddressKind, LoadBalancerRequest, NodeView, Refusal, ServiceView};
use real_kubernetes_tests::framework::protocol::{Hosts, IDLE_TIMEOUT, MOST_LISTENERS, Port, Settings, host};

/// All of it.
pub(crate) struct Desire {
    pub(crate) ports: Vec<Port>,
    pub(crate) settings: Settings,
    pub(crate) hosts: Hosts,
}

impl Desire {
    pub(crate) fn of(request: &LoadBalancerRequest) -> Result<Self, Refusal> {
        let service = &request.service;
        let problems = problems(service);
        if !problems.is_empty() {
            return Err(Refusal { problems });
        }
        let usable = request.nodes.iter().filter(|node| !is_out_of_reach(service, node));
        let hosts = usable.map(|node| {
            let addresses = node.addresses.iter().map(|at| (at.kind.to_string(), at.address.to_string()));
            (node.name.to_string(), host(node.provider_id.as_deref().unwrap_or_default(), addresses))
        });
        Ok(Self { ports: ports(service), settings: settings(service), hosts: hosts.collect() })
    }
}

fn problems(service: &ServiceView) -> Vec<String> {
    let mut problems = Vec::new();
    if let Some(value) = service.annotations.get(IDLE_TIMEOUT)
        && value.parse::<u32>().is_err()
    {
        problems.push(format!(
            "annotation {IDLE_TIMEOUT} is {value:?}, but must be a whole number of seconds, such as \"30\""
        ));
    }
    if service.ports.len() > MOST_LISTENERS {
        let found = service.ports.len();
        problems.push(format!("the Service has {found} ports, but a load balancer of this cloud has at most {MOST_LISTENERS}; split it"));
    }
    problems
}

/// Whether a node speaks no family of the Service. One whose addresses are not known yet may.
pub(crate) fn is_out_of_reach(service: &ServiceView, node: &NodeView) -> bool {
    let ips = node.addresses.iter().filter(|address| address.kind == AddressKind::InternalIP);
    let families: Vec<_> = ips.map(|ip| if ip.address.contains(':') { "IPv6" } else { "IPv4" }).collect();
    !families.is_empty()
        && !families.iter().any(|family| service.ip_families.iter().any(|wanted| wanted == family))
}

fn ports(service: &ServiceView) -> Vec<Port> {
    let port = |port: &bowline_cloud::ServicePort| Port {
        protocol: port.protocol.to_string(),
        port: port.port,
        name: port.name.as_deref().map(str::to_owned),
        node_port: port.node_port,
        target_port: port.target_port.as_deref().map(str::to_owned),
        app_protocol: port.app_protocol.as_deref().map(str::to_owned),
    };
    service.ports.iter().map(port).collect()
}

/// Every field that a load balancer is made from, as text.
fn settings(service: &ServiceView) -> Settings {
    let number = |number: Option<String>| number.unwrap_or_default();
    let families: Vec<_> = service.ip_families.iter().map(|family| family.as_str()).collect();
    let mut settings: Settings = [
        ("sourceRanges", service.source_ranges.join(",")),
        ("sessionAffinity", service.session_affinity.unwrap_or_default().to_string()),
        ("sessionAffinityTimeout", number(service.session_affinity_timeout_seconds.map(|s| s.to_string()))),
        ("loadBalancerIP", service.load_balancer_ip.as_deref().unwrap_or_default().to_owned()),
        ("externalIPs", service.external_ips.join(",")),
        ("externalTrafficPolicy", service.external_traffic_policy.unwrap_or_default().to_string()),
        ("healthCheckNodePort", number(service.health_check_node_port.map(|port| port.to_string()))),
        ("ipFamilies", families.join(",")),
    ]
    .into_iter()
    .map(|(key, value)| (key.to_owned(), value))
    .collect();
    settings.extend(
        service.annotations.iter().map(|(key, value)| (format!("annotation {key}"), value.to_owned())),
    );
    settings
}
