//! Writes to the API server that cannot go wrong quietly. Each one asks the fence before it queues for the client's
//! request budget and again right before it is sent, has a deadline, and carries a guard: it changes the very object
//! (UID), or the very version of it, that was looked at.
//!
//! Nothing here retries. A timeout does not say whether the write took effect: observe again.

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

/// How a change went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Written {
    /// The server has it; this is the object's version now.
    Changed {
        /// The new resourceVersion, if the answer had one.
        resource_version: Option<String>,
    },
    /// There was nothing to change, and nothing was sent.
    Unchanged,
}

/// How a deletion went.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Deletion {
    /// The server accepted it. Finalizers may keep the object for a while.
    Deleted,
    /// It was gone before.
    AlreadyGone,
}

/// Open as long as people may be told.
#[derive(Debug)]
struct Telling(Arc<dyn Fence>);

impl Fence for Telling {
    fn check(&self) -> Result<(), Fenced> {
        self.0.check_telling()
    }
}

impl Writer {
    /// A writer that may write while `fence` is open; each request may take `deadline`.
    #[must_use]
    pub fn new(client: Client, fence: Arc<dyn Fence>, deadline: Duration) -> Self {
        Self { client, fence, deadline }
    }

    /// The same writer for what is told to people ([`Fence::check_telling`]): a condition, and nothing that anybody acts on.
    #[must_use]
    pub fn telling(&self) -> Self {
        Self { fence: Arc::new(Telling(Arc::clone(&self.fence))), ..self.clone() }
    }

    /// Deletes the node called `name` if it is still the one with `uid`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Replaced`] when another node has that name now; see [`WriteError`] for the rest.
    pub async fn delete_node(&self, name: &str, uid: &str) -> Result<Deletion, WriteError> {
        self.delete::<Node>(None, name, uid).await
    }

    /// Deletes an object if it is still the one with `uid`.
    ///
    /// # Errors
    ///
    /// [`WriteError::Replaced`] when another object has that name now; see [`WriteError`] for the rest.
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

    /// Changes an object, guarded. A change that is empty is not sent.
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

    /// Changes the status of an object (through its `status` subresource), guarded. An empty change is not sent.
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

    /// Puts the fields of `content` into an object that is `manager`'s own, by server-side apply, and makes it if it is not
    /// there. No guard: for what is written from no look at the object, and where the last word of whoever leads counts.
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

    /// The one place where a write leaves this process. The fence is asked here, so as not to wait for nothing, and by
    /// the client when the wait for its budget is over.
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
