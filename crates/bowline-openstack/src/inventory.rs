//! What the project has, read at once and shared: node initialisation, address refresh and lifecycle all look at the same
//! snapshot, so that thousands of Nodes cost a handful of calls.
//!
//! A snapshot may show a server; that it does not show one proves nothing (Nova leaves out the servers of cells that are
//! down). The direct reads here go past every cache.
//!
//! All servers are listed again and again, and in between only what has changed since (`changes_since`). That tells of the servers it
//! names and of no others: what Nova does not count as a change, or a clock has hidden, is as old as the list.

mod cloud_clock;
mod failure;
mod flavors;
mod groups;
mod seen;
mod server_list;
mod snapshot;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use jiff::Timestamp;
use openstack_client::compute::{Compute, Microversion, ServerQuery};
use openstack_client::network::{NetworkQuery, PortAddresses, PortQuery};
use openstack_client::{Client, Error, Listed, NetworkId, Pages, PortId, ProjectId, ServerId};
use tokio::sync::{Mutex, OnceCell};
use tokio::time::Instant;

use self::cloud_clock::{CloudClock, as_nova_writes};
pub use self::failure::InventoryError;
pub(crate) use self::groups::group_count;
use self::groups::groups;
pub use self::seen::{SeenAddress, SeenPort, SeenServer};
use self::server_list::ServerList;
pub use self::snapshot::{Calls, Machine, Snapshot};
use self::snapshot::{Changes, Machines, in_order};
use crate::instances::labels::LabelRules;

/// How old a snapshot may be when it is used again. New servers are found by direct reads meanwhile.
pub const AGE_LIMIT: Duration = Duration::from_secs(60);

/// As many objects as Nova gives at once unless its operator says otherwise; smaller pages only cost more calls.
const PAGE_SIZE: u32 = 1000;

/// Neutron has no limit unless its operator sets one, and answers for thousands of ports in seconds: all ports of 5,000 nodes are
/// one call. There is a limit all the same, for an answer has to fit into memory and into the time of a call; behind a page that
/// is full there is another.
const PORT_PAGE_SIZE: u32 = 10_000;

/// What Nova answers to a microversion that it does not have.
const NOT_ACCEPTABLE: u16 = 406;

/// The servers and ports of one project.
#[derive(Debug)]
pub struct Inventory {
    client: Client,
    age_limit: Duration,
    project: OnceCell<ProjectId>,
    /// Set once Nova has said that it is too old for what is asked at first.
    older_nova: OnceLock<Compute>,
    /// Held while a snapshot is read: whoever comes meanwhile waits for that one.
    latest: Mutex<Latest>,
    /// How many readings have failed.
    failures: AtomicU64,
    clock: CloudClock,
    labels: LabelRules,
}

#[derive(Debug, Default)]
struct Latest {
    snapshot: Option<Arc<Snapshot>>,
    failure: Option<InventoryError>,
}

impl Latest {
    /// What can be told without reading: what is new enough, or how the reading ended that somebody waited for.
    fn told(
        &self,
        is_new_enough: impl Fn(&Snapshot) -> bool,
        has_failed: bool,
    ) -> Option<Result<Arc<Snapshot>, InventoryError>> {
        let snapshot = self.snapshot.as_ref().filter(|snapshot| is_new_enough(snapshot));
        let failure = || self.failure.as_ref().filter(|_| has_failed).map(|failure| Err(failure.clone()));
        snapshot.map(|snapshot| Ok(Arc::clone(snapshot))).or_else(failure)
    }

    fn renew(&mut self, snapshot: Snapshot) -> Arc<Snapshot> {
        let snapshot = Arc::new(snapshot);
        *self = Self { snapshot: Some(Arc::clone(&snapshot)), failure: None };
        snapshot
    }
}

impl Inventory {
    /// An inventory of the client's project. Nothing is read before it is asked for.
    #[must_use]
    pub fn new(client: Client, age_limit: Duration) -> Self {
        let (project, older_nova) = (OnceCell::new(), OnceLock::new());
        let (latest, failures, clock) = (Mutex::default(), AtomicU64::new(0), CloudClock::default());
        let labels = LabelRules::default();
        Self { client, age_limit, project, older_nova, latest, failures, clock, labels }
    }

    /// Of this project, if it is known before the first login.
    #[must_use]
    pub fn of_project(mut self, project: Option<ProjectId>) -> Self {
        self.project = OnceCell::new_with(project);
        self
    }

    /// With these labels of servers.
    #[must_use]
    pub fn labelled(self, labels: LabelRules) -> Self {
        Self { labels, ..self }
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
        self.snapshot_if(|snapshot| snapshot.begun().elapsed() < age_limit).await
    }

    /// The same, read from `moment` on: all that was there by then is in it.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] as for [`snapshot`](Self::snapshot).
    pub async fn snapshot_since(&self, moment: Instant) -> Result<Arc<Snapshot>, InventoryError> {
        self.snapshot_if(|snapshot| snapshot.begun() >= moment).await
    }

