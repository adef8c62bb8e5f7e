//! One Lease on an API server in memory. Each client has a link of its own, which decides the fate of each request.

use std::time::Duration;

use bowline_testkit::memory_cluster::MemoryCluster;
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use tokio::{sync::oneshot, time::sleep};

use crate::scripted_api::{self, Answer, Asked, Log};

/// What happens to one request.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Fate {
    pub(super) there: Duration,
    pub(super) back: Duration,
    pub(super) loss: Loss,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Loss {
    #[default]
    Nothing,
    /// The request never arrives.
    Request,
    /// It takes effect, but the answer never comes.
    Reply,
    /// The server fails before it does anything.
    Failure(u16),
}

impl From<Loss> for Fate {
    fn from(loss: Loss) -> Self {
        Self { loss, ..Self::default() }
    }
}

/// Whether a standby asks to be told when the lease becomes free.
pub(super) fn is_watch(asked: &Asked) -> bool {
    asked.method == Method::GET && asked.path.ends_with("/leases")
}

const PATH: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/ccm";

#[derive(Clone, Default)]
pub(super) struct LeaseServer(MemoryCluster);

impl LeaseServer {
    /// A client whose requests meet the fates that `fate` hands out.
    pub(super) fn link(&self, fate: impl Fn(&Asked) -> Fate + Send + Sync + 'static) -> (Client, Log) {
        let server = self.clone();
        scripted_api::client(move |asked| {
            let (fate, server, asked) = (fate(asked), server.clone(), asked.clone());
            let (reply, wait) = oneshot::channel();
            // On its own, because a request that its sender gave up may still arrive.
            tokio::spawn(async move {
                sleep(fate.there).await;
                let answer = match fate.loss {
                    Loss::Request => futures::future::pending().await,
                    Loss::Failure(code) => Answer::status(code, "InternalError", "injected"),
                    Loss::Nothing | Loss::Reply => server.serve(&asked),
                };
                if fate.loss == Loss::Reply {
                    futures::future::pending::<()>().await;
                }
                sleep(fate.back).await;
                drop(reply.send(answer));
            });
            Answer::later(async { wait.await.unwrap() })
        })
    }

    /// A client on a perfect network.
    pub(super) fn good_link(&self) -> (Client, Log) {
        self.link(|_| Fate::default())
    }

    pub(super) fn lease(&self) -> Value {
        self.0.get(PATH).unwrap_or_default()
    }

    pub(super) fn holder(&self) -> String {
        self.lease()["spec"]["holderIdentity"].as_str().unwrap_or_default().to_owned()
    }

    /// Another writer stores this spec.
    pub(super) fn put_spec(&self, spec: &Value) {
        let fresh = || {
            json!({"apiVersion": "coordination.k8s.io/v1", "kind": "Lease",
                "metadata": {"name": "ccm", "namespace": "kube-system", "uid": "lease-uid", "labels": {"team": "infra"}}})
        };
        let mut lease = self.0.get(PATH).unwrap_or_else(fresh);
        lease["spec"] = spec.clone();
        self.0.put(lease);
    }

    pub(super) fn hold(&self, holder: &str, seconds: i32, transitions: i32) {
        self.put_spec(&json!({
            "holderIdentity": holder, "leaseDurationSeconds": seconds, "leaseTransitions": transitions,
            "acquireTime": "2026-01-01T00:00:00.000000Z", "renewTime": "2026-01-01T00:00:00.000000Z",
        }));
    }

    /// Changes something that is not in the spec, so that only the resourceVersion moves.
    pub(super) fn touch(&self) {
        let spec = self.lease()["spec"].clone();
        self.put_spec(&spec);
    }

    /// A person pauses all changes, or ends the pause.
    pub(super) fn annotate(&self, paused: Option<&str>) {
        self.0.edit(PATH, |lease| {
            lease["metadata"]["annotations"] =
                paused.map_or(json!({}), |why| json!({bowline_core::PAUSED: why}));
        });
    }

    pub(super) fn annotation(&self) -> String {
        self.lease()["metadata"]["annotations"][bowline_core::PAUSED].as_str().unwrap_or_default().to_owned()
    }

    pub(super) fn delete(&self) {
        self.0.remove(PATH);
    }

    fn serve(&self, asked: &Asked) -> Answer {
        if is_watch(asked) {
            return Answer::status(
                403,
                "Forbidden",
                "as with a role made for client-go, which never watches",
            );
        }
        let (code, body) = self.0.request(asked.method.clone(), &asked.path, &asked.body);
        Answer::Json(code, body)
    }
}
