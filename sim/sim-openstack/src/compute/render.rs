//! Servers as JSON, at each microversion.

use serde_json::{Map, Value, json};

use super::Microversion;
use super::model::{Server, Transition, VmState};
use crate::clock::{plain, zulu};
use crate::cloud::World;
use crate::config::Service;
use crate::http::Caller;
use crate::ids::steady_id;

/// Whether one server is shown, or a list of them: some members are in one only.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Single,
    List,
}

/// The links of something.
pub(super) fn links(world: &World, collection: &str, id: &str) -> Value {
    let base = world.config.base(Service::Compute);
    json!([
        {"rel": "self", "href": format!("{base}/v2.1/{collection}/{id}")},
        {"rel": "bookmark", "href": format!("{base}/{collection}/{id}")},
    ])
}

/// A server with name and links only.
pub(super) fn brief(world: &World, server: &Server) -> Value {
    json!({"id": server.id, "name": server.name, "links": links(world, "servers", &server.id)})
}

/// The status of a server.
pub(super) fn status(server: &Server) -> &'static str {
    match server.transition {
        Some((Transition::To(_, "rebooting"), _)) => "REBOOT",
        _ => server.vm_state.status(),
    }
}

/// A server with everything.
pub(super) fn full(
    world: &World,
    caller: &Caller,
    version: Microversion,
    view: View,
    server: &Server,
) -> Value {
    let mut shown = Map::new();
    let mut put = |name: &str, value: Value| {
        shown.insert(name.to_owned(), value);
    };
    let building = server.vm_state == VmState::Building;
    put("id", json!(server.id));
    put("name", json!(server.name));
    put("status", json!(status(server)));
    put("tenant_id", json!(server.project_id));
    put("user_id", json!(server.user_id));
    put("created", json!(zulu(server.created)));
    put("updated", json!(zulu(server.updated)));
    put("accessIPv4", json!(server.access.0));
    put("accessIPv6", json!(server.access.1));
    put("addresses", addresses(world, server));
    put("flavor", flavor(world, server, version));
    put("image", image(world, server, version));
    put("hostId", json!(host_id(server)));
    put("links", links(world, "servers", &server.id));
    put("metadata", json!(server.metadata));
    put("config_drive", json!(""));
    put("key_name", json!(server.key_name));
    put("OS-DCF:diskConfig", json!("MANUAL"));
    put("OS-EXT-AZ:availability_zone", json!(server.zone));
    put("OS-SRV-USG:launched_at", json!(server.launched.map(|time| format!("{}.000000", plain(time)))));
    let terminated = (server.vm_state == VmState::Deleted).then_some(server.updated);
    put("OS-SRV-USG:terminated_at", json!(terminated.map(|time| format!("{}.000000", plain(time)))));
    put("OS-EXT-STS:task_state", json!(server.transition.map(|(transition, _)| transition.task_state())));
    put("OS-EXT-STS:vm_state", json!(server.vm_state.name()));
    put("OS-EXT-STS:power_state", json!(server.vm_state.power_state()));
    put("os-extended-volumes:volumes_attached", json!([]));
    if matches!(server.vm_state, VmState::Building | VmState::Active) {
        put("progress", json!(0));
    }
    if !building && server.vm_state != VmState::Deleted {
        put("security_groups", security_groups(world, server));
    }
    if let Some(message) = &server.fault {
        put("fault", json!({"code": 500, "message": message, "created": zulu(server.updated)}));
    }
    if caller.is_admin() {
        let host = (!server.host.is_empty()).then_some(&server.host);
        put("OS-EXT-SRV-ATTR:host", json!(host));
        put("OS-EXT-SRV-ATTR:hypervisor_hostname", json!(host));
        put("OS-EXT-SRV-ATTR:instance_name", json!(format!("instance-{:08x}", server.number)));
    }
    newer(&mut shown, version, view, server);
    Value::Object(shown)
}