    async fn snapshot_if(
        &self,
        is_new_enough: impl Fn(&Snapshot) -> bool + Send,
    ) -> Result<Arc<Snapshot>, InventoryError> {
        let failures = self.failures.load(Ordering::Acquire);
        let mut latest = self.latest.lock().await;
        let has_failed = self.failures.load(Ordering::Acquire) != failures;
        if let Some(told) = latest.told(is_new_enough, has_failed) {
            return told;
        }
        // Nobody is told the old one any more, and with both there would be two of everything.
        latest.snapshot = None;
        match self.read().await {
            Ok(snapshot) => Ok(latest.renew(snapshot)),
            Err(failure) => Err(self.fail(&mut latest, failure)),
        }
    }

    /// How many calls it will take, as far as is known, to list the servers that have changed since those of `snapshot` were listed; none
    /// where that cannot be asked for.
    pub(crate) fn calls_for_changes(&self, snapshot: &Snapshot) -> Option<usize> {
        snapshot.calls_for_changes(self.clock.changes_from(snapshot.begun())?)
    }

    /// The latest snapshot with what has changed since its servers were listed, read from `moment` on. Only of the servers that it tells of
    /// it is newer ([`Snapshot::seen_at`]). Where changes cannot be asked for, all is read.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when any part cannot be read. The snapshot then stays as it was, and is not asked about again: whoever comes
    /// next reads all.
    pub(crate) async fn changes_since(&self, moment: Instant) -> Result<Arc<Snapshot>, InventoryError> {
        let failures = self.failures.load(Ordering::Acquire);
        let mut latest = self.latest.lock().await;
        let has_failed = self.failures.load(Ordering::Acquire) != failures;
        if let Some(told) = latest.told(|snapshot| snapshot.asked_at() >= moment, has_failed) {
            return told;
        }
        let old = latest.snapshot.clone().filter(|old| self.calls_for_changes(old).is_some());
        let from = old.as_ref().and_then(|old| self.clock.changes_from(old.begun()));
        let Some((old, from)) = old.zip(from) else {
            drop(latest);
            return self.snapshot_since(moment).await;
        };
        match self.read_changes(&old, from).await {
            Ok(changes) => Ok(latest.renew(old.with(changes))),
            Err(failure) => {
                tracing::info!(error = %failure, "what has changed in the project cannot be read; next time all of it is");
                let failure = self.fail(&mut latest, failure);
                latest.snapshot = Some(Arc::new(old.unchanging()));
                Err(failure)
            }
        }
    }

    fn fail(&self, latest: &mut Latest, failure: InventoryError) -> InventoryError {
        *latest = Latest { snapshot: None, failure: Some(failure.clone()) };
        self.failures.fetch_add(1, Ordering::Release);
        failure
    }

    /// Reads everything. Servers come first: of a server that is seen, its ports are there to be seen as well.
    async fn read(&self) -> Result<Snapshot, InventoryError> {
        let begun = Instant::now();
        let ServerList { servers, calls, .. } = self.list_servers(&ServerQuery::default()).await?;
        let (ports, of_ports) = self.list_ports(PortQuery::default()).await?;
        let machines = self.assemble(servers, ports).await?;
        Ok(Snapshot::new(begun, machines).of_all(Calls { servers: calls, ports: of_ports }))
    }

    /// Reads what has changed since the servers of `old` were listed, by the cloud's clock from `from` on. All of it or nothing.
    async fn read_changes(&self, old: &Snapshot, from: Timestamp) -> Result<Changes, InventoryError> {
        let begun = Instant::now();
        let query = ServerQuery { changes_since: Some(as_nova_writes(from)), ..ServerQuery::default() };
        let list = self.list_servers(&query).await?;
        let (calls, gone) = (list.calls, list.gone.clone());
        let (mut machines, mut news) = (Vec::new(), Vec::new());
        for server in in_order(list.there()) {
            match old.with_listed_ports(&server) {
                Some(machine) => machines.push(machine),
                None => news.push(server),
            }
        }
        let ports = self.ports_of(&news, old.calls().ports).await?;
        machines.extend(self.assemble(news, ports).await?);
        Ok(Changes { begun, from, calls, machines: Machines::new(machines), gone })
    }

    async fn assemble(
        &self,
        servers: Vec<SeenServer>,
        ports: Vec<PortAddresses>,
    ) -> Result<Vec<Machine>, InventoryError> {
        let trunks = ports.iter().any(|port| !port.trunk_details.sub_ports.is_empty());
        let networks = if trunks { self.networks().await? } else { BTreeMap::new() };
        let flavors = flavors::read(&self.nova(), &servers).await.map_err(InventoryError::on_the_way)?;
        Ok(snapshot::machines(servers, &ports, &networks, &flavors))
    }

    /// All servers of the project, read now.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when the list cannot be read to its end.
    pub async fn servers(&self) -> Result<Vec<SeenServer>, InventoryError> {
        Ok(self.list_servers(&ServerQuery::default()).await?.servers)
    }

    /// The servers that Nova finds by this name, read now.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when the list cannot be read to its end.
    pub async fn servers_named(&self, name: &str) -> Result<Vec<SeenServer>, InventoryError> {
        Ok(self.list_servers(&ServerQuery::by_name(name)).await?.servers)
    }

