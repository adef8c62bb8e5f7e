//! The `scale` subresource: replicas of a workload as an `autoscaling/v1` Scale.

use http::Method;
use serde_json::{Value, json};

use super::decode;
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::patch::{MergeSchema, PatchKind, patched};
use crate::status::ApiError;

impl Core {
    pub(crate) fn scale(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        let old = self.stored(call)?;
        let wanted = match call.request.method {
            Method::GET => return Ok(Outcome::json(200, scale_of(&old))),
            Method::PUT => decode::document(call)?,
            Method::PATCH => {
                let kind = PatchKind::of_content_type(&call.request.content_type).ok_or_else(|| {
                    let mut error = ApiError::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                    error.details = Some(json!({}));
                    error
                })?;
                let patch = decode::patch(kind, &call.request.body)?;
                patched(kind, &MergeSchema::custom(true), &scale_of(&old), &patch)
                    .map_err(|error| ApiError::of_status(&error.status()))?
            }
            _ => return Err(ApiError::method_not_allowed()),
        };
        let version = object::text(&wanted, &["metadata", "resourceVersion"]).to_owned();
        let mut new = Value::clone(&old);
        let replicas = object::at(&wanted, &["spec", "replicas"]).cloned().unwrap_or_else(|| json!(0));
        object::map_at(&mut new, &["spec"]).insert("replicas".into(), replicas);
        if !version.is_empty() {
            object::meta(&mut new).insert("resourceVersion".into(), json!(version));
        }
        let stored = self.change(call, &old, new)?;
        Ok(Outcome::json(200, scale_of(&stored)))
    }
}

fn scale_of(object: &Value) -> Value {
    let meta = |key| object::at(object, &["metadata", key]).cloned().unwrap_or(Value::Null);
    let replicas = |part| object::at(object, &[part, "replicas"]).and_then(Value::as_i64).unwrap_or_default();
    let selector: Vec<String> = object::at(object, &["spec", "selector", "matchLabels"])
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()))
        .collect();
    let mut scale = json!({
        "kind": "Scale", "apiVersion": "autoscaling/v1",
        "metadata": {
            "name": meta("name"), "namespace": meta("namespace"), "uid": meta("uid"),
            "resourceVersion": meta("resourceVersion"), "creationTimestamp": meta("creationTimestamp"),
        },
        "spec": {"replicas": replicas("spec")},
        "status": {"replicas": replicas("status"), "selector": selector.join(",")},
    });
    object::strip_nulls(&mut scale);
    scale
}
