//! Guarded writes to the API server. Each write checks the fence before it waits for the client's request budget and again immediately
//! before it is sent, and has a deadline. Except for server-side apply and creation it also has a guard: it changes only the object (UID),
//! or the version of it, that the caller read.
//!
//! Nothing here retries. After a timeout it is unknown whether the write took effect: the caller must observe again.

mod change;
mod dynamic;
mod error;
mod request;
#[cfg(test)]
mod tests;

use std::{fmt, sync::Arc, time::Duration};

use bowline_core::{Fence, Fenced};
use k8s_openapi::api::core::v1::Node;
use kube::{
    Client, Resource,
    api::{DeleteParams, Patch, PatchParams, Preconditions},
    core::Request,
};
use serde_json::Value;

use self::request::{Answer, Target};
pub use self::{
    change::{Change, Guard},
    dynamic::{Attempt, Place},
    error::{WriteClass, WriteError},
};
use crate::client::FencedBy;

/// Performs guarded writes.
#[derive(Clone)]
pub struct Writer {
    client: Client,
    fence: Arc<dyn Fence>,
    deadline: Duration,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Writer")
            .field("fence", &self.fence)
            .field("deadline", &self.deadline)
            .finish_non_exhaustive()
    }
}

/// The result of a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// The API server accepted the change.
    Changed {
        /// The new resourceVersion, if the response had one.
        resource_version: Option<String>,
    },
    /// There was nothing to change, and no request was sent.
    Unchanged,
}

/// The result of a deletion.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The API server accepted it. Finalizers may delay the removal of the object.
    Deleted,
    /// The object did not exist any more.
    AlreadyGone,
}

/// A fence that follows [`Fence::check_telling`].
#[derive(Debug)]
struct Telling(Arc<dyn Fence>);

impl Fence for Telling {
    fn check(&self) -> Result<(), Fenced> {
        self.0.check_telling()
    }
}

impl Writer {
    /// A writer that writes only while `fence` is open. Each request times out after `deadline`.
    #[must_use]
    pub fn new(client: Client, fence: Arc<dyn Fence>, deadline: Duration) -> Self {
        Self { client, fence, deadline }
    }

    /// The same writer for conditions that explain why nothing is changed ([`Fence::check_telling`]). No controller may act on what it
    /// writes.
    #[must_use]
    pub fn telling(&self) -> Self {
        Self { fence: Arc::new(Telling(Arc::clone(&self.fence))), ..self.clone() }
    }

    /// Deletes the Node called `name` if it still has this `uid`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Replaced`] if another Node has that name now; see [`WriteError`] for the rest.
    pub async fn delete_node(&self, name: &str, uid: &str) -> Result<Deletion, WriteError> {
        self.delete::<Node>(None, name, uid).await
    }

    /// Deletes an object if it still has this `uid`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Replaced`] if another object has that name now; see [`WriteError`] for the rest.
    pub async fn delete<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        uid: &str,
    ) -> Result<Deletion, WriteError>
    where
        K: Resource,
        K::DynamicType: Default,
    {
        let target = Target::of::<K>("delete", namespace, name, "");
        if uid.is_empty() {
            return Err(target.invalid("a deletion needs the UID of the object, but none was given"));
        }
        let exactly = Preconditions { uid: Some(uid.to_owned()), resource_version: None };
        let request = Request::new(&target.url)
            .delete(name, &DeleteParams::default().preconditions(exactly))
            .map_err(|error| target.invalid(&error.to_string()))?;
        match self.send(&target, Some(&Guard::Uid(uid.to_owned())), request).await {
            Ok(_) => Ok(Deletion::Deleted),
            Err(WriteError::Gone { .. }) => Ok(Deletion::AlreadyGone),
            Err(error) => Err(error),
        }
    }

    /// Patches an object, guarded. An empty change is not sent.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    pub async fn patch<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        guard: &Guard,
        change: Change,
    ) -> Result<Written, WriteError>
    where
        K: Resource,
        K::DynamicType: Default,
    {
        self.change::<K>(namespace, name, "", guard, change).await
    }

    /// Patches the `status` subresource of an object, guarded. An empty change is not sent.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    pub async fn patch_status<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        guard: &Guard,
        change: Change,
    ) -> Result<Written, WriteError>
    where
        K: Resource,
        K::DynamicType: Default,
    {
        self.change::<K>(namespace, name, "status", guard, change).await
    }

    /// Applies the fields of `content` to an object that `manager` owns, by forced server-side apply; creates the object if it does not
    /// exist. Without a guard, for writes that do not depend on a read of the object: the last write of the current leader wins.
    ///
    /// # Errors
    ///
    /// See [`WriteError`].
    pub async fn apply_own<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        manager: &str,
        content: Value,
    ) -> Result<Written, WriteError>
    where
        K: Resource,
        K::DynamicType: Default,
    {
        let target = Target::of::<K>("patch", namespace, name, "");
        let params = PatchParams::apply(manager).force();
        let request = Request::new(&target.url)
            .patch(name, &params, &Patch::Apply(content))
            .map_err(|error| target.invalid(&error.to_string()))?;
        let resource_version = self.send(&target, None, request).await?.resource_version();
        Ok(Written::Changed { resource_version })
    }

    async fn change<K>(
        &self,
        namespace: Option<&str>,
        name: &str,
        subresource: &str,
        guard: &Guard,
        change: Change,
    ) -> Result<Written, WriteError>
    where
        K: Resource,
        K::DynamicType: Default,
    {
        if change.is_empty() {
            return Ok(Written::Unchanged);
        }
        let target = Target::of::<K>("patch", namespace, name, subresource);
        let patch = change.guarded(guard).map_err(|why| target.invalid(&why))?;
        let (requests, params) = (Request::new(&target.url), PatchParams::default());
        let request = match subresource {
            "" => requests.patch(name, &params, &patch),
            subresource => requests.patch_subresource(subresource, name, &params, &patch),
        };
        let request = request.map_err(|error| target.invalid(&error.to_string()))?;
        let resource_version = self.send(&target, Some(guard), request).await?.resource_version();
        Ok(Written::Changed { resource_version })
    }

    /// All writes are sent here. The fence is checked here, to avoid a pointless wait, and by the client after the wait for its request
    /// budget.
    async fn send(
        &self,
        target: &Target,
        guard: Option<&Guard>,
        mut request: http::Request<Vec<u8>>,
    ) -> Result<Answer, WriteError> {
        self.fence.check()?;
        request.extensions_mut().insert(FencedBy(Arc::clone(&self.fence)));
        let answer = request::perform(&self.client, target, guard, request);
        match tokio::time::timeout(self.deadline, answer).await {
            Ok(answer) => answer,
            Err(_elapsed) => Err(target
                .transient(&format!("no answer within {:?}; it may have taken effect", self.deadline), None)),
        }
    }
}
