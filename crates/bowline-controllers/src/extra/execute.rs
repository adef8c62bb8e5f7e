//! Writes a change of metadata, with the UID of the object as precondition (safety rail SR-5).

use bowline_cloud::Watched;
use bowline_kube::queue::Outcome;
use bowline_kube::write::{Change, Guard, WriteClass, Writer};
use k8s_openapi::api::core::v1::{Node, Service};
use tracing::{error, info, warn};

use super::MetadataChange;
use crate::rails::pause::LOOK_AGAIN;

/// Writes the change. `None` if it succeeded, otherwise the outcome for the queue.
pub(super) async fn write(writer: &Writer, object: &Watched, change: &MetadataChange) -> Option<Outcome> {
    let (change, refused) = change.clone().that_is_shown(object);
    for refused in refused {
        error!(%refused, "not written: this is a bug of the cloud provider's controller");
    }
    if change.is_empty() {
        return None;
    }
    let patch = Change::Merge(change.merge_patch());
    let written = match object {
        Watched::Node(node) => {
            writer.patch::<Node>(None, &node.name, &Guard::Uid(node.uid.to_string()), patch).await
        }
        Watched::Service(service) => {
            let guard = Guard::Uid(service.uid.to_string());
            writer.patch::<Service>(Some(&service.namespace), &service.name, &guard, patch).await
        }
    };
    let error = match written {
        Ok(_written) => return None,
        Err(error) => error,
    };
    match error.class() {
        // The object was deleted, or replaced by another of this name: the informer reports it.
        WriteClass::NotFound => Some(Outcome::Done),
        // The fence opens again with the next lease renewal or when the identity is restored, or this process is about to end.
        WriteClass::Fenced => {
            info!(%error, "not written");
            Some(Outcome::RetryAfter(LOOK_AGAIN))
        }
        WriteClass::Conflict => Some(Outcome::Requeue),
        _ => {
            warn!(%error, "could not write, will be tried again");
            Some(error.retry_after().map_or(Outcome::Failed, Outcome::RetryAfter))
        }
    }
}
