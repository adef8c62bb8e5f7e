//! The end of a resource: refused as long as somebody depends on the manager, and then without a trace.

use std::collections::BTreeSet;

use bowline_kube::objects::Pod;
use bowline_kube::queue::Outcome;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::ListParams;
use kube::{Api, ResourceExt};
use tracing::info;

use super::pass::Work;
use super::steps::Steps;
use super::{Operator, Problem};
use crate::api::{CloudControllerManager, FINALIZER, OWNER_LABEL};
use crate::apply::{ObjectId, Target, inventory_name};
use crate::migration::{Uninstall, uninstall};
use crate::rollout::OperatorStatus;

impl Operator {
    /// The end of a resource.
    pub(super) async fn remove(&self, resource: &CloudControllerManager) -> Outcome {
        if !resource.finalizers().iter().any(|name| name == FINALIZER) {
            return Outcome::Done;
        }
        match self.try_remove(resource).await {
            Ok(outcome) => outcome,
            Err(problem) => {
                let work = Work { problem: Some(problem), ..Work::default() };
                self.tell(resource, work).await
            }
        }
    }

    async fn try_remove(&self, resource: &CloudControllerManager) -> Result<Outcome, Problem> {
        let cluster = self.look_at_cluster().await?;
        let base = self.naming(resource).await?.base(&resource.name_any());
        let observed = self.observe(resource, &cluster, &base, None, None).await;
        let status = resource.status.clone().unwrap_or_default();
        let verdict = uninstall(&self.case(resource, &status, &observed));
        self.tell_removal(resource, &verdict).await?;
        let steps = match verdict {
            Uninstall::Refused { .. } => return Ok(Outcome::RetryAfter(self.resync)),
            _ if resource.spec.paused => return Ok(Outcome::RetryAfter(self.resync)),
            Uninstall::Stopping { steps, .. } => steps,
            Uninstall::Removable => Vec::new(),
        };
        let execute = Steps { client: &self.client, writer: &self.writer, now: self.now() };
        execute.execute(&steps).await?;
        let is_gone = self.remove_objects(resource).await?;
        if !is_gone {
            return Ok(Outcome::RetryAfter(self.timings.look));
        }
        let mut finalizers = resource.metadata.finalizers.clone().unwrap_or_default();
        finalizers.retain(|finalizer| finalizer != FINALIZER);
        self.set_finalizers(resource, &finalizers).await?;
        let name = resource.name_any();
        self.failures().remove(&name);
        info!(name, "removed");
        Ok(Outcome::Done)
    }

    /// Removes what the inventory lists; whether it is all gone. The pods go first: they need their rights to give the Lease
    /// back.
    async fn remove_objects(&self, resource: &CloudControllerManager) -> Result<bool, Problem> {
        let (name, namespace) = (resource.name_any(), resource.spec.namespace.clone());
        // Nothing is made here, so there is nothing to take over.
        let target = Target { owner: &name, namespace: &namespace, adopt: false };
        let inventory = self.applier.inventory(target).await?;
        let is_workload = |id: &&ObjectId| matches!(id.kind.as_str(), "Deployment" | "DaemonSet");
        let rest: BTreeSet<ObjectId> = inventory
            .entries()
            .iter()
            .map(|entry| &entry.id)
            .filter(|id| !is_workload(id))
            .cloned()
            .collect();
        for kept in [rest, BTreeSet::new()] {
            let applied = self.applier.apply(target, Vec::new(), &kept).await?;
            self.note(resource, &applied);
            if !applied.awaited.is_empty() || self.has_pods(&name, &namespace).await? {
                return Ok(false);
            }
        }
        self.forget_inventory(&name, &namespace).await?;
        Ok(true)
    }

    async fn has_pods(&self, name: &str, namespace: &str) -> Result<bool, Problem> {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), namespace);
        let selector = ListParams::default().labels(&format!("{}={name}", OWNER_LABEL));
        let pods = pods.list(&selector).await.map_err(Problem::read("pods of the manager"))?;
        Ok(!pods.items.is_empty())
    }

    async fn forget_inventory(&self, name: &str, namespace: &str) -> Result<(), Problem> {
        let inventories: Api<ConfigMap> = Api::namespaced(self.client.clone(), namespace);
        let inventory =
            inventories.get_opt(&inventory_name(name)).await.map_err(Problem::read("the inventory"))?;
        if let Some(uid) = inventory.and_then(|inventory| inventory.metadata.uid) {
            let deleted = self.writer.delete::<ConfigMap>(Some(namespace), &inventory_name(name), &uid).await;
            deleted.map_err(|error| Problem::Step {
                what: "delete the inventory".to_owned(),
                why: error.to_string(),
            })?;
        }
        Ok(())
    }

    async fn tell_removal(
        &self,
        resource: &CloudControllerManager,
        verdict: &Uninstall,
    ) -> Result<(), Problem> {
        let (reason, message) = match verdict {
            Uninstall::Refused { message } => ("UninstallRefused", message.as_str()),
            Uninstall::Stopping { message, .. } => ("Uninstalling", message.as_str()),
            Uninstall::Removable => ("Uninstalling", "what was installed is being removed"),
        };
        let is_refused = matches!(verdict, Uninstall::Refused { .. });
        let mut new = resource.status.clone().unwrap_or_default();
        let mut conditions = OperatorStatus { conditions: new.conditions, versions: Vec::new() };
        let now = self.now();
        let said = |yes: bool| if yes { "True" } else { "False" };
        conditions.set("Progressing", said(!is_refused), reason, message, now);
        let action = if is_refused { message } else { "" };
        conditions.set("ActionRequired", said(is_refused), reason, action, now);
        new.conditions = conditions.conditions;
        new.message = Some(message.to_owned());
        let published = self.reporter(resource).publish(new).await;
        published
            .map_err(|error| Problem::Step { what: "write the status".to_owned(), why: error.to_string() })
    }
}
