//! What a provider says of a load balancer that its control plane calls broken. Values only; safety rail SR-19 judges them.

/// A load balancer that the control plane of the cloud calls broken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Broken {
    /// The id of the load balancer, as in the [`StepFacts`](crate::StepFacts) of a step that deletes it.
    pub id: String,
    /// Whether it may carry traffic all the same.
    pub traffic: Traffic,
}

/// What is known of the traffic of a broken load balancer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Traffic {
    /// It may carry traffic, or nobody can say that it does not. It is never replaced.
    Possible,
    /// In this observation it serves nobody, but its address was published: clients may come back to it.
    None,
    /// It serves nobody, and the Service has never published an address: no client can know it.
    Never,
}
