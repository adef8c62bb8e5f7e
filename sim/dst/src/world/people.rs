//! What people and kubelets do in the cluster.

use std::collections::{BTreeMap, BTreeSet};

use k8s_openapi::api::core::v1::{Node, Service};
use serde_json::{Value, json};

use super::operator::Parts;
use super::{EXCLUDED, METAL, UNINITIALIZED, World, annotation, balancer_name, node_name, service_name};
use crate::action::{Edit, ServiceSpec};

/// The system UUID of the physical machine.
const SYSTEM_UUID: &str = "4c4c4544-0046-3510-8052-b4c04f4e4d32";

impl World {
    pub(super) fn register(&self, number: usize) {
        let name = node_name(number);
        if self.nodes().get(&name).expect("nodes can be read").is_some() {
            // It goes on with the Node that it finds.
            self.set_ready(number, true);
            return;
        }
        let taint = json!({"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"});
        let mut node = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name},
            "spec": {"taints": [taint]}, "status": {"conditions": [ready_condition(true)]}});
        if self.setting.routes {
            // As kube-controller-manager gives it.
            node["spec"]["podCIDR"] = json!(format!("10.244.{number}.0/24"));
            node["spec"]["podCIDRs"] = json!([format!("10.244.{number}.0/24")]);
        }
        self.nodes().create(&serde_json::from_value(node).expect("a Node")).expect("a Node can be made");
    }

    pub(super) fn set_ready(&self, number: usize, ready: bool) {
        let _there = self.nodes().edit(&node_name(number), |node| says_ready(node, ready)).is_ok();
    }

    /// The Node of a physical machine: no taint and no provider ID, since its kubelet knows of no cloud, but the system UUID of its
    /// firmware. Load balancers leave it out, as people do with such machines.
    pub(super) fn metal(&self, ready: bool) {
        if self.nodes().edit(METAL, |node| says_ready(node, ready)).is_ok() {
            return;
        }
        let node = json!({"apiVersion": "v1", "kind": "Node",
            "metadata": {"name": METAL, "labels": {EXCLUDED: "true"}},
            "status": {"conditions": [ready_condition(ready)], "nodeInfo": {"systemUUID": SYSTEM_UUID,
                "architecture": "", "bootID": "", "containerRuntimeVersion": "", "kernelVersion": "",
                "kubeProxyVersion": "", "kubeletVersion": "", "machineID": "", "operatingSystem": "", "osImage": ""}}});
        self.nodes().create(&serde_json::from_value(node).expect("a Node")).expect("a Node can be made");
    }

    pub(super) fn exclude(&self, number: usize, excluded: bool) {
        let change = |node: &mut Node| {
            let labels = node.metadata.labels.get_or_insert_default();
            if excluded {
                labels.insert(EXCLUDED.to_owned(), "true".to_owned());
            } else {
                labels.remove(EXCLUDED);
            }
        };
        let _there = self.nodes().edit(&node_name(number), change).is_ok();
    }

    pub(super) fn create_service(&self, number: usize, spec: &ServiceSpec) {
        let name = service_name(number);
        if self.services().get(&name).expect("services can be read").is_some() {
            return;
        }
        let annotations: BTreeMap<String, &String> =
            spec.annotations.iter().map(|(key, value)| (annotation(key), value)).collect();
        let mut service = json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "annotations": annotations},
            "spec": {"type": "LoadBalancer", "ports": ports(&spec.ports), "selector": {"app": name}}});
        if !spec.source_ranges.is_empty() {
            service["spec"]["loadBalancerSourceRanges"] = json!(spec.source_ranges);
        }
        if spec.local {
            service["spec"]["externalTrafficPolicy"] = json!("Local");
        }
        if spec.affinity {
            service["spec"]["sessionAffinity"] = json!("ClientIP");
        }
        self.services()
            .create(&serde_json::from_value(service).expect("a Service"))
            .expect("a Service can be made");
    }

    pub(super) fn share(&self, number: usize, with: usize) {
        let name = balancer_name(with);
        let parts = self.cloud.with(|cloud| Parts::of(cloud.state(), &name));
        if let Some(parts) = parts {
            let annotations = vec![("load-balancer-id", parts.balancer)];
            let spec = ServiceSpec {
                ports: vec![("TCP", 7000 + number as u16)],
                annotations,
                ..ServiceSpec::default()
            };
            self.guests.lock().insert(service_name(number));
            self.create_service(number, &spec);
        }
    }

    /// The Services that were made to share the load balancer of another.
    #[must_use]
    pub fn guests(&self) -> BTreeSet<String> {
        self.guests.lock().clone()
    }

    pub(super) fn edit_service(&self, number: usize, edit: &Edit) {
        let change = |service: &mut Service| {
            let mut value = serde_json::to_value(&*service).expect("a Service is JSON");
            apply_edit(&mut value, edit);
            *service = serde_json::from_value(value).expect("a Service");
        };
        let _there = self.services().edit(&service_name(number), change).is_ok();
    }
}

fn apply_edit(service: &mut Value, edit: &Edit) {
    match edit {
        Edit::Ports(list) => service["spec"]["ports"] = ports(list),
        Edit::Annotate(key, value) => {
            let annotations = &mut service["metadata"]["annotations"];
            if annotations.is_null() {
                *annotations = json!({});
            }
            match value {
                Some(value) => annotations[annotation(key)] = json!(value),
                None => {
                    annotations.as_object_mut().map(|map| map.remove(&annotation(key)));
                }
            }
        }
        Edit::SourceRanges(ranges) => service["spec"]["loadBalancerSourceRanges"] = json!(ranges),
        Edit::Local(local) => {
            service["spec"]["externalTrafficPolicy"] = json!(if *local { "Local" } else { "Cluster" });
        }
        Edit::Affinity(affinity) => {
            service["spec"]["sessionAffinity"] = json!(if *affinity { "ClientIP" } else { "None" });
            if !affinity {
                service["spec"].as_object_mut().map(|spec| spec.remove("sessionAffinityConfig"));
            }
        }
        Edit::IsBalanced(balanced) => {
            service["spec"]["type"] = json!(if *balanced { "LoadBalancer" } else { "ClusterIP" });
            if !balanced {
                let gone = [
                    "externalTrafficPolicy",
                    "healthCheckNodePort",
                    "allocateLoadBalancerNodePorts",
                    "loadBalancerSourceRanges",
                ];
                let spec = service["spec"].as_object_mut().expect("a spec");
                for key in gone {
                    spec.remove(key);
                }
                for port in spec.get_mut("ports").and_then(Value::as_array_mut).into_iter().flatten() {
                    port.as_object_mut().map(|port| port.remove("nodePort"));
                }
            }
        }
    }
}

fn ports(list: &[(&str, u16)]) -> Value {
    list.iter()
        .map(|(protocol, port)| json!({"name": format!("p{}{port}", protocol.to_lowercase()), "protocol": protocol, "port": port}))
        .collect()
}

fn says_ready(node: &mut Node, ready: bool) {
    let condition = serde_json::from_value(ready_condition(ready)).expect("a condition");
    node.status.get_or_insert_default().conditions = Some(vec![condition]);
}

fn ready_condition(ready: bool) -> Value {
    json!({"type": "Ready", "status": if ready { "True" } else { "Unknown" }, "reason": "Kubelet", "message": ""})
}
