//! The loop that keeps the addresses of initialized Nodes up to date: every few minutes, one lookup for all of them.
//!
//! Writes only what differs. Nodes for which the cloud gives no answer stay unchanged.

use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Evidence, Instance};
use bowline_kube::write::{Guard, WriteClass, WriteError, Written};
use futures::StreamExt;
use tokio_util::sync::CancellationToken;
use tracing::{debug, warn};

use super::addresses::plan_addresses;
use super::plan::{Differing, is_uninitialized, plan_labels, plan_stable_labels};
use super::{KnownNode, Work, execute};

/// The reason of the event about addresses that could not be chosen or written.
const NOT_UPDATED: &str = "NodeAddressesNotUpdated";

/// A pass in which a write failed is repeated after this time, or after the period if that is shorter.
const REPEAT_AFTER: Duration = Duration::from_secs(60);

impl Work {
    /// Runs a pass at once and after each period, until `cancel`.
    pub(super) async fn refresh_forever(&self, cancel: &CancellationToken) {
        loop {
            let all_written = self.refresh(cancel).await;
            let period = self.options.status_update_frequency;
            let pause = if all_written { period } else { period.min(REPEAT_AFTER) };
            if cancel.run_until_cancelled(tokio::time::sleep(pause)).await.is_none() {
                return;
            }
        }
    }

    /// One pass. Returns whether every necessary write succeeded.
    async fn refresh(&self, cancel: &CancellationToken) -> bool {
        let everything = self.context.nodes.snapshot();
        let ours = |node: &&Arc<KnownNode>| !is_uninitialized(&node.view) && self.is_claimed(&node.view);
        let nodes: Vec<_> = everything.objects().iter().filter(ours).cloned().collect();
        let Some(answers) = cancel.run_until_cancelled(self.observe(&nodes)).await else { return true };
        let at_once = self.options.concurrent_status_updates.max(1);
        let updates = futures::stream::iter(nodes.into_iter().zip(answers));
        let written = updates
            .map(|(node, found)| async move { self.update(&node, &found, cancel).await })
            .buffer_unordered(at_once);
        written.fold(true, |all, one| async move { all && one }).await
    }

    async fn update(
        &self,
        asked: &KnownNode,
        found: &Evidence<Instance>,
        cancel: &CancellationToken,
    ) -> bool {
        let instance = match found {
            Evidence::Present(instance) => instance,
            Evidence::Absent(proof) => {
                debug!(node = %asked.view.name, %proof, "no machine; its addresses stay");
                return true;
            }
            Evidence::Unknown(doubt) => {
                warn!(node = %asked.view.name, %doubt, "the cloud cannot tell; addresses stay");
                return true;
            }
        };
        self.saw(asked, found);
        let now = self
            .context
            .nodes
            .get(&asked.key)
            .filter(|now| now.uid == asked.uid && self.is_selected(&now.view));
        match now {
            Some(node) if !cancel.is_cancelled() && !is_uninitialized(&node.view) => {
                let addresses = self.update_addresses(&node, instance).await;
                self.update_labels(&node, instance).await && addresses
            }
            _gone_or_too_late => true,
        }
    }

    async fn update_addresses(&self, node: &KnownNode, instance: &Instance) -> bool {
        let addresses = match plan_addresses(&node.view, &instance.addresses) {
            Ok(None) => return true,
            Ok(Some(addresses)) => addresses,
            Err(why) => {
                self.warn_about(&node.view, NOT_UPDATED, &format!("Node addresses stay as they are: {why}"));
                return true;
            }
        };
        let guard = Guard::Uid(node.uid.to_string());
        let written = execute::write_addresses(&self.context.writer, node, &guard, &addresses).await;
        self.went_well(node, written)
    }

    async fn update_labels(&self, node: &KnownNode, instance: &Instance) -> bool {
        let mut labels = plan_stable_labels(&node.view);
        if self.options.reconcile_labels {
            labels.extend(plan_labels(&node.view, instance, Differing::Replaced).0);
        }
        if labels.is_empty() {
            return true;
        }
        let written = execute::write_labels(&self.context.writer, node, &labels).await;
        self.went_well(node, written)
    }

    fn went_well(&self, node: &KnownNode, written: Result<Written, WriteError>) -> bool {
        match written {
            Ok(_written) => true,
            // The Node was deleted, or replaced by another one that the next pass handles.
            Err(error) if error.class() == WriteClass::NotFound => true,
            // No event: the fence opens again, or this process is about to end.
            Err(error) if error.class() == WriteClass::Fenced => false,
            Err(error) => {
                self.warn_about(&node.view, NOT_UPDATED, &error.to_string());
                false
            }
        }
    }
}
