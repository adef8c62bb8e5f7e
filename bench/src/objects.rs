//! Objects as a real cluster has them: a node set up by kubeadm with Calico and the Cinder CSI driver on OpenStack, and
//! Services as `kubectl apply` leaves them: 16 kB of JSON and 1.9 kB, as they are in clusters at work.

use serde_json::{Value, json};

fn uid(number: usize) -> String {
    format!("{number:08x}-4b1f-4c38-9d3a-0c5a1b2c3d4e")
}

/// An image on a node, by its digest and by its tag.
fn image(number: usize) -> Value {
    let name = format!("registry.example/team-{}/app-{number}", number % 7);
    json!({"names": [format!("{name}@sha256:{number:064x}"), format!("{name}:v1.{number}.0")], "sizeBytes": 98_765_432})
}

/// What the API server notes about who wrote what of a node.
fn fields_of(manager: &str) -> Value {
    let fields = json!({".": {}, "f:lastHeartbeatTime": {}, "f:lastTransitionTime": {}, "f:message": {}, "f:reason": {},
                        "f:status": {}, "f:type": {}});
    let conditions: serde_json::Map<_, _> =
        ["DiskPressure", "MemoryPressure", "NetworkUnavailable", "PIDPressure", "Ready"]
            .into_iter()
            .map(|kind| (format!("k:{{\"type\":\"{kind}\"}}"), fields.clone()))
            .collect();
    json!({"manager": manager, "operation": "Update", "apiVersion": "v1", "time": "2026-11-01T08:00:00Z", "fieldsType": "FieldsV1",
           "fieldsV1": {"f:metadata": {"f:annotations": {".": {}, "f:node.alpha.kubernetes.io/ttl": {}}},
                        "f:status": {"f:allocatable": {"f:cpu": {}, "f:memory": {}}, "f:conditions": conditions, "f:images": {}}}})
}

/// A worker that is initialised and ready.
#[must_use]
pub fn node(number: usize) -> Value {
    let (name, (high, low)) = (format!("worker-{number:05}"), (number / 250, number % 250));
    let images: Vec<Value> = (0..50).map(image).collect();
    let managed = ["kubeadm", "calico-node", "kube-controller-manager", "kubelet"].map(fields_of);
    let condition = |kind: &str, status: &str, reason: &str| {
        json!({"type": kind, "status": status, "reason": reason, "message": "kubelet says so",
               "lastHeartbeatTime": "2026-11-01T08:00:00Z", "lastTransitionTime": "2026-11-01T08:00:00Z"})
    };
    json!({
        "metadata": {
            "name": name, "uid": uid(number), "resourceVersion": "1234567", "creationTimestamp": "2026-11-01T08:00:00Z",
            "labels": {
                "beta.kubernetes.io/arch": "amd64", "beta.kubernetes.io/instance-type": "m1.xlarge",
                "beta.kubernetes.io/os": "linux", "failure-domain.beta.kubernetes.io/region": "RegionOne",
                "failure-domain.beta.kubernetes.io/zone": "nova", "kubernetes.io/arch": "amd64",
                "kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "node-role.kubernetes.io/worker": "",
                "node.kubernetes.io/instance-type": "m1.xlarge", "topology.cinder.csi.openstack.org/zone": "nova",
                "topology.kubernetes.io/region": "RegionOne", "topology.kubernetes.io/zone": "nova"
            },
            "annotations": {
                "alpha.kubernetes.io/provided-node-ip": format!("10.20.{high}.{low}"),
                "csi.volume.kubernetes.io/nodeid": format!("{{\"cinder.csi.openstack.org\":\"{}\"}}", uid(number)),
                "kubeadm.alpha.kubernetes.io/cri-socket": "unix:///var/run/containerd/containerd.sock",
                "node.alpha.kubernetes.io/ttl": "15",
                "projectcalico.org/IPv4Address": format!("10.20.{high}.{low}/16"),
                "projectcalico.org/IPv4IPIPTunnelAddr": format!("192.168.{high}.{low}"),
                "volumes.kubernetes.io/controller-managed-attach-detach": "true"
            },
            "managedFields": managed
        },
        "spec": {"podCIDR": format!("192.168.{high}.0/24"), "podCIDRs": [format!("192.168.{high}.0/24")],
                 "providerID": format!("openstack:///{}", uid(number))},
        "status": {
            "addresses": [{"type": "InternalIP", "address": format!("10.20.{high}.{low}")},
                          {"type": "ExternalIP", "address": format!("203.0.{high}.{low}")},
                          {"type": "Hostname", "address": name}],
            "allocatable": {"cpu": "8", "memory": "32Gi", "pods": "110"}, "capacity": {"cpu": "8", "memory": "32Gi", "pods": "110"},
            "conditions": [condition("NetworkUnavailable", "False", "CalicoIsUp"),
                           condition("MemoryPressure", "False", "KubeletHasSufficientMemory"),
                           condition("DiskPressure", "False", "KubeletHasNoDiskPressure"),
                           condition("PIDPressure", "False", "KubeletHasSufficientPID"),
                           condition("Ready", "True", "KubeletReady")],
            "images": images,
            "nodeInfo": {"systemUUID": uid(number), "machineID": uid(number), "kubeletVersion": "v1.36.3",
                         "osImage": "Debian GNU/Linux 13", "kernelVersion": "6.12.0", "architecture": "amd64"}
        }
    })
}

