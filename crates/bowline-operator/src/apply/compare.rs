//! What a dry run says: whether a write would change anything.

use kube::api::DynamicObject;
use serde_json::Value;

/// Whether the object that a dry run answered with is another than the one that is there. Times in `managedFields` and the
/// version do not count; who owns which field does, for it decides what the next apply removes.
#[must_use]
pub fn differs(live: &DynamicObject, preview: &DynamicObject) -> bool {
    without_noise(live) != without_noise(preview)
}

fn without_noise(object: &DynamicObject) -> Value {
    let mut object = object.clone();
    object.metadata.resource_version = None;
    object.metadata.generation = None;
    for field in object.metadata.managed_fields.iter_mut().flatten() {
        field.time = None;
    }
    // Where the object says which kind it is depends on who answered.
    object.types = None;
    serde_json::to_value(&object).unwrap_or(Value::Null)
}
