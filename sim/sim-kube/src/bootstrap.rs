//! What a new cluster holds: the four namespaces and the API server's own Service.

use bytes::Bytes;
use http::Method;
use serde_json::{Value, json};

use crate::core::Core;
use crate::request::ApiRequest;

/// Creates them through the server's own rules.
pub(crate) fn fill(core: &mut Core) {
    for name in ["default", "kube-node-lease", "kube-public", "kube-system"] {
        let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        create(core, "/api/v1/namespaces", &namespace);
    }
    let first = core.config.service_cidrs.first().and_then(|cidr| cidr.hosts().next());
    let service = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": {"name": "kubernetes", "labels": {"component": "apiserver", "provider": "kubernetes"}},
        "spec": {
            "clusterIP": first.map(|ip| ip.to_string()),
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    });
    create(core, "/api/v1/namespaces/default/services", &service);
}

fn create(core: &mut Core, path: &str, object: &Value) {
    let request = ApiRequest::internal(Method::POST, path.to_owned(), Bytes::from(object.to_string()));
    core.handle(&request);
}