/// What came with later microversions.
fn newer(shown: &mut Map<String, Value>, version: Microversion, view: View, server: &Server) {
    let mut put = |minor: u32, name: &str, value: Value| {
        if version.has(minor) {
            shown.insert(name.to_owned(), value);
        }
    };
    put(9, "locked", json!(server.locked));
    put(19, "description", json!(server.description));
    put(26, "tags", json!(server.tags));
    put(63, "trusted_image_certificates", Value::Null);
    put(73, "locked_reason", Value::Null);
    put(90, "OS-EXT-SRV-ATTR:hostname", json!(server.name));
    put(96, "pinned_availability_zone", json!(server.wanted_zone));
    put(100, "scheduler_hints", json!({}));
    if view == View::Single {
        put(71, "server_groups", json!([]));
    }
}

/// An opaque name of the host, the same for all servers of a project there.
fn host_id(server: &Server) -> String {
    if server.host.is_empty() {
        return String::new();
    }
    let text = format!("{}{}", server.project_id, server.host);
    let long = format!("{}{}", steady_id(&text), steady_id(&format!("{text}+")));
    long.chars().take(56).collect()
}

fn flavor(world: &World, server: &Server, version: Microversion) -> Value {
    let id = &server.flavor_id;
    if !version.has(47) {
        let href = format!("{}/flavors/{id}", world.config.base(Service::Compute));
        return json!({"id": id, "links": [{"rel": "bookmark", "href": href}]});
    }
    let Some(flavor) = world.state.compute.flavors.get(id) else { return json!({"original_name": id}) };
    json!({
        "vcpus": flavor.vcpus, "ram": flavor.ram, "disk": flavor.disk, "ephemeral": 0, "swap": 0,
        "original_name": flavor.name, "extra_specs": flavor.extra_specs,
    })
}

fn image(world: &World, server: &Server, version: Microversion) -> Value {
    let Some(id) = &server.image_id else { return json!("") };
    let href = format!("{}/images/{id}", world.config.base(Service::Compute));
    let links = json!([{"rel": "bookmark", "href": href}]);
    if version.has(98) {
        json!({"id": id, "links": links, "properties": {}})
    } else {
        json!({"id": id, "links": links})
    }
}

/// Fixed and floating addresses by network name, from Neutron's ports.
pub(super) fn addresses(world: &World, server: &Server) -> Value {
    let network = &world.state.network;
    let mut shown: Map<String, Value> = Map::new();
    if server.vm_state == VmState::Building {
        return Value::Object(shown);
    }
    for port in network.ports.find("device_id", &server.id) {
        let name = network.networks.get(&port.network_id).map_or(&port.network_id, |network| &network.name);
        let entry = |address: &str, kind: &str| {
            let version = if address.contains(':') { 6 } else { 4 };
            json!({
                "version": version, "addr": address, "OS-EXT-IPS:type": kind,
                "OS-EXT-IPS-MAC:mac_addr": port.mac_address,
            })
        };
        let fixed = port.fixed_ips.iter().map(|fixed| entry(&fixed.ip_address, "fixed"));
        let floating = network.floating_ips.find("port_id", &port.id);
        let floating = floating.map(|floating| entry(&floating.floating_ip_address, "floating"));
        let entries: Vec<Value> = fixed.chain(floating).collect();
        match shown.entry(name.clone()).or_insert_with(|| json!([])) {
            Value::Array(all) => all.extend(entries),
            other => *other = Value::Array(entries),
        }
    }
    Value::Object(shown)
}

/// The same with nothing but address and version.
pub(super) fn plain_addresses(world: &World, server: &Server) -> Value {
    let mut shown = addresses(world, server);
    let entries = shown.as_object_mut().into_iter().flat_map(|networks| networks.values_mut());
    for entry in entries.filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut) {
        entry.retain(|name, _| !name.starts_with("OS-EXT-"));
    }
    shown
}

fn security_groups(world: &World, server: &Server) -> Value {
    let network = &world.state.network;
    let ids = network.ports.find("device_id", &server.id).flat_map(|port| &port.security_groups);
    let groups = ids.filter_map(|id| network.security_groups.get(id));
    groups.map(|group| json!({"name": group.name})).collect()
}
