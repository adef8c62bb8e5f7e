//! PATCH: the shell around the pure patch functions. What a patch does is in `crate::patch`.

use serde_json::Value;

use super::{decode, presented};
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::patch::{PatchKind, patched};
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
        if call.is_apply() {
            return self.apply(call);
        }
        match PatchKind::of_content_type(&call.request.content_type) {
            Some(kind) if kind != PatchKind::Strategic || call.resource.builtin => {
                self.patch_existing(call, kind)
            }
            _ => {
                let known = if call.resource.builtin { TYPES_WITH_STRATEGIC } else { TYPES };
                Err(ApiError::unsupported_media_type(known))
            }
        }
    }

    fn patch_existing(&mut self, call: &Call<'_>, kind: PatchKind) -> Result<Outcome, ApiError> {
        let patch = decode::yaml(&call.request.body)?;
        let old = self.stored(call)?;
        let current = presented(&call.resource, &old);
        let result = patched(kind, &call.merge_schema(), &current, &patch)
            .map_err(|error| ApiError::of_status(&error.status()))?;
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
