//! The cluster as one value: nodes and Services from informers, and what a hand-over hangs on, Leases and pods, read anew at each
//! look. Nothing is decided here, and nothing is written; what could not be read is said to be unread, never to be gone.

mod clusterwide;
mod gather;
mod inputs;
mod lease;
mod node;
mod pod;
mod report;
mod service;
mod unchanged;
mod workload;

#[cfg(test)]
mod tests;

pub(crate) use self::clusterwide::has_resource;
pub use self::clusterwide::{ClusterLook, look_at_cluster};
#[cfg(test)]
pub(crate) use self::gather::unread;
pub use self::gather::{Gatherer, Known};
pub use self::inputs::{
    Fetched, InputProblem, Inputs, Place, Wishes, fetch, hash_of_inputs, last_good, read_inputs, wishes,
};
pub use self::lease::lease_facts;
pub use self::node::node_facts;
pub use self::pod::{mirror_pod, pod_facts};
pub use self::report::{REPORT_KEY, shadow_facts};
pub use self::service::{CLEANUP_FINALIZER, service_facts};
pub use self::unchanged::Unchanged;
pub use self::workload::{
    KNOWN_MANAGERS, known_manager, manager_of_daemon_set, manager_of_deployment, our_daemon_set,
    our_deployment,
};
