//! New servers: by the API, or at once for an estate.

use std::collections::BTreeMap;

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{bad_request, forbidden};
use super::model::{Server, Transition, VmState, WantedNetwork};
use super::{ComputeCall, lifecycle};
use crate::clock::later;
use crate::cloud::World;
use crate::config::Service;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Refusal, Reply};
use crate::schedule::Effect;

/// A server that an estate wants to have.
#[derive(Clone, Debug, Default)]
pub struct NewServer {
    /// Its name.
    pub name: String,
    /// Its project.
    pub project_id: String,
    /// Its user.
    pub user_id: String,
    /// Its flavor.
    pub flavor_id: String,
    /// Its image.
    pub image_id: Option<String>,
    /// The networks it gets ports on.
    pub networks: Vec<String>,
    /// The names of its security groups; none: `default`.
    pub security_groups: Vec<String>,
    /// Its zone.
    pub zone: Option<String>,
    /// Its metadata.
    pub metadata: BTreeMap<String, String>,
}

/// Makes a server that runs at once; gives its identifier.
pub fn boot(world: &mut World, new: NewServer) -> String {
    let networks = new.networks.into_iter().map(|network| WantedNetwork::Network(network, None)).collect();
    let blank = blank(world, &new.name, &new.project_id, &new.user_id);
    let server = Server {
        flavor_id: new.flavor_id,
        image_id: new.image_id,
        wanted_zone: new.zone,
        metadata: new.metadata,
        wanted_networks: networks,
        wanted_groups: new.security_groups,
        transition: Some((Transition::Build, world.now)),
        ..blank
    };
    let id = server.id.clone();
    world.state.compute.insert_server(server);
    lifecycle::finish(world, &id);
    id
}

/// `POST /servers`.
pub(super) fn create(world: &mut World, call: &ComputeCall<'_>) -> Reply {
    let caller = call.call.caller;
    if !caller.may_write() {
        return Err(super::errors::policy("os_compute_api:servers:create"));
    }
    let wanted = call.call.request.body.get("server").cloned().unwrap_or_default();
    let name = wanted.text("name").ok_or_else(|| {
        bad_request("Invalid input for field/attribute server. Value: {}. 'name' is a required property")
    })?;
    let flavor_id = wanted.text("flavorRef").unwrap_or_default().to_owned();
    let flavor_id = flavor_id.rsplit('/').next().unwrap_or_default().to_owned();
    if !world.state.compute.flavors.contains_key(&flavor_id) {
        return Err(bad_request(&format!("Flavor {flavor_id} could not be found.")));
    }
    let image_id = wanted.text("imageRef").map(str::to_owned).filter(|image| !image.is_empty());
    if image_id.as_ref().is_some_and(|image| !world.state.image.images.contains_key(image)) {
        return Err(bad_request("Can not find requested image"));
    }
    let zone = wanted.text("availability_zone");
    if zone.is_some_and(|zone| !world.config.zones.iter().any(|own| own == zone)) {
        return Err(bad_request("The requested availability zone is not available"));
    }
    let networks = networks(world, call, &wanted)?;
    let count =
        wanted.integer("max_count").or_else(|| wanted.integer("min_count")).unwrap_or(1).clamp(1, 1000);
    check_quota(world, &caller.project_id, &flavor_id, count)?;
    let groups: Vec<String> = wanted
        .list("security_groups")
        .iter()
        .filter_map(|group| group.text("name"))
        .map(str::to_owned)
        .collect();
    let metadata = wanted.get("metadata").and_then(Value::as_object).into_iter().flatten();
    let metadata: BTreeMap<String, String> =
        metadata.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    let mut first = None;
    for number in 1..=count {
        let name = if count == 1 { name.to_owned() } else { format!("{name}-{number}") };
        let blank = blank(world, &name, &caller.project_id, &caller.user_id);
        let done = later(world.now, world.config.latencies.server_build);
        let server = Server {
            flavor_id: flavor_id.clone(),
            image_id: image_id.clone(),
            wanted_zone: wanted.text("availability_zone").map(str::to_owned),
            metadata: metadata.clone(),
            tags: wanted.texts("tags"),
            key_name: wanted.text("key_name").map(str::to_owned),
            description: description(call, &wanted, &name),
            wanted_networks: networks.clone(),
            wanted_groups: groups.clone(),
            transition: Some((Transition::Build, done)),
            ..blank
        };
        let id = server.id.clone();
        world.state.compute.insert_server(server);
        world.schedule.add(done, Effect::Server(id.clone()));
        first = first.or(Some(id));
    }
    let id = first.unwrap_or_default();
    let groups = if groups.is_empty() { vec!["default".to_owned()] } else { groups };
    let groups: Vec<Value> = groups.iter().map(|name| json!({"name": name})).collect();
    let links = super::render::links(world, "servers", &id);
    let location = format!("{}/v2.1/servers/{id}", world.config.base(Service::Compute));
    let password = world.ids.secret(12);
    let body = json!({"server": {
        "id": id, "links": links, "OS-DCF:diskConfig": "MANUAL", "security_groups": groups,
        "adminPass": password,
    }});
    Ok(ApiResponse::json(StatusCode::ACCEPTED, body).with("location", &location))
}

