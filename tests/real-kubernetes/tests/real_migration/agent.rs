//! What kubelets and the controller of Deployments would do: pods for Deployments of managers, a process for each pod, and what is
//! said of both. One look after the other; nothing is remembered but the pods.
//!
//! As in a cluster, a pod that ends counts no more as soon as it was asked to: the rollout is done while it may still run.

mod launch;
mod pod;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{ListParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use real_kubernetes_tests::migration::request::Side;
use serde_json::{Value, json};
use tokio::sync::Mutex;
use tokio::time::{Instant, sleep};
use tokio_util::sync::{CancellationToken, DropGuard};

use self::launch::Launcher;
use self::pod::AgentPod;
use crate::cluster::{MigrationCluster, SYSTEM};

const LOOK: Duration = Duration::from_millis(100);
/// What the Deployment of the manager that was there is called.
pub(crate) const OLD: &str = "openstack-cloud-controller-manager";

/// The agent; it stops, and all its processes with it, when this is dropped.
pub(crate) struct Agent {
    pods: Arc<Mutex<Vec<AgentPod>>>,
    _stop: DropGuard,
}

struct Work {
    launcher: Launcher,
    deployments: Api<Deployment>,
    pods: Arc<Mutex<Vec<AgentPod>>>,
    /// Whether a new pod begins while the one that it replaces still ends.
    overlapping: bool,
    /// The templates that were rolled out, by the UID of their Deployment.
    rolled_out: BTreeMap<String, String>,
    made: usize,
}

impl Agent {
    /// Starts it.
    pub(crate) fn start(stage: &MigrationCluster, node: &str, run: &str, overlapping: bool) -> Self {
        let pods = Arc::new(Mutex::new(Vec::new()));
        let mut work = Work {
            launcher: Launcher::new(stage, node, run),
            deployments: Api::namespaced(stage.client.clone(), SYSTEM),
            pods: pods.clone(),
            overlapping,
            rolled_out: BTreeMap::new(),
            made: 0,
        };
        let stop = CancellationToken::new();
        let looking = async move {
            loop {
                if let Err(error) = work.look().await {
                    println!("the node agent: {error:#}");
                }
                sleep(LOOK).await;
            }
        };
        tokio::spawn(stop.clone().run_until_cancelled_owned(looking));
        Self { pods, _stop: stop.drop_guard() }
    }

    /// Ends a process of a manager, the hard way or not; whether there was one.
    pub(crate) async fn end(&self, side: Side, which: usize, hard: bool) -> anyhow::Result<bool> {
        let mut pods = self.pods.lock().await;
        let mut running: Vec<&mut AgentPod> =
            pods.iter_mut().filter_map(|pod| (pod.side() == side && pod.runs()).then_some(pod)).collect();
        let count = running.len().max(1);
        let Some(pod) = running.get_mut(which % count) else { return Ok(false) };
        pod.end_process(hard)?;
        Ok(true)
    }

    /// Ends everything.
    pub(crate) async fn clear(&self) {
        self.pods.lock().await.clear();
    }
}

impl Work {
    async fn look(&mut self) -> anyhow::Result<()> {
        let found = self.deployments.list(&ListParams::default()).await?.items;
        let pods = self.pods.clone();
        let mut pods = pods.lock().await;
        for pod in pods.iter_mut() {
            pod.look(&self.launcher).await?;
        }
        pods.retain(|pod| !pod.is_gone());
        for pod in pods.iter_mut() {
            let is_wanted = found.iter().any(|each| each.uid().as_deref() == Some(pod.owner()));
            if !is_wanted {
                pod.end(&self.launcher).await?;
            }
        }
        for deployment in &found {
            self.roll(deployment, &mut pods).await?;
        }
        Ok(())
    }

    /// One step of a rollout: one pod goes, and one comes (maxSurge 0, maxUnavailable 1).
    async fn roll(&mut self, deployment: &Deployment, pods: &mut Vec<AgentPod>) -> anyhow::Result<()> {
        let uid = deployment.uid().unwrap_or_default();
        let spec = deployment.spec.clone().unwrap_or_default();
        let desired = usize::try_from(spec.replicas.unwrap_or(1))?;
        let template = serde_json::to_string(&spec.template)?;
        let is_live = |pod: &AgentPod| pod.owner() == uid && !pod.is_ending();
        let live = pods.iter().filter(|pod| is_live(pod)).count();
        let ready = pods.iter().filter(|pod| is_live(pod) && pod.is_ready()).count();
        let old = pods.iter_mut().find(|pod| is_live(pod) && pod.template() != template);
        if let Some(old) = old
            && (live > desired || ready >= desired || !old.is_ready())
        {
            old.end(&self.launcher).await?;
        } else if live > desired {
            for pod in pods.iter_mut().filter(|pod| is_live(pod)).take(live - desired) {
                pod.end(&self.launcher).await?;
            }
        }
        let live = pods.iter().filter(|pod| is_live(pod)).count();
        let is_ending = pods.iter().any(|pod| pod.owner() == uid && pod.is_ending());
        if live < desired && (self.overlapping || !is_ending) {
            self.made += 1;
            pods.push(AgentPod::create(&self.launcher, deployment, template.clone(), self.made).await?);
        }
        let counted: Vec<&AgentPod> = pods.iter().filter(|pod| is_live(pod)).collect();
        self.tell(deployment, &counted, &template, desired).await
    }

    async fn tell(
        &mut self,
        deployment: &Deployment,
        pods: &[&AgentPod],
        template: &str,
        desired: usize,
    ) -> anyhow::Result<()> {
        let uid = deployment.uid().unwrap_or_default();
        let updated = pods.iter().filter(|pod| pod.template() == template).count();
        let ready = pods.iter().filter(|pod| pod.is_ready()).count();
        let is_complete = updated == desired && pods.len() == desired && ready == desired;
        if is_complete {
            self.rolled_out.insert(uid.clone(), template.to_owned());
        }
        let is_out = self.rolled_out.get(&uid).is_some_and(|known| known == template);
        let reason = if is_out { "NewReplicaSetAvailable" } else { "ReplicaSetUpdated" };
        let status = json!({
            "observedGeneration": deployment.metadata.generation, "replicas": pods.len(), "updatedReplicas": updated,
            "readyReplicas": ready, "availableReplicas": ready,
            "conditions": [{ "type": "Progressing", "status": "True", "reason": reason, "message": "" }],
        });
        let known = serde_json::to_value(&deployment.status)?;
        if is_told(&known, &status) {
            return Ok(());
        }
        let patch = Patch::Merge(json!({ "status": status }));
        let name = deployment.name_any();
        match self.deployments.patch_status(&name, &PatchParams::default(), &patch).await {
            Err(kube::Error::Api(status)) if status.is_not_found() => Ok(()),
            other => Ok(other.map(drop)?),
        }
    }
}

/// Whether a status says this already; zero is the same as nothing.
fn is_told(known: &Value, wanted: &Value) -> bool {
    let number = |status: &Value, field: &str| status[field].as_i64().unwrap_or(0);
    let fields = ["observedGeneration", "replicas", "updatedReplicas", "readyReplicas", "availableReplicas"];
    fields.iter().all(|field| number(known, field) == number(wanted, field))
        && known["conditions"][0]["reason"] == wanted["conditions"][0]["reason"]
}

/// How long ago something was.
fn age(since: Instant) -> Duration {
    Instant::now().duration_since(since)
}
