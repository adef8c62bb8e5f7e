//! What the cluster looks like at the moment, kept up to date by watches of the bench's own: a list of thousands of Nodes would cost more
//! than what is measured.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use bowline_testkit::nodes;
use futures::StreamExt;
use k8s_openapi::api::core::v1::{Node, Service};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Resource, ResourceExt};
use serde::de::DeserializeOwned;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::cluster::BenchCluster;

/// What matters of the objects of one kind, by name.
type Facts = Arc<Mutex<BTreeMap<String, bool>>>;

/// What is there.
pub struct Observed {
    nodes: Facts,
    services: Facts,
    _stop: DropGuard,
}

fn lock(facts: &Facts) -> MutexGuard<'_, BTreeMap<String, bool>> {
    facts.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Observed {
    /// Begins to look.
    #[must_use]
    pub fn start(cluster: &BenchCluster) -> Self {
        let (nodes, services) = (Facts::default(), Facts::default());
        let stop = CancellationToken::new();
        let look = follow(cluster.nodes(), Arc::clone(&nodes), |node| Some(is_initialised(node)));
        tokio::spawn(stop.clone().run_until_cancelled_owned(look));
        let look = follow(cluster.services(), Arc::clone(&services), is_served);
        tokio::spawn(stop.clone().run_until_cancelled_owned(look));
        Self { nodes, services, _stop: stop.drop_guard() }
    }

    /// How many Nodes there are, and how many of them are initialised.
    #[must_use]
    pub fn nodes(&self) -> (usize, usize) {
        count(&self.nodes)
    }

    /// How many Services want a load balancer, and how many of them have an address.
    #[must_use]
    pub fn services(&self) -> (usize, usize) {
        count(&self.services)
    }
}

fn count(facts: &Facts) -> (usize, usize) {
    let facts = lock(facts);
    (facts.len(), facts.values().filter(|is_done| **is_done).count())
}

/// What the kubelet and the CCM have agreed on: no taint, a machine, an address.
fn is_initialised(node: &Node) -> bool {
    let Some(spec) = &node.spec else { return false };
    let addresses = node.status.iter().flat_map(|status| status.addresses.iter().flatten());
    spec.provider_id.is_some()
        && nodes::is_initialized(node)
        && addresses.into_iter().any(|address| address.type_ == "InternalIP")
}

/// Whether it has an address; none of a Service that wants no load balancer.
fn is_served(service: &Service) -> Option<bool> {
    let spec = service.spec.as_ref()?;
    let wants = spec.type_.as_deref() == Some("LoadBalancer");
    let ingress = service.status.as_ref().and_then(|status| status.load_balancer.as_ref()?.ingress.as_ref());
    wants.then(|| ingress.is_some_and(|ingress| !ingress.is_empty()))
}

async fn follow<K>(api: Api<K>, facts: Facts, fact: fn(&K) -> Option<bool>)
where
    K: Resource<DynamicType = ()> + Clone + std::fmt::Debug + DeserializeOwned + Send + 'static,
{
    let mut events = watcher(api, watcher::Config::default()).boxed();
    let mut listed = BTreeMap::new();
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => listed.clear(),
            Ok(Event::InitApply(object)) => {
                listed.extend(fact(&object).map(|fact| (object.name_any(), fact)));
            }
            Ok(Event::InitDone) => *lock(&facts) = std::mem::take(&mut listed),
            Ok(Event::Apply(object)) => match fact(&object) {
                Some(fact) => drop(lock(&facts).insert(object.name_any(), fact)),
                None => drop(lock(&facts).remove(&object.name_any())),
            },
            Ok(Event::Delete(object)) => drop(lock(&facts).remove(&object.name_any())),
            // The watcher looks again by itself; what it saw so far stays.
            Err(_) => {}
        }
    }
}
