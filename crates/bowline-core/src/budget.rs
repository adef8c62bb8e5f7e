//! The call budget (safety rail SR-12): calls to each service of the cloud are limited, user-visible work goes first.

use std::time::Duration;

use async_trait::async_trait;

/// How urgent a cloud call is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Urgency {
    /// Somebody waits for it: a new Service, a node that joins.
    User,
    /// A sweep, a poll, drift repair.
    Background,
}

/// The limiter that all callers of a cloud share.
#[async_trait]
pub trait CallBudget: Send + Sync {
    /// Waits until a call to `service` ("compute", "load-balancer", …) may be made.
    async fn acquire(&self, service: &'static str, urgency: Urgency);

    /// The service said "too many requests": nobody calls it until `pause` has passed.
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
