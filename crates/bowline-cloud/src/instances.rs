//! Instances: the machines behind the Nodes. The interface works in batches.

use std::collections::BTreeMap;
use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;

use crate::{Evidence, NodeAddress, NodeView};

/// Finds the machines behind Nodes.
#[async_trait]
pub trait Instances: Send + Sync {
    /// Whether a Node belongs to this cloud (safety rail SR-4). The controllers do not touch Nodes of other clouds.
    fn claims(&self, node: &NodeView) -> Claim;

    /// Looks up many Nodes at once. Returns one result for each of `nodes`, in the same order.
    ///
    /// The provider may answer from a snapshot of the whole project. An instance that is missing in the snapshot is [`Evidence::Unknown`]
    /// with class [`NotFound`](crate::ErrorClass::NotFound), unless a direct read during this call proved that it does not exist. Of the
    /// unknown results, only those of this class lead to [`confirm`](Self::confirm); any other class means that the cloud could not answer.
    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>>;

    /// Whether the instances of many Nodes exist and run, with the same rules as [`observe`](Self::observe). A provider that can answer
    /// this with fewer calls overrides it, because the framework asks about Nodes that are not ready again and again.
    async fn presence(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Power>> {
        let found = self.observe(nodes).await;
        found.into_iter().map(|found| found.map(|instance| instance.power)).collect()
    }

    /// Reads the instance of one Node directly, without any cache. A Node is deleted only if this returns [`Evidence::Absent`].
    async fn confirm(&self, node: &NodeView) -> Evidence<Instance>;
}

/// Whether a Node belongs to this cloud.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Claim {
    /// The provider ID, region or selector of the Node matches this cloud, or the Node has no provider ID yet and may belong to it.
    Ours,
    /// The Node belongs to another cloud; the text says why, for people.
    NotOurs(String),
}

/// The result of one lookup of an instance. Construct it with `..Instance::default()`, because fields may be added.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Instance {
    /// `<provider>://<id>`.
    pub provider_id: String,
    /// The instance type or flavor.
    pub instance_type: Option<String>,
    /// The addresses, in the order that they should have on the Node. Empty means that they are not known yet, not that the instance has
    /// none.
    pub addresses: Vec<NodeAddress>,
    /// The failure domain.
    pub zone: Option<String>,
    /// The region.
    pub region: Option<String>,
    /// Further labels for the Node.
    pub additional_labels: BTreeMap<String, String>,
    /// Whether the instance runs.
    pub power: Power,
}

/// Whether an instance runs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Power {
    /// It runs or is starting.
    Running,
    /// It is shut down: its Node gets the shutdown taint.
    ShutDown,
    /// The cloud does not report it: no taint is set or removed.
    #[default]
    NotReported,
}

/// A cloud that can only look up one instance at a time. [`OneByOne`] turns it into [`Instances`].
#[async_trait]
pub trait InstanceLookup: Send + Sync {
    /// See [`Instances::claims`].
    fn claims(&self, node: &NodeView) -> Claim;

    /// Reads the instance of one Node.
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

/// Implements [`Instances`] with single lookups, of which a limited number run at the same time.
#[derive(Debug)]
pub struct OneByOne<L> {
    lookup: L,
    at_once: usize,
}

impl<L: InstanceLookup> OneByOne<L> {
    /// At most `at_once` lookups run at the same time, and at least one: enough to hide latency, few enough for the API of the cloud.
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
        // The futures are created before the stream: a closure that borrows both would not be general enough for it.
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

    /// A cloud that counts how many lookups run at the same time and fails for one name.
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
            // Yields once, so that other lookups can start.
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
