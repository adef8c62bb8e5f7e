//! The Nodes and Services of a cluster in memory, with the shorthands of these tests.

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use bowline_testkit::memory_cluster::MemoryCluster;
use serde_json::{Value, json};
use sim_kube::Verdict;

/// A cluster; clones are the same.
#[derive(Clone, Default)]
pub(super) struct Cluster(MemoryCluster);

impl Deref for Cluster {
    type Target = MemoryCluster;

    fn deref(&self) -> &MemoryCluster {
        &self.0
    }
}

fn node_path(name: &str) -> String {
    format!("/api/v1/nodes/{name}")
}

fn path(namespace: &str, name: &str) -> String {
    format!("/api/v1/namespaces/{namespace}/services/{name}")
}

impl Cluster {
    pub(super) fn with_nodes(names: &[&str]) -> Self {
        let cluster = Self::default();
        names.iter().for_each(|name| cluster.put_node(name));
        cluster
    }

    pub(super) fn put_node(&self, name: &str) {
        self.edit_node(name, |_| {});
    }

    pub(super) fn edit_node(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let fresh = json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "uid": format!("u-{name}")},
            "spec": {"providerID": format!("fake://{name}")}});
        self.edit_or_put(&node_path(name), fresh, edit);
    }

    /// Changes a Node in a way that the API server allows nobody, as a restored backup of etcd may.
    pub(super) fn restore_node(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        let mut node = self.0.get(&node_path(name)).unwrap();
        edit(&mut node);
        self.0.put(node);
    }

    pub(super) fn delete_node(&self, name: &str) {
        self.0.delete(&node_path(name));
    }

    /// Creates a Service of type LoadBalancer with port 80, after `edit`, or edits the one that is there.
    pub(super) fn put(&self, name: &str, edit: impl FnOnce(&mut Value)) {
        self.put_in("shop", name, edit);
    }

    /// The same in some namespace.
    pub(super) fn put_in(&self, namespace: &str, name: &str, edit: impl FnOnce(&mut Value)) {
        let fresh = json!({"apiVersion": "v1", "kind": "Service",
            "metadata": {"name": name, "namespace": namespace, "uid": format!("s-{name}"), "annotations": {}},
            "spec": {"type": "LoadBalancer", "ports": [{"protocol": "TCP", "port": 80}]},
            "status": {"loadBalancer": {}}});
        self.edit_or_put(&path(namespace, name), fresh, edit);
    }

    fn edit_or_put(&self, path: &str, mut fresh: Value, edit: impl FnOnce(&mut Value)) {
        if self.0.get(path).is_some() {
            return self.0.edit(path, edit);
        }
        edit(&mut fresh);
        self.0.put(fresh);
    }

    /// Deletes a Service; it stays until its last finalizer goes.
    pub(super) fn delete(&self, name: &str) {
        self.0.delete(&path("shop", name));
    }

    /// Removes a Service at once, whatever its finalizers say.
    pub(super) fn wipe(&self, name: &str) {
        assert!(self.0.remove(&path("shop", name)), "a Service to delete");
    }

    /// Lets watches of Services wait for what happens from now on.
    pub(super) fn withhold(&self) {
        self.0.hold_watches("services");
    }

    /// Delivers the held events.
    pub(super) fn deliver(&self) {
        self.0.release_watches("services");
    }

    /// Edits a Service right before the next patch that removes its finalizer. The flag is set when that happened.
    pub(super) fn edit_before_release(
        &self,
        name: &'static str,
        edit: impl FnOnce(&mut Value) + Send + 'static,
    ) -> Arc<AtomicBool> {
        let (cluster, happened) = (self.clone(), Arc::new(AtomicBool::new(false)));
        let flag = happened.clone();
        self.0.once(
            |request| request.json()["metadata"].get("$deleteFromPrimitiveList/finalizers").is_some(),
            move |_| {
                cluster.put(name, edit);
                flag.store(true, Ordering::SeqCst);
                Verdict::Pass
            },
        );
        happened
    }

    /// A Service in the namespace of most tests.
    pub(super) fn get(&self, name: &str) -> Option<Value> {
        self.0.get(&path("shop", name))
    }

    /// Our condition of a Service: status, reason, message.
    pub(super) fn condition(&self, name: &str) -> Option<[String; 3]> {
        let service = self.get(name)?;
        let mut all = service["status"]["conditions"].as_array()?.iter();
        let ours = all.find(|one| one["type"] == crate::view::SERVICE_CONDITION)?;
        Some(["status", "reason", "message"].map(|field| ours[field].as_str().unwrap().to_owned()))
    }

    /// The bodies of the patches of Services so far.
    pub(super) fn patches(&self) -> Vec<Value> {
        self.0.patches("services").into_iter().map(|(_, body)| body).collect()
    }

    /// Type, reason and message of the events so far, in order.
    pub(super) fn events(&self) -> Vec<(String, String, String)> {
        let text = |event: &Value, field: &str| event[field].as_str().unwrap_or_default().to_owned();
        let of = |event: &Value| (text(event, "type"), text(event, "reason"), text(event, "message"));
        self.0.events().iter().map(of).collect()
    }
}
