//! Routes: how the cloud's network reaches the pods of each Node. The framework plans them; a cloud lists and changes.

use std::net::IpAddr;

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
    /// The address its traffic goes to, for a cloud that knows addresses and no Nodes. It lists this instead of a target:
    /// the framework fills in the Node that has the address, or takes the route for one that leads nowhere if no Node has
    /// it. In a route to be made it is set only when one that is there is completed.
    pub next_hop: Option<IpAddr>,
    /// The addresses of that Node. A cloud that lists them asks to have the route re-made when they change; one that
    /// leaves them `None` is never troubled by it.
    pub target_addresses: Option<Vec<NodeAddress>>,
    /// Which pods it serves.
    pub destination: IpNet,
    /// Whether it leads nowhere: such a route is always replaced.
    pub blackhole: bool,
    /// What a route that is there lacks to carry traffic, in words. It is asked for again, and not taken away before.
    pub incomplete: Option<String>,
}

impl Route {
    /// A route to a Node's pods.
    #[must_use]
    pub fn new(name: impl Into<String>, target_node: Option<String>, destination: IpNet) -> Self {
        Self {
            name: name.into(),
            target_node,
            next_hop: None,
            target_addresses: None,
            destination,
            blackhole: false,
            incomplete: None,
        }
    }

    /// A route to an address, of which the cloud does not know the Node.
    #[must_use]
    pub fn via(name: impl Into<String>, next_hop: IpAddr, destination: IpNet) -> Self {
        Self { next_hop: Some(next_hop), ..Self::new(name, None, destination) }
    }
}

/// A wanted change of the routes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteChange {
    /// Make this one, or complete it if it is there; the hint (the Node's UID) may serve as its name.
    Create {
        /// A unique text for its name.
        hint: String,
        /// The route.
        route: Route,
    },
    /// Take this one away, exactly as it was listed, but for the target that an address was found to be.
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
