//! Looks up the machines of Nodes without provider ID that no controller has observed yet (SR-4).
//!
//! The node controller usually observes the machine of a Node first. It may be disabled, or not have processed a new Node yet, and routes
//! must not wait for that. A physical machine is looked up again only every few minutes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Claim, Evidence, Instances, NodeView, Text};
use tokio::time::Instant;

use crate::controller::ControllerContext;
use crate::rails::claim;

/// How long to wait before a Node whose machine was not found is looked up again.
const AGAIN: Duration = Duration::from_secs(300);

/// When each Node without a known machine was last looked up, by UID.
#[derive(Debug, Default)]
pub(super) struct Lookups(BTreeMap<Text, Instant>);

impl Lookups {
    /// Looks up the machines of the due Nodes in one call, and shares the results with all controllers.
    pub(super) async fn run(&mut self, context: &ControllerContext, instances: &dyn Instances, now: Instant) {
        let snapshot = context.nodes.snapshot();
        let nodes = snapshot.objects().iter().map(|object| &object.view);
        let unseen: Vec<Arc<NodeView>> = nodes
            .filter(|node| claim::judge(node, &context.machines).is_err())
            .filter(|node| claim::whose(&context.node_filter, instances, node) == Claim::Ours)
            .cloned()
            .collect();
        self.0.retain(|uid, _at| unseen.iter().any(|node| node.uid == *uid));
        let is_due = |node: &Arc<NodeView>| {
            self.0.get(&node.uid).is_none_or(|at| now.saturating_duration_since(*at) >= AGAIN)
        };
        let due: Vec<_> = unseen.into_iter().filter(is_due).collect();
        if due.is_empty() {
            return;
        }
        let answers = instances.observe(&due).await;
        for (node, answer) in due.iter().zip(answers) {
            self.0.insert(node.uid.clone(), now);
            if let Evidence::Present(instance) = answer {
                context.machines.saw(node, &instance.provider_id);
            }
        }
    }
}
