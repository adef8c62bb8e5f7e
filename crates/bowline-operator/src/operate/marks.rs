//! What the workload says of itself besides what is rendered: its mode, and what was migrated from. By these the phase can be
//! found out anew when the status is lost.

use serde_json::{Map, Value, json};

use crate::api::MigrationKind;
use crate::migration::{ManagerMode, OurWorkload};
use crate::render::Object;

/// The annotation of our workload with the version that it was made for.
pub(crate) const VERSION: &str = "bowline.dev/version";

/// Marks workloads and their pods.
pub(super) fn mark(objects: &mut [Object], mode: ManagerMode, kind: Option<MigrationKind>, version: &str) {
    let workloads =
        objects.iter_mut().filter(|object| matches!(object.kind.as_str(), "Deployment" | "DaemonSet"));
    for object in workloads {
        annotate(&mut object.body, ManagerMode::ANNOTATION, mode.name());
        annotate(&mut object.body, VERSION, version);
        if let Some(kind) = kind.and_then(|kind| serde_json::to_value(kind).ok()) {
            annotate(&mut object.body, OurWorkload::KIND, kind.as_str().unwrap_or_default());
        }
        if let Some(template) = object.body.pointer_mut("/spec/template") {
            annotate(template, ManagerMode::ANNOTATION, mode.name());
        }
    }
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    let Some(object) = object.as_object_mut() else { return };
    let metadata = object.entry("metadata").or_insert_with(|| Value::Object(Map::new()));
    let Some(metadata) = metadata.as_object_mut() else { return };
    let annotations = metadata.entry("annotations").or_insert_with(|| json!({}));
    if let Some(annotations) = annotations.as_object_mut() {
        annotations.insert(key.to_owned(), Value::String(value.to_owned()));
    }
}
