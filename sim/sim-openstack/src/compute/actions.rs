//! `POST /servers/{id}/action`: which action is possible in which state, and where it leads.

use http::StatusCode;

use super::errors::{bad_request, conflict};
use super::model::{Server, Transition, VmState};
use super::{ComputeCall, servers};
use crate::clock::later;
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Reply};
use crate::network;
use crate::schedule::Effect;

/// A change of state: the action's name in messages, the states it starts from, the state it leads to, the task state
/// meanwhile.
type Move = (&'static str, &'static [VmState], VmState, &'static str);

fn movement(action: &str) -> Option<Move> {
    use VmState::{Active, Error, Paused, ShelvedOffloaded, Stopped, Suspended};
    let movement: Move = match action {
        "os-stop" => ("stop", &[Active, Error], Stopped, "powering-off"),
        "os-start" => ("start", &[Stopped], Active, "powering-on"),
        "reboot" => ("reboot", &[Active, Stopped, Paused, Suspended, Error], Active, "rebooting"),
        "shelve" => ("shelve", &[Active, Stopped, Paused, Suspended], ShelvedOffloaded, "shelving"),
        "unshelve" => ("unshelve", &[ShelvedOffloaded], Active, "unshelving"),
        "pause" => ("pause", &[Active], Paused, "pausing"),
        "unpause" => ("unpause", &[Paused], Active, "unpausing"),
        "suspend" => ("suspend", &[Active], Suspended, "suspending"),
        "resume" => ("resume", &[Suspended], Active, "resuming"),
        _ => return None,
    };
    Some(movement)
}

/// Performs an action.
pub(super) fn act(world: &mut World, call: &ComputeCall<'_>, id: &str) -> Reply {
    let body = &call.call.request.body;
    let action = body.as_object().and_then(|members| members.keys().next()).cloned().unwrap_or_default();
    let server = servers::find_to_change(world, call, id, &format!("servers:{action}"))?;
    if let Some(movement) = movement(&action) {
        possible(server, movement)?;
        start(world, id, movement);
        return Ok(accepted());
    }
    let argument = body.get(&action).cloned().unwrap_or_default();
    match action.as_str() {
        "lock" | "unlock" => {
            world.state.compute.servers.update(id, |server| server.locked = action == "lock");
        }
        "addSecurityGroup" | "removeSecurityGroup" => {
            let group = argument.text("name").unwrap_or_default();
            let project = server.project_id.clone();
            let add = action == "addSecurityGroup";
            if !network::change_server_group(world, id, &project, group, add) {
                let message = format!("Security group {group} not found.");
                return Err(super::errors::not_found(&message));
            }
        }
        "os-resetState" => {
            let state =
                if argument.text("state") == Some("active") { VmState::Active } else { VmState::Error };
            world.state.compute.servers.update(id, |server| {
                server.vm_state = state;
                server.transition = None;
            });
        }
        _ => return Err(bad_request(&format!("There is no such action: {action}"))),
    }
    Ok(accepted())
}

fn possible(server: &Server, (name, from, ..): Move) -> Result<(), crate::http::Refusal> {
    let id = &server.id;
    if server.locked {
        return Err(conflict(&format!("Instance {id} is locked")));
    }
    if let Some((transition, _)) = server.transition {
        let task = transition.task_state();
        return Err(conflict(&format!("Cannot '{name}' instance {id} while it is in task_state {task}")));
    }
    if !from.contains(&server.vm_state) {
        let state = server.vm_state.name();
        return Err(conflict(&format!("Cannot '{name}' instance {id} while it is in vm_state {state}")));
    }
    Ok(())
}

fn start(world: &mut World, id: &str, (_, _, to, task): Move) {
    let done = later(world.now, world.config.latencies.server_action);
    let now = world.now;
    world.state.compute.servers.update(id, |server| {
        server.transition = Some((Transition::To(to, task), done));
        server.updated = now;
    });
    world.schedule.add(done, Effect::Server(id.to_owned()));
}

fn accepted() -> ApiResponse {
    ApiResponse::empty(StatusCode::ACCEPTED).with("content-type", "application/json")
}
