//! Flavors and zones of load balancers, with the profiles that say what they mean to a provider.

use http::StatusCode;
use serde_json::{Value, json};

use super::errors::{bad_request, conflict, mandatory, method_not_allowed, not_found, policy};
use super::model::{AvailabilityZone, Flavor, Profile};
use super::providers;
use crate::cloud::World;
use crate::http::json::JsonExt;
use crate::http::{ApiResponse, Call, Reply};

/// Requests below `/flavors`, `/flavorprofiles`, `/availabilityzones` and `/availabilityzoneprofiles`.
pub(super) fn serve(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    let profiles = matches!(rest, ["flavorprofiles" | "availabilityzoneprofiles", ..]);
    let writes = call.request.method != http::Method::GET;
    if (profiles || writes) && !call.caller.is_admin() {
        return Err(policy());
    }
    match (call.request.method.as_str(), rest) {
        ("GET", ["flavors"]) => {
            let all = world.state.load_balancer.flavors.values().map(|flavor| json!(flavor));
            Ok(list(call, "flavors", all.collect()))
        }
        ("GET", ["flavors", id]) => {
            let flavor = world.state.load_balancer.flavors.get(*id).ok_or_else(|| not_found("Flavor", id))?;
            Ok(ApiResponse::ok(json!({"flavor": flavor})))
        }
        ("POST", ["flavors"]) => create_flavor(world, call),
        ("PUT", ["flavors", id]) => change_flavor(world, call, id),
        ("DELETE", ["flavors", id]) => {
            if world
                .state
                .load_balancer
                .load_balancers
                .iter()
                .any(|row| row.flavor_id.as_deref() == Some(*id))
            {
                return Err(conflict(&format!("Flavor {id} is in use and cannot be modified.")));
            }
            world.state.load_balancer.flavors.remove(*id).ok_or_else(|| not_found("Flavor", id))?;
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        ("GET", ["availabilityzones"]) => {
            let all = world.state.load_balancer.zones.values().map(|zone| json!(zone));
            Ok(list(call, "availability_zones", all.collect()))
        }
        ("GET", ["availabilityzones", name]) => {
            let zone = world.state.load_balancer.zones.get(*name);
            let zone = zone.ok_or_else(|| not_found("Availability Zone", name))?;
            Ok(ApiResponse::ok(json!({"availability_zone": zone})))
        }
        ("POST", ["availabilityzones"]) => create_zone(world, call),
        ("DELETE", ["availabilityzones", name]) => {
            let gone = world.state.load_balancer.zones.remove(*name);
            gone.ok_or_else(|| not_found("Availability Zone", name))?;
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        ("GET", [collection @ ("flavorprofiles" | "availabilityzoneprofiles")]) => {
            let zones = *collection == "availabilityzoneprofiles";
            let all = profiles_of(world, zones).values().map(|profile| render(profile, zones)).collect();
            Ok(list(call, if zones { "availability_zone_profiles" } else { "flavorprofiles" }, all))
        }
        ("POST", [collection @ ("flavorprofiles" | "availabilityzoneprofiles")]) => {
            create_profile(world, call, *collection == "availabilityzoneprofiles")
        }
        ("DELETE", ["flavorprofiles", id]) => {
            if world.state.load_balancer.flavors.values().any(|flavor| flavor.flavor_profile_id == *id) {
                return Err(conflict(&format!("Flavor profile {id} is in use and cannot be modified.")));
            }
            let gone = world.state.load_balancer.flavor_profiles.remove(*id);
            gone.ok_or_else(|| not_found("Flavor profile", id))?;
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        ("DELETE", ["availabilityzoneprofiles", id]) => {
            let used = |zone: &AvailabilityZone| zone.availability_zone_profile_id == *id;
            if world.state.load_balancer.zones.values().any(used) {
                let message = format!("Availability Zone Profile {id} is in use and cannot be modified.");
                return Err(conflict(&message));
            }
            let gone = world.state.load_balancer.zone_profiles.remove(*id);
            gone.ok_or_else(|| not_found("Availability Zone Profile", id))?;
            Ok(ApiResponse::empty(StatusCode::NO_CONTENT))
        }
        _ => Err(method_not_allowed()),
    }
}

/// These lists are short: they know no pages, only the name.
fn list(call: &Call<'_>, name: &str, all: Vec<Value>) -> ApiResponse {
    let wanted = call.request.query.get("name");
    let shown: Vec<Value> =
        all.into_iter().filter(|row| wanted.is_none_or(|wanted| row.text("name") == Some(wanted))).collect();
    let links = format!("{name}_links");
    ApiResponse::ok(json!({name: shown, links: []}))
}

fn profiles_of(world: &World, zones: bool) -> &std::collections::BTreeMap<String, Profile> {
    let state = &world.state.load_balancer;
    if zones { &state.zone_profiles } else { &state.flavor_profiles }
}

fn render(profile: &Profile, zones: bool) -> Value {
    let data = if zones { "availability_zone_data" } else { "flavor_data" };
    json!({"id": profile.id, "name": profile.name, "provider_name": profile.provider_name, data: profile.data})
}

fn create_profile(world: &mut World, call: &Call<'_>, zones: bool) -> Reply {
    let (object, data) = if zones {
        ("availability_zone_profile", "availability_zone_data")
    } else {
        ("flavorprofile", "flavor_data")
    };
    let wanted = call.request.body.get(object).cloned().unwrap_or_default();
    let required = |name: &str| wanted.text(name).map(str::to_owned).ok_or_else(|| mandatory(name));
    let provider_name = required("provider_name")?;
    if !providers::exists(&provider_name) {
        return Err(bad_request(&format!("Provider '{provider_name}' is not enabled.")));
    }
    let profile =
        Profile { id: world.ids.uuid(), name: required("name")?, provider_name, data: required(data)? };
    let shown = render(&profile, zones);
    let state = &mut world.state.load_balancer;
    let profiles = if zones { &mut state.zone_profiles } else { &mut state.flavor_profiles };
    profiles.insert(profile.id.clone(), profile);
    Ok(ApiResponse::json(StatusCode::CREATED, json!({object: shown})))
}

fn create_flavor(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = call.request.body.get("flavor").cloned().unwrap_or_default();
    let flavor_profile_id =
        wanted.text("flavor_profile_id").ok_or_else(|| mandatory("flavor_profile_id"))?.to_owned();
    let name = wanted.text("name").ok_or_else(|| mandatory("name"))?.to_owned();
    let taken = world.state.load_balancer.flavors.values().any(|flavor| flavor.name == name);
    // Octavia takes every complaint of its database for a name that is taken, also that of an unknown profile.
    if taken || !world.state.load_balancer.flavor_profiles.contains_key(&flavor_profile_id) {
        return Err(conflict(&format!("A flavor of {name} already exists.")));
    }
    let flavor = Flavor {
        id: world.ids.uuid(),
        name,
        description: wanted.text("description").unwrap_or_default().to_owned(),
        enabled: wanted.flag("enabled").unwrap_or(true),
        flavor_profile_id,
    };
    let shown = json!({"flavor": flavor});
    world.state.load_balancer.flavors.insert(flavor.id.clone(), flavor);
    Ok(ApiResponse::json(StatusCode::CREATED, shown))
}

fn change_flavor(world: &mut World, call: &Call<'_>, id: &str) -> Reply {
    let wanted = call.request.body.get("flavor").cloned().unwrap_or_default();
    let flavor = world.state.load_balancer.flavors.get_mut(id).ok_or_else(|| not_found("Flavor", id))?;
    flavor.enabled = wanted.flag("enabled").unwrap_or(flavor.enabled);
    if let Some(name) = wanted.text("name") {
        name.clone_into(&mut flavor.name);
    }
    if let Some(description) = wanted.text("description") {
        description.clone_into(&mut flavor.description);
    }
    Ok(ApiResponse::ok(json!({"flavor": flavor})))
}

fn create_zone(world: &mut World, call: &Call<'_>) -> Reply {
    let wanted = call.request.body.get("availability_zone").cloned().unwrap_or_default();
    let availability_zone_profile_id = wanted
        .text("availability_zone_profile_id")
        .ok_or_else(|| mandatory("availability_zone_profile_id"))?
        .to_owned();
    if !world.state.load_balancer.zone_profiles.contains_key(&availability_zone_profile_id) {
        return Err(bad_request("Invalid availability_zone_profile_id."));
    }
    let name = wanted.text("name").ok_or_else(|| mandatory("name"))?.to_owned();
    if world.state.load_balancer.zones.contains_key(&name) {
        return Err(conflict(&format!("A availability zone of {name} already exists.")));
    }
    let zone = AvailabilityZone {
        name,
        description: wanted.text("description").unwrap_or_default().to_owned(),
        enabled: wanted.flag("enabled").unwrap_or(true),
        availability_zone_profile_id,
    };
    let shown = json!({"availability_zone": zone});
    world.state.load_balancer.zones.insert(zone.name.clone(), zone);
    Ok(ApiResponse::json(StatusCode::CREATED, shown))
}
