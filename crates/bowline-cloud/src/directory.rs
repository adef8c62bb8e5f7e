//! The Services of the cluster, for providers that must know whether the Service that a cloud object was created for still exists.

use std::fmt;
use std::sync::Arc;

use crate::ServiceView;

/// Looks up Services of the cluster. The framework implements it with the informer, which only has Services that have a load balancer, want
/// one, or still have parts of one.
pub trait ServiceLookup: Send + Sync {
    /// Whether a Service with this name exists at this moment, among those that the implementation knows.
    fn has(&self, namespace: &str, name: &str) -> bool;

    /// Whether a Service with this name exists, wants a load balancer, and is not being deleted.
    fn wants_load_balancer(&self, namespace: &str, name: &str) -> bool;

    /// A Service that wants a load balancer, is not being deleted, and for which `fits` is true.
    fn find(&self, fits: &dyn Fn(&ServiceView) -> bool) -> Option<Arc<ServiceView>>;
}

/// The Services of the cluster as far as a provider may look them up. Cheap to clone. The default has no lookup and knows nothing.
#[derive(Clone, Default)]
pub struct ServiceDirectory(Option<Arc<dyn ServiceLookup>>);

impl ServiceDirectory {
    /// A directory that uses `lookup`.
    #[must_use]
    pub fn new(lookup: Arc<dyn ServiceLookup>) -> Self {
        Self(Some(lookup))
    }

    /// Whether the cluster may have this Service. Without a lookup this is unknown, and the result is `true`.
    #[must_use]
    pub fn may_have(&self, namespace: &str, name: &str) -> bool {
        self.0.as_ref().is_none_or(|lookup| lookup.has(namespace, name))
    }

    /// Whether this Service may want a load balancer. Without a lookup this is unknown, and the result is `true`.
    #[must_use]
    pub fn may_want_load_balancer(&self, namespace: &str, name: &str) -> bool {
        self.0.as_ref().is_none_or(|lookup| lookup.wants_load_balancer(namespace, name))
    }

    /// A Service that wants a load balancer and for which `fits` is true. Always `None` without a lookup. Iterates over all Services, so
    /// callers should use it rarely.
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
