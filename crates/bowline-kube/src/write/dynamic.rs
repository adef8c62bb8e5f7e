//! Writes of objects whose kind is known only at run time, as an operator applies them. Fenced and with a deadline like all other writes.

use kube::{
    api::{DeleteParams, DynamicObject, Patch, PatchParams, PostParams, Preconditions},
    core::{ApiResource, Request},
};
use serde::Serialize;

use super::request::Target;
use super::{Deletion, Guard, WriteError, Writer};

/// The kind, namespace and name of an object.
#[derive(Debug, Clone, Copy)]
pub struct Place<'a> {
    /// The kind of the object.
    pub resource: &'a ApiResource,
    /// The namespace; `None` for cluster-scoped kinds.
    pub namespace: Option<&'a str>,
    /// The name of the object.
    pub name: &'a str,
}

impl Place<'_> {
    fn target(&self, verb: &'static str, subresource: &str) -> Target {
        Target::of_kind::<DynamicObject>(self.resource, verb, self.namespace, self.name, subresource)
    }
}

/// Whether a write is stored or a dry run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attempt {
    /// The object is stored.
    Real,
    /// The API server returns the result and stores nothing.
    DryRun,
}

impl Attempt {
    const fn is_dry(self) -> bool {
        matches!(self, Self::DryRun)
    }
}

impl Writer {
    /// Forced server-side apply: `manager` becomes the owner of the fields of `object`. If `object` has a UID, an object with that UID must
    /// exist; otherwise a missing object is created. Returns the object as stored.
    ///
    /// # Errors
    ///
    /// See [`WriteError`]; [`WriteError::Conflict`] if the existing object has another UID.
    pub async fn apply(
        &self,
        place: Place<'_>,
        manager: &str,
        object: &DynamicObject,
        attempt: Attempt,
    ) -> Result<DynamicObject, WriteError> {
        let target = place.target("patch", "");
        let params = PatchParams { dry_run: attempt.is_dry(), ..PatchParams::apply(manager).force() };
        let request = Request::new(&target.url)
            .patch(place.name, &params, &Patch::Apply(object))
            .map_err(|error| target.invalid(&error.to_string()))?;
        self.send(&target, None, request).await?.object(&target)
    }

    /// Creates an object.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] if it exists; see [`WriteError`] for the rest.
    pub async fn create(
        &self,
        place: Place<'_>,
        manager: &str,
        object: &impl Serialize,
        attempt: Attempt,
    ) -> Result<DynamicObject, WriteError> {
        let target = place.target("create", "");
        let params = PostParams { dry_run: attempt.is_dry(), field_manager: Some(manager.to_owned()) };
        let body = serde_json::to_vec(object).map_err(|error| target.invalid(&error.to_string()))?;
        let request = Request::new(&target.url)
            .create(&params, body)
            .map_err(|error| target.invalid(&error.to_string()))?;
        self.send(&target, None, request).await?.object(&target)
    }

    /// Replaces an object, or its `status` if that is the subresource, guarded by the resourceVersion in `object`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Conflict`] if the resourceVersion is outdated; see [`WriteError`] for the rest.
    pub async fn replace(
        &self,
        place: Place<'_>,
        subresource: &str,
        manager: &str,
        object: &impl Serialize,
    ) -> Result<DynamicObject, WriteError> {
        let target = place.target("update", subresource);
        let params = PostParams { dry_run: false, field_manager: Some(manager.to_owned()) };
        let body = serde_json::to_vec(object).map_err(|error| target.invalid(&error.to_string()))?;
        let requests = Request::new(&target.url);
        let request = match subresource {
            "" => requests.replace(place.name, &params, body),
            subresource => requests.replace_subresource(subresource, place.name, &params, body),
        };
        let request = request.map_err(|error| target.invalid(&error.to_string()))?;
        self.send(&target, None, request).await?.object(&target)
    }

    /// Deletes an object if it still has this `uid`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Replaced`] if another object has that name now; see [`WriteError`] for the rest.
    pub async fn delete_at(&self, place: Place<'_>, uid: &str) -> Result<Deletion, WriteError> {
        let target = place.target("delete", "");
        if uid.is_empty() {
            return Err(target.invalid("a deletion needs the UID of the object, but none was given"));
        }
        let exactly = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        let params = DeleteParams::background().preconditions(exactly);
        let request = Request::new(&target.url)
            .delete(place.name, &params)
            .map_err(|error| target.invalid(&error.to_string()))?;
        match self.send(&target, Some(&Guard::Uid(uid.to_owned())), request).await {
            Ok(_) => Ok(Deletion::Deleted),
            Err(WriteError::Gone { .. }) => Ok(Deletion::AlreadyGone),
            Err(error) => Err(error),
        }
    }
}
