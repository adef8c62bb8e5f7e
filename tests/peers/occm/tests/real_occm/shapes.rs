//! The Services that both managers are given: every annotation, and what Services can say, alone and together.

use bowline_testkit::services::service;
use serde_json::{Value, json};

use bowline_testkit::cloud::{EXTERNAL_TAG, Things};

/// What a Service looks like.
pub(crate) struct Shape {
    pub(crate) name: &'static str,
    /// Annotations, without the prefix of the OpenStack provider.
    pub(crate) annotations: Vec<(&'static str, String)>,
    /// Over the plain `spec`.
    pub(crate) spec: Value,
    /// Where it works.
    pub(crate) with: Providers,
}

/// Which providers of load balancers can do it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Providers {
    Both,
    Amphora,
}

impl Shape {
    fn new(name: &'static str, annotations: &[(&'static str, &str)], spec: Value) -> Self {
        let annotations = annotations.iter().map(|(key, value)| (*key, (*value).to_owned())).collect();
        Self { name, annotations, spec, with: Providers::Both }
    }

    fn amphora(self) -> Self {
        Self { with: Providers::Amphora, ..self }
    }

    /// The Service.
    pub(crate) fn service(&self) -> Value {
        let key = |key: &str| {
            if key.contains('/') { key.to_owned() } else { format!("loadbalancer.openstack.org/{key}") }
        };
        let annotations: Vec<(String, &str)> =
            self.annotations.iter().map(|(name, value)| (key(name), value.as_str())).collect();
        let annotations: Vec<(&str, &str)> =
            annotations.iter().map(|(key, value)| (key.as_str(), *value)).collect();
        let port = json!({"name": "http", "port": 80, "targetPort": 8080, "protocol": "TCP"});
        let mut service = service(self.name, &annotations, &self.spec);
        if self.spec["ports"].is_null() {
            service["spec"]["ports"] = json!([port]);
        }
        service
    }
}

fn port(name: &str, port: u16, protocol: &str) -> Value {
    json!({"name": name, "port": port, "protocol": protocol})
}

/// A Service that uses the load balancer of another.
pub(crate) fn sharing(load_balancer: &str) -> Shape {
    let annotations = [("load-balancer-id", load_balancer)];
    Shape::new("sharing", &annotations, json!({"ports": [port("other", 8080, "TCP")]}))
}

