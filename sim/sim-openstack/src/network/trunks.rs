//! Trunks: a port that carries other ports.

use http::StatusCode;
use serde_json::{Value, json};

use super::changes::{check_known, may_change, may_write, now, wanted_changes, with_changes, with_tenant};
use super::collection::Listing;
use super::errors::{conflict, missing, path_unknown, required};
use super::model::{Standard, SubPort, Trunk};
use super::{ports, quotas};
use crate::cloud::World;
use crate::http::json::{JsonExt, to_map};
use crate::http::{ApiResponse, Call, Refusal, Reply};

const WRITABLE: [&str; 3] = ["name", "description", "admin_state_up"];

/// Requests below `/trunks`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match (call.request.method.as_str(), rest) {
        ("GET", []) => {
            let listing = Listing {
                collection: "trunks",
                table: &world.state.network.trunks,
                indexed: &["port_id"],
                computed: &[],
                visible: &|trunk| call.caller.may_see(&trunk.project_id),
                render: &render,
                special: None,
            };
            listing.answer(world, call)
        }
        ("POST", []) => create(world, call),
        ("GET", [id]) => Ok(ApiResponse::ok(json!({"trunk": render(find(world, call, id)?)}))),
        ("GET", [id, "get_subports"]) => {
            Ok(ApiResponse::ok(json!({"sub_ports": find(world, call, id)?.sub_ports})))
        }
        ("PUT", [id]) => change(world, call, id),
        ("PUT", [id, action @ ("add_subports" | "remove_subports")]) => {
            change_sub_ports(world, call, id, *action == "add_subports")
        }
        ("DELETE", [id]) => {
            let trunk = find(world, call, id)?;
            may_change(call.caller, &trunk.project_id, "delete_trunk", missing("trunks", id))?;
            world.state.network.trunks.remove(id);
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(path_unknown()),
    }
}

fn find<'a>(world: &'a World, call: &Call<'_>, id: &str) -> Result<&'a Trunk, Refusal> {
    let trunk = world.state.network.trunks.get(id);
    trunk.filter(|trunk| call.caller.may_see(&trunk.project_id)).ok_or_else(|| missing("trunks", id))
}

fn render(trunk: &Trunk) -> Value {
    Value::Object(with_tenant(to_map(trunk)))
}

fn create(world: &mut World, call: &Call<'_>) -> Reply {
    may_write(call.caller, "create_trunk")?;
    let changes = wanted_changes(call, "trunk")?;
    check_known(&changes, &["name", "description", "admin_state_up", "port_id", "sub_ports"])?;
    let wanted = Value::Object(changes.clone());
    let port_id = wanted.text("port_id").ok_or_else(|| required("port_id"))?;
    let port = ports::find(world, call.caller, port_id)?.clone();
    if world.state.network.trunks.find("port_id", port_id).next().is_some() {
        let message = format!("Port {port_id} is currently a parent port for trunk.");
        return Err(conflict("ParentPortInUse", &message));
    }
    quotas::check(world, &port.project_id, "trunk", 1)?;
    let sub_ports = sub_ports(world, call, wanted.list("sub_ports"))?;
    let now = now(world);
    let blank = Trunk {
        id: world.ids.uuid(),
        project_id: port.project_id,
        port_id: port_id.to_owned(),
        sub_ports,
        status: "ACTIVE".to_owned(),
        admin_state_up: true,
        created_at: now.clone(),
        updated_at: now,
        revision_number: 1,
        ..Trunk::default()
    };
    let trunk = with_changes(&blank, &changes, &WRITABLE)?;
    world.state.network.trunks.insert(trunk.clone());
    Ok(ApiResponse::json(StatusCode::CREATED, json!({"trunk": render(&trunk)})))
}

fn sub_ports(world: &World, call: &Call<'_>, wanted: &[Value]) -> Result<Vec<SubPort>, Refusal> {
    let one = |wanted: &Value| {
        let sub: SubPort = serde_json::from_value(wanted.clone()).map_err(|_| required("port_id"))?;
        ports::find(world, call.caller, &sub.port_id)?;
        Ok(sub)
    };
    wanted.iter().map(one).collect()
}

fn change(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let trunk = find(world, call, id)?.clone();
    may_change(call.caller, &trunk.project_id, "update_trunk", missing("trunks", id))?;
    let mut changed = with_changes(&trunk, &wanted_changes(call, "trunk")?, &WRITABLE)?;
    changed.touch(&now(world));
    world.state.network.trunks.insert(changed.clone());
    Ok(ApiResponse::ok(json!({"trunk": render(&changed)})))
}

fn change_sub_ports(world: &mut World, call: &Call<'_>, id: &str, add: bool) -> Reply {
    let trunk = find(world, call, id)?;
    may_change(call.caller, &trunk.project_id, "update_trunk", missing("trunks", id))?;
    let wanted = sub_ports(world, call, call.request.body.list("sub_ports"))?;
    let time = now(world);
    let changed = world.state.network.trunks.update(id, |trunk| {
        trunk.sub_ports.retain(|own| !wanted.iter().any(|wanted| wanted.port_id == own.port_id));
        if add {
            trunk.sub_ports.extend(wanted);
        }
        trunk.touch(&time);
        render(trunk)
    });
    Ok(ApiResponse::ok(changed.unwrap_or_default()))
}
