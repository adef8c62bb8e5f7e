//! What the project has, read at once and shared: node initialisation, address refresh and lifecycle all look at the same
//! snapshot, so that thousands of Nodes cost a handful of calls.
//!
//! A snapshot may show a server; that it does not show one proves nothing (Nova leaves out the servers of cells that are
//! down). The direct reads here go past every cache.

mod failure;
mod flavors;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use openstack_client::compute::{Compute, Microversion, Server, ServerQuery};
use openstack_client::network::{NetworkQuery, Port, PortQuery};
use openstack_client::{Client, Error, NetworkId, PortId, ProjectId, ServerId};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;

pub use self::failure::InventoryError;
pub use self::snapshot::{Machine, Snapshot};

/// How old a snapshot may be when it is used again. New servers are found by direct reads meanwhile.
pub const AGE_LIMIT: Duration = Duration::from_secs(60);

/// As many objects as Nova gives at once unless its operator says otherwise; smaller pages only cost more calls.
const PAGE_SIZE: u32 = 1000;

/// The servers and ports of one project.
#[derive(Debug)]
pub struct Inventory {
    client: Client,
    age_limit: Duration,
    project: OnceCell<ProjectId>,
    nova: OnceCell<Compute>,
    /// Held while a snapshot is read: whoever comes meanwhile waits for that one.
    latest: Mutex<Latest>,
    /// How many readings have failed.
    failures: AtomicU64,
}

#[derive(Debug, Default)]
struct Latest {
    snapshot: Option<Arc<Snapshot>>,
    failure: Option<InventoryError>,
}

impl Inventory {
    /// An inventory of the client's project. Nothing is read before it is asked for.
    #[must_use]
    pub fn new(client: Client, age_limit: Duration) -> Self {
        let (project, nova) = (OnceCell::new(), OnceCell::new());
        Self { client, age_limit, project, nova, latest: Mutex::default(), failures: AtomicU64::new(0) }
    }

    /// Of this project, if it is known before the first login.
    #[must_use]
    pub fn of_project(mut self, project: Option<ProjectId>) -> Self {
        self.project = OnceCell::new_with(project);
        self
    }

    /// How old a snapshot may be.
    #[must_use]
    pub fn age_limit(&self) -> Duration {
        self.age_limit
    }

    /// The project as it is, or as it was at most the age limit ago. All who ask at the same time share one reading, and
    /// its failure if it fails.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when any part of it cannot be read: a snapshot is whole, or there is none.
    pub async fn snapshot(&self) -> Result<Arc<Snapshot>, InventoryError> {
        self.snapshot_within(self.age_limit).await
    }

    /// The same with another limit on its age.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] as for [`snapshot`](Self::snapshot).
    pub async fn snapshot_within(&self, age_limit: Duration) -> Result<Arc<Snapshot>, InventoryError> {
        let failures = self.failures.load(Ordering::Acquire);
        let mut latest = self.latest.lock().await;
        if let Some(snapshot) = &latest.snapshot
            && snapshot.begun().elapsed() < age_limit
        {
            return Ok(Arc::clone(snapshot));
        }
        if let Some(failure) = latest.failure.as_ref()
            && self.failures.load(Ordering::Acquire) != failures
        {
            return Err(failure.clone());
        }
        match self.read().await {
            Ok(snapshot) => {
                let snapshot = Arc::new(snapshot);
                *latest = Latest { snapshot: Some(Arc::clone(&snapshot)), failure: None };
                Ok(snapshot)
            }
            Err(failure) => {
                *latest = Latest { snapshot: None, failure: Some(failure.clone()) };
                self.failures.fetch_add(1, Ordering::Release);
                Err(failure)
            }
        }
    }

    /// Reads everything. Servers come first: of a server that is seen, its ports are there to be seen as well.
    async fn read(&self) -> Result<Snapshot, InventoryError> {
        let begun = Instant::now();
        let servers = self.servers().await?;
        let ports = self.ports(PortQuery::default()).await?;
        self.assemble(begun, servers, ports).await
    }

    async fn assemble(
        &self,
        begun: Instant,
        servers: Vec<Server>,
        ports: Vec<Port>,
    ) -> Result<Snapshot, InventoryError> {
        let trunks = ports.iter().any(|port| !port.trunk_details.sub_ports.is_empty());
        let networks = if trunks { self.networks().await? } else { BTreeMap::new() };
        let flavors =
            flavors::read(self.nova().await?, &servers).await.map_err(InventoryError::on_the_way)?;
        Ok(Snapshot::new(begun, servers, ports, &networks, &flavors))
    }

