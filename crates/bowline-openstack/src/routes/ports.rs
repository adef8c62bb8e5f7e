//! The ports of the Nodes are opened for the ranges of their pods, and shut again. It changes no routes.

use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;

use bowline_cloud::{CloudError, ErrorClass};
use futures::{StreamExt, stream};
use ipnet::IpNet;
use openstack_client::network::{Port, PortUpdate, Route as RouterRoute};
use openstack_client::{Client, Error, PortId};
use tracing::{debug, warn};

use super::batch::{Batch, Task, Verb, read};
use super::interfaces::{Interfaces, PortsByAddress};
use super::pairs::{self, Change};
use super::shared;
use crate::error::class_of;

/// So many ports are changed at once: enough to hide the latency; the client's budget sets the pace.
const AT_ONCE: usize = 8;

/// The routes whose port is seen to lack the pair.
pub(super) async fn shut(
    client: &Client,
    interfaces: &Interfaces,
    routes: &[RouterRoute],
) -> Result<BTreeSet<RouterRoute>, Error> {
    let hops = routes.iter().filter_map(read).map(|(_, hop)| hop).collect();
    let ports = interfaces.ports(client, &hops).await?;
    let is_shut = |route: &&RouterRoute| {
        let port = read(route).and_then(|(range, hop)| Some((range, ports.get(&hop)?)));
        port.is_some_and(|(range, port)| pairs::lacks(port, &range))
    };
    Ok(routes.iter().filter(is_shut).cloned().collect())
}

/// Opens and shuts ports for what is left of the batch; `staying` are the routes that there will be. What fails here is not
/// gone on with, except that a route is not kept because its port can never be shut.
pub(super) async fn prepare(
    client: &Client,
    interfaces: &Interfaces,
    batch: &mut Batch,
    staying: &[RouterRoute],
) {
    let hops: BTreeSet<_> = batch.done().map(|task| task.hop).collect();
    if hops.is_empty() {
        return;
    }
    let ports = match interfaces.ports(client, &hops).await {
        Ok(ports) => ports,
        Err(error) => return fail(batch, |_| true, &error),
    };
    for task in batch.done().filter(|task| task.verb == Verb::Add).cloned().collect::<Vec<_>>() {
        let known = ports.get(&task.hop).map(pairs::is_known);
        if known != Some(true) {
            batch.fail(|other| *other == task, || not_opened(&task, known.is_some()));
        }
    }
    let changes = changes(batch, &ports, staying);
    let changing = changes.into_values().map(|(port, change)| change_port(client, port, change));
    let mut changing = stream::iter(changing.collect::<Vec<_>>()).buffer_unordered(AT_ONCE);
    while let Some((port, change, changed)) = changing.next().await {
        let Err(error) = changed else { continue };
        let of_port = |task: &Task| {
            ports.get(&task.hop).is_some_and(|other| other.id == port.id)
                && (change.add.contains(&task.destination) || change.drop.contains(&task.destination))
        };
        fail(batch, of_port, &error);
    }
}

/// What is to be changed of each port, by its id.
fn changes(
    batch: &Batch,
    ports: &PortsByAddress,
    staying: &[RouterRoute],
) -> BTreeMap<PortId, (Port, Change)> {
    let mut changes: BTreeMap<PortId, (Port, Change)> = BTreeMap::new();
    let staying: BTreeSet<(IpNet, IpAddr)> = staying.iter().filter_map(read).collect();
    for task in batch.done() {
        let Some(port) = ports.get(&task.hop) else { continue };
        let (_, change) = changes.entry(port.id.clone()).or_insert_with(|| (port.clone(), Change::default()));
        // The same port may serve the same pods under another of its addresses.
        let serves = || port.fixed_ips.iter().any(|ip| staying.contains(&(task.destination, ip.ip_address)));
        match task.verb {
            Verb::Add => change.add.insert(task.destination),
            Verb::Remove if serves() => false,
            Verb::Remove => change.drop.insert(task.destination),
        };
    }
    changes
}

/// Changes a port, unless somebody else has changed it since it was read; then once more as it is now.
async fn change_port(client: &Client, port: Port, change: Change) -> (Port, Change, Result<(), Error>) {
    let mut changed = put(client, &port, &change).await;
    if changed.as_ref().is_err_and(|error| error.status() == Some(412)) {
        debug!(port = %port.id, "the port has changed meanwhile; it is read again");
        changed = match client.network().port(&port.id).await {
            Ok(now) => put(client, &now, &change).await,
            Err(error) => Err(error),
        };
    }
    (port, change, changed)
}

async fn put(client: &Client, port: &Port, change: &Change) -> Result<(), Error> {
    let Some(pairs) = pairs::after(port, change) else { return Ok(()) };
    let update = PortUpdate { allowed_address_pairs: Some(pairs), ..PortUpdate::default() };
    client.network().update_port(&port.id, &update, port.revision_number).await.map(drop)
}

/// The changes fail by an error of their port. But a port that is gone needs not be shut, and one that may never be shut
/// must not keep a route that leads nowhere.
fn fail(batch: &mut Batch, which: impl Fn(&Task) -> bool, error: &Error) {
    let class = class_of(error.class());
    let hopeless = matches!(class, ErrorClass::NotFound | ErrorClass::Invalid | ErrorClass::Forbidden);
    if hopeless && batch.done().any(|task| task.verb == Verb::Remove && which(task)) {
        warn!(%error, "the allowed address pair of a route that goes away cannot be removed; it stays");
    }
    batch.fail(|task| which(task) && !(hopeless && task.verb == Verb::Remove), || shared(error));
}

/// Why a port is not opened; `found` says whether there is one.
fn not_opened(task: &Task, found: bool) -> CloudError {
    let Task { hop, destination, .. } = task;
    if found {
        return CloudError::transient(format!(
            "Neutron does not tell the allowed address pairs of the port with address {hop}; without them none can be \
             added for {destination}"
        ));
    }
    let message = format!(
        "no port in the networks of the router has the address {hop}, so that none can be opened for {destination}; \
         check that the Node's first InternalIP is in a network of the router"
    );
    CloudError::new(ErrorClass::NotFound, message)
}
