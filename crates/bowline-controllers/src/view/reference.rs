//! Object references to Nodes and Services, for events.

use bowline_cloud::{NodeView, ServiceView, Watched};
use k8s_openapi::api::core::v1::ObjectReference;

/// The reference to a Node.
#[must_use]
pub fn node_reference(node: &NodeView) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Node".to_owned()),
        name: Some(node.name.to_string()),
        uid: Some(node.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// The reference to a Service.
#[must_use]
pub fn service_reference(service: &ServiceView) -> ObjectReference {
    ObjectReference {
        api_version: Some("v1".to_owned()),
        kind: Some("Service".to_owned()),
        namespace: Some(service.namespace.to_string()),
        name: Some(service.name.to_string()),
        uid: Some(service.uid.to_string()),
        ..ObjectReference::default()
    }
}

/// The reference to a Node or a Service.
#[must_use]
pub fn reference(object: &Watched) -> ObjectReference {
    match object {
        Watched::Node(node) => node_reference(node),
        Watched::Service(service) => service_reference(service),
    }
}
