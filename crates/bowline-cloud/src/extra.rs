//! Extra controllers: what a cloud does beyond the common controllers (tagging machines, rotating certificates, …).
//!
//! A provider never sees a Kubernetes client. It is shown an object, does its work in the cloud, and answers with the
//! changes it wants on that object. The framework writes them, behind the same guards as everything else.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{CloudError, Fence, NodeView, ServiceView};

/// A controller of a cloud's own.
#[async_trait]
pub trait ExtraController: Send + Sync {
    /// Its canonical name: lower-case words joined by dashes, ending in `-controller`.
    fn name(&self) -> &str;

    /// A short name that `--controllers` accepts too.
    fn alias(&self) -> Option<&str> {
        None
    }

    /// Which objects it is shown.
    fn watches(&self) -> Watches;

    /// Called when an object appeared or changed, and again after [`Answer::again_after`]. Never twice at once for the
    /// same object. Every mutating cloud call asks `fence` first.
    async fn reconcile(&self, object: &Watched, fence: &dyn Fence) -> Result<Answer, CloudError>;

    /// Called when an object is gone from the cluster. At least once for each while this process leads, not for those
    /// that went while nobody led: what must not leak needs a sweep of its own.
    async fn removed(&self, _object: &Watched, _fence: &dyn Fence) -> Result<(), CloudError> {
        Ok(())
    }
}

/// Which objects a controller is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watches {
    /// All Nodes.
    Nodes,
    /// All Services of type LoadBalancer.
    Services,
}

/// An object shown to an extra controller.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched {
    /// A Node.
    Node(Arc<NodeView>),
    /// A Service.
    Service(Arc<ServiceView>),
}

/// What an extra controller wants on the object it was shown. The default wants nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Labels to set (`Some`) or remove (`None`). Those that are so already cost no write.
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to set or remove.
    pub annotations: BTreeMap<String, Option<String>>,
    /// When to be called again although nothing changed.
    pub again_after: Option<Duration>,
}
