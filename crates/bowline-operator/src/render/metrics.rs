//! Where metrics are found: a headless Service, and a ServiceMonitor where that API exists.

use k8s_openapi::api::core::v1::{Service, ServicePort, ServiceSpec};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use serde_json::json;

use super::error::RenderError;
use super::flags::PORT;
use super::names::Names;
use super::object::Object;

/// The Service that names the pods.
pub(super) fn service(names: &Names<'_>) -> Service {
    let port = ServicePort {
        name: Some("https".to_owned()),
        port: PORT,
        protocol: Some("TCP".to_owned()),
        target_port: Some(IntOrString::Int(PORT)),
        ..ServicePort::default()
    };
    Service {
        metadata: names.metadata(names.workload()),
        spec: Some(ServiceSpec {
            cluster_ip: Some("None".to_owned()),
            ports: Some(vec![port]),
            selector: Some(names.selector_labels()),
            type_: Some("ClusterIP".to_owned()),
            ..ServiceSpec::default()
        }),
        status: None,
    }
}

/// The ServiceMonitor. The manager serves with a certificate of its own making, which nobody can check.
pub(super) fn service_monitor(names: &Names<'_>) -> Result<Object, RenderError> {
    Ok(Object::untyped(json!({
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": { "name": names.workload(), "namespace": names.namespace, "labels": names.labels() },
        "spec": {
            "endpoints": [{
                "bearerTokenFile": "/var/run/secrets/kubernetes.io/serviceaccount/token",
                "interval": "30s",
                "port": "https",
                "scheme": "https",
                "tlsConfig": { "insecureSkipVerify": true },
            }],
            "selector": { "matchLabels": names.selector_labels() },
        },
    }))?)
}
