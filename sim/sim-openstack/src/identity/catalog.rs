//! The catalog: from the configuration, with identifiers that follow from what they name.

use serde_json::{Value, json};

use crate::cloud::World;
use crate::config::Service;
use crate::ids::steady_id;

/// The catalog as it stands in tokens.
pub(super) fn render(world: &World) -> Value {
    let services = Service::ALL.into_iter().filter(|service| !endpoints(world, *service).is_empty());
    services
        .map(|service| {
            json!({
                "endpoints": endpoints(world, service), "id": steady_id(service.catalog_type()),
                "type": service.catalog_type(), "name": service.project_name(),
            })
        })
        .collect()
}

/// The endpoints of one service, in the order of their identifiers.
pub(super) fn endpoints(world: &World, service: Service) -> Vec<Value> {
    let mut found = Vec::new();
    for region in &world.config.regions {
        let Some(endpoint) = region.endpoints.get(&service) else { continue };
        for interface in &region.interfaces {
            let id = steady_id(&format!("{}/{}/{interface}", service.catalog_type(), region.name));
            let url = format!("{}{}", endpoint.base, endpoint.catalog_suffix);
            let (name, interface) = (&region.name, interface.as_str());
            found.push((
                id.clone(),
                json!({
                    "id": id, "interface": interface, "region_id": name, "url": url, "region": name,
                }),
            ));
        }
    }
    found.sort_by(|(a, _), (b, _)| a.cmp(b));
    found.into_iter().map(|(_, endpoint)| endpoint).collect()
}