/// The Services of a usual cluster: every tenth has a load balancer.
#[must_use]
pub fn service(number: usize) -> Value {
    if number.is_multiple_of(10) { load_balancer(number) } else { cluster_ip(number) }
}

/// A Service of type LoadBalancer with two ports, an option, its load balancer's id and an address.
#[must_use]
pub fn load_balancer(number: usize) -> Value {
    let mut service = cluster_ip(number);
    service["metadata"]["annotations"]["loadbalancer.openstack.org/keep-floatingip"] = json!("true");
    service["metadata"]["annotations"]["loadbalancer.openstack.org/load-balancer-id"] = json!(uid(number));
    service["metadata"]["finalizers"] = json!(["service.kubernetes.io/load-balancer-cleanup"]);
    service["spec"]["type"] = json!("LoadBalancer");
    service["spec"]["allocateLoadBalancerNodePorts"] = json!(true);
    service["spec"]["externalTrafficPolicy"] = json!("Cluster");
    let condition = json!({"type": "bowline.dev/LoadBalancerReady", "status": "True", "reason": "Ensured",
        "message": "The load balancer is as the Service asks", "lastTransitionTime": "2026-11-01T08:01:00Z"});
    let ingress = json!({"ip": format!("203.0.{}.{}", number / 250, number % 250), "ipMode": "Proxy"});
    service["status"] = json!({"conditions": [condition], "loadBalancer": {"ingress": [ingress]}});
    service
}

/// A Service of type ClusterIP with two ports.
#[must_use]
pub fn cluster_ip(number: usize) -> Value {
    let name = format!("shop-frontend-{number:05}");
    let port = |name: &str, port: u16| json!({"name": name, "protocol": "TCP", "port": port, "targetPort": name, "nodePort": 30_000 + number % 2_000});
    json!({
        "metadata": {
            "name": name, "namespace": format!("team-{}", number % 50), "uid": uid(number), "resourceVersion": "1234567",
            "creationTimestamp": "2026-11-01T08:00:00Z",
            "labels": {"app.kubernetes.io/name": "shop", "app.kubernetes.io/component": "frontend",
                       "app.kubernetes.io/managed-by": "Helm"},
            "annotations": {"kubectl.kubernetes.io/last-applied-configuration": "{\"spec\":{}}".repeat(50)},
            "managedFields": [{"manager": "kubectl-client-side-apply", "operation": "Update", "apiVersion": "v1",
                "time": "2026-11-01T08:00:00Z", "fieldsType": "FieldsV1",
                "fieldsV1": {"f:spec": {"f:ports": {"k:{\"port\":443,\"protocol\":\"TCP\"}": {"f:name": {}, "f:port": {}},
                    "k:{\"port\":80,\"protocol\":\"TCP\"}": {"f:name": {}, "f:port": {}}}, "f:selector": {}, "f:type": {}}}}]
        },
        "spec": {
            "type": "ClusterIP", "clusterIP": "10.96.0.10", "clusterIPs": [format!("10.96.{}.{}", number / 250, number % 250)],
            "internalTrafficPolicy": "Cluster", "ipFamilies": ["IPv4"], "ipFamilyPolicy": "SingleStack",
            "ports": [port("http", 80), port("https", 443)], "selector": {"app.kubernetes.io/name": "shop"},
            "sessionAffinity": "None"
        },
        "status": {"loadBalancer": {}}
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_as_long_as_in_clusters_at_work() {
        let (node, service) = (node(1).to_string().len(), cluster_ip(1).to_string().len());
        assert!((15_000..17_000).contains(&node), "{node}");
        assert!((1_700..2_100).contains(&service), "{service}");
    }
}
