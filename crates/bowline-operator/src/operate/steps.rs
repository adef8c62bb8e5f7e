//! Executes the steps of a migration, to the letter. Each is guarded by what was seen: another object of the same name is not
//! touched.

use bowline_kube::objects::{DaemonSet, Deployment, Node};
use bowline_kube::write::{Change, Guard, WriteError, Writer};
use jiff::Timestamp;
use k8s_openapi::api::core::v1::Taint;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::Problem;
use crate::migration::{ManagerWorkload, NodeFacts, Step, WorkloadKind, WorkloadRef};

/// Executes steps.
pub(super) struct Steps<'a> {
    pub(super) client: &'a Client,
    pub(super) writer: &'a Writer,
    pub(super) now: Timestamp,
}

impl Steps<'_> {
    /// All of them, in order; the first that fails ends it.
    ///
    /// # Errors
    ///
    /// With the step that failed.
    pub(super) async fn execute(&self, steps: &[Step]) -> Result<(), Problem> {
        for step in steps {
            let failed = |why: String| Problem::Step { what: format!("{step:?}"), why };
            match step {
                Step::ScaleDown { workload, replicas } => self.scale_down(workload, *replicas).await,
                Step::ScaleUp { workload, replicas } => self.scale_up(workload, *replicas).await,
                Step::DeletePrevious { workload } => self.delete(workload).await,
                Step::TaintNode { name, uid } => self.taint(name, uid, true).await,
                Step::UntaintNode { name, uid } => self.taint(name, uid, false).await,
            }
            .map_err(failed)?;
            tracing::info!(?step, "executed a step");
        }
        Ok(())
    }

    async fn scale_down(&self, workload: &WorkloadRef, replicas: i32) -> Result<(), String> {
        let (key, value) = ManagerWorkload::STOPPED;
        let annotations = json!({ ManagerWorkload::PREVIOUS_REPLICAS: replicas.to_string() });
        let spec = match workload.kind {
            WorkloadKind::Deployment => json!({ "replicas": 0 }),
            WorkloadKind::DaemonSet => json!({ "template": { "spec": { "nodeSelector": { key: value } } } }),
            WorkloadKind::Pod => return Err(not_ours_to_stop(workload)),
        };
        self.change(workload, json!({ "metadata": { "annotations": annotations }, "spec": spec })).await
    }

    async fn scale_up(&self, workload: &WorkloadRef, replicas: i32) -> Result<(), String> {
        let (key, _) = ManagerWorkload::STOPPED;
        let annotations = json!({ ManagerWorkload::PREVIOUS_REPLICAS: null });
        let spec = match workload.kind {
            WorkloadKind::Deployment => json!({ "replicas": replicas }),
            WorkloadKind::DaemonSet => json!({ "template": { "spec": { "nodeSelector": { key: null } } } }),
            WorkloadKind::Pod => return Err(not_ours_to_stop(workload)),
        };
        self.change(workload, json!({ "metadata": { "annotations": annotations }, "spec": spec })).await
    }

    async fn change(&self, workload: &WorkloadRef, patch: Value) -> Result<(), String> {
        let WorkloadRef { kind, namespace, name, uid } = workload;
        let (guard, change) = (Guard::Uid(uid.clone()), Change::Merge(patch));
        let (namespace, writer) = (Some(namespace.as_str()), self.writer);
        let written = match kind {
            WorkloadKind::DaemonSet => writer.patch::<DaemonSet>(namespace, name, &guard, change).await,
            _ => writer.patch::<Deployment>(namespace, name, &guard, change).await,
        };
        written.map(drop).map_err(|error| error.to_string())
    }

    async fn delete(&self, workload: &WorkloadRef) -> Result<(), String> {
        let WorkloadRef { kind, namespace, name, uid } = workload;
        let namespace = Some(namespace.as_str());
        let deleted = match kind {
            WorkloadKind::Deployment => self.writer.delete::<Deployment>(namespace, name, uid).await,
            WorkloadKind::DaemonSet => self.writer.delete::<DaemonSet>(namespace, name, uid).await,
            WorkloadKind::Pod => return Err(not_ours_to_stop(workload)),
        };
        match deleted {
            Ok(_) | Err(WriteError::Replaced { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }

    /// Taints are one list without keys, so the whole of it is written over the version that was read.
    async fn taint(&self, name: &str, uid: &str, is_wanted: bool) -> Result<(), String> {
        let nodes: Api<Node> = Api::all(self.client.clone());
        let Some(node) = nodes.get_opt(name).await.map_err(|error| error.to_string())? else {
            return Ok(());
        };
        if node.metadata.uid.as_deref() != Some(uid) {
            return Ok(());
        }
        let taints = node.spec.as_ref().and_then(|spec| spec.taints.clone()).unwrap_or_default();
        let Some(taints) = with_taint(taints, is_wanted) else { return Ok(()) };
        // The mark stays when the taint goes: by it, a node that was given up is not tainted again at once.
        let patch = if is_wanted {
            let marks = json!({ NodeFacts::TAINTED_BY: self.now.to_string() });
            json!({ "metadata": { "annotations": marks }, "spec": { "taints": taints } })
        } else {
            json!({ "spec": { "taints": taints } })
        };
        let guard = Guard::ResourceVersion(node.metadata.resource_version.unwrap_or_default());
        let written = self.writer.patch::<Node>(None, name, &guard, Change::Merge(patch)).await;
        written.map(drop).map_err(|error| error.to_string())
    }
}

fn not_ours_to_stop(workload: &WorkloadRef) -> String {
    format!("{} cannot be stopped by the operator: remove it from its node's manifests", workload.key())
}

/// The taints with, or without, ours; `None` if they are so already.
pub(super) fn with_taint(mut taints: Vec<Taint>, is_wanted: bool) -> Option<Vec<Taint>> {
    let is_there = taints.iter().any(|taint| taint.key == NodeFacts::TAINT);
    match (is_there, is_wanted) {
        (true, true) | (false, false) => None,
        (false, true) => {
            taints.push(Taint {
                key: NodeFacts::TAINT.to_owned(),
                value: Some("true".to_owned()),
                effect: "NoSchedule".to_owned(),
                time_added: None,
            });
            Some(taints)
        }
        (true, false) => {
            taints.retain(|taint| taint.key != NodeFacts::TAINT);
            Some(taints)
        }
    }
}
