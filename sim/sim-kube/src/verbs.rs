//! What a request does to objects, one file for each verb. Rules of single kinds are in `strategy`.

mod apply;
mod create;
mod decode;
mod delete;
mod list;
mod metadata;
mod patch;
mod review;
mod scale;
mod token;
mod update;
mod watch;

pub(crate) use crate::object::seconds;
pub(crate) use metadata::{SUBDOMAIN, is_label, is_subdomain, label_value_fault, qualified_name_faults};
pub(crate) use review::Review;
pub(crate) use token::Tokens;
pub(crate) use watch::{Frame, WatchSpec};

use std::sync::Arc;

use serde_json::{Value, json};

use crate::core::{Call, Core, Outcome};
use crate::object;
use crate::resource::Resource;
use crate::status::ApiError;
use crate::strategy::event;

impl Core {
    pub(crate) fn get(&self, call: &Call<'_>) -> Result<Outcome, ApiError> {
        let found = match call.request.at_version {
            None => self.stored(call)?,
            Some(version) => self.stored_at(call, version)?,
        };
        Ok(self.answer(call, 200, &found))
    }

    /// The object that the path names.
    pub(crate) fn stored(&self, call: &Call<'_>) -> Result<Arc<Value>, ApiError> {
        self.store
            .get(&call.resource.bucket(), &call.key())
            .ok_or_else(|| ApiError::not_found(&call.resource, &call.path.name))
    }

    /// The object that the path names as it was.
    fn stored_at(&self, call: &Call<'_>, version: u64) -> Result<Arc<Value>, ApiError> {
        let (bucket, key) = (call.resource.bucket(), call.key());
        let view = self.store.view_at(&bucket, version, &key.0, None);
        let view = view.map_err(|gone| {
            ApiError::expired(format!("too old resource version: {version} ({})", gone.oldest))
        })?;
        let found = view.iter().find(|(one, _)| **one == key).map(|(_, object)| Arc::clone(object));
        found.ok_or_else(|| ApiError::not_found(&call.resource, &call.path.name))
    }

    /// The stored object in the form that was asked for.
    pub(crate) fn answer(&self, call: &Call<'_>, code: u16, stored: &Value) -> Outcome {
        let object = presented(&call.resource, stored);
        Outcome::json(code, call.shape.one(&call.resource, object, self.now()))
    }
}

/// The stored object as the resource's version shows it.
pub(crate) fn presented(resource: &Resource, stored: &Value) -> Value {
    shown(resource, stored.clone())
}

/// As [`presented`], of an object that nobody else needs.
pub(crate) fn shown(resource: &Resource, mut object: Value) -> Value {
    if resource.stored_in_core {
        event::to_events_api(&mut object);
    }
    let map = object::map_of(&mut object);
    map.insert("apiVersion".into(), json!(resource.api_version()));
    map.insert("kind".into(), json!(resource.kind));
    object
}
