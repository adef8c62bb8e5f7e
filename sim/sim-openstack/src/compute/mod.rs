//! Nova: servers with their state machine, flavors, zones, interfaces, key pairs, quotas, microversions.

mod actions;
mod collection;
mod create;
mod errors;
mod flavors;
mod interfaces;
mod lifecycle;
mod metadata;
mod microversion;
mod model;
mod quotas;
mod render;
mod servers;

use serde_json::{Value, json};

use crate::cloud::World;
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Call, Refusal, Reply};
use crate::identity;

pub use create::{NewServer, boot};
pub(crate) use lifecycle::finish;
pub use microversion::Microversion;
pub use model::{ComputeQuota, ComputeState, Flavor, KeyPair, Server, Transition, VmState};

#[cfg(test)]
mod tests;

/// The request of one caller at one microversion.
pub(crate) struct ComputeCall<'a> {
    pub(crate) call: &'a Call<'a>,
    pub(crate) version: Microversion,
}

/// Answers a request to Nova.
pub(crate) fn serve(world: &mut World, request: &ApiRequest) -> Reply {
    let parts = request.parts();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", []) => Ok(ApiResponse::ok(json!({"versions": [old_version(world), version(world, false)]}))),
        ("GET", ["v2.1"]) => {
            let body = json!({"version": version(world, true)});
            Ok(microversion::stamp(ApiResponse::ok(body), "2.1"))
        }
        (_, ["v2.1", rest @ ..]) => versioned(world, request, rest),
        _ => Err(errors::path_unknown()),
    }
}

/// Everything below `/v2.1`: checks the token, then the microversion, and stamps it on the answer.
fn versioned(world: &mut World, request: &ApiRequest, rest: &[&str]) -> Reply {
    let caller = identity::authenticate(world, request)?;
    let version = microversion::asked(request)?;
    let call = Call { request, caller: &caller };
    let call = ComputeCall { call: &call, version };
    // Old catalogs have the project in the path.
    let rest = match rest {
        [project, rest @ ..] if *project == caller.project_id => rest,
        rest => rest,
    };
    let reply = route(world, &call, rest);
    let stamp = |response| microversion::stamp(response, &version.to_string());
    match reply {
        Ok(response) => Ok(stamp(response)),
        Err(refusal) if errors::is_path_unknown(&refusal) => Err(refusal),
        Err(refusal) => Err(Refusal::from(stamp(refusal.into_response()))),
    }
}

fn route(world: &mut World, call: &ComputeCall<'_>, rest: &[&str]) -> Reply {
    match rest {
        ["servers", rest @ ..] => servers::serve(world, call, rest),
        ["flavors", rest @ ..] => flavors::serve(world, call, rest),
        ["os-availability-zone", ..] => Ok(zones(world)),
        ["os-quota-sets", rest @ ..] => quotas::serve(world, call, rest),
        ["limits"] => Ok(quotas::limits(world, call)),
        ["os-keypairs", rest @ ..] => metadata::keypairs(world, call, rest),
        ["extensions"] => Ok(ApiResponse::ok(json!({"extensions": []}))),
        _ => Err(errors::path_unknown()),
    }
}

fn zones(world: &World) -> ApiResponse {
    let zone = |name: &String| json!({"zoneName": name, "zoneState": {"available": true}, "hosts": null});
    let zones: Vec<Value> = world.config.zones.iter().map(zone).collect();
    ApiResponse::ok(json!({"availabilityZoneInfo": zones}))
}

fn old_version(world: &World) -> Value {
    let href = format!("{}/v2/", world.config.base(Service::Compute));
    json!({
        "id": "v2.0", "status": "DEPRECATED", "version": "", "min_version": "",
        "updated": "2025-07-04T12:00:00Z", "links": [{"rel": "self", "href": href}],
    })
}

fn version(world: &World, full: bool) -> Value {
    let href = format!("{}/v2.1/", world.config.base(Service::Compute));
    let mut version = json!({
        "id": "v2.1", "status": "CURRENT", "version": Microversion::NEWEST.to_string(),
        "min_version": Microversion::OLDEST.to_string(), "updated": "2013-07-23T11:33:21Z",
        "links": [{"rel": "self", "href": href}],
    });
    if let Some(version) = version.as_object_mut().filter(|_| full) {
        let docs = json!({"rel": "describedby", "type": "text/html", "href": "http://docs.openstack.org/"});
        version.insert("links".into(), json!([{"rel": "self", "href": href}, docs]));
        let kind = "application/vnd.openstack.compute+json;version=2.1";
        version.insert("media-types".into(), json!([{"base": "application/json", "type": kind}]));
    }
    version
}