/// Before descriptions could be given, the name was taken for one.
fn description(call: &ComputeCall<'_>, wanted: &Value, name: &str) -> Option<String> {
    if call.version.has(19) { wanted.text("description").map(str::to_owned) } else { Some(name.to_owned()) }
}

/// The networks and ports that are asked for; if none are named, the only network of the project.
fn networks(world: &World, call: &ComputeCall<'_>, wanted: &Value) -> Result<Vec<WantedNetwork>, Refusal> {
    let network = &world.state.network;
    let project = &call.call.caller.project_id;
    let named = match wanted.get("networks") {
        Some(Value::Array(named)) if !named.is_empty() => named,
        Some(Value::String(choice)) if choice == "none" => return Ok(Vec::new()),
        _ => {
            let own: Vec<_> =
                network.networks.iter().filter(|network| network.project_id == *project).collect();
            return match own.as_slice() {
                [] => Ok(Vec::new()),
                [only] => Ok(vec![WantedNetwork::Network(only.id.clone(), None)]),
                _ => {
                    let message = "Multiple possible networks found, use a Network ID to be more specific.";
                    Err(super::errors::conflict(message))
                }
            };
        }
    };
    named
        .iter()
        .map(|entry| {
            if let Some(port) = entry.text("port") {
                let known = network
                    .ports
                    .get(port)
                    .ok_or_else(|| bad_request(&format!("Port id {port} could not be found.")))?;
                if !known.device_id.is_empty() {
                    let message = format!("Port {port} is still in use.");
                    return Err(super::errors::conflict(&message));
                }
                return Ok(WantedNetwork::Port(port.to_owned()));
            }
            let id = entry.text("uuid").unwrap_or_default();
            if !network.networks.contains(id) {
                return Err(bad_request(&format!("Network {id} could not be found.")));
            }
            Ok(WantedNetwork::Network(id.to_owned(), entry.text("fixed_ip").map(str::to_owned)))
        })
        .collect()
}

fn check_quota(world: &World, project: &str, flavor_id: &str, count: i64) -> Result<(), Refusal> {
    let quota = world.state.compute.quotas.get(project).copied().unwrap_or_default();
    let used = world.state.compute.usage.get(project).copied().unwrap_or_default();
    let flavor = world.state.compute.flavors.get(flavor_id);
    let (cores, ram) = flavor.map_or((0, 0), |flavor| (flavor.vcpus, flavor.ram));
    let limits = [
        ("instances", count, used.0, quota.instances),
        ("cores", count * cores, used.1, quota.cores),
        ("ram", count * ram, used.2, quota.ram),
    ];
    for (name, wanted, used, limit) in limits {
        if limit >= 0 && used + wanted > limit {
            let message = format!(
                "Quota exceeded for {name}: Requested {wanted}, but already used {used} of {limit} {name}"
            );
            return Err(forbidden(&message));
        }
    }
    Ok(())
}

fn blank(world: &mut World, name: &str, project_id: &str, user_id: &str) -> Server {
    world.state.compute.made += 1;
    Server {
        id: world.ids.uuid(),
        name: name.to_owned(),
        project_id: project_id.to_owned(),
        user_id: user_id.to_owned(),
        flavor_id: String::new(),
        image_id: None,
        vm_state: VmState::Building,
        transition: None,
        zone: String::new(),
        wanted_zone: None,
        host: String::new(),
        created: world.now,
        updated: world.now,
        launched: None,
        metadata: BTreeMap::new(),
        tags: Vec::new(),
        key_name: None,
        description: None,
        locked: false,
        access: (String::new(), String::new()),
        fault: None,
        wanted_networks: Vec::new(),
        wanted_groups: Vec::new(),
        number: world.state.compute.made,
    }
}
