//! What becomes of a server when its transition is done.

use super::model::{Server, Transition, VmState, WantedNetwork};
use crate::cloud::World;
use crate::network;

/// Ends the transition of a server, if it is due by now.
pub(crate) fn finish(world: &mut World, id: &str) {
    let Some(server) = world.state.compute.servers.get(id) else { return };
    let Some((transition, due)) = server.transition else { return };
    if due > world.now {
        return; // an older effect; the transition was replaced by a later one
    }
    match transition {
        Transition::Build => build(world, id),
        Transition::To(state, _) => settle_in(world, id, state),
        Transition::Delete => delete(world, id),
    }
}

fn build(world: &mut World, id: &str) {
    let Some(server) = world.state.compute.servers.get(id).cloned() else { return };
    let zones = &world.config.zones;
    let turn = usize::try_from(server.number.saturating_sub(1)).unwrap_or(0) % zones.len().max(1);
    let zone = server.wanted_zone.clone().or_else(|| zones.get(turn).cloned()).unwrap_or_default();
    let place = zones.iter().position(|name| *name == zone).map_or(1, |place| place + 1);
    let problem = attach_all(world, &server, &zone).err();
    let now = world.now;
    world.state.compute.servers.update(id, |server| {
        server.transition = None;
        server.updated = now;
        match problem {
            None => {
                server.zone = zone;
                server.host = format!("compute{place}");
                server.vm_state = VmState::Active;
                server.launched = Some(now);
            }
            Some(problem) => {
                server.vm_state = VmState::Error;
                server.fault = Some(problem);
            }
        }
    });
}

/// Makes or takes the ports of a server.
fn attach_all(world: &mut World, server: &Server, zone: &str) -> Result<(), String> {
    for wanted in &server.wanted_networks {
        match wanted {
            WantedNetwork::Port(port) => {
                network::bind_port(world, port, &server.id, zone, &server.name);
            }
            WantedNetwork::Network(network_id, address) => {
                let groups = &server.wanted_groups;
                network::add_server_port(world, network_id, address.as_deref(), server, zone, groups)?;
            }
        }
    }
    Ok(())
}

fn settle_in(world: &mut World, id: &str, state: VmState) {
    let now = world.now;
    world.state.compute.servers.update(id, |server| {
        server.vm_state = state;
        server.transition = None;
        server.updated = now;
    });
    let up = state == VmState::Active;
    for port in world.state.network.ports.find_ids("device_id", id) {
        let status = if up { "ACTIVE" } else { "DOWN" };
        world.state.network.ports.update(&port, |port| status.clone_into(&mut port.status));
    }
}

/// A server goes; ports that were made for it go with it, others are free again.
pub(super) fn delete(world: &mut World, id: &str) {
    for port in world.state.network.ports.find_ids("device_id", id) {
        let given = world.state.compute.servers.get(id).is_some_and(|server| {
            server.wanted_networks.iter().any(|wanted| *wanted == WantedNetwork::Port(port.clone()))
        });
        if given {
            network::unbind_port(world, &port);
        } else {
            network::drop_port(world, &port);
        }
    }
    world.state.compute.remove_server(id);
    world.state.compute.date_deleted(world.now);
}
