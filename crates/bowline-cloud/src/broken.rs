//! What a provider reports about a load balancer that the control plane of the cloud calls broken. Values only; safety rail SR-19 evaluates
//! them.

/// A load balancer that the control plane of the cloud calls broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The id of the load balancer, the same as in the [`StepFacts`](crate::StepFacts) of a step that deletes it.
    pub id: String,
    /// Whether it may still carry traffic.
    pub traffic: Traffic,
}

/// What is known of the traffic of a broken load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// It may carry traffic, or this is unknown. It is never replaced.
    Possible,
    /// In this observation it serves no traffic, but its address was published, so clients may use it again.
    None,
    /// It serves no traffic and its address was never published, so no client can know it.
    Never,
}
