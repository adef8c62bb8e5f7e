//! Neutron: networks, subnets, ports, security groups, floating IPs, routers, trunks, tags, quotas, extensions.

mod allocation;
mod changes;
mod collection;
mod errors;
mod extensions;
mod fixed_ips;
mod floating_ips;
mod model;
mod networks;
mod ports;
mod quotas;
mod routers;
mod routes;
mod rules;
mod security_groups;
mod server_ports;
mod subnets;
mod tags;
mod trunks;

use serde_json::json;

use crate::cloud::World;
use crate::config::Service;
use crate::http::{ApiRequest, ApiResponse, Call, Reply};
use crate::identity;

pub(crate) use allocation::AllocationError;
pub(crate) use errors::missing;
pub(crate) use floating_ips::finish as finish_floating_ip;
pub use model::{
    AddressPair, AllocationPool, ExternalGateway, FixedIp, FloatingIp, Network, NetworkState, Port, Route,
    Router, SecurityGroup, SecurityGroupRule, SubPort, Subnet, Trunk,
};
pub use networks::{NewSubnet, add_network, add_subnet};
pub(crate) use ports::{PortPlan, add_port};
pub use quotas::NetworkQuota;
pub use routers::{add_router, connect};
pub(crate) use security_groups::forget as forget_group;
pub use security_groups::{add_group, default_group};
pub(crate) use server_ports::{add_server_port, bind_port, change_server_group, drop_port, unbind_port};

#[cfg(test)]
mod tests;

/// Answers a request to Neutron.
pub(crate) fn serve(world: &mut World, request: &ApiRequest) -> Reply {
    let parts = request.parts();
    match (request.method.as_str(), parts.as_slice()) {
        ("GET", []) => {
            let href = format!("{}/v2.0/", world.config.base(Service::Network));
            let links = json!([{"rel": "self", "href": href}]);
            let version = json!({"id": "v2.0", "status": "CURRENT", "links": links});
            Ok(ApiResponse::ok(json!({"versions": [version]})))
        }
        (_, ["v2.0", rest @ ..]) => {
            let caller = identity::authenticate(world, request)?;
            let call = Call { request, caller: &caller };
            let writes = matches!(request.method.as_str(), "POST" | "PUT");
            if request.body_is_garbage || (writes && !(request.body.is_object() || request.body.is_null())) {
                return Err(errors::bad_request("HTTPBadRequest", "Body contains invalid data"));
            }
            route(world, &call, rest)
        }
        _ => Err(errors::path_unknown()),
    }
}

fn route(world: &mut World, call: &Call<'_>, rest: &[&str]) -> Reply {
    match rest {
        [] => Ok(resources(world)),
        ["extensions", rest @ ..] => extensions::serve(world, rest),
        ["quotas", rest @ ..] => quotas::serve(world, call, rest),
        [collection, id, "tags", rest @ ..] => tags::serve(world, call, collection, id, rest),
        ["networks", rest @ ..] => networks::serve(world, call, rest),
        ["subnets", rest @ ..] => subnets::serve(world, call, rest),
        ["ports", rest @ ..] => ports::serve(world, call, rest),
        ["security-groups", rest @ ..] => security_groups::serve(world, call, rest),
        ["security-group-rules", rest @ ..] => rules::serve(world, call, rest),
        ["floatingips", rest @ ..] => floating_ips::serve(world, call, rest),
        ["routers", rest @ ..] => routers::serve(world, call, rest),
        ["trunks", rest @ ..] => trunks::serve(world, call, rest),
        ["availability_zones" | "agents" | "subnetpools" | "address-scopes" | "rbac-policies", ..] => {
            let name = rest.first().map(|name| name.replace('-', "_")).unwrap_or_default();
            Ok(ApiResponse::ok(json!({name: []})))
        }
        ["qos", "policies"] => Ok(ApiResponse::ok(json!({"policies": []}))),
        _ => Err(errors::path_unknown()),
    }
}

fn resources(world: &World) -> ApiResponse {
    let base = world.config.base(Service::Network);
    let resource = |name: &str| {
        let collection = format!("{name}s");
        let links = json!([{"rel": "self", "href": format!("{base}/v2.0/{collection}")}]);
        json!({"name": name, "collection": collection, "links": links})
    };
    let resources = ["network", "subnet", "subnetpool", "port"].map(resource);
    ApiResponse::ok(json!({"resources": resources}))
}
