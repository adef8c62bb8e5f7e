//! SR-4, claim before control: only nodes of this cloud are ever tainted, labelled or deleted. Bare-metal, edge and other
//! clouds' nodes are left alone, whatever anybody says about their machines.

use bowline_cloud::{Claim, Instances, NodeView};

/// Nodes, told apart by whose they are.
#[derive(Debug)]
pub struct Claimed<N> {
    /// This cloud's: they may be acted on.
    pub ours: Vec<N>,
    /// Somebody else's, each with the reason: they may not.
    pub foreign: Vec<(N, String)>,
}

/// Asks the cloud of every node whether it is its own.
pub fn claimed<N>(
    instances: &dyn Instances,
    nodes: impl IntoIterator<Item = N>,
    view: impl Fn(&N) -> &NodeView,
) -> Claimed<N> {
    let mut answer = Claimed { ours: Vec::new(), foreign: Vec::new() };
    for node in nodes {
        match instances.claims(view(&node)) {
            Claim::Ours => answer.ours.push(node),
            Claim::NotOurs(why) => answer.foreign.push((node, why)),
        }
    }
    answer
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use async_trait::async_trait;
    use bowline_cloud::{Doubt, Evidence, Instance, Text};

    use super::*;

    struct Ours;

    #[async_trait]
    impl Instances for Ours {
        fn claims(&self, node: &NodeView) -> Claim {
            match node.provider_id.as_deref() {
                Some(id) if !id.starts_with("ours://") => Claim::NotOurs(format!("its provider ID is {id}")),
                _ => Claim::Ours,
            }
        }
        async fn observe(&self, _: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
            Vec::new()
        }
        async fn confirm(&self, _: &NodeView) -> Evidence<Instance> {
            Evidence::Unknown(Doubt::new("nobody asked"))
        }
    }

    #[test]
    fn a_node_of_another_cloud_is_set_aside_with_the_reason_and_ours_pass() {
        let node = |id: &str| {
            let provider_id = Some(id.into()).filter(|id: &Text| !id.is_empty());
            NodeView { provider_id, ..NodeView::default() }
        };
        let nodes = [node("ours://1"), node("metal://2"), node("")];
        let Claimed { ours, foreign } = claimed(&Ours, nodes, |node| node);
        assert_eq!(ours.len(), 2, "one with our scheme, one that has no provider ID yet");
        assert_eq!(foreign.len(), 1);
        assert_eq!(foreign[0].1, "its provider ID is metal://2");
    }
}
