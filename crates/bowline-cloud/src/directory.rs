//! Which Services the cluster has: for providers that must know whether the Service for which a cloud object was made still exists.

use std::fmt;
use std::sync::Arc;

use crate::ServiceView;

/// Answers whether the cluster has a Service. Implemented over the watch of Services.
pub trait ServiceLookup: Send + Sync {
    /// Whether a Service of this name exists at this moment.
    fn has(&self, namespace: &str, name: &str) -> bool;

    /// Whether a Service of this name exists and wants a load balancer. One that is being deleted does not.
    fn wants_load_balancer(&self, namespace: &str, name: &str) -> bool;

    /// A Service that wants a load balancer and for which `fits` is true.
    fn find(&self, fits: &dyn Fn(&ServiceView) -> bool) -> Option<Arc<ServiceView>>;
}

/// The Services of the cluster, as far as a provider may ask. Cheap to clone.
#[derive(Clone, Default)]
pub struct ServiceDirectory(Option<Arc<dyn ServiceLookup>>);

impl ServiceDirectory {
    /// A directory that asks `lookup`.
    #[must_use]
    pub fn new(lookup: Arc<dyn ServiceLookup>) -> Self {
        Self(Some(lookup))
    }

    /// Whether the cluster may have this Service. Without a lookup that is unknown, and unknown is not gone.
    #[must_use]
    pub fn may_have(&self, namespace: &str, name: &str) -> bool {
        self.0.as_ref().is_none_or(|lookup| lookup.has(namespace, name))
    }

    /// Whether this Service may want a load balancer. Without a lookup that is unknown, and an unknown Service may want one.
    #[must_use]
    pub fn may_want_load_balancer(&self, namespace: &str, name: &str) -> bool {
        self.0.as_ref().is_none_or(|lookup| lookup.wants_load_balancer(namespace, name))
    }

    /// A Service that wants a load balancer and for which `fits` is true. `None` without a lookup as well. Reads all Services, so
    /// callers ask only where it matters.
    #[must_use]
    pub fn find(&self, fits: &dyn Fn(&ServiceView) -> bool) -> Option<Arc<ServiceView>> {
        self.0.as_ref()?.find(fits)
    }
}

impl fmt::Debug for ServiceDirectory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_some() { "ServiceDirectory" } else { "ServiceDirectory(unknown)" })
    }
}
