//! The frame that runs the controller, and the Nodes and machines of these tests.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{AddressKind, Instance, NodeAddress};
use bowline_testkit::provider::{FakeCloud, FakeInstances};
use serde_json::{Value, json};
use tokio::time::sleep;

use super::Server;
use crate::controller::Stopped;
use crate::harness::Harness;
use crate::metrics::ControllerMetrics;
use crate::node::{NodeController, NodeOptions};

pub(super) const UNINITIALIZED: &str = "node.cloudprovider.kubernetes.io/uninitialized";

/// How to run the controller.
pub(super) struct Run {
    pub(super) options: NodeOptions,
    pub(super) harness: Harness,
}

impl Run {
    /// On the Nodes of this cluster, over a cloud with these machines.
    pub(super) fn on(server: &Server, instances: &Arc<FakeInstances>) -> Self {
        Self::over(server, FakeCloud::default().with_instances(instances.clone()))
    }

    pub(super) fn over(server: &Server, cloud: FakeCloud) -> Self {
        Self { options: NodeOptions::default(), harness: Harness::new(server, Arc::new(cloud)) }
    }

    /// Runs the controller while `meanwhile` does something, and stops it then.
    pub(super) async fn during(
        self,
        meanwhile: impl Future<Output = ()>,
    ) -> Result<ControllerMetrics, Stopped> {
        let ended = self.harness.run(&NodeController::new(self.options), meanwhile).await;
        ended.map(|()| self.harness.metrics)
    }

    pub(super) async fn for_seconds(self, seconds: u64) -> ControllerMetrics {
        self.during(sleep(Duration::from_secs(seconds))).await.unwrap()
    }
}

/// A Node as kubelet registers it, a minute before the tests begin.
pub(super) fn node(name: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Node",
        "metadata": {
            "name": name, "uid": format!("uid-{name}"), "creationTimestamp": "2026-11-02T07:59:00Z",
            "labels": {"kubernetes.io/os": "linux"}, "annotations": {},
        },
        "spec": {},
        "status": {"addresses": [{"type": "Hostname", "address": name}]},
    })
}

/// The same, waiting for its cloud.
pub(super) fn tainted(name: &str) -> Value {
    let mut node = node(name);
    node["spec"]["taints"] = json!([{"key": UNINITIALIZED, "value": "true", "effect": "NoSchedule"}]);
    node
}

/// A machine in zone `z`, with an address of its own.
pub(super) fn instance(name: &str) -> Instance {
    Instance {
        provider_id: format!("fake://{name}"),
        instance_type: Some("m1".to_owned()),
        addresses: addresses(&[(AddressKind::InternalIP, "10.0.0.1"), (AddressKind::Hostname, name)]),
        zone: Some("z".to_owned()),
        region: Some("r".to_owned()),
        ..Instance::default()
    }
}

pub(super) fn addresses(list: &[(AddressKind, &str)]) -> Vec<NodeAddress> {
    list.iter().map(|(kind, address)| NodeAddress::new(*kind, *address)).collect()
}
