//! PATCH: the shell around the pure patch functions. What a patch does is in `crate::patch`.

use super::update::check_name_of_body;
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
            call.options.check_write("PatchOptions", true)?;
            return self.apply(call);
        }
        match PatchKind::of_content_type(&call.request.content_type) {
            Some(kind) if kind != PatchKind::Strategic || call.resource.builtin => {
                call.options.check_write("PatchOptions", false)?;
                self.patch_existing(call, kind)
            }
            None if call.resource.builtin => {
                let mut error = ApiError::new(415, "UnsupportedMediaType", "415: Unsupported Media Type");
                error.details = Some(serde_json::json!({}));
                Err(error)
            }
            _ => {
                let known = if call.resource.builtin { TYPES_WITH_STRATEGIC } else { TYPES };
                Err(ApiError::unsupported_media_type(known))
            }
        }
    }

    fn patch_existing(&mut self, call: &Call<'_>, kind: PatchKind) -> Result<Outcome, ApiError> {
        let patch = decode::patch(kind, &call.request.body)?;
        let old = self.stored(call)?;
        let current = presented(&call.resource, &old);
        let result = patched(kind, &call.merge_schema(), &current, &patch)
            .map_err(|error| ApiError::of_status(&error.status()))?;
        let (new, warnings) = decode::stored_form(call, result.clone()).map_err(|error| {
            let error = FieldError::invalid("patch", result.to_string(), error.message);
            ApiError::invalid("", "", "", &[error])
        })?;
        check_name_of_body(call, &new)?;
        if call.resource.namespaced && object::namespace(&new) != call.path.namespace {
            return Err(ApiError::bad_request(
                "the namespace of the provided object does not match the namespace sent on the request",
            ));
        }
        let stored = self.change(call, &old, new)?;
        let mut outcome = self.answer(call, 200, &stored);
        if let Outcome::Json { warnings: out, .. } = &mut outcome {
            *out = warnings;
        }
        Ok(outcome)
    }
}