    /// A server, read now.
    ///
    /// # Errors
    ///
    /// [`InventoryError`]; [`is_not_found`](InventoryError::is_not_found) only when Nova itself said so to a token of the
    /// project that this inventory is of.
    pub async fn server(&self, id: &ServerId) -> Result<SeenServer, InventoryError> {
        self.project().await?;
        let answer = self.ask_nova(|nova| async move { nova.server(id).await }).await;
        // The token may have been renewed on the way.
        self.project().await?;
        let server = answer.map_err(InventoryError::Call)?;
        self.clock.saw(Instant::now(), [&server]);
        Ok(SeenServer::new(server, &self.labels))
    }

    /// A server with its ports and the sub-ports of its trunks, read now.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when any part cannot be read, never for the server itself.
    pub async fn machine(&self, server: SeenServer) -> Result<Machine, InventoryError> {
        let id = server.id.clone();
        let ports = self.ports_of(std::slice::from_ref(&server), usize::MAX).await?;
        let machine = self.assemble(vec![server], ports).await?.pop();
        machine.ok_or(InventoryError::Lost(id))
    }

    /// The same for a few servers: a call for the ports of a few dozen of them.
    ///
    /// # Errors
    ///
    /// [`InventoryError`] when any part cannot be read, never for the servers themselves.
    pub async fn machines(&self, servers: Vec<SeenServer>) -> Result<Snapshot, InventoryError> {
        let begun = Instant::now();
        let ports = self.ports_of(&servers, usize::MAX).await?;
        Ok(Snapshot::new(begun, self.assemble(servers, ports).await?))
    }

    /// The ports of these servers and the sub-ports of their trunks, or those of all, which take `all` calls, where that is cheaper.
    async fn ports_of(
        &self,
        servers: &[SeenServer],
        all: usize,
    ) -> Result<Vec<PortAddresses>, InventoryError> {
        if group_count(servers.len()) > all {
            return Ok(self.list_ports(PortQuery::default()).await?.0);
        }
        let ids: Vec<String> = servers.iter().map(|server| server.id.to_string()).collect();
        let mut ports = Vec::new();
        for group in groups(&ids) {
            let query = PortQuery { device_ids: group.to_vec(), ..PortQuery::default() };
            ports.extend(self.list_ports(query).await?.0);
        }
        let carried: Vec<PortId> = ports
            .iter()
            .flat_map(|port| port.trunk_details.sub_ports.iter().map(|sub_port| sub_port.port_id.clone()))
            .collect();
        if carried.len() > all {
            return Ok(self.list_ports(PortQuery::default()).await?.0);
        }
        for id in carried {
            match self.client.network().port(&id).await {
                Ok(port) => ports.push(port.into()),
                Err(error) => tracing::warn!(%error, port = %id, "a sub-port cannot be read; it is left out"),
            }
        }
        Ok(ports)
    }

    async fn list_servers(&self, query: &ServerQuery) -> Result<ServerList, InventoryError> {
        self.project().await?;
        let list =
            |nova: Compute| ServerList::read(nova.servers(query).of(PAGE_SIZE), &self.clock, &self.labels);
        let servers = self.ask_nova(list).await;
        self.project().await?;
        servers.map_err(InventoryError::on_the_way)
    }

    /// Ports of the project, and how many calls they took: an administrator would see those of the whole cloud.
    async fn list_ports(&self, query: PortQuery) -> Result<(Vec<PortAddresses>, usize), InventoryError> {
        let project_id = Some(self.project().await?.clone());
        let query = PortQuery { project_id, ..query };
        let pages = self.client.network().port_addresses(&query).of(PORT_PAGE_SIZE);
        all_pages(pages).await.map_err(InventoryError::on_the_way)
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

    /// Nova, at the microversion from which servers tell the name of their flavor. Not at a newer one: from 2.69 on lists hold
    /// servers of which nothing but the id is known. One that is too old is asked as everybody asks it.
    fn nova(&self) -> Compute {
        let newer = || self.client.compute().at(Microversion::FLAVOR_IN_SERVER);
        self.older_nova.get().cloned().unwrap_or_else(newer)
    }

    /// Asks Nova. Which microversions it has is not asked for: all since 2017 have this one, and others refuse it.
    async fn ask_nova<T, F: Future<Output = Result<T, Error>> + Send>(
        &self,
        ask: impl Fn(Compute) -> F + Send,
    ) -> Result<T, Error> {
        match ask(self.nova()).await {
            Err(error) if error.status() == Some(NOT_ACCEPTABLE) && self.older_nova.get().is_none() => {
                let older = self.older_nova.get_or_init(|| self.client.compute()).clone();
                ask(older).await
            }
            answer => answer,
        }
    }
}

/// All pages of a list, and how many they were.
async fn all_pages<T: Listed>(mut pages: Pages<T>) -> Result<(Vec<T>, usize), Error> {
    let (mut all, mut calls) = (Vec::new(), 0);
    while let Some(page) = pages.next_page().await? {
        all.extend(page);
        calls += 1;
    }
    Ok((all, calls))
}
