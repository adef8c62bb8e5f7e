//! Writes the wanted change of metadata, on exactly the object that was shown (safety rail SR-5).

use bowline_cloud::Watched;
use bowline_kube::queue::Outcome;
use bowline_kube::write::{Change, Guard, WriteClass, Writer};
use k8s_openapi::api::core::v1::{Node, Service};
use tracing::{error, info, warn};

use super::MetadataChange;
use crate::rails::pause::LOOK_AGAIN;

/// Writes; `None` if it went well, else what becomes of the key.
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
        // Another object has its name, or none: the informer will tell.
        WriteClass::NotFound => Some(Outcome::Done),
        // Not now: the fence opens again with the next renewal or the end of a freeze, or this process is about to end.
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
