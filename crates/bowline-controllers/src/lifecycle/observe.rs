//! Requests the state of machines from the cloud, and counts the requests under the names of upstream's metrics. Decides nothing.

use std::sync::Arc;

use bowline_cloud::{Doubt, ErrorClass, Evidence, Instance, Instances, NodeView, Power, Text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use tokio_util::sync::CancellationToken;

use super::plan::Sight;
use crate::metrics::CloudCallLabels;

/// Sends requests until it is cancelled.
pub(super) struct Observer<'a> {
    pub(super) instances: &'a dyn Instances,
    pub(super) calls: &'a Family<CloudCallLabels, Counter>,
    pub(super) cancel: &'a CancellationToken,
}

impl Observer<'_> {
    /// One request for all Nodes. Returns one result per Node, in their order; `None` if cancelled.
    pub(super) async fn look(&self, nodes: &[Arc<NodeView>]) -> Option<Vec<Sight>> {
        if nodes.is_empty() {
            return Some(Vec::new());
        }
        let Some(mut answers) = self.cancel.run_until_cancelled(self.instances.presence(nodes)).await else {
            self.count("instance_exists", "canceled");
            return None;
        };
        // A provider that returns too few results has said nothing about the rest.
        answers.resize_with(nodes.len(), || Evidence::Unknown(Doubt::new("the cloud gave no answer for it")));
        answers.iter().for_each(|answer| self.counted(answer));
        Some(answers.into_iter().map(Sight::from).collect())
    }

    /// Observes the machines of these Nodes, mainly for their provider IDs. `None` if cancelled.
    pub(super) async fn identify(&self, nodes: &[Arc<NodeView>]) -> Option<Vec<Evidence<Instance>>> {
        if nodes.is_empty() {
            return Some(Vec::new());
        }
        self.cancel.run_until_cancelled(self.instances.observe(nodes)).await
    }

    /// Reads the machine of one Node directly. `None` if cancelled.
    ///
    /// A Node without provider ID is looked up by its name first. If that finds nothing, it proves nothing; the machine is then read by the
    /// provider ID `seen` that the cloud returned earlier.
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

    /// Counts one answer under the two operations that upstream uses for it.
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
