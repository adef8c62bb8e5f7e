//! Asks the cloud about machines, and counts the questions under upstream's names. Decides nothing.

use std::sync::Arc;

use bowline_cloud::{Doubt, ErrorClass, Evidence, Instance, Instances, NodeView, Power, Text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio_util::sync::CancellationToken;

use super::plan::Sight;
use crate::metrics::CloudCallLabels;

/// Asks until it is cancelled.
pub(super) struct Observer<'a> {
    pub(super) instances: &'a dyn Instances,
    pub(super) calls: &'a Family<CloudCallLabels, Counter>,
    pub(super) cancel: &'a CancellationToken,
}

impl Observer<'_> {
    /// One question for all nodes; an answer for each, in their order. `None` if cancelled.
    pub(super) async fn look(&self, nodes: &[Arc<NodeView>]) -> Option<Vec<Sight>> {
        if nodes.is_empty() {
            return Some(Vec::new());
        }
        let Some(mut answers) = self.cancel.run_until_cancelled(self.instances.presence(nodes)).await else {
            self.count("instance_exists", "canceled");
            return None;
        };
        // A provider that answers too little has said nothing about the rest.
        answers.resize_with(nodes.len(), || Evidence::Unknown(Doubt::new("the cloud gave no answer for it")));
        answers.iter().for_each(|answer| self.counted(answer));
        Some(answers.into_iter().map(Sight::from).collect())
    }

    /// Looks up all that the cloud tells of these nodes' machines: their provider IDs above all. `None` if cancelled.
    pub(super) async fn identify(&self, nodes: &[Arc<NodeView>]) -> Option<Vec<Evidence<Instance>>> {
        if nodes.is_empty() {
            return Some(Vec::new());
        }
        self.cancel.run_until_cancelled(self.instances.observe(nodes)).await
    }

    /// Reads one node's machine directly. `None` if cancelled.
    ///
    /// A node without provider ID is looked for by its name first. That it is not found so proves nothing; then the machine is
    /// read by the provider ID under which the cloud `seen` showed it before.
    pub(super) async fn confirm(&self, node: &NodeView, seen: Option<&Text>) -> Option<Evidence<Instance>> {
        match (self.read(node).await?, seen) {
            (Evidence::Unknown(doubt), Some(id))
                if node.provider_id.is_none() && doubt.class == ErrorClass::NotFound =>
            {
                self.read(&NodeView { provider_id: Some(id.clone()), ..node.clone() }).await
            }
            (answer, _) => Some(answer),
        }
    }

    async fn read(&self, node: &NodeView) -> Option<Evidence<Instance>> {
        let answer = self.cancel.run_until_cancelled(self.instances.confirm(node)).await;
        match &answer {
            Some(answer) => self.counted(&answer.as_ref().map(|instance| instance.power)),
            None => self.count("instance_exists", "canceled"),
        }
        answer
    }

    /// One answer tells what upstream asks in two questions.
    fn counted(&self, answer: &Evidence<Power>) {
        match answer {
            Evidence::Present(power) => {
                self.count("instance_exists", "success");
                let reported = *power != Power::NotReported;
                self.count("instance_shutdown", if reported { "success" } else { "not_implemented" });
            }
            Evidence::Absent(_) => self.count("instance_exists", "instance_not_found"),
            Evidence::Unknown(doubt) if doubt.class == ErrorClass::NotFound => {
                self.count("instance_exists", "instance_not_found");
            }
            Evidence::Unknown(_) => self.count("instance_exists", "error"),
        }
    }

    fn count(&self, operation: &'static str, result: &'static str) {
        self.calls.get_or_create(&CloudCallLabels { operation, result }).inc();
    }
}
