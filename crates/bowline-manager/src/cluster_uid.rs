//! Identifies the cluster by the UID of its `kube-system` namespace, which is created once and cannot be deleted.
//!
//! Two clusters may have the same name and share a cloud project; the UID tells the cloud provider which resources belong to which cluster.
//! If the UID cannot be read, the process continues and tells resources apart by name only.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::rbac::SYSTEM_NAMESPACE;

/// The maximum number of attempts.
const TRIES: usize = 5;
/// The pause between two attempts.
const PAUSE: Duration = Duration::from_secs(1);
/// After this many "forbidden" or "not found" responses, the process continues without the UID. A single one may be transient, and without
/// the UID this process would not recognize resources of another cluster with the same name until it restarts.
const REFUSALS: usize = 2;

/// The UID of the cluster. `None` if it could not be read.
pub(crate) async fn cluster_uid(client: &Client) -> Option<String> {
    let namespaces = Api::<Namespace>::all(client.clone());
    let mut refusals = 0;
    for attempt in 1..=TRIES {
        match namespaces.get(SYSTEM_NAMESPACE).await {
            Ok(namespace) => return namespace.metadata.uid,
            Err(kube::Error::Api(status)) if status.is_forbidden() || status.is_not_found() => {
                refusals += 1;
                if refusals == REFUSALS {
                    info!(%status, "the UID of the cluster is not known; what is ours in the cloud is known by its name");
                    return None;
                }
                sleep(PAUSE).await;
            }
            Err(error) => {
                let error = bowline_kube::client::describe(&error);
                warn!(error, attempt, "cannot read the UID of the cluster");
                sleep(PAUSE).await;
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use bowline_testkit::memory_cluster::{MemoryCluster, scripted};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn one_refusal_does_not_hide_the_uid_and_two_are_believed() {
        let cluster = MemoryCluster::default();
        let uid = cluster.get("/api/v1/namespaces/kube-system").unwrap()["metadata"]["uid"].clone();
        cluster.once(|_| true, |_| scripted(403));
        assert_eq!(cluster_uid(&cluster.client()).await.as_deref(), uid.as_str());
        let refusing = MemoryCluster::default();
        refusing.judge(|_| scripted(403));
        assert_eq!((cluster_uid(&refusing.client()).await, refusing.log().len()), (None, 2));
    }
}
