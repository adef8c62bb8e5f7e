//! Server-side apply and the upkeep of managedFields: the shell around the pure functions of `crate::patch`.

use std::sync::Arc;

use serde_json::{Value, json};

use super::{decode, presented};
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::patch::apply::applied;
use crate::patch::managed::managed_after_update;
use crate::status::{ApiError, FieldError};

impl Core {
    pub(crate) fn apply(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        if call.options.field_manager.is_empty() {
            let error = FieldError::required("fieldManager", "is required for apply patch");
            return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
        }
        let mut config = decode::yaml(&call.request.body)?;
        object::strip_nulls(&mut config);
        // The name may be left to the path; unknown fields are refused before anything is merged.
        object::meta(&mut config).entry("name").or_insert_with(|| json!(call.path.name));
        decode::stored_form(call, config.clone())?;
        self.check_namespace_of_body(call, &mut config)?;
        let old = self.store.get(&call.resource.bucket(), &call.key());
        let current = old.as_ref().map(|old| presented(&call.resource, old));
        let result = applied(current.as_ref(), &config, &call.manager(), self.now(), &call.merge_schema())
            .map_err(|error| ApiError::of_status(&error.status()))?;
        let (new, _) = decode::stored_form(call, result)?;
        match old {
            None if !call.path.subresource.is_empty() => {
                Err(ApiError::not_found(&call.resource, &call.path.name))
            }
            None => {
                let stored = self.create_object(call, new)?;
                Ok(self.answer(call, 201, &stored))
            }
            Some(old) => {
                let stored = self.change(call, &old, new)?;
                Ok(self.answer(call, 200, &stored))
            }
        }
    }

    /// Notes who set the fields of a new object; an apply has done so itself.
    pub(crate) fn manage_new(&self, call: &Call<'_>, object: &mut Value) {
        if !call.is_apply() {
            let schema = call.merge_schema();
            *object = managed_after_update(None, object, &call.manager(), self.now(), &schema);
        }
    }

    /// Notes who changed which fields.
    pub(crate) fn manage_change(&self, call: &Call<'_>, old: &Arc<Value>, new: &mut Value) {
        if !call.is_apply() {
            let schema = call.merge_schema();
            *new = managed_after_update(Some(old), new, &call.manager(), self.now(), &schema);
        }
    }
}
