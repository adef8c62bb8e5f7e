//! The call budget (safety rail SR-12): a rate limit for each API of the cloud, with priority for work that users wait for.

use std::time::Duration;

use async_trait::async_trait;

/// How urgent a cloud call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// A user waits for it: a new Service, a node that joins.
    User,
    /// Periodic resync, polls, drift repair.
    Background,
}

/// The rate limiter that all callers of one cloud share.
#[async_trait]
pub trait CallBudget: Send + Sync {
    /// Waits until a call to `service` ("compute", "load-balancer", …) may be made.
    async fn acquire(&self, service: &'static str, urgency: Urgency);

    /// The service answered 429: no caller gets a permit for it until `pause` has passed.
    fn throttled(&self, service: &'static str, pause: Duration);
}

/// No limit: for tests.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unlimited;

#[async_trait]
impl CallBudget for Unlimited {
    async fn acquire(&self, _service: &'static str, _urgency: Urgency) {}
    fn throttled(&self, _service: &'static str, _pause: Duration) {}
}
