//! The security groups of ports: one is added, or taken off, and the others stay.
//!
//! Many Services have a group each on the port of the same Node. What a look saw of such a port is old as soon as another of them
//! was served, so a step says what becomes of its own group only; the others are read right before they are written. In this
//! process one after the other does that. Somebody else who changes the port in between makes Neutron refuse ours by the revision,
//! and then it is read once more.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use bowline_cloud::{CloudError, ErrorClass};
use openstack_client::network::{Network, Port, PortUpdate};
use openstack_client::{Error, PortId, SecurityGroupId};
use tokio::sync::OwnedMutexGuard;

use super::refused;

/// How often a port is read and written while somebody else changes it all the time.
const TRIES: usize = 3;

/// What HTTP calls a revision that is stale.
const STALE: u16 = 412;

/// Turns of so many ports are kept before those that nobody holds are forgotten.
const KEPT: usize = 1024;

/// Who changes a port waits for its turn.
#[derive(Debug, Default)]
pub(in crate::loadbalancer) struct PortTurns(Mutex<HashMap<PortId, Weak<tokio::sync::Mutex<()>>>>);

impl PortTurns {
    async fn hold(&self, port: &PortId) -> OwnedMutexGuard<()> {
        self.turn(port).lock_owned().await
    }

    fn turn(&self, port: &PortId) -> Arc<tokio::sync::Mutex<()>> {
        let mut turns = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(turn) = turns.get(port).and_then(Weak::upgrade) {
            return turn;
        }
        if turns.len() >= KEPT {
            turns.retain(|_port, turn| turn.strong_count() > 0);
        }
        let turn = Arc::default();
        turns.insert(port.clone(), Arc::downgrade(&turn));
        turn
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
    change(network, port, |own| with(own, group)).await
}

/// Takes a group off a port. Nothing is written if it does not have it, or is gone.
pub(in crate::loadbalancer) async fn remove_group(
    network: &Network,
    turns: &PortTurns,
    port: &PortId,
    group: &SecurityGroupId,
) -> Result<(), CloudError> {
    let _held = turns.hold(port).await;
    match change(network, port, |own| without(own, group)).await {
        Err(error) if error.class() == ErrorClass::NotFound => Ok(()),
        result => result,
    }
}

/// Reads a port and gives it what `other` makes of its groups, if that is something else.
async fn change(
    network: &Network,
    id: &PortId,
    other: impl Fn(&[SecurityGroupId]) -> Option<Vec<SecurityGroupId>>,
) -> Result<(), CloudError> {
    let mut tries = 1;
    loop {
        let port = network.port(id).await.map_err(refused)?;
        let Some(groups) = other(told(&port)?) else { return Ok(()) };
        let update = PortUpdate { security_groups: Some(groups), ..PortUpdate::default() };
        match network.update_port(id, &update, port.revision_number).await {
            Ok(_changed) => return Ok(()),
            Err(error) if is_stale(&error) && tries < TRIES => tries += 1,
            Err(error) => return Err(refused(error)),
        }
    }
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
