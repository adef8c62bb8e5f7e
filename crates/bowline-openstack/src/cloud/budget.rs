//! The framework's call budget as the client asks for it. Translates, and decides nothing.

use std::fmt;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bowline_cloud::{CallBudget, Urgency, async_trait};
use openstack_client::{Budget, Priority, Service};

/// Asks the framework's budget, once there is one. Clients are made before that, but call nobody.
#[derive(Default)]
pub(super) struct SharedBudget(OnceLock<Arc<dyn CallBudget>>);

impl SharedBudget {
    /// Asks this one from now on. Only the first counts: all clients of a process share it.
    pub(super) fn give(&self, budget: Arc<dyn CallBudget>) {
        self.0.get_or_init(|| budget);
    }
}

fn urgency(priority: Priority) -> Urgency {
    match priority {
        Priority::User => Urgency::User,
        Priority::Background => Urgency::Background,
    }
}

#[async_trait]
impl Budget for SharedBudget {
    async fn acquire(&self, service: Service, priority: Priority) {
        if let Some(budget) = self.0.get() {
            budget.acquire(service.as_str(), urgency(priority)).await;
        }
    }

    fn throttled(&self, service: Service, pause: Duration) {
        if let Some(budget) = self.0.get() {
            budget.throttled(service.as_str(), pause);
        }
    }
}

impl fmt::Debug for SharedBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("SharedBudget").field(&self.0.get().is_some()).finish()
    }
}
