//! PATCH: the shell around the pure patch functions. What a patch does is in `crate::patch`.

use serde_json::Value;

use super::{decode, presented};
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::status::{ApiError, FieldError};

const TYPES: &[&str] =
    &["application/json-patch+json", "application/merge-patch+json", "application/apply-patch+yaml"];
const TYPES_WITH_STRATEGIC: &[&str] = &[
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
];

impl Core {
    pub(crate) fn patch(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        match call.request.media_type() {
            "application/apply-patch+yaml" => self.apply(call),
            "application/json-patch+json" => self.patch_existing(call, json_patch),
            "application/merge-patch+json" => self.patch_existing(call, merge_patch),
            "application/strategic-merge-patch+json" if call.resource.builtin => {
                self.patch_existing(call, merge_patch)
            }
            _ => {
                let known = if call.resource.builtin { TYPES_WITH_STRATEGIC } else { TYPES };
                Err(ApiError::unsupported_media_type(known))
            }
        }
    }

    fn patch_existing(
        &mut self,
        call: &Call<'_>,
        patched: fn(Value, &Value) -> Result<Value, ApiError>,
    ) -> Result<Outcome, ApiError> {
        let patch: Value = serde_json::from_slice(&call.request.body)
            .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
        let old = self.stored(call)?;
        let result = patched(presented(&call.resource, &old), &patch)?;
        let (new, warnings) = decode::stored_form(call, result)?;
        check_name_kept(call, &new)?;
        let stored = self.change(call, &old, new)?;
        let mut outcome = self.answer(call, 200, &stored);
        if let Outcome::Json { warnings: out, .. } = &mut outcome {
            *out = warnings;
        }
        Ok(outcome)
    }
}

fn check_name_kept(call: &Call<'_>, new: &Value) -> Result<(), ApiError> {
    let found = object::name(new);
    if found == call.path.name {
        return Ok(());
    }
    let error = FieldError::invalid("metadata.name", found, "field is immutable");
    Err(ApiError::invalid_object(&call.resource, &call.path.name, &[error]))
}

fn json_patch(mut current: Value, patch: &Value) -> Result<Value, ApiError> {
    let operations: json_patch::Patch = serde_json::from_value(patch.clone())
        .map_err(|error| ApiError::bad_request(format!("error decoding patch: {error}")))?;
    json_patch::patch(&mut current, &operations).map_err(|error| {
        ApiError::new(
            422,
            "Invalid",
            format!("the server rejected our request due to an error in our request: {error}"),
        )
    })?;
    Ok(current)
}

fn merge_patch(mut current: Value, patch: &Value) -> Result<Value, ApiError> {
    json_patch::merge(&mut current, patch);
    Ok(current)
}
