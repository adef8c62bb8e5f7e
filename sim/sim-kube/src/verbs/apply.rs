//! Server-side apply and the upkeep of managedFields: the shell around the pure functions of `crate::patch`.

use std::sync::Arc;

use serde_json::Value;

use super::update::check_name_of_body;
use super::{decode, presented, shown};
use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::patch::apply::{applied, type_of};
use crate::patch::managed::managed_after_update;
use crate::status::ApiError;
use crate::strategy;

impl Core {
    pub(crate) fn apply(&mut self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        let mut config = decode::yaml(&call.request.body)?;
        object::strip_nulls(&mut config);
        let kind = object::text(&config, &["kind"]);
        if kind != call.resource.kind || object::text(&config, &["apiVersion"]) != call.resource.api_version()
        {
            return Err(ApiError::bad_request(format!("invalid object type: {}", type_of(&config))));
        }
        let old = self.store.get(&call.resource.bucket(), &call.key());
        let current = old.as_ref().map(|old| presented(&call.resource, old));
        let result = applied(current.as_ref(), &config, &call.manager(), self.now(), &call.merge_schema())
            .map_err(|error| ApiError::of_status(&error.status()))?;
        let (mut new, _) = decode::stored_form(call, result)?;
        if let (None, uid) = (&old, object::uid(&new))
            && !uid.is_empty()
        {
            let why = format!(
                "uid mismatch: the provided object specified uid {uid}, and no existing object was found"
            );
            return Err(ApiError::conflict(&call.resource, &call.path.name, &why));
        }
        check_name_of_body(call, &new)?;
        self.check_namespace_of_body(call, &mut new)?;
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
    pub(crate) fn manage_new(&self, call: &Call<'_>, given: &Value, object: &mut Value) {
        if !call.is_apply() {
            let claimed = strategy::claimed_new(&call.resource, given, object);
            let schema = call.merge_schema();
            let claimed = shown(&call.resource, claimed);
            let managed = managed_after_update(None, &claimed, &call.manager(), self.now(), &schema);
            copy_managed(&managed, object);
        }
    }

    /// Notes who changed which fields: of what the client sent and its defaults, before the server's own changes.
    pub(crate) fn manage_change(&self, call: &Call<'_>, old: &Arc<Value>, new: &mut Value) {
        if !call.is_apply() {
            let mut claimed = new.clone();
            strategy::default_claimed(&call.resource, &mut claimed);
            let schema = call.merge_schema();
            let (old, claimed) = (presented(&call.resource, old), shown(&call.resource, claimed));
            let managed = managed_after_update(Some(&old), &claimed, &call.manager(), self.now(), &schema);
            copy_managed(&managed, new);
        }
    }
}

fn copy_managed(from: &Value, into: &mut Value) {
    match object::at(from, &["metadata", "managedFields"]) {
        Some(entries) => object::meta(into).insert("managedFields".into(), entries.clone()),
        None => object::meta(into).remove("managedFields"),
    };
}
