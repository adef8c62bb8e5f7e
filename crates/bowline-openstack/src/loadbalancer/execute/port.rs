//! The security groups of ports: one is added, or taken off, and the others stay.
//!
//! Many Services have a group each on the port of the same Node, so a step says what becomes of its own group only. The others are
//! those that the port had when it was last seen here, by a look or by our own write. In this process one after the other does
//! that. Whatever anybody else changed since then makes Neutron refuse ours by the revision, and then the port is read: how old the
//! knowledge is does not matter. Without a revision it is read right before it is written.

use std::collections::HashMap;
use std::sync::Arc;

use bowline_cloud::{CloudError, ErrorClass};
use openstack_client::network::{Network, Port, PortUpdate};
use openstack_client::{Error, PortId, SecurityGroupId};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::OwnedMutexGuard;

use super::refused;

/// How often a port is read and written while somebody else changes it all the time.
const TRIES: usize = 3;

/// What HTTP calls a revision that is stale.
const STALE: u16 = 412;

/// So many ports are known before those that nobody changes are forgotten.
const KEPT: usize = 4096;

/// Who changes a port waits for its turn; and what the ports were when they were last seen.
#[derive(Debug, Default)]
pub(crate) struct PortTurns(Mutex<HashMap<PortId, Entry>>);

#[derive(Debug, Default)]
struct Entry {
    turn: Arc<tokio::sync::Mutex<()>>,
    seen: Option<Seen>,
}

/// The groups of a port at a revision.
#[derive(Debug, Clone)]
struct Seen {
    revision: u64,
    groups: Vec<SecurityGroupId>,
}

impl PortTurns {
    async fn hold(&self, port: &PortId) -> OwnedMutexGuard<()> {
        let turn = Arc::clone(&self.lock_with_room().entry(port.clone()).or_default().turn);
        turn.lock_owned().await
    }

    /// Notes ports as they are. What was seen at a later revision stays.
    pub(in crate::loadbalancer) fn sees<'p>(&self, ports: impl IntoIterator<Item = &'p Port>) {
        for port in ports {
            let (Some(revision), Some(groups)) = (port.revision_number, &port.security_groups) else {
                continue;
            };
            let mut ports = self.lock_with_room();
            let entry = ports.entry(port.id.clone()).or_default();
            if entry.seen.as_ref().is_none_or(|seen| seen.revision < revision) {
                entry.seen = Some(Seen { revision, groups: groups.clone() });
            }
        }
    }

    fn seen(&self, port: &PortId) -> Option<Seen> {
        self.lock().get(port).and_then(|entry| entry.seen.clone())
    }

    fn forget(&self, port: &PortId) {
        if let Some(entry) = self.lock().get_mut(port) {
            entry.seen = None;
        }
    }

    fn lock_with_room(&self) -> MutexGuard<'_, HashMap<PortId, Entry>> {
        let mut ports = self.lock();
        if ports.len() >= KEPT {
            ports.retain(|_port, entry| Arc::strong_count(&entry.turn) > 1);
        }
        ports
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<PortId, Entry>> {
        self.0.lock()
    }
}

/// Adds a group to a port. Nothing is written if it has it.
pub(in crate::loadbalancer) async fn add_group(
    network: &Network,
    turns: &PortTurns,
    port: &PortId,
    group: &SecurityGroupId,
) -> Result<(), CloudError> {
    let _held = turns.hold(port).await;
    change(network, turns, port, |own| with(own, group)).await
}

/// Takes a group off a port. Nothing is written if it does not have it, or is gone.
pub(crate) async fn remove_group(
    network: &Network,
    turns: &PortTurns,
    port: &PortId,
    group: &SecurityGroupId,
) -> Result<(), CloudError> {
    let _held = turns.hold(port).await;
    match change(network, turns, port, |own| without(own, group)).await {
        Err(error) if error.class() == ErrorClass::NotFound => Ok(()),
        result => result,
    }
}

/// Gives a port what `other` makes of its groups, if that is something else. What was seen earlier is only good for a write that
/// Neutron checks: that nothing is to be done is said of what is read now.
async fn change(
    network: &Network,
    turns: &PortTurns,
    id: &PortId,
    other: impl Fn(&[SecurityGroupId]) -> Option<Vec<SecurityGroupId>>,
) -> Result<(), CloudError> {
    if let Some(Seen { revision, groups }) = turns.seen(id)
        && let Some(groups) = other(&groups)
    {
        match write(network, turns, id, groups, Some(revision)).await {
            Err(error) if is_stale(&error) => {}
            result => return result.map_err(refused),
        }
    }
    let mut tries = 1;
    loop {
        let port = network.port(id).await.map_err(refused)?;
        turns.sees([&port]);
        let Some(groups) = other(told(&port)?) else { return Ok(()) };
        match write(network, turns, id, groups, port.revision_number).await {
            Err(error) if is_stale(&error) && tries < TRIES => tries += 1,
            result => return result.map_err(refused),
        }
    }
}

async fn write(
    network: &Network,
    turns: &PortTurns,
    id: &PortId,
    groups: Vec<SecurityGroupId>,
    revision: Option<u64>,
) -> Result<(), Error> {
    // Also if nobody is there any more to hear the answer.
    turns.forget(id);
    let update = PortUpdate { security_groups: Some(groups), ..PortUpdate::default() };
    let changed = network.update_port(id, &update, revision).await?;
    turns.sees([&changed]);
    Ok(())
}

/// The groups of a port. Of one that does not tell them nothing could be kept.
fn told(port: &Port) -> Result<&[SecurityGroupId], CloudError> {
    port.security_groups.as_deref().ok_or_else(|| {
        let why = format!(
            "Neutron does not tell which security groups port {} has, so none can be added or taken off; see the policy of \
             get_port:security_groups",
            port.id
        );
        CloudError::new(ErrorClass::Transient, why)
    })
}

fn is_stale(error: &Error) -> bool {
    error.status() == Some(STALE)
}

fn with(own: &[SecurityGroupId], group: &SecurityGroupId) -> Option<Vec<SecurityGroupId>> {
    (!own.contains(group)).then(|| own.iter().chain([group]).cloned().collect())
}

/// The groups that stay are sorted, as OCCM does it.
fn without(own: &[SecurityGroupId], group: &SecurityGroupId) -> Option<Vec<SecurityGroupId>> {
    if !own.contains(group) {
        return None;
    }
    let mut groups: Vec<SecurityGroupId> = own.iter().filter(|own| *own != group).cloned().collect();
    groups.sort();
    Some(groups)
}
