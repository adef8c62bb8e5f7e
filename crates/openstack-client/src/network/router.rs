//! Routers and their extra routes.

use serde::{Deserialize, Serialize};

use super::{Network, TagFilter, if_revision, port::FixedIp};
use crate::{Error, NetworkId, Pages, ProjectId, RouterId, Service, call::Call, decode, paging::Listed};

/// A router.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct Router {
    /// Its id.
    pub id: RouterId,
    /// Its name.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub name: String,
    /// Whose it is.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// Its routes. An answer without them is not understood: a change would be made from nothing.
    pub routes: Vec<Route>,
    /// Where it leads out.
    #[serde(default)]
    pub external_gateway_info: Option<GatewayInfo>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
    /// Counts its changes.
    #[serde(default)]
    pub revision_number: Option<u64>,
}

impl Listed for Router {
    const COLLECTION: &'static str = "routers";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// Where a router leads out.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct GatewayInfo {
    /// The external network.
    pub network_id: NetworkId,
    /// Its addresses there.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub external_fixed_ips: Vec<FixedIp>,
}

/// A route of a router, as Neutron writes it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Route {
    /// The range.
    pub destination: String,
    /// The address to which its packets go.
    pub nexthop: String,
}

/// Which routers are listed.
#[derive(Debug, Clone, Default)]
pub struct RouterQuery {
    /// With exactly this name.
    pub name: Option<String>,
    /// By their tags.
    pub tags: TagFilter,
}

#[derive(Serialize)]
struct Envelope<'a> {
    router: Routes<'a>,
}

#[derive(Serialize)]
struct Routes<'a> {
    routes: &'a [Route],
}

impl Network {
    /// A router.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn router(&self, id: &RouterId) -> Result<Router, Error> {
        self.0.fetch(Self::get("router_get", &["routers", id.as_str()]), "router").await
    }

    /// The routers that fit.
    pub fn routers(&self, query: &RouterQuery) -> Pages<Router> {
        let call = Self::get("router_list", &["routers"]).with_some("name", query.name.as_ref());
        self.0.pages(query.tags.apply(call))
    }

    /// Gives a router exactly these routes. Without a revision the routes that others added since are lost.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Conflict` when the revision is stale.
    pub async fn replace_routes(
        &self,
        id: &RouterId,
        routes: &[Route],
        revision: Option<u64>,
    ) -> Result<Router, Error> {
        let body = Envelope { router: Routes { routes } };
        let call = Call::put(Service::Network, "router_update", &["routers", id.as_str()], &body)?;
        self.0.fetch(if_revision(call, revision)?, "router").await
    }

    /// Adds routes to a router, whatever others do to it. Needs the extension `extraroute-atomic`.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn add_routes(&self, id: &RouterId, routes: &[Route]) -> Result<Router, Error> {
        self.change_routes(id, "add_extraroutes", routes).await
    }

    /// Takes routes from a router, whatever others do to it. Needs the extension `extraroute-atomic`.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn remove_routes(&self, id: &RouterId, routes: &[Route]) -> Result<Router, Error> {
        self.change_routes(id, "remove_extraroutes", routes).await
    }

    async fn change_routes(
        &self,
        id: &RouterId,
        how: &'static str,
        routes: &[Route],
    ) -> Result<Router, Error> {
        let body = Envelope { router: Routes { routes } };
        let call = Call::put(Service::Network, "router_update", &["routers", id.as_str(), how], &body)?;
        self.0.fetch(call, "router").await
    }
}
