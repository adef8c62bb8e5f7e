//! Resources and clusters that the tests of this module make objects for.

use serde_json::{Value, json};

use super::{ClusterFacts, Object, RenderedConfig};
use crate::api::CloudControllerManagerSpec;

/// The platforms by the resource's names, each with the manager that it has.
pub(crate) const PLATFORMS: [(&str, &str); 9] = [
    ("OpenStack", "Bowline"),
    ("OpenStack", "Upstream"),
    ("AWS", "Upstream"),
    ("Azure", "Upstream"),
    ("GCP", "Upstream"),
    ("IBMCloud", "Upstream"),
    ("Nutanix", "Upstream"),
    ("PowerVS", "Upstream"),
    ("VSphere", "Upstream"),
];

/// The resource of a platform with the image that it needs, and with more or other fields.
pub(crate) fn spec(platform: &str, manager: &str, fields: &Value) -> CloudControllerManagerSpec {
    let mut value = json!({
        "platform": platform,
        "manager": manager,
        "clusterName": "prod-1",
        "cloudConfig": { "secret": { "name": "cloud-config" } },
        "credentials": { "name": "cloud-credentials" },
        "image": format!("registry.example/{}-cloud-controller-manager:v1", platform.to_lowercase()),
    });
    if let (Some(value), Some(fields)) = (value.as_object_mut(), fields.as_object()) {
        value.extend(fields.clone());
        value.retain(|_, value| !value.is_null());
    }
    serde_json::from_value(value).unwrap()
}

/// A cluster of three control-plane nodes.
pub(crate) fn facts() -> ClusterFacts {
    ClusterFacts {
        control_plane_nodes: 3,
        has_service_monitor: true,
        server_minor: Some(36),
        config: Some(RenderedConfig::new("[Global]\nuse-clouds = true\n")),
        own_image: Some("registry.example/bowline:v0.1.0".to_owned()),
        ..ClusterFacts::default()
    }
}

/// Objects as people review them.
pub(crate) fn yaml(objects: &[Object]) -> String {
    let document = |object: &Object| format!("---\n{}", serde_saphyr::to_string(&object.body).unwrap());
    objects.iter().map(document).collect()
}

/// The objects of a kind.
pub(crate) fn of_kind<'a>(objects: &'a [Object], kind: &str) -> Vec<&'a Object> {
    objects.iter().filter(|object| object.kind == kind).collect()
}

/// The pod specification of each workload.
pub(crate) fn pods(objects: &[Object]) -> Vec<(&Object, &Value)> {
    let template = |object: &'_ Object| object.body.pointer("/spec/template/spec").is_some();
    let workloads = objects.iter().filter(|object| template(object));
    workloads.map(|object| (object, object.body.pointer("/spec/template/spec").unwrap())).collect()
}
