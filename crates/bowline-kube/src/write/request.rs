//! Sends one write and classifies a failed response. It sends the request itself instead of using `kube::Api`, which does not expose the
//! `Retry-After` header.

use std::time::Duration;

use bowline_core::Fenced;
use bytes::Bytes;
use http::{HeaderMap, StatusCode, header};
use kube::{
    Client, Resource,
    client::Body,
    core::{PartialObjectMeta, Status},
};
use serde::de::DeserializeOwned;

use super::{Guard, WriteError};
use crate::client::describe;

/// The object that a write is about.
pub(super) struct Target {
    pub(super) url: String,
    verb: &'static str,
    /// `nodes`, `leases.coordination.k8s.io`, `services/status`: as used in RBAC rules.
    resource: String,
    what: String,
}

/// The object after the write, or the Status of a deletion.
pub(super) struct Answer(Bytes);

impl Answer {
    /// The resourceVersion of the object. A deletion may be answered with a Status, which has none; deletions do not need it.
    pub(super) fn resource_version(&self) -> Option<String> {
        let meta = serde_json::from_slice::<PartialObjectMeta>(&self.0).ok();
        meta.and_then(|meta| meta.metadata.resource_version)
    }

    /// The object in the response.
    pub(super) fn object<T: DeserializeOwned>(&self, target: &Target) -> Result<T, WriteError> {
        let read = serde_json::from_slice(&self.0);
        read.map_err(|error| target.transient(&describe(&error), None))
    }
}

impl Target {
    pub(super) fn of<K>(verb: &'static str, namespace: Option<&str>, name: &str, subresource: &str) -> Self
    where
        K: Resource,
        K::DynamicType: Default,
    {
        Self::of_kind::<K>(&K::DynamicType::default(), verb, namespace, name, subresource)
    }

    pub(super) fn of_kind<K: Resource>(
        kind: &K::DynamicType,
        verb: &'static str,
        namespace: Option<&str>,
        name: &str,
        subresource: &str,
    ) -> Self {
        let mut resource = K::plural(kind).into_owned();
        if !subresource.is_empty() {
            resource = format!("{resource}/{subresource}");
        }
        let group = K::group(kind);
        if !group.is_empty() {
            resource = format!("{resource}.{group}");
        }
        let path = namespace.map_or_else(String::new, |namespace| format!("{namespace}/"));
        let what = format!("{verb} {resource} {path}{name}");
        Self { url: K::url_path(kind, namespace), verb, resource, what }
    }

    pub(super) fn invalid(&self, message: &str) -> WriteError {
        WriteError::Invalid { what: self.what.clone(), message: message.to_owned() }
    }

    pub(super) fn transient(&self, why: &str, retry_after: Option<Duration>) -> WriteError {
        WriteError::Transient { what: self.what.clone(), why: why.to_owned(), retry_after }
    }
}

pub(super) async fn perform(
    client: &Client,
    target: &Target,
    guard: Option<&Guard>,
    request: http::Request<Vec<u8>>,
) -> Result<Answer, WriteError> {
    let json_patch = is_json_patch(&request);
    let no_answer = |error: kube::Error| target.transient(&describe(&error), None);
    let sent = client.send(request.map(Body::from)).await;
    let (head, body) =
        sent.map_err(|error| stopped(&error).unwrap_or_else(|| no_answer(error)))?.into_parts();
    let bytes = body.collect_bytes().await.map_err(no_answer)?;
    if head.status.is_success() {
        return Ok(Answer(bytes));
    }
    // The client layers turn the responses of proxies and overloaded servers into a `Status`. A client without these layers does not.
    let status = serde_json::from_slice(&bytes).unwrap_or_else(|_quoting| {
        Status::failure(&format!("an answer that is no Status: {} bytes", bytes.len()), "")
    });
    if json_patch && head.status == StatusCode::UNPROCESSABLE_ENTITY && has_no_causes(&status) {
        return Err(WriteError::Conflict {
            what: target.what.clone(),
            message: "it is not the object, or not in the state, that the patch tests for".to_owned(),
        });
    }
    Err(classify(target, guard, head.status, &status, retry_after(&head.headers, &status)))
}

/// Whether the client did not send the request because the fence had closed.
fn stopped(error: &kube::Error) -> Option<WriteError> {
    let kube::Error::Service(inner) = error else { return None };
    inner.downcast_ref::<Fenced>().cloned().map(WriteError::Fenced)
}

/// The API server refuses a JSON patch with a failed `test` or a missing path in the same way, without saying which one it was.
fn is_json_patch(request: &http::Request<Vec<u8>>) -> bool {
    request.headers().get(header::CONTENT_TYPE).is_some_and(|kind| kind == "application/json-patch+json")
}

fn has_no_causes(status: &Status) -> bool {
    status.details.as_ref().is_none_or(|details| details.causes.is_empty())
}

fn classify(
    target: &Target,
    guard: Option<&Guard>,
    code: StatusCode,
    status: &Status,
    retry_after: Option<Duration>,
) -> WriteError {
    let (what, message) = (target.what.clone(), status.message.clone());
    match (code.as_u16(), guard) {
        (409 | 422, Some(Guard::Uid(uid))) if is_another(status) => {
            WriteError::Replaced { what, uid: uid.clone() }
        }
        (409, _) => WriteError::Conflict { what, message },
        // Only the API server can say that an object does not exist; a 404 of a proxy that knows no route proves nothing.
        (404, _) if status.reason == "NotFound" => WriteError::Gone { what },
        (403, _) => {
            WriteError::Forbidden { what, verb: target.verb, resource: target.resource.clone(), message }
        }
        // Tokens rotate; the client reads the new one within a minute.
        (401, _) => target.transient(&format!("the server does not accept our credentials: {message}"), None),
        (404 | 408 | 429 | 500..=599, _) => {
            target.transient(&format!("the server answered {code}: {message}"), retry_after)
        }
        _ => WriteError::Invalid { what, message: format!("{code}: {message}") },
    }
}

/// Whether the API server refused the write because of the UID. For a deletion with the wrong UID its message says so; for a merge patch
/// with the wrong UID it reports a change of an immutable field. (Seen on Kubernetes 1.36.)
fn is_another(status: &Status) -> bool {
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    status.message.contains("UID in") || causes.any(|cause| cause.field == "metadata.uid")
}

fn retry_after(headers: &HeaderMap, status: &Status) -> Option<Duration> {
    let header = headers.get(header::RETRY_AFTER).and_then(|value| value.to_str().ok()?.trim().parse().ok());
    let details = status.details.as_ref().map(|details| u64::from(details.retry_after_seconds));
    header.or(details).filter(|seconds| *seconds > 0).map(Duration::from_secs)
}
