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
    use std::convert::Infallible;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use http::Response;
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// A client whose first requests are refused, and how many it has sent.
    fn refused_first(refusals: usize) -> (Client, Arc<AtomicUsize>) {
        let sent = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&sent);
        let service = tower::service_fn(move |_request: http::Request<Body>| {
            let is_refused = count.fetch_add(1, Ordering::Relaxed) < refusals;
            let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "kube-system", "uid": "c1"}});
            let refusal = json!({
                "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": "no",
                "reason": "Forbidden", "code": 403,
            });
            let (code, body) = if is_refused { (403, refusal) } else { (200, namespace) };
            let answer = Response::builder().status(code).body(Body::from(body.to_string().into_bytes()));
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        (Client::new(service, "default"), sent)
    }

    #[tokio::test(start_paused = true)]
    async fn one_refusal_does_not_hide_the_uid_and_two_are_believed() {
        let (client, _sent) = refused_first(1);
        assert_eq!(cluster_uid(&client).await.as_deref(), Some("c1"));
        let (client, sent) = refused_first(usize::MAX);
        assert_eq!((cluster_uid(&client).await, sent.load(Ordering::Relaxed)), (None, 2));
    }
}
