//! Instances that answer from a script.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use bowline_cloud::{Claim, Doubt, Evidence, Instance, Instances, NodeView, async_trait};
use parking_lot::Mutex;
use tokio::time::sleep;

use super::locked;

/// Which call an answer is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// [`Instances::observe`]
    Observe,
    /// [`Instances::confirm`]
    Confirm,
}

type Answer = Box<dyn Fn(&NodeView, Lookup) -> Evidence<Instance> + Send + Sync>;

/// Instances that answer for each Node what the test said last, by its provider ID or else its name. What has a provider ID of
/// another scheme than `fake://` is not claimed.
pub struct FakeInstances {
    said: Mutex<BTreeMap<String, [Evidence<Instance>; 2]>>,
    otherwise: Answer,
    observed: Mutex<Vec<Vec<String>>>,
    confirmed: Mutex<Vec<String>>,
    observe_takes: Mutex<Duration>,
    confirm_takes: Mutex<Duration>,
    limit: Mutex<usize>,
}

impl Default for FakeInstances {
    fn default() -> Self {
        Self::answering(|_, _| Evidence::Unknown(Doubt::new("not in the script")))
    }
}

impl FakeInstances {
    /// Instances that answer with this closure where the test said nothing else.
    pub fn answering(
        otherwise: impl Fn(&NodeView, Lookup) -> Evidence<Instance> + Send + Sync + 'static,
    ) -> Self {
        Self {
            said: Mutex::default(),
            otherwise: Box::new(otherwise),
            observed: Mutex::default(),
            confirmed: Mutex::default(),
            observe_takes: Mutex::default(),
            confirm_takes: Mutex::default(),
            limit: Mutex::new(usize::MAX),
        }
    }

    /// Instances that answer this for the Nodes of these names.
    pub fn with(said: impl IntoIterator<Item = (&'static str, Evidence<Instance>)>) -> Arc<Self> {
        let instances = Self::default();
        said.into_iter().for_each(|(name, found)| instances.say(name, found));
        Arc::new(instances)
    }

    /// Answers this for a Node from now on.
    pub fn say(&self, node: &str, found: Evidence<Instance>) {
        self.say_differently(node, found.clone(), found);
    }

    /// The same with different answers to [`Instances::observe`] and [`Instances::confirm`].
    pub fn say_differently(&self, node: &str, observed: Evidence<Instance>, confirmed: Evidence<Instance>) {
        locked(&self.said).insert(node.to_owned(), [observed, confirmed]);
    }

    /// Makes calls of this kind take so long. The answer is what the script says when the time is over for
    /// [`Instances::observe`], and what it said at the call for [`Instances::confirm`].
    pub fn take(&self, lookup: Lookup, duration: Duration) {
        *locked(self.latency(lookup)) = duration;
    }

    /// Makes [`Instances::observe`] answer for so many Nodes only.
    pub fn answer_at_most(&self, nodes: usize) {
        *locked(&self.limit) = nodes;
    }

    /// The names of the Nodes of each call of [`Instances::observe`].
    #[must_use]
    pub fn observed(&self) -> Vec<Vec<String>> {
        locked(&self.observed).clone()
    }

    /// The name of the Node of each call of [`Instances::confirm`].
    #[must_use]
    pub fn confirmed(&self) -> Vec<String> {
        locked(&self.confirmed).clone()
    }

    fn answer(&self, node: &NodeView, lookup: Lookup) -> Evidence<Instance> {
        let said = locked(&self.said);
        let by_id = node.provider_id.as_ref().and_then(|id| said.get(id.as_str()));
        match by_id.or_else(|| said.get(node.name.as_str())) {
            Some([observed, _]) if lookup == Lookup::Observe => observed.clone(),
            Some([_, confirmed]) => confirmed.clone(),
            None => (self.otherwise)(node, lookup),
        }
    }

    fn latency(&self, lookup: Lookup) -> &Mutex<Duration> {
        match lookup {
            Lookup::Observe => &self.observe_takes,
            Lookup::Confirm => &self.confirm_takes,
        }
    }
}

#[async_trait]
impl Instances for FakeInstances {
    fn claims(&self, node: &NodeView) -> Claim {
        match node.provider_id.as_deref() {
            Some(id) if !id.starts_with("fake://") => Claim::NotOurs(format!("its provider ID is {id}")),
            _ours_or_none => Claim::Ours,
        }
    }

    async fn observe(&self, nodes: &[Arc<NodeView>]) -> Vec<Evidence<Instance>> {
        locked(&self.observed).push(nodes.iter().map(|node| node.name.to_string()).collect());
        let takes = *locked(&self.observe_takes);
        sleep(takes).await;
        let limit = *locked(&self.limit);
        nodes.iter().take(limit).map(|node| self.answer(node, Lookup::Observe)).collect()
    }

    async fn confirm(&self, node: &NodeView) -> Evidence<Instance> {
        locked(&self.confirmed).push(node.name.to_string());
        let (answer, takes) = (self.answer(node, Lookup::Confirm), *locked(&self.confirm_takes));
        sleep(takes).await;
        answer
    }
}
