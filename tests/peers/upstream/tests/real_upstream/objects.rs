//! The objects of the script: Nodes as kubelets register them, Services as users write them, and what the cloud holds.

use serde_json::{Value, json};

use crate::edit::Kind::{Node, Service};
use crate::edit::{Edit, merge};

/// The taint a kubelet registers with.
pub(crate) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";
/// The taint of a machine that is shut down.
pub(crate) const SHUTDOWN: &str = "node.cloudprovider.kubernetes.io/shutdown";
pub(crate) const EXCLUDE: &str = "node.kubernetes.io/exclude-from-external-load-balancers";
pub(crate) const NODE_IP: &str = "alpha.kubernetes.io/provided-node-ip";

pub(crate) fn address(kind: &str, address: &str) -> Value {
    json!({"type": kind, "address": address})
}

pub(crate) fn machine(name: &str, addresses: &[Value]) -> Value {
    json!({
        "providerID": format!("scripted://{name}"), "type": "m1.small", "zone": "z1", "region": "r1",
        "addresses": addresses,
    })
}

/// A machine with one internal address.
pub(crate) fn simple(name: &str, number: u8) -> Value {
    machine(name, &[address("InternalIP", &format!("10.0.0.{number}")), address("Hostname", name)])
}

/// What the cloud holds before anything happens.
pub(crate) fn cloud_at_the_start() -> Value {
    let internal = |ip: &str| address("InternalIP", ip);
    let mut labelled = simple("labelled", 8);
    merge(
        &mut labelled,
        &json!({"labels": {"team": "cloud", "rack": "r7", "node.kubernetes.io/own": "no", "x.k8s.io/y": "no"}}),
    );
    let mut noid = simple("noid", 10);
    merge(&mut noid, &json!({"providerID": ""}));
    let mut sparse = simple("sparse", 13);
    merge(&mut sparse, &json!({"type": "", "zone": ""}));
    json!({
        "instances": {
            "plain": machine("plain", &[internal("10.0.0.1"), address("ExternalIP", "192.0.2.1"), address("Hostname", "plain")]),
            "given": simple("given", 2),
            "dual": machine("dual", &[internal("10.0.0.3"), internal("fd00::3"), address("Hostname", "dual")]),
            "picked": machine("picked", &[internal("10.0.0.4"), internal("10.1.0.4"), address("ExternalIP", "192.0.2.4")]),
            "pair": machine("pair", &[internal("fd00::5"), internal("10.0.0.5"), internal("10.1.0.5"), address("InternalDNS", "pair.internal")]),
            "misfit": simple("misfit", 6),
            "tainted": simple("tainted", 7),
            "labelled": labelled,
            "bare": simple("bare", 9),
            "noid": noid,
            "noaddr": machine("noaddr", &[]),
            "nohost": machine("nohost", &[internal("10.0.0.12"), address("ExternalDNS", "nohost.example")]),
            "sparse": sparse,
            "garbled": simple("garbled", 16),
            "calico": simple("calico", 17),
            "late": simple("late", 14),
            "later": simple("later", 15),
        },
        "ingress": {
            "default/web": [{"ip": "203.0.113.1"}],
            "default/dns": [{"ip": "203.0.113.2", "ipMode": "VIP"}],
            "default/local": [{"ip": "203.0.113.3"}],
            "default/proxied": [{"ip": "203.0.113.4", "ipMode": "Proxy"}],
            "default/named": [{"hostname": "lb.example"}],
            "default/twofold": [
                {"ip": "203.0.113.6", "ports": [{"port": 80, "protocol": "TCP"}]},
                {"ip": "2001:db8::6", "ipMode": "VIP"},
            ],
            "default/guarded": [{"ip": "203.0.113.7"}],
            "default/classed": [{"ip": "203.0.113.8"}],
            "default/late": [{"ip": "203.0.113.9"}],
            "default/slow": [{"ip": "203.0.113.10"}],
        },
        "routes": [
            {"name": "stale", "node": "long-gone", "cidr": "10.244.200.0/24"},
            {"name": "outside", "node": "elsewhere", "cidr": "192.168.9.0/24"},
            {"name": "blackhole", "node": "plain", "cidr": "10.244.1.0/24", "blackhole": true},
            {"name": "kept", "node": "given", "cidr": "10.244.3.0/24"},
            {"name": "kept-too", "node": "dual", "cidr": "fd00:10:244:2::/64"},
        ],
        "errors": {},
    })
}

/// A Node as a kubelet with an external cloud provider registers it, and what is particular about this one.
pub(crate) fn joins(name: &str, particular: &Value) -> Edit {
    let mut node = json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name}},
        "spec": {"taints": [{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]},
        "status": {
            "addresses": [address("Hostname", name)],
            "conditions": [{"type": "Ready", "status": "True"}],
        },
    });
    merge(&mut node, particular);
    Edit::Create(Node, node)
}

pub(crate) fn with_pods(ranges: &[&str]) -> Value {
    json!({"spec": {"podCIDR": ranges.first(), "podCIDRs": ranges}})
}

pub(crate) fn with_ip(ip: &str) -> Value {
    json!({"metadata": {"annotations": {NODE_IP: ip}}})
}

/// A Service of type LoadBalancer, and what is particular about this one.
pub(crate) fn service(name: &str, particular: &Value) -> Edit {
    let mut service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": name},
        "spec": {"type": "LoadBalancer", "selector": {"app": name}, "ports": [{"port": 80, "targetPort": 8080}]},
    });
    merge(&mut service, particular);
    Edit::Create(Service, service)
}

pub(crate) fn exclude(node: &'static str, value: Option<&str>) -> Edit {
    Edit::Patch(Node, node, json!({"metadata": {"labels": {EXCLUDE: value}}}))
}
