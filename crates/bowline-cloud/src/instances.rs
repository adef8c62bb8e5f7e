//! Instances: the machines behind the Nodes. Batch first.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;

use crate::{Evidence, NodeAddress, NodeView};

/// Finds the machines behind Nodes.
#[async_trait]
pub trait Instances: Send + Sync {
    /// Whether a Node is ours at all (safety rail SR-4). Nodes of other clouds are left alone.
    fn claims(&self, node: &NodeView) -> Claim;

    /// Looks up many Nodes at once; the answers stand in the order of `nodes`, one for each.
    ///
    /// May answer from a snapshot of the whole project, so one that is not in the snapshot is
    /// [`Evidence::Unknown`] here unless a direct read of this very call proved it gone. Its doubt must have the class
    /// [`NotFound`](crate::ErrorClass::NotFound): only that leads to [`confirm`](Self::confirm), every other doubt means
    /// that the cloud could not say.
    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>>;

    /// Whether the machines of many Nodes are there and run, by the rules of [`observe`](Self::observe). A cloud that can tell
    /// this with fewer calls than all the rest does so here: Nodes that are not ready are asked about again and again.
    async fn presence(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Power>> {
        let found = self.observe(nodes).await;
        found.into_iter().map(|found| found.map(|instance| instance.power)).collect()
    }

    /// Reads one Node's machine directly, past every cache. A Node is deleted only after this says it is gone.
    async fn confirm(&self, node: &NodeView) -> Evidence<Instance>;
}

/// Whether a Node belongs to this cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// Its provider ID, region or selector says so, or it has none yet and may be ours.
    Ours,
    /// It belongs to somebody else; the reason is for people.
    NotOurs(String),
}

/// All that one look at a machine tells. Make it with `..Instance::default()`: fields may be added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instance {
    /// `<provider>://<id>`.
    pub provider_id: String,
    /// The instance type or flavor.
    pub instance_type: Option<String>,
    /// The addresses, in the order they shall have on the Node. Empty means "not known yet", never "has none".
    pub addresses: Vec<NodeAddress>,
    /// The failure domain.
    pub zone: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// Further labels for the Node.
    pub additional_labels: BTreeMap<String, String>,
    /// Whether it runs.
    pub power: Power,
}

/// Whether a machine runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Power {
    /// It runs, or is on its way there.
    Running,
    /// It is shut down: its Node gets the shutdown taint.
    ShutDown,
    /// The cloud cannot tell: no taint is set or removed.
    #[default]
    NotReported,
}

/// A cloud that can only answer for one machine at a time.
#[async_trait]
pub trait InstanceLookup: Send + Sync {
    /// As [`Instances::claims`].
    fn claims(&self, node: &NodeView) -> Claim;

    /// Reads the machine behind one Node.
    async fn look_up(&self, node: &NodeView) -> Evidence<Instance>;
}

#[async_trait]
impl<L: InstanceLookup + ?Sized> InstanceLookup for Arc<L> {
    fn claims(&self, node: &NodeView) -> Claim {
        self.as_ref().claims(node)
    }

    async fn look_up(&self, node: &NodeView) -> Evidence<Instance> {
        self.as_ref().look_up(node).await
    }
}

/// Puts one-by-one look-ups behind the batch trait, with a limit on how many run at once.
#[derive(Debug)]
pub struct OneByOne<L> {
    lookup: L,
    at_once: usize,
}

impl<L: InstanceLookup> OneByOne<L> {
    /// At most `at_once` look-ups run at the same time: enough to hide latency, few enough for the cloud's API.
    pub fn new(lookup: L, at_once: usize) -> Self {
        Self { lookup, at_once: at_once.max(1) }
    }
}

#[async_trait]
impl<L: InstanceLookup> Instances for OneByOne<L> {
    fn claims(&self, node: &NodeView) -> Claim {
        self.lookup.claims(node)
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        // The futures are made before the stream: a closure that borrows both would not be general enough for it.
        let reads: Vec<_> = nodes.iter().map(|node| self.lookup.look_up(node)).collect();
        futures::stream::iter(reads).buffered(self.at_once).collect().await
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        self.lookup.look_up(node).await
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::task::Poll;

    use futures::executor::block_on;

    use super::*;
    use crate::Doubt;

    /// A cloud that is asked by name and counts how many look-ups run at the same time.
    #[derive(Default)]
    struct Counting {
        running: AtomicUsize,
        most: AtomicUsize,
    }

    #[async_trait]
    impl InstanceLookup for Counting {
        fn claims(&self, _: &NodeView) -> Claim {
            Claim::Ours
        }

        async fn look_up(&self, node: &NodeView) -> Evidence<Instance> {
            let running = self.running.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(running, Ordering::Relaxed);
            // Give way once, so that others can start.
            let mut gave_way = false;
            futures::future::poll_fn(|cx| match std::mem::replace(&mut gave_way, true) {
                true => Poll::Ready(()),
                false => {
                    cx.waker().wake_by_ref();
                    Poll::Pending
                }
            })
            .await;
            self.running.fetch_sub(1, Ordering::Relaxed);
            match node.name.as_str() {
                "lost" => Evidence::Unknown(Doubt::new("time-out")),
                name => {
                    Evidence::Present(Instance { provider_id: format!("x://{name}"), ..Instance::default() })
                }
            }
        }
    }

    #[test]
    fn one_by_one_answers_in_order_and_keeps_its_limit_and_one_failure_spoils_no_other() {
        let names = ["a", "lost", "c", "d", "e"];
        let nodes: Vec<_> = names
            .iter()
            .map(|name| Arc::new(NodeView { name: (*name).into(), ..NodeView::default() }))
            .collect();
        let adapter = OneByOne::new(Counting::default(), 2);
        let ids: Vec<_> = block_on(adapter.observe(&nodes))
            .into_iter()
            .map(|evidence| evidence.known().ok().flatten().map(|instance| instance.provider_id))
            .collect();
        assert_eq!(
            ids,
            [Some("x://a"), None, Some("x://c"), Some("x://d"), Some("x://e")].map(|id| id.map(String::from))
        );
        assert_eq!(adapter.lookup.most.load(Ordering::Relaxed), 2);
    }
}
