//! Routes: how the cloud's network reaches the pods of each Node. The framework plans them; a cloud lists and changes.

use async_trait::async_trait;
use ipnet::IpNet;

use crate::{CloudError, Fence, NodeAddress};

/// One route of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The cloud's name or id of it; empty when it is yet to be made.
    pub name: String,
    /// The Node its traffic goes to; `None` if the cloud does not know it.
    pub target_node: Option<String>,
    /// The addresses of that Node. A cloud that lists them asks to have the route re-made when they change; one that
    /// leaves them `None` is never troubled by it.
    pub target_addresses: Option<Vec<NodeAddress>>,
    /// Which pods it serves.
    pub destination: IpNet,
    /// Whether it leads nowhere: such a route is always replaced.
    pub blackhole: bool,
}

impl Route {
    /// A route to a Node's pods.
    #[must_use]
    pub fn new(name: impl Into<String>, target_node: Option<String>, destination: IpNet) -> Self {
        Self { name: name.into(), target_node, target_addresses: None, destination, blackhole: false }
    }
}

/// A wanted change of the routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteChange {
    /// Make this one; the hint (the Node's UID) may serve as its name.
    Create {
        /// A unique text for its name.
        hint: String,
        /// The route.
        route: Route,
    },
    /// Take this one away, exactly as it was listed.
    Delete(Route),
}

/// The routes of a cloud.
#[async_trait]
pub trait Routes: Send + Sync {
    /// All routes of the cluster of this name, complete or an error: a list that may be cut short is an error.
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError>;

    /// Performs many changes, with one answer for each, in order. A cloud with an atomic call for several makes one;
    /// deletes come before creates of the same destination. Every mutating call asks `fence` first.
    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>>;
}
