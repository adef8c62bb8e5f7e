//! Extra routes of a router: checked as a whole list, or added and removed one by one.

use std::net::IpAddr;

use ipnet::IpNet;
use serde_json::{Value, json};

use super::changes::{check_revision, may_change, now, wanted_changes};
use super::errors::{bad_request, internal, missing, path_unknown, required};
use super::model::{Route, Standard};
use super::routers::{find, render};
use crate::cloud::World;
use crate::http::{ApiResponse, Call, Refusal, Reply};

/// The routes of an update, if all of them are possible.
pub(super) fn checked(world: &World, router: &str, wanted: &Value) -> Result<Vec<Route>, Refusal> {
    let routes: Vec<Route> = serde_json::from_value(wanted.clone()).map_err(|_| required("routes"))?;
    if let Some(bad) = routes.iter().find(|route| route.destination.parse::<IpNet>().is_err()) {
        let message = format!("invalid IPNetwork {}", bad.destination);
        return Err(bad_request("AddrFormatError", &message));
    }
    let twin = |(index, route): (usize, &Route)| {
        routes.iter().take(index).any(|other| other == route).then(|| route.clone())
    };
    if let Some(route) = routes.iter().enumerate().find_map(twin) {
        let message = format!("Invalid input for routes. Reason: Duplicate hostroute '{}'.", python(&route));
        return Err(bad_request("HTTPBadRequest", &message));
    }
    check_count(world, router, routes.len())?;
    match problem(world, router, &routes) {
        None => Ok(routes),
        Some(reason) => {
            let shown: Vec<String> = routes.iter().map(python).collect();
            let message = format!("Invalid format for routes: [{}], {reason}", shown.join(", "));
            Err(bad_request("InvalidRoutes", &message))
        }
    }
}

/// A route as Python prints it.
fn python(route: &Route) -> String {
    format!("{{'destination': '{}', 'nexthop': '{}'}}", route.destination, route.nexthop)
}

/// A router has no more routes than its project's quota allows.
fn check_count(world: &World, router: &str, count: usize) -> Result<(), Refusal> {
    let project = world.state.network.routers.get(router).map(|router| router.project_id.as_str());
    let most = super::quotas::of(world, project.unwrap_or_default()).router_route;
    match usize::try_from(most) {
        Ok(most) if count > most => {
            let message = format!(
                "Unable to complete operation for {router}. The number of routes exceeds the maximum {most}."
            );
            Err(bad_request("RoutesExhausted", &message))
        }
        _ => Ok(()),
    }
}

fn problem(world: &World, router: &str, routes: &[Route]) -> Option<&'static str> {
    let network = &world.state.network;
    let ports: Vec<_> = network.ports.find("device_id", router).flat_map(|port| &port.fixed_ips).collect();
    let ranges: Vec<IpNet> =
        ports.iter().filter_map(|fixed| network.subnets.get(&fixed.subnet_id)?.cidr.parse().ok()).collect();
    for route in routes {
        let Ok(hop) = route.nexthop.parse::<IpAddr>() else {
            return Some("the nexthop is not a valid address");
        };
        if !ranges.iter().any(|range| range.contains(&hop)) {
            return Some("the nexthop is not connected with router");
        }
        if ports.iter().any(|fixed| fixed.ip_address == route.nexthop) {
            return Some("the nexthop is used by router");
        }
    }
    None
}

/// `add_extraroutes` and `remove_extraroutes`: what is there already, or already gone, is no error. The routes that come of
/// it are checked as a whole, as if they had been put.
pub(super) fn serve(world: &mut World, call: &Call<'_>, id: &str, add: bool) -> Reply {
    if world.config.missing_network_extensions.iter().any(|missing| missing == "extraroute-atomic") {
        return Err(path_unknown());
    }
    let router = find(world, call, id)?.clone();
    let action = if add { "add_extraroutes" } else { "remove_extraroutes" };
    may_change(call.caller, &router.project_id, action, missing("routers", id))?;
    check_revision(call, &router)?;
    let changes = wanted_changes(call, "router")?;
    let wanted = changes.get("routes").ok_or_else(|| required("routes"))?;
    // Neutron stumbles over a route that is not whole.
    let named: Vec<Route> = serde_json::from_value(wanted.clone()).map_err(|_| internal())?;
    let mut routes = router.routes.clone();
    if add {
        routes.extend(named.into_iter().filter(|route| !router.routes.contains(route)));
    } else {
        routes.retain(|route| !named.contains(route));
    }
    let routes = checked(world, id, &json!(routes))?;
    let time = now(world);
    let changed = world.state.network.routers.update(id, |router| {
        if router.routes != routes {
            router.routes = routes;
            router.touch(&time);
        }
        router.clone()
    });
    // These two show everything, whoever asks.
    Ok(ApiResponse::ok(json!({"router": changed.map(|router| render(&router, true))})))
}
