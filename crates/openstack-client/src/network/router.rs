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
    /// The project that owns it.
    #[serde(default, deserialize_with = "decode::non_empty")]
    pub project_id: Option<ProjectId>,
    /// Its extra routes. `None` if the answer omits the field, which differs from an empty list.
    #[serde(default)]
    pub routes: Option<Vec<Route>>,
    /// Its external gateway; `None` if it has none.
    #[serde(default)]
    pub external_gateway_info: Option<GatewayInfo>,
    /// Its tags.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub tags: Vec<String>,
    /// The revision number, which Neutron increments with each change; `None` if the cloud does not return it.
    #[serde(default)]
    pub revision_number: Option<u64>,
}

impl Listed for Router {
    const COLLECTION: &'static str = "routers";
    fn marker(&self) -> Option<&str> {
        Some(self.id.as_str())
    }
}

/// The external gateway of a router.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[non_exhaustive]
pub struct GatewayInfo {
    /// The external network.
    pub network_id: NetworkId,
    /// Its addresses in that network.
    #[serde(default, deserialize_with = "decode::or_default")]
    pub external_fixed_ips: Vec<FixedIp>,
}

/// An extra route of a router, in Neutron's notation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Deserialize, Serialize)]
pub struct Route {
    /// The CIDR.
    pub destination: String,
    /// The address of the next hop.
    pub nexthop: String,
}

/// Filters for a list of routers.
#[derive(Debug, Clone, Default)]
pub struct RouterQuery {
    /// With exactly this name.
    pub name: Option<String>,
    /// With matching tags.
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

    /// The routers that match the query.
    pub fn routers(&self, query: &RouterQuery) -> Pages<Router> {
        let call = Self::get("router_list", &["routers"]).with_some("name", query.name.as_ref());
        self.0.pages(query.tags.apply(call))
    }

    /// Replaces the extra routes of a router. Without a revision, routes that other clients added in the meantime are lost.
    ///
    /// # Errors
    ///
    /// [`Error`]; of class `Conflict` if the revision is outdated.
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

    /// Adds extra routes atomically: concurrent changes by other clients are kept. Needs the extension `extraroute-atomic`.
    ///
    /// # Errors
    ///
    /// [`Error`]
    pub async fn add_routes(&self, id: &RouterId, routes: &[Route]) -> Result<Router, Error> {
        self.change_routes(id, "add_extraroutes", routes).await
    }

    /// Removes extra routes atomically: concurrent changes by other clients are kept. Needs the extension `extraroute-atomic`.
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
