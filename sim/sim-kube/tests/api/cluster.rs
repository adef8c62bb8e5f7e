//! A small cluster and the objects that tests put into it.

use k8s_openapi::api::core::v1::{ConfigMap, Node, Service};
use kube::{Client, Error};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use sim_kube::{Config, SimKube};

pub(crate) fn cluster() -> (SimKube, Client) {
    let server = SimKube::new(Config::seeded(7));
    let client = Client::new(server.clone(), "default");
    (server, client)
}

pub(crate) fn from<K: DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

pub(crate) fn node(name: &str) -> Node {
    from(json!({"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}}))
}

pub(crate) fn service(name: &str, spec: Value) -> Service {
    from(json!({"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": spec}))
}

pub(crate) fn config_map(name: &str, labels: Value) -> ConfigMap {
    from(json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": labels}}))
}

pub(crate) fn code(error: &Error) -> u16 {
    match error {
        Error::Api(status) => status.code,
        other => panic!("not an answer of the API: {other}"),
    }
}

pub(crate) fn message(error: &Error) -> String {
    match error {
        Error::Api(status) => status.message.clone(),
        other => panic!("not an answer of the API: {other}"),
    }
}
