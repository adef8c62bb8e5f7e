//! The catalog: the endpoints of the services. Pure.

use serde::Deserialize;

use crate::{Interface, Service, decode};

/// The services in a token's catalog.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(transparent)]
pub(crate) struct Catalog(Vec<Entry>);

#[derive(Debug, Clone, Deserialize)]
struct Entry {
    #[serde(rename = "type", default, deserialize_with = "decode::or_default")]
    kind: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    endpoints: Vec<Endpoint>,
}

#[derive(Debug, Clone, Deserialize)]
struct Endpoint {
    #[serde(default, deserialize_with = "decode::or_default")]
    interface: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    region: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    region_id: String,
    #[serde(default, deserialize_with = "decode::or_default")]
    url: String,
}

impl Catalog {
    /// The URL and the region of `service`: the first endpoint with this interface, in `region` if that is `Some`. The error lists what the
    /// catalog has instead.
    pub(crate) fn find(
        &self,
        service: Service,
        interface: Interface,
        region: Option<&str>,
    ) -> Result<(&str, &str), String> {
        let entries = || self.0.iter().filter(|entry| entry.kind == service.as_str());
        let endpoints = || entries().flat_map(|entry| &entry.endpoints);
        let fits = |endpoint: &&Endpoint| {
            endpoint.interface == interface.as_str()
                && region.is_none_or(|region| endpoint.region == region || endpoint.region_id == region)
        };
        if let Some(found) = endpoints().find(fits) {
            let region = if found.region.is_empty() { &found.region_id } else { &found.region };
            return Ok((&found.url, region));
        }
        Err(if entries().next().is_none() {
            format!(
                "the catalog has no service of type {service:?}; it has {}",
                listed(self.0.iter().map(|e| &e.kind)),
                service = service.as_str()
            )
        } else {
            let found =
                endpoints().map(|endpoint| format!("{} in {:?}", endpoint.interface, endpoint.region));
            format!(
                "the catalog has {service}, but no {interface} endpoint in region {:?}; it has {}",
                region.unwrap_or("(any)"),
                listed(found)
            )
        })
    }
}

/// The sorted distinct items for an error message, truncated.
fn listed(items: impl Iterator<Item = impl ToString>) -> String {
    let mut all: Vec<String> = items.map(|item| item.to_string()).collect();
    all.sort();
    all.dedup();
    if all.is_empty() { "nothing".to_owned() } else { decode::brief(&all.join(", ")) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn catalog() -> Catalog {
        serde_json::from_value(json!([
            {"type": "network", "name": "neutron", "id": "x", "endpoints": [
                {"interface": "admin", "region": "One", "region_id": "One", "url": "http://admin:9696"},
                {"interface": "public", "region": "One", "region_id": "One", "url": "http://one:9696"},
                {"interface": "public", "region": "Two", "region_id": "Zwei", "url": "https://two:9696"},
                {"interface": "internal", "region": null, "url": "http://inside:9696"},
            ]},
            {"type": "compute", "endpoints": null},
        ]))
        .unwrap()
    }

    #[test]
    fn an_endpoint_is_found_by_interface_and_region_or_region_id() {
        for (interface, region, url) in [
            (Interface::Public, None, "http://one:9696"),
            (Interface::Public, Some("Two"), "https://two:9696"),
            (Interface::Public, Some("Zwei"), "https://two:9696"),
            (Interface::Internal, None, "http://inside:9696"),
            (Interface::Admin, Some("One"), "http://admin:9696"),
        ] {
            assert_eq!(catalog().find(Service::Network, interface, region).unwrap().0, url);
        }
    }

    #[test]
    fn what_is_missing_is_said_together_with_what_is_there() {
        let error = catalog().find(Service::LoadBalancer, Interface::Public, None).unwrap_err();
        assert!(error.contains("\"load-balancer\"") && error.contains("compute, network"), "{error}");
        let error = catalog().find(Service::Network, Interface::Public, Some("Three")).unwrap_err();
        assert!(error.contains("\"Three\"") && error.contains("public in \"Two\""), "{error}");
        let error = catalog().find(Service::Compute, Interface::Public, None).unwrap_err();
        assert!(error.contains("it has nothing"), "{error}");
    }

    proptest! {
        #[test]
        fn no_catalog_makes_the_reader_panic(kind: String, interface: String, region: String, url: String, wanted: String) {
            let endpoint = json!({"interface": interface, "region": region, "url": url, "more": [1]});
            let raw = json!([{"type": kind, "endpoints": [endpoint, {}]}, {}, {"type": "compute", "endpoints": [endpoint]}]);
            let catalog: Catalog = serde_json::from_value(raw).unwrap();
            for service in [Service::Compute, Service::Network] {
                match catalog.find(service, Interface::Public, Some(&wanted)) {
                    Ok((found, _)) => prop_assert_eq!(found, &url),
                    Err(why) => prop_assert!(why.chars().count() < 1000),
                }
            }
        }
    }
}
