//! Which cluster this is: the UID of its `kube-system` namespace, which is made once and cannot be deleted.
//!
//! Two clusters may have one name, and share one project of a cloud; by the UID a cloud can tell whose things are whose. A
//! cluster where it may not be read is served all the same: names tell then, as they always did.

use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::{Api, Client};
use tokio::time::sleep;
use tracing::{info, warn};

use crate::rbac::SYSTEM_NAMESPACE;

/// How often it is tried.
const TRIES: usize = 5;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_secs(1);
/// So many refusals are believed. One may be a fault of the moment, and without the UID this process would not recognize objects of
/// another cluster with the same name until it ends.
const REFUSALS: usize = 2;

/// The UID of the cluster; none if nobody tells it.
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
