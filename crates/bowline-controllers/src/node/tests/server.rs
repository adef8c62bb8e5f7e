//! The Nodes of a cluster in memory, with the shorthands of these tests.

use std::ops::Deref;

use bowline_testkit::memory_cluster::MemoryCluster;
use serde_json::Value;
use sim_kube::{Delivery, EventInfo, Interceptor, NoFaults, Verdict, WatchInfo};

/// A cluster; clones are the same.
#[derive(Clone)]
pub(super) struct Server(MemoryCluster);

impl Deref for Server {
    type Target = MemoryCluster;

    fn deref(&self) -> &MemoryCluster {
        &self.0
    }
}

fn path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

/// Holds the events of Nodes that are newer than this version.
struct LateWatches(u64);

impl Interceptor for LateWatches {
    fn event(&self, watch: &WatchInfo, event: &EventInfo) -> Delivery {
        let is_late = watch.resource == "nodes" && event.resource_version > self.0;
        if is_late { Delivery::Hold } else { Delivery::Deliver }
    }
}

impl Server {
    pub(super) fn with(nodes: impl IntoIterator<Item = Value>) -> Self {
        Self(MemoryCluster::with(nodes))
    }

    pub(super) fn node(&self, name: &str) -> Value {
        let mut node = self.get(&path(name)).unwrap();
        node["metadata"].as_object_mut().unwrap().remove("managedFields");
        node
    }

    /// Merges `change` into the Node.
    pub(super) fn merge(&self, name: &str, change: &Value) {
        self.edit(&path(name), |node| json_patch::merge(node, change));
    }

    /// Merges `change` into the Node right before its next patch.
    pub(super) fn merge_before_next_patch(&self, name: &'static str, change: Value) {
        let server = self.clone();
        self.once(
            |request| request.verb == "patch",
            move |_| {
                server.merge(name, &change);
                Verdict::Pass
            },
        );
    }

    pub(super) fn fail_next(&self, codes: impl IntoIterator<Item = u16>) {
        self.fail_next_patches("nodes", codes);
    }

    /// Delivers the next `changes` changes to watches and holds all later ones, until `catch_up`.
    pub(super) fn deliver_only(&self, changes: u64) {
        self.intercept(LateWatches(self.resource_version() + changes));
    }

    pub(super) fn catch_up(&self) {
        self.intercept(NoFaults);
    }

    /// Path and body of every patch of a Node that arrived.
    pub(super) fn patches(&self) -> Vec<(String, Value)> {
        self.0.patches("nodes")
    }

    /// The events as (reason, message), repeats not counted.
    pub(super) fn events(&self) -> Vec<(String, String)> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        self.0.events().iter().map(|event| (text(&event["reason"]), text(&event["message"]))).collect()
    }
}
