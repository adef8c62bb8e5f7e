//! How many bytes an informer keeps for each object, counted by the allocator: store, keys, indexes and projections, without
//! the peak of the list. Everything runs on one thread, because the counter counts by thread.

use std::fmt::Debug;
use std::sync::Arc;

use allocation_counter::measure;
use bowline_controllers::view::{node_informer, service_informer};
use bowline_kube::informer::InformerSpec;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::{listing, objects};

/// What was counted.
#[derive(Debug, Clone, Copy)]
pub struct Footprint {
    /// Bytes held for each object when the list is done.
    pub kept_bytes: f64,
}

/// The footprint of `count` Nodes of a usual cluster.
#[must_use]
pub fn of_nodes(count: usize) -> Footprint {
    of(node_informer, count, objects::node)
}

/// The footprint of `count` Services of type LoadBalancer.
#[must_use]
pub fn of_load_balancers(count: usize) -> Footprint {
    of(service_informer, count, objects::load_balancer)
}

/// The footprint of `count` Services that need no load balancer.
#[must_use]
pub fn of_other_services(count: usize) -> Footprint {
    of(service_informer, count, objects::cluster_ip)
}

fn of<K, P>(spec: fn() -> InformerSpec<K, Arc<P>>, count: usize, object: fn(usize) -> Value) -> Footprint
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    P: PartialEq + Send + Sync + 'static,
{
    // The first run fills what is allocated once in a process; the second, of no object, is the ground to stand on.
    list(spec, 1, object);
    let ground = list(spec, 0, object);
    let filled = list(spec, count, object);
    Footprint { kept_bytes: (filled - ground) as f64 / count as f64 }
}

/// Lists everything, and answers the bytes held then.
fn list<K, P>(spec: fn() -> InformerSpec<K, Arc<P>>, count: usize, object: fn(usize) -> Value) -> i64
where
    K: Resource<DynamicType = ()> + Clone + Debug + DeserializeOwned + Send + Sync + 'static,
    P: PartialEq + Send + Sync + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let mut kept = None;
    let counted = measure(|| {
        kept = runtime.ok().map(|runtime| {
            let informer = runtime.block_on(async {
                let (informer, task) = spec().build(listing::client(count, object), Api::all);
                tokio::spawn(task.run(CancellationToken::new()));
                informer.synced().await;
                informer
            });
            (runtime, informer)
        });
    });
    drop(kept);
    counted.bytes_current
}
