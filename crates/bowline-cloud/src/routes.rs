//! Routes: how the network of the cloud reaches the pods of each Node. The framework plans the changes; the provider lists the routes and
//! applies the changes.

use std::net::IpAddr;

use async_trait::async_trait;
use ipnet::IpNet;

use crate::{CloudError, Fence, NodeAddress};

/// One route of a cluster.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Route {
    /// The name or id of the route in the cloud; empty for a route to be created.
    pub name: String,
    /// The Node that the route leads to; `None` if the cloud does not know it.
    pub target_node: Option<String>,
    /// The address that the route leads to, for clouds that know addresses and not Nodes. Such a cloud lists it instead of a target: the
    /// framework fills in the Node that has the address, or treats the route as a blackhole if no Node has it. In a route to be created it
    /// is set only to complete an existing route.
    pub next_hop: Option<IpAddr>,
    /// The addresses of the target Node. If a cloud lists them, the framework replaces the route when they change; if it leaves them
    /// `None`, it does not. In a route to be created they are the current addresses of the Node.
    pub target_addresses: Option<Vec<NodeAddress>>,
    /// The pod CIDR that the route serves.
    pub destination: IpNet,
    /// Whether the route leads nowhere. The framework always replaces such a route if its destination is in the cluster's pod range.
    pub blackhole: bool,
    /// What an existing route lacks to carry traffic, as a message for people. The framework requests it again with
    /// [`RouteChange::Create`], without deleting it first.
    pub incomplete: Option<String>,
}

impl Route {
    /// A route to the pods of a Node.
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

    /// A route to an address of an unknown Node.
    #[must_use]
    pub fn via(name: impl Into<String>, next_hop: IpAddr, destination: IpNet) -> Self {
        Self { next_hop: Some(next_hop), ..Self::new(name, None, destination) }
    }
}

/// A change of the routes that the framework requests.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RouteChange {
    /// Create this route, or complete it if it exists.
    Create {
        /// The Node's UID, which may be used as a unique name of the route.
        hint: String,
        /// The route to create.
        route: Route,
    },
    /// Delete this route. It is as listed, except that the framework may have filled in the Node of a next hop.
    Delete(Route),
}

/// The routes of a cloud.
#[async_trait]
pub trait Routes: Send + Sync {
    /// Lists all routes of the cluster with this name. A list that may be truncated must be returned as an error.
    async fn list(&self, cluster: &str) -> Result<Vec<Route>, CloudError>;

    /// Performs many changes and returns one result for each, in order. A provider whose cloud can change several routes atomically makes
    /// one call. Deletes precede creates of the same destination. Every call that changes something checks `fence` first.
    async fn apply(
        &self,
        cluster: &str,
        changes: &[RouteChange],
        fence: &dyn Fence,
    ) -> Vec<Result<(), CloudError>>;
}