    /// All servers of the project, read now.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when the list cannot be read to its end.
    pub async fn servers(&self) -> Result<Vec<Server>, InventoryError> {
        self.list_servers(&ServerQuery::default()).await
    }

    /// The servers that Nova finds by this name, read now.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when the list cannot be read to its end.
    pub async fn servers_named(&self, name: &str) -> Result<Vec<Server>, InventoryError> {
        self.list_servers(&ServerQuery::by_name(name)).await
    }

    /// A server, read now.
    ///
    /// # Errors
    ///
    /// [`InventoryError`]; [`is_not_found`](InventoryError::is_not_found) only when Nova itself said so to a token of the
    /// project that this inventory is of.
    pub async fn server(&self, id: &ServerId) -> Result<Server, InventoryError> {
        self.project().await?;
        let answer = self.nova().await?.server(id).await;
        // The token may have been renewed on the way.
        self.project().await?;
        answer.map_err(InventoryError::Call)
    }

    /// A server with its ports and the sub-ports of its trunks, read now.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when any part cannot be read, never for the server itself.
    pub async fn machine(&self, server: Server) -> Result<Machine, InventoryError> {
        let mut ports = self.ports(PortQuery::of_device(server.id.as_str())).await?;
        let carried: Vec<PortId> = ports
            .iter()
            .flat_map(|port| port.trunk_details.sub_ports.iter().map(|sub_port| sub_port.port_id.clone()))
            .collect();
        for id in carried {
            match self.client.network().port(&id).await {
                Ok(port) => ports.push(port),
                Err(error) => tracing::warn!(%error, port = %id, "a sub-port cannot be read; it is left out"),
            }
        }
        let id = server.id.clone();
        let mut snapshot = self.assemble(Instant::now(), vec![server], ports).await?;
        snapshot.take(&id).ok_or(InventoryError::Lost(id))
    }

    async fn list_servers(&self, query: &ServerQuery) -> Result<Vec<Server>, InventoryError> {
        self.project().await?;
        let servers = self.nova().await?.servers(query).of(PAGE_SIZE).all().await;
        self.project().await?;
        servers.map_err(InventoryError::on_the_way)
    }

    /// The ports of the project: an administrator would see those of the whole cloud.
    async fn ports(&self, query: PortQuery) -> Result<Vec<Port>, InventoryError> {
        let project_id = Some(self.project().await?.clone());
        let query = PortQuery { project_id, ..query };
        self.client.network().ports(&query).of(PAGE_SIZE).all().await.map_err(InventoryError::on_the_way)
    }

    async fn networks(&self) -> Result<BTreeMap<NetworkId, String>, InventoryError> {
        let networks = self.client.network().networks(&NetworkQuery::default()).of(PAGE_SIZE).all().await;
        let networks = networks.map_err(InventoryError::on_the_way)?;
        Ok(networks.into_iter().map(|network| (network.id, network.name)).collect())
    }

    /// The project of the first login. A later token of another project sees other servers: nothing may be concluded then.
    async fn project(&self) -> Result<&ProjectId, InventoryError> {
        let identity = self.client.identity().await.map_err(InventoryError::on_the_way)?;
        let now = identity.project_id.ok_or(InventoryError::NoProject)?;
        let first = self.project.get_or_init(|| async { now.clone() }).await;
        if *first == now {
            return Ok(first);
        }
        Err(InventoryError::OtherProject { first: first.clone(), now })
    }

    /// Nova, at the microversion from which servers tell the name of their flavor if it has that. Not at a newer one: from
    /// 2.69 on lists hold servers of which nothing but the id is known.
    async fn nova(&self) -> Result<&Compute, InventoryError> {
        let wanted = Microversion::FLAVOR_IN_SERVER;
        let choose = || async {
            let nova = self.client.compute();
            let range = nova.microversions().await?;
            let has = range.is_some_and(|(low, high)| low <= wanted && wanted <= high);
            Ok::<_, Error>(if has { nova.at(wanted) } else { nova })
        };
        self.nova.get_or_try_init(choose).await.map_err(InventoryError::on_the_way)
    }
}
