//! A Kubernetes API in memory for the tests of one crate: `sim-kube`, its client, and what a test reads and changes past that
//! client. Paths are those of the API: `/api/v1/nodes/a`, `/api/v1/namespaces/shop/services/web`.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test ends where its cluster refuses what it prepares; a missing field of a JSON value is null"
)]

use std::ops::Deref;

use http::Method;
use k8s_openapi::jiff::Timestamp;
use kube::Client;
use serde_json::{Value, json};
use sim_kube::{ApiError, Clock, Config, RequestInfo, SimKube, Verdict};

/// The time at which every [`MemoryCluster`] starts. It moves with tokio's clock.
pub const START: &str = "2026-11-02T08:00:00Z";

/// A cluster without a network. Clones are the same cluster, and it is a [`SimKube`] itself: for faults, held watches and the log.
#[derive(Debug, Clone)]
pub struct MemoryCluster(SimKube);

impl Default for MemoryCluster {
    fn default() -> Self {
        let start: Timestamp = START.parse().expect("a time");
        Self(SimKube::new(Config { clock: Clock::virtual_from(start), ..Config::seeded(7) }))
    }
}

impl Deref for MemoryCluster {
    type Target = SimKube;

    fn deref(&self) -> &SimKube {
        &self.0
    }
}

impl MemoryCluster {
    /// A cluster with these objects.
    pub fn with(objects: impl IntoIterator<Item = Value>) -> Self {
        let cluster = Self::default();
        objects.into_iter().for_each(|object| cluster.put(object));
        cluster
    }

    /// A client without layers.
    #[must_use]
    pub fn client(&self) -> Client {
        Client::new(self.0.clone(), "default")
    }

    /// Stores an object as it is, status included, and its namespace if that is missing. It replaces one of the same name; if that
    /// has another UID, watches see it go.
    pub fn put(&self, object: Value) {
        if let Some(namespace) = object["metadata"]["namespace"].as_str()
            && self.get(&format!("/api/v1/namespaces/{namespace}")).is_none()
        {
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}});
            self.0.seed(namespace).expect("a namespace");
        }
        self.0.seed(object).expect("an object that the cluster takes");
    }

    /// The object at this path, if it is there.
    #[must_use]
    pub fn get(&self, path: &str) -> Option<Value> {
        let (code, object) = self.0.request(Method::GET, path, &Value::Null);
        (code == 200).then_some(object)
    }

    /// Changes the object at this path, status included.
    pub fn edit(&self, path: &str, change: impl FnOnce(&mut Value)) {
        let before = self.get(path).expect("an object to edit");
        let mut wanted = before.clone();
        change(&mut wanted);
        let status = wanted["status"].clone();
        let mut without_status = wanted.clone();
        without_status["status"] = before["status"].clone();
        if without_status != before {
            wanted = self.send(Method::PUT, path, &wanted);
        }
        if status != before["status"] {
            wanted["status"] = status;
            self.send(Method::PUT, &format!("{path}/status"), &wanted);
        }
    }

    /// Deletes the object at this path. It stays until its last finalizer goes.
    pub fn delete(&self, path: &str) {
        self.send(Method::DELETE, path, &Value::Null);
    }

    fn send(&self, method: Method, path: &str, body: &Value) -> Value {
        let (code, answer) = self.0.request(method, path, body);
        assert!(code < 300, "{path}: {answer}");
        answer
    }

    /// Answers the next patches of objects of this resource (plural) with these codes and does not apply them.
    pub fn fail_next_patches(&self, resource: &'static str, codes: impl IntoIterator<Item = u16>) {
        for code in codes {
            self.0.once(
                move |request| request.verb == "patch" && request.resource == resource,
                move |_| scripted(code),
            );
        }
    }

    /// Every write that a client sent, also those that failed, as method with path (`PATCH /api/v1/nodes/a`), and body.
    #[must_use]
    pub fn writes(&self) -> Vec<(String, Value)> {
        let writes = self.0.log().into_iter().map(|entry| entry.request).filter(RequestInfo::is_write);
        writes.map(|request| (format!("{} {}", request.method, request.path), request.json())).collect()
    }

    /// Path and body of every patch of an object of this resource (plural) or its status, also of those that failed.
    #[must_use]
    pub fn patches(&self, resource: &str) -> Vec<(String, Value)> {
        let requests = self.0.log().into_iter().map(|entry| entry.request);
        let patches = requests.filter(|request| request.verb == "patch" && request.resource == resource);
        patches.map(|request| (request.path.clone(), request.json())).collect()
    }

    /// The Events that were created, in order. A repetition changes one that is there and is not counted.
    #[must_use]
    pub fn events(&self) -> Vec<Value> {
        let requests = self.0.log().into_iter().map(|entry| entry.request);
        let events = requests.filter(|request| request.verb == "create" && request.resource == "events");
        events.map(|request| request.json()).collect()
    }

    /// The reasons of the Events that were created, in order.
    #[must_use]
    pub fn reasons(&self) -> Vec<String> {
        self.events().iter().map(|event| event["reason"].as_str().unwrap_or_default().to_owned()).collect()
    }
}

/// A refusal with the reason that the API server gives with this code.
#[must_use]
pub fn scripted(code: u16) -> Verdict {
    let reason = match code {
        403 => "Forbidden",
        404 => "NotFound",
        409 => "Conflict",
        410 => "Expired",
        422 => "Invalid",
        429 => "TooManyRequests",
        500 => "InternalError",
        503 => "ServiceUnavailable",
        _ => "",
    };
    Verdict::Refuse(ApiError::custom(code, reason, "as the test wants it"))
}

#[cfg(test)]
mod tests {
    use k8s_openapi::api::core::v1::Node;
    use kube::Api;
    use kube::api::{Patch, PatchParams};

    use super::*;

    const NODE: &str = "/api/v1/nodes/n";

    #[tokio::test(start_paused = true)]
    async fn an_edit_reaches_the_status_and_is_no_write_of_a_client() {
        let cluster =
            MemoryCluster::with([json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})]);
        cluster.edit(NODE, |node| {
            node["metadata"]["labels"]["a"] = json!("b");
            node["status"]["addresses"] = json!([{"type": "Hostname", "address": "n"}]);
        });
        let node = cluster.get(NODE).unwrap();
        assert_eq!(
            (&node["metadata"]["labels"]["a"], &node["status"]["addresses"][0]["address"]),
            (&json!("b"), &json!("n"))
        );
        assert!(cluster.writes().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn patches_that_fail_are_recorded_too() {
        let cluster =
            MemoryCluster::with([json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": "n"}})]);
        cluster.fail_next_patches("nodes", [500]);
        let change = json!({"metadata": {"labels": {"a": "b"}}});
        let nodes = Api::<Node>::all(cluster.client());
        let patch = async || nodes.patch("n", &PatchParams::default(), &Patch::Merge(&change)).await;
        assert!(patch().await.is_err());
        patch().await.unwrap();
        assert_eq!(
            cluster.patches("nodes"),
            [(NODE.to_owned(), change.clone()), (NODE.to_owned(), change.clone())]
        );
    }
}
