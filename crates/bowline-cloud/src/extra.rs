//! Extra controllers: what a cloud does in addition to the common controllers, such as tagging instances or rotating certificates.
//!
//! A provider has no Kubernetes client. It receives an object, makes its changes in the cloud, and returns the changes that it wants on
//! that object. The framework writes them, with the same safety checks as all its other writes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;

use crate::{CloudError, Fence, NodeView, ServiceView};

/// A controller that belongs to one cloud.
#[async_trait]
pub trait ExtraController: Send + Sync {
    /// The canonical name: lower-case words joined by dashes, ending in `-controller`.
    fn name(&self) -> &str;

    /// A short name that `--controllers` also accepts; `None` if there is none.
    fn alias(&self) -> Option<&str> {
        None
    }

    /// Which objects the controller receives.
    fn watches(&self) -> Watches;

    /// Called when an object was created or changed, and again after [`Answer::again_after`]. Never runs twice at the same time for the
    /// same object. Every call to the cloud that changes something checks `fence` first.
    async fn reconcile(&self, object: &Watched, fence: &dyn Fence) -> Result<Answer, CloudError>;

    /// Called when an object was deleted from the cluster: at least once for every deletion while this process leads, but not for deletions
    /// while no process led. A controller that must not leak cloud objects needs a periodic cleanup for those.
    async fn removed(&self, _object: &Watched, _fence: &dyn Fence) -> Result<(), CloudError> {
        Ok(())
    }
}

/// Which objects a controller receives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Watches {
    /// All Nodes.
    Nodes,
    /// All Services that have a load balancer, want one, or still have parts of one.
    Services,
}

/// An object that an extra controller receives.
#[derive(Debug, Clone, PartialEq)]
pub enum Watched {
    /// A Node.
    Node(Arc<NodeView>),
    /// A Service.
    Service(Arc<ServiceView>),
}

/// The changes that an extra controller wants on the object. The default wants none.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answer {
    /// Labels to set (`Some`) or remove (`None`). Labels that already match cause no write.
    pub labels: BTreeMap<String, Option<String>>,
    /// Annotations to set (`Some`) or remove (`None`).
    pub annotations: BTreeMap<String, Option<String>>,
    /// When to reconcile the object again even if it did not change; `None` for only after changes.
    pub again_after: Option<Duration>,
}
