//! Server-side apply and the upkeep of managedFields: the shell around the pure functions of `crate::patch`.

use std::sync::Arc;

use serde_json::Value;

use super::decode;
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::status::ApiError;

impl Core {
    pub(crate) fn apply(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        if call.options.field_manager.is_empty() {
            let error = crate::status::FieldError::required("fieldManager", "is required for apply patch");
            return Err(ApiError::invalid("meta.k8s.io", "PatchOptions", "", &[error]));
        }
        let config = decode::yaml(&call.request.body)?;
        let (mut config, _) = decode::stored_form(call, config)?;
        self.check_namespace_of_body(call, &mut config)?;
        match self.store.get(&call.resource.bucket(), &call.key()) {
            None => {
                let stored = self.create_object(call, config)?;
                Ok(self.answer(call, 201, &stored))
            }
            Some(old) => {
                let mut new = Value::clone(&old);
                json_patch::merge(&mut new, &config);
                let stored = self.change(call, &old, new)?;
                Ok(self.answer(call, 200, &stored))
            }
        }
    }

    /// Notes who set the fields of a new object.
    pub(crate) fn manage_new(&self, _call: &Call<'_>, object: &mut Value) {
        object::meta(object).remove("managedFields");
    }

    /// Notes who changed which fields.
    pub(crate) fn manage_change(&self, _call: &Call<'_>, old: &Arc<Value>, new: &mut Value) {
        match object::at(old, &["metadata", "managedFields"]) {
            Some(kept) => object::meta(new).insert("managedFields".into(), kept.clone()),
            None => object::meta(new).remove("managedFields"),
        };
    }
}