/// All shapes that stand alone.
pub(crate) fn shapes(things: &Things) -> Vec<Shape> {
    let internal = ("service.beta.kubernetes.io/openstack-internal-load-balancer", "true");
    let ports = |ports: &[Value]| json!({"ports": ports});
    let (http, https, dns) = (port("http", 80, "TCP"), port("https", 443, "TCP"), port("dns", 53, "UDP"));
    let local = json!({"externalTrafficPolicy": "Local"});
    vec![
        Shape::new("basic", &[], json!({})),
        Shape::new("three-ports", &[], ports(&[http.clone(), https.clone(), dns.clone()])),
        Shape::new("internal", &[internal], json!({})),
        Shape::new("udp", &[], ports(&[dns])),
        // OVN has no monitor for SCTP: there OCCM fails for ever.
        Shape::new("sctp", &[], ports(&[port("sctp", 3868, "SCTP")])).amphora(),
        Shape::new(
            "sctp-no-monitor",
            &[("enable-health-monitor", "false")],
            ports(&[port("sctp", 3868, "SCTP")]),
        ),
        Shape::new("local", &[], local.clone()),
        Shape::new("local-no-monitor", &[("enable-health-monitor", "false")], local),
        Shape::new("ranges", &[], json!({"loadBalancerSourceRanges": ["192.0.2.0/24", "10.0.0.0/8"]})),
        Shape::new(
            "ranges-annotated",
            &[("service.beta.kubernetes.io/load-balancer-source-ranges", "198.51.100.0/24,10.1.0.0/16")],
            json!({}),
        )
        .amphora(),
        Shape::new("affinity", &[], json!({"sessionAffinity": "ClientIP"})),
        Shape::new("proxy", &[("proxy-protocol", "true")], ports(&[http.clone(), https.clone()])).amphora(),
        Shape::new("proxy-v2", &[("proxy-protocol", "v2")], json!({})).amphora(),
        Shape::new("forwarded", &[("x-forwarded-for", "true")], ports(&[http.clone(), https])).amphora(),
        Shape::new("least", &[("lb-method", "LEAST_CONNECTIONS")], json!({})).amphora(),
        Shape::new("source-ip", &[("lb-method", "SOURCE_IP")], json!({})).amphora(),
        Shape::new("limited", &[("connection-limit", "500")], json!({})),
        Shape::new(
            "timeouts",
            &[
                ("timeout-client-data", "60000"),
                ("timeout-member-connect", "6000"),
                ("timeout-member-data", "70000"),
                ("timeout-tcp-inspect", "5"),
            ],
            json!({}),
        ),
        Shape::new("no-monitor", &[("enable-health-monitor", "false")], json!({})),
        Shape::new(
            "monitor-values",
            &[
                ("health-monitor-delay", "7"),
                ("health-monitor-timeout", "4"),
                ("health-monitor-max-retries", "3"),
                ("health-monitor-max-retries-down", "4"),
            ],
            json!({}),
        ),
        Shape::new("hostname", &[("hostname", "app.example.org")], json!({})),
        Shape::new("selector", &[("node-selector", "kubernetes.io/hostname=node-1")], json!({})),
        Shape::new("kept", &[("keep-floatingip", "true")], json!({})),
        Shape::new("classed", &[("class", "special")], json!({})),
        Shape::new("given", &[], json!({"loadBalancerIP": things.floating_ip})),
        // The pattern does not count where an address is asked for.
        Shape::new(
            "given-pattern",
            &[("floating-subnet", "nothing-*")],
            json!({"loadBalancerIP": things.other_floating_ip}),
        ),
        Shape::new("own-port", &[internal, ("port-id", &things.port)], json!({})),
        Shape::new("tls", &[("default-tls-container-ref", &things.secret)], json!({})).amphora(),
        Shape::new("tls-container", &[("default-tls-container-ref", &things.container)], json!({})).amphora(),
        Shape::new("flavored", &[("flavor-id", &things.flavor)], json!({})).amphora(),
        Shape::new("zoned", &[("availability-zone", &things.zone)], json!({})).amphora(),
        Shape::new("inner", &[internal, ("subnet-id", &things.inner_subnet)], json!({})),
        // Beside the subnet-id of cloud.conf, which decides.
        Shape::new("network", &[("network-id", &things.network)], json!({})),
        Shape::new("member-subnet", &[("member-subnet-id", &things.inner_subnet)], json!({})),
        Shape::new("floating-network", &[("floating-network-id", &things.external.0)], json!({})),
        Shape::new("floating-subnet-id", &[("floating-subnet-id", &things.external.1)], json!({})),
        Shape::new("floating-subnet", &[("floating-subnet", "public-*")], json!({})),
        Shape::new("floating-subnet-regexp", &[("floating-subnet", "~^public-v.$")], json!({})),
        Shape::new("floating-subnet-tags", &[("floating-subnet-tags", EXTERNAL_TAG)], json!({})),
        Shape::new(
            "ipv6",
            &[("subnet-id", &things.subnet_of_ipv6), ("member-subnet-id", &things.subnet_of_ipv6)],
            json!({"ipFamilies": ["IPv6"], "ipFamilyPolicy": "SingleStack"}),
        ),
        // OCCM takes the first family, and so do we where the network has no subnet of the second.
        Shape::new(
            "dual-stack",
            &[],
            json!({"ipFamilies": ["IPv4", "IPv6"], "ipFamilyPolicy": "PreferDualStack"}),
        ),
        Shape::new("no-node-ports", &[], json!({"allocateLoadBalancerNodePorts": false})),
    ]
}
